"""A small engine in memory that speaks the worker protocol of docs/worker-protocol.md.

It keeps what the protocol promises (leases, versions, first outcome wins, repeats are harmless)
and nothing of how the real one stores it. Faults come from the transports in `faults.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from assay._exchange import PATH
from assay._transport import Request, Response

from .fake_clock import FakeClock
from .fake_runs import CLOSING, LEASE_SECS, RECORDED, Json, Pending, Run


class FakeEngine:
    """Use it as the worker's transport."""

    def __init__(self, clock: FakeClock, *, page_size: int = 1000, eager: bool = True) -> None:
        self.clock = clock
        self.page_size = page_size
        self.eager = eager
        self.runs: dict[str, Run] = {}
        self.requests: list[Json] = []
        self.answers: list[Json] = []
        self.before_report: Callable[[Json], None] = lambda report: None
        self.hint = 0.0
        self._tokens = 0
        self._changed = asyncio.Event()

    # -- what a test does ------------------------------------------------------------------------

    def start(self, workflow_type: str, workflow_id: str, input: Any = None) -> Run:
        ref = {"namespace": "main", "id": workflow_id, "incarnation": f"i-{len(self.runs)}"}
        run = self.runs[workflow_id] = Run(ref, workflow_type, "default")
        self.land(run, "WorkflowStarted", input)
        return run

    def signal(self, run: Run, name: str, payload: Any = None) -> None:
        self.land(run, "SignalReceived", {"signal": name, "payload": payload})

    def cancel(self, run: Run, reason: str | None = None) -> None:
        run.cancel_requested = True
        self.land(run, "WorkflowCancelRequested", {"reason": reason} if reason else None)

    def land(self, run: Run, event_type: str, payload: Any) -> None:
        if run.open:
            run.append(event_type, payload, self.clock.now)
        self._changed.set()

    def reports(self, kind: str | None = None) -> list[Json]:
        sent = [report for request in self.requests for report in request.get("reports", [])]
        return [report for report in sent if kind in (None, report["kind"])]

    def polls(self) -> list[Json]:
        return [request for request in self.requests if request.get("room")]

    # -- the transport ---------------------------------------------------------------------------

    async def send(self, request: Request) -> Response:
        assert (request.method, request.path) == ("POST", PATH)
        asked = json.loads(request.body or b"{}")
        assert asked["protocol"] == 1
        self.requests.append(asked)
        answer: Json = {"protocol": 1, "workflow_tasks": [], "activity_tasks": []}
        answer["reports"] = [self._report(asked, report) for report in asked.get("reports", [])]
        answer["pages"] = [self._page(page) for page in asked.get("pages", [])]
        room = asked.get("room") or {}
        if any(room.values()):
            await self._wait(asked)
            answer["workflow_tasks"] = self._workflow_tasks(asked)
            answer["activity_tasks"] = self._activity_tasks(asked)
        answer["next_poll_secs"] = self.hint
        self.answers.append(answer)
        return Response(status=200, body=json.dumps(answer).encode())

    async def close(self) -> None:
        return None

    # -- handing out -----------------------------------------------------------------------------

    async def _wait(self, asked: Json) -> None:
        until = self.clock.now + asked["wait_secs"]
        while not (self._claimable(asked) or self._due(asked)) and self.clock.now < until:
            self._changed.clear()
            coming = [until, *self._moments()]
            later = [at for at in coming if at > self.clock.now]
            await self.clock.wait(self._changed, min(later) - self.clock.now)

    def _moments(self) -> list[float]:
        moments = [at for run in self.runs.values() for at in run.timers.values()]
        for run in self.runs.values():
            moments += [run.lease_expires] if run.lease else []
            for pending in run.activities.values():
                moments.append(pending.expires if pending.worker else pending.due)
        return moments

    def _claimable(self, asked: Json) -> list[Run]:
        if not asked["room"]["workflows"]:
            return []
        for run in self.runs.values():
            self._settle(run)
        return [
            run
            for run in self.runs.values()
            if run.open and run.lease is None and run.seen < len(run.events)
            if run.workflow_type in asked["workflows"]
        ]

    def _settle(self, run: Run) -> None:
        if run.lease and run.lease_expires <= self.clock.now:
            run.lease = None
        for seq, at in list(run.timers.items()):
            if at <= self.clock.now:
                del run.timers[seq]
                self.land(run, "TimerFired", {"timer_seq": seq, "fire_at": at})
        for pending in run.activities.values():
            if pending.worker and pending.expires <= self.clock.now:
                pending.worker = None

    def _workflow_tasks(self, asked: Json) -> list[Json]:
        cached = {item["run"]["id"]: item for item in asked["cached"]}
        tasks = []
        for run in self._claimable(asked)[: asked["room"]["workflows"]]:
            run.lease, run.lease_seen = self._token(), len(run.events)
            run.lease_expires = self.clock.now + LEASE_SECS
            held = cached.get(run.ref["id"])
            after = held["seq"] if held and held["run"] == run.ref else 0
            page = self._page({"run": run.ref, "cursor": after})
            tasks.append(
                {
                    "run": run.ref,
                    "workflow_type": run.workflow_type,
                    "task_queue": run.queue,
                    "parent_id": None,
                    "lease": run.lease,
                    "lease_secs": LEASE_SECS,
                    "version": len(run.events),
                    "after": after,
                    "history": page["history"],
                    "history_next": page["history_next"],
                }
            )
        return tasks

    def _page(self, asked: Json) -> Json:
        run = self.runs[asked["run"]["id"]]
        end = asked["cursor"] + self.page_size
        more = end if end < len(run.events) else None
        history = run.events[asked["cursor"] : end]
        return {"run": run.ref, "history": history, "history_next": more}

    def _due(self, asked: Json) -> list[tuple[Run, int]]:
        if not asked["room"]["activities"]:
            return []
        return [
            (run, seq)
            for run in self.runs.values()
            for seq, pending in run.activities.items()
            if run.open and pending.worker is None and pending.due <= self.clock.now
            if pending.command["name"] in asked["activities"]
            if pending.command["task_queue"] == asked["queue"]
        ]

    def _activity_tasks(self, asked: Json) -> list[Json]:
        due = self._due(asked)[: asked["room"]["activities"]]
        return [self._hand_out(run, seq, asked["worker_id"]) for run, seq in due]

    def _hand_out(self, run: Run, seq: int, worker: str, report: str | None = None) -> Json:
        pending = run.activities[seq]
        pending.worker, pending.report, pending.eager = worker, report, report is not None
        pending.attempt += 1
        pending.expires = self.clock.now + LEASE_SECS
        return self._activity_task(run, seq)

    def _activity_task(self, run: Run, seq: int) -> Json:
        pending = run.activities[seq]
        return {
            "run": run.ref,
            "workflow_type": run.workflow_type,
            "activity_id": 1000 + seq,
            "seq": seq,
            "attempt": pending.attempt,
            "max_attempts": pending.command.get("max_attempts", 3),
            "name": pending.command["name"],
            "task_queue": pending.command["task_queue"],
            "input": pending.command.get("input"),
            "eager": pending.eager,
            "lease_secs": LEASE_SECS,
            "start_to_close_secs": 300.0,
            "heartbeat_timeout_secs": pending.command.get("heartbeat_timeout_secs"),
            "scheduled_at": self.clock.now,
            "details": pending.details,
        }

    def _token(self) -> str:
        self._tokens += 1
        return f"lease-{self._tokens}"

    # -- reports ---------------------------------------------------------------------------------

    def _report(self, asked: Json, report: Json) -> Json:
        self.before_report(report)
        run = self.runs.get(report["run"]["id"])
        if run is None or run.ref != report["run"]:
            return _answer(report, "stale")
        if report["id"] in run.answered:
            return self._accepted(run, report)
        if not run.open:
            return _answer(report, "stale")
        apply = getattr(self, f"_apply_{report['kind']}")
        answer: Json = apply(run, asked, report)
        self._changed.set()
        return answer

    def _accepted(self, run: Run, report: Json) -> Json:
        run.answered.add(report["id"])
        mine = [seq for seq, each in run.activities.items() if each.report == report["id"]]
        answer = _answer(report, "accepted")
        answer["version"] = len(run.events)
        answer["activities"] = [self._activity_task(run, seq) for seq in mine]
        return answer

    def _apply_commands(self, run: Run, asked: Json, report: Json) -> Json:
        if run.lease != report["lease"] or run.lease_expires <= self.clock.now:
            return _answer(report, "stale")
        landed = len(run.events) > run.lease_seen
        run.lease = None
        closes = any(command["type"] in CLOSING for command in report["commands"])
        if closes and landed and run.refusals < 2:
            run.refusals += 1
            return _answer(report, "refused", "unseen_events")
        run.refusals = 0
        self._record(run, asked, report["id"], report["commands"], report["eager"])
        run.seen = run.lease_seen if landed else len(run.events)
        return self._accepted(run, report)

    def _apply_completed(self, run: Run, asked: Json, report: Json) -> Json:
        pending = run.activities.get(report["seq"])
        if pending is None:
            return _answer(report, "stale")
        payload = {"activity_seq": report["seq"], "result": report["result"], "error": None}
        return self._outcome(run, asked, report, "ActivityCompleted", payload)

    def _apply_failed(self, run: Run, asked: Json, report: Json) -> Json:
        pending = run.activities.get(report["seq"])
        if pending is None or pending.attempt != report["attempt"]:
            return _answer(report, "stale")
        task = self._activity_task(run, report["seq"])
        final = not report["retryable"] or report["attempt"] >= task["max_attempts"]
        if not final:
            assert report.get("then") is None
            pending.worker, pending.report = None, None
            pending.due = self.clock.now + 1.0
            return self._accepted(run, report)
        payload = {"activity_seq": report["seq"], "error": report["error"]}
        payload["final_attempt"] = report["attempt"]
        return self._outcome(run, asked, report, "ActivityFailed", payload)

    def _outcome(self, run: Run, asked: Json, report: Json, kind: str, payload: Json) -> Json:
        pending = run.activities[report["seq"]]
        payload["name"] = pending.command["name"]
        then = report.get("then")
        code = self._unfusable(run, asked, report) if then else None
        mine = (pending.worker, pending.attempt) == (asked["worker_id"], report["attempt"])
        if then and not (pending.eager and mine):
            return _answer(report, "stale")
        del run.activities[report["seq"]]
        if then is None or code is not None:
            self.land(run, kind, payload)
            return self._accepted(run, report) if code is None else self._refused(report, code)
        run.append(kind, payload, report["at"])
        self._record(run, asked, report["id"], then["commands"], then["eager"])
        run.seen = len(run.events)
        return self._accepted(run, report)

    def _refused(self, report: Json, code: str) -> Json:
        return _answer(report, "refused", code)

    def _unfusable(self, run: Run, asked: Json, report: Json) -> str | None:
        if run.lease is not None:
            return "lease_held"
        if abs(report["at"] - self.clock.now) > 5:
            return "clock_skew"
        if report["then"]["version"] != len(run.events):
            return "history_moved"
        return None

    def _apply_heartbeat(self, run: Run, asked: Json, report: Json) -> Json:
        pending = run.activities.get(report["seq"])
        mine = (asked["worker_id"], report["attempt"])
        if pending is None or (pending.worker, pending.attempt) != mine:
            return _answer(report, "stale")
        pending.details = report["details"]
        pending.expires = self.clock.now + LEASE_SECS
        return {**_answer(report, "accepted"), "cancel_requested": run.cancel_requested}

    def _apply_renew(self, run: Run, asked: Json, report: Json) -> Json:
        if run.lease != report["lease"]:
            return _answer(report, "stale")
        run.lease_expires = self.clock.now + LEASE_SECS
        return _answer(report, "accepted")

    def _apply_release(self, run: Run, asked: Json, report: Json) -> Json:
        if "lease" in report:
            if run.lease != report["lease"]:
                return _answer(report, "stale")
            run.lease = None
            return _answer(report, "accepted")
        pending = run.activities.get(report["seq"])
        if pending is None or pending.attempt != report["attempt"]:
            return _answer(report, "stale")
        pending.worker, pending.attempt = None, pending.attempt - 1
        return _answer(report, "accepted")

    # -- commands --------------------------------------------------------------------------------

    def _record(self, run: Run, asked: Json, report: str, commands: list[Json], eager: int) -> None:
        places = eager if self.eager else 0
        for command in commands:
            self._command(run, command)
            ours = command.get("task_queue") == asked["queue"]
            known = command.get("name") in asked["activities"]
            if command["type"] == "ScheduleActivity" and ours and known and places:
                places -= 1
                self._hand_out(run, command["seq"], asked["worker_id"], report)

    def _command(self, run: Run, command: Json) -> None:
        kind, now = command["type"], self.clock.now
        if kind == "RecordSnapshot":
            run.snapshot = command["state"]
        elif kind in CLOSING:
            self._close_run(run, kind, command)
        else:
            event_type, names = RECORDED[kind]
            run.append(event_type, {names[key]: command[key] for key in names}, now)
            self._take_effect(run, command, now)

    def _take_effect(self, run: Run, command: Json, now: float) -> None:
        match command:
            case {"type": "ScheduleActivity", "seq": seq}:
                run.activities[seq] = Pending(command, due=now)
            case {"type": "ScheduleTimer", "seq": seq, "duration_secs": secs}:
                run.timers[seq] = now + secs
            case {"type": "CancelTimer", "seq": seq}:
                run.timers.pop(seq, None)
            case {"type": "UpsertSearchAttributes", "patch": patch}:
                run.attributes |= patch

    def _close_run(self, run: Run, kind: str, command: Json) -> None:
        run.status, event_type = CLOSING[kind]
        payload = command.get("result", command.get("error"))
        run.append(event_type, payload, self.clock.now)
        run.activities.clear()
        run.timers.clear()
        run.closed.set()


def _answer(report: Json, status: str, code: str | None = None) -> Json:
    told = {"id": report["id"], "status": status, "code": code, "error": None}
    return {**told, "version": None, "mark": None, "activities": []}
