import threading

from assay_devserver.invocation import Function
from assay_devserver.loops import Loop, tick

PATIENCE = 30
NO_TIME, FOR_EVER = 0.0, 600.0


class Steps:
    """A step that raises what it is told to, and says when it has nothing left to do."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.done = threading.Event()

    def __call__(self):
        if self.errors and (error := self.errors.pop(0)):
            raise error
        if self.errors:
            return NO_TIME, NO_TIME
        self.done.set()
        return NO_TIME, FOR_EVER


def run(steps):
    loop = Loop("stream", steps)
    loop.start()
    assert steps.done.wait(PATIENCE)
    loop.stop()


def test_a_failing_step_is_repeated_and_told_of_once_for_each_kind(capfd):
    run(Steps(ValueError("a"), ValueError("b"), KeyError("c")))
    lines = [line.partition(" (")[0] for line in capfd.readouterr().err.splitlines()]
    assert lines == [
        "assay serve: the stream failed and is repeated: ValueError: a",
        "assay serve: the stream failed and is repeated: KeyError: 'c'",
    ]


def test_after_a_success_a_failure_is_news_again(capfd):
    run(Steps(ValueError("a"), None, ValueError("b")))
    assert len(capfd.readouterr().err.splitlines()) == 2


def test_a_nudge_ends_the_wait():
    ran = threading.Semaphore(0)

    def step():
        ran.release()
        return NO_TIME, FOR_EVER

    loop = Loop("stream", step)
    loop.start()
    for _ in range(3):
        assert ran.acquire(timeout=PATIENCE)
        loop.nudge()
    loop.stop()


def test_stopping_ends_the_wait():
    steps = Steps()
    loop = Loop("tick", steps)
    loop.start()
    assert steps.done.wait(PATIENCE)
    loop.stop()
    assert "assay-tick" not in [thread.name for thread in threading.enumerate()]


def test_a_tick_is_a_scheduled_event():
    events, done = [], []
    step = tick(
        Function("tick", lambda event, context: events.append((event, context))),
        lambda: done.append(True),
    )
    at_least, at_most = step()
    ((event, context),) = events
    assert (event["source"], event["detail-type"]) == ("aws.events", "Scheduled Event")
    assert context.function_name == "assay-tick"
    assert context.invoked_function_arn.endswith(":function:assay-tick")
    assert 0 < context.get_remaining_time_in_millis() <= 30_000
    assert 0 < at_least == at_most <= 1
    assert done == [True]
