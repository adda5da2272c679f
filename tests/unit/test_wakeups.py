"""Wake-ups: nothing falls between the look and the wait."""

from queue import SimpleQueue
from threading import Thread

from assay_engine.wakeups import LocalWakeups


def test_a_notification_between_the_look_and_the_wait_is_not_lost() -> None:
    wakeups = LocalWakeups()
    ticket = wakeups.ticket(["a"])
    wakeups.notify("a")
    assert wakeups.wait(["a"], ticket, 0.0) is True


def test_a_waiter_is_woken_by_any_of_its_slots() -> None:
    wakeups = LocalWakeups()
    woken: list[bool] = []
    ticket = wakeups.ticket(["a", "b"])
    waiter = Thread(target=lambda: woken.append(wakeups.wait(["a", "b"], ticket, 30.0)))
    waiter.start()
    wakeups.notify("b")
    waiter.join(10.0)
    assert woken == [True]


def test_a_waiter_is_not_woken_by_other_slots() -> None:
    wakeups = LocalWakeups()
    ticket = wakeups.ticket(["a"])
    wakeups.notify("b")
    assert wakeups.wait(["a"], ticket, 0.01) is False
    wakeups.notify("a")
    assert wakeups.wait(["a"], ticket, 0.0) is True


def test_a_notification_wakes_one_waiter_which_passes_it_on() -> None:
    wakeups = LocalWakeups()
    ticket = wakeups.ticket(["a"])
    woken: SimpleQueue[int] = SimpleQueue()

    def waiter(number: int) -> None:
        if wakeups.wait(["a"], ticket, 30.0):
            woken.put(number)

    threads = [Thread(target=waiter, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while len(wakeups._waiting.get("a", {})) < 3:
        pass
    wakeups.notify("a")
    woken.get(timeout=10.0)
    assert len(wakeups._waiting["a"]) >= 2
    wakeups.pass_on(["a"])
    woken.get(timeout=10.0)
    wakeups.pass_on(["a"])
    woken.get(timeout=10.0)
    for thread in threads:
        thread.join(10.0)
    assert woken.empty()


def test_a_waiter_that_has_looked_since_is_not_woken_again() -> None:
    wakeups = LocalWakeups()
    wakeups.notify("a")
    ticket = wakeups.ticket(["a"])
    passing = Thread(target=lambda: wakeups.pass_on(["a"]))
    passing.start()
    assert wakeups.wait(["a"], ticket, 0.05) is False
    passing.join(10.0)
