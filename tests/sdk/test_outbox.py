"""Reports on their way out, without a worker around them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from assay._exchange import Answer, Report, ReportAnswer
from assay._outbox import Outbox
from assay.errors import ApiError, ConnectionFailedError, api_error

from .fake_clock import FakeClock, settle

Judge = Callable[[list[Report]], list[str]]


class Engine:
    """Takes batches; `judge` says which ids are answered, or raises."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.batches: list[list[str]] = []

    async def send(self, reports: Sequence[Report]) -> Answer:
        self.batches.append([report.id for report in reports])
        answered = self.judge(list(reports))
        return Answer(reports=[ReportAnswer(id=each, status="accepted") for each in answered])


def _all(reports: list[Report]) -> list[str]:
    return [report.id for report in reports]


def _run(engine: Engine, reports: list[Report], secs: float = 60.0) -> list[ReportAnswer]:
    async def main() -> list[ReportAnswer]:
        clock = FakeClock()
        outbox = Outbox(engine.send, clock)
        sending = asyncio.create_task(outbox.run())
        answers = asyncio.gather(*(outbox.submit(report) for report in reports))
        await clock.advance(secs)
        sending.cancel()
        await settle()
        return await answers

    return asyncio.run(main())


def _reports(count: int, size: int = 10) -> list[Report]:
    return [Report(f"r{number}", b"x" * size) for number in range(count)]


def test_what_is_reported_at_once_goes_out_at_once() -> None:
    engine = Engine(_all)

    answers = _run(engine, _reports(3))

    assert engine.batches == [["r0", "r1", "r2"]]
    assert [answer.id for answer in answers] == ["r0", "r1", "r2"]


def test_a_report_without_an_answer_is_sent_again() -> None:
    engine = Engine(lambda reports: _all(reports)[:1])

    _run(engine, _reports(3))

    assert engine.batches == [["r0", "r1", "r2"], ["r1", "r2"], ["r2"]]


def test_a_broken_connection_loses_no_report_and_keeps_the_order() -> None:
    def broken_twice(reports: list[Report]) -> list[str]:
        if len(engine.batches) < 3:
            raise ConnectionFailedError("away")
        return _all(reports)

    engine = Engine(broken_twice)

    _run(engine, _reports(2))

    assert engine.batches == [["r0", "r1"]] * 3


def test_batches_stay_below_the_limit_of_a_request() -> None:
    engine = Engine(_all)

    _run(engine, _reports(4, size=1_500_000))

    assert sorted(engine.batches) == [["r0", "r1"], ["r2", "r3"]]


def test_the_one_that_the_engine_refuses_does_not_fail_the_others() -> None:
    def too_large(reports: list[Report]) -> list[str]:
        if any(report.id == "r1" for report in reports):
            raise api_error(413, "too large", code="too_large", retryable=False)
        return _all(reports)

    engine = Engine(too_large)

    answers = _run(engine, _reports(3))

    told = [(answer.status, answer.code) for answer in answers]
    assert told == [("accepted", None), ("invalid", "too_large"), ("accepted", None)]


def test_a_rejected_token_is_waited_out() -> None:
    def rejected_once(reports: list[Report]) -> list[str]:
        if len(engine.batches) == 1:
            raise _unauthorized()
        return _all(reports)

    engine = Engine(rejected_once)

    [answer] = _run(engine, _reports(1))

    assert answer.status == "accepted"


def _unauthorized() -> ApiError:
    return api_error(401, "who are you", code="unauthorized", retryable=False)
