"""Starting a run: what goes on the wire, what comes back, and who gets the first task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypedDict

import msgspec
import pytest

from assay.client import Client, Message, RetryPolicy, Status
from assay.errors import (
    ApplicationError,
    ConflictError,
    ConnectionFailedError,
    ResultTimeoutError,
    UsageError,
)

from .scripted import BOTH, RECORD, STARTED, HastyClock, Play, Script, play_blocking

TAKEN = (409, {"error": "taken", "code": "already_exists", "retryable": False})
LEAST = {"workflow_type": "Order", "namespace": "main", "task_queue": "default"}


@pytest.fixture(params=BOTH, ids=["blocking", "awaiting"])
def play(request: pytest.FixtureRequest) -> Play:
    made: Play = request.param
    return made


def start(script: Script, *args: Any, **options: Any) -> Any:
    return play_blocking(script, lambda c: c.start(*args, **options))


def body_of(script: Script) -> dict[str, Any]:
    [(method, path, query, body)] = script.asked()
    assert (method, path, query) == ("POST", "/workflows", {})
    return dict(body)


@dataclass
class Order:
    total: int


@dataclass
class Parcel:
    number: str


class Slip(msgspec.Struct):
    text: str


class Bill(TypedDict):
    total: int


def named(name: str, **more: Any) -> Callable[[Any], Any]:
    """Mark a function as the decorators do, without registering it for a worker."""

    def mark(function: Any) -> Any:
        for attribute, value in {"__assay_workflow__": name, **more}.items():
            setattr(function, attribute, value)
        return function

    return mark


@named("Order", __assay_queue__="orders")
async def order(ctx: Any, input: Order) -> Parcel:
    raise NotImplementedError


def test_a_plain_start_says_no_more_than_it_must(play: Play) -> None:
    script = Script((201, STARTED))

    handle = play(script, lambda c: c.start("Order", workflow_id="w-1"))

    assert body_of(script) == {**LEAST, "workflow_id": "w-1"}
    assert (handle.workflow_id, handle.run_id) == ("w-1", "run-w-1-5")
    assert (handle.status, handle.started) == (Status.PENDING, True)


@pytest.mark.parametrize(
    ("options", "wire"),
    [
        ({"task_queue": "q"}, {"task_queue": "q"}),
        ({"id_conflict_policy": "use_existing"}, {"id_conflict_policy": "use_existing"}),
        ({"id_reuse_policy": "reject_duplicate"}, {"id_reuse_policy": "reject_duplicate"}),
        ({"execution_timeout": "1h30m"}, {"execution_timeout": 5400.0}),
        ({"run_timeout": timedelta(minutes=1)}, {"run_timeout": 60.0}),
        ({"task_timeout": 10}, {"task_timeout": 10.0}),
        ({"start_delay": 0.5}, {"start_delay": 0.5}),
        ({"memo": {"a": 1}}, {"memo": {"a": 1}}),
        ({"search_attributes": {"env": "prod"}}, {"search_attributes": {"env": "prod"}}),
        ({"context": {"user": "ada"}}, {"context": {"user": "ada"}}),
        ({"parent_close_policy": "abandon"}, {"parent_close_policy": "abandon"}),
        ({"cron_schedule": "0 0 3 * * *"}, {"cron_schedule": "0 0 3 * * *"}),
        ({"retry_policy": RetryPolicy()}, {"retry_policy": {}}),
        (
            {
                "retry_policy": RetryPolicy(
                    maximum_attempts=5,
                    initial_interval="10s",
                    backoff_coefficient=1.5,
                    maximum_interval=timedelta(minutes=2),
                    non_retryable_kinds=("INVALID",),
                )
            },
            {
                "retry_policy": {
                    "maximum_attempts": 5,
                    "initial_interval": 10.0,
                    "backoff_coefficient": 1.5,
                    "maximum_interval": 120.0,
                    "non_retryable_kinds": ["INVALID"],
                }
            },
        ),
        (
            {"messages": [Message("add", 1), ("add", {"n": 2}), Message("go")]},
            {
                "messages": [
                    {"name": "add", "payload": 1},
                    {"name": "add", "payload": {"n": 2}},
                    {"name": "go"},
                ]
            },
        ),
    ],
)
def test_what_is_given_goes_on_the_wire_and_nothing_else(
    options: dict[str, Any], wire: dict[str, Any]
) -> None:
    script = Script((201, STARTED))

    start(script, "Order", {"n": 1}, id="w-1", **options)

    assert body_of(script) == {**LEAST, "workflow_id": "w-1", "input": {"n": 1}, **wire}


def test_without_an_id_every_run_gets_one_of_its_own() -> None:
    first, second = Script((201, STARTED)), Script((201, STARTED))
    start(first, "Order")
    start(second, "Order")

    ids = [body_of(script)["workflow_id"] for script in (first, second)]
    assert all(name.startswith("Order-") for name in ids)
    assert ids[0] != ids[1]


def test_two_names_for_the_id_must_agree() -> None:
    script = Script((201, STARTED))
    start(script, "Order", id="w-1", workflow_id="w-1")
    assert body_of(script)["workflow_id"] == "w-1"

    with pytest.raises(UsageError, match="give one of them"):
        start(Script(), "Order", id="w-1", workflow_id="w-2")


def test_what_is_no_duration_is_refused_before_anything_is_sent() -> None:
    script = Script()

    with pytest.raises(UsageError, match="soon"):
        start(script, "Order", run_timeout="soon")

    assert script.requests == []


def test_a_function_knows_its_name_and_its_queue_and_takes_its_input(play: Play) -> None:
    script = Script((201, STARTED))

    play(script, lambda c: c.start(order, Order(total=5), id="w-1"))

    assert body_of(script) == {
        **LEAST,
        "task_queue": "orders",
        "workflow_id": "w-1",
        "input": {"total": 5},
    }


def test_a_function_that_is_no_workflow_is_refused() -> None:
    async def stray(ctx: Any, input: Any) -> None:
        raise NotImplementedError

    with pytest.raises(UsageError, match="stray is no workflow"):
        start(Script(), stray, 5)


def test_an_existing_run_is_not_started(play: Play) -> None:
    existing = {**STARTED, "status": "WAITING", "started": False}

    handle = play(Script((200, existing)), lambda c: c.start("Order", id="w-1"))

    assert (handle.started, handle.status) == (False, Status.WAITING)


def test_a_taken_id_is_a_conflict() -> None:
    with pytest.raises(ConflictError, match="taken"):
        start(Script(TAKEN), "Order", id="w-1")


def test_a_start_whose_answer_was_lost_finds_its_own_run_again(play: Play) -> None:
    script = Script(ConnectionFailedError("lost"), TAKEN, (200, {**RECORD, "status": "RUNNING"}))

    handle = play(script, lambda c: c.start("Order"))

    (_, _, _, sent), (_, _, _, again), (method, path, _, _) = script.asked()
    assert sent == again
    assert (method, path) == ("GET", f"/workflows/{sent['workflow_id']}")
    assert (handle.run_id, handle.status, handle.started) == (RECORD["run_id"], "RUNNING", True)


def _returns(kind: Any) -> Any:
    async def workflow(ctx: Any, input: Any) -> Any:
        raise NotImplementedError

    workflow.__annotations__["return"] = kind
    return named("Order")(workflow)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Slip, '{"text":"hi"}', Slip("hi")),
        (Bill, '{"total":5}', {"total": 5}),
        (list[Slip], '[{"text":"hi"}]', [Slip("hi")]),
        (tuple[int, ...], "[1,2]", (1, 2)),
        (float, "5", 5.0),
        (None, "null", None),
        (Any, '{"a":1}', {"a": 1}),
    ],
)
def test_the_result_has_the_type_that_the_function_says(
    play: Play, kind: Any, text: str, expected: Any
) -> None:
    script = Script((201, STARTED), (200, {**RECORD, "result": text}))

    result = play(script, lambda c: c.execute(_returns(kind), 5))

    assert (result, type(result)) == (expected, type(expected))


def test_a_result_of_another_type_is_an_error() -> None:
    script = Script((201, STARTED), (200, {**RECORD, "result": '{"txt":5}'}))

    with pytest.raises(ApplicationError, match="the result of run w-1 does not fit Slip"):
        start(script, _returns(Slip), 5).result()


def test_the_result_of_a_named_workflow_is_plain() -> None:
    script = Script((201, STARTED), (200, {**RECORD, "result": '{"number":"n"}'}))

    assert start(script, "Order").result() == {"number": "n"}


def test_execute_waits_for_start_and_result_together(play: Play) -> None:
    running = (200, {**RECORD, "status": "RUNNING", "result": None})
    clock = HastyClock()
    script = Script(ConnectionFailedError("away"), (201, STARTED), *[running] * 100)

    with pytest.raises(ResultTimeoutError, match="RUNNING after"):
        play(script, lambda c: c.execute("Order", timeout=3), clock)

    assert clock.now - HastyClock().now == pytest.approx(3)
    assert "timeout" not in script.asked()[0][3]


@dataclass
class FakeWorker:
    worker_id: str
    queue: str
    offered: list[Any] = field(default_factory=list)

    def offer(self, task: dict[str, Any]) -> None:
        self.offered.append(task)


TASK = {"workflow_id": "w-1", "history": []}


def eager(play: Play, answer: Any, *workers: FakeWorker, **options: Any) -> dict[str, Any]:
    script = Script((201, answer))

    def do(client: Client) -> Any:
        for worker in workers:
            client.attach(worker)
        return client.start("Order", id="w-1", enable_eager_start=True, **options)

    play(script, do)
    return body_of(script)


def test_the_first_task_goes_to_a_worker_of_the_queue(play: Play) -> None:
    other, mine = FakeWorker("o", "other"), FakeWorker("m", "default")

    body = eager(play, {**STARTED, "workflow_task": TASK}, other, mine)

    assert body == {**LEAST, "workflow_id": "w-1", "enable_eager_start": True, "worker_id": "m"}
    assert (other.offered, mine.offered) == ([], [TASK])


def test_an_eager_start_that_got_no_task_offers_none(play: Play) -> None:
    mine = FakeWorker("m", "default")

    eager(play, STARTED, mine)

    assert mine.offered == []


def test_without_a_worker_of_the_queue_nobody_is_named(play: Play) -> None:
    worker = FakeWorker("m", "default")

    for workers, options in (((), {}), ((worker,), {"task_queue": "other"})):
        body = eager(play, STARTED, *workers, **options)
        assert not {"enable_eager_start", "worker_id"} & set(body)


def test_a_worker_that_has_left_gets_nothing() -> None:
    script, worker = Script((201, STARTED)), FakeWorker("m", "default")
    client = Client("http://e", transport=script)
    client.attach(worker)
    client.attach(worker)
    client.detach(worker)
    client.detach(worker)

    client.start("Order", id="w-1", enable_eager_start=True)

    assert body_of(script) == {**LEAST, "workflow_id": "w-1"}
