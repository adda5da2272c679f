"""A worker of the old kind, plain HTTP: `python -m tests.crash.legacy_worker URL JOURNAL`.

It does one thing after the other, replays the whole history each time, and repeats nothing:
what was lost on the way is the engine's to notice.
"""

import os
import sys
import time
from typing import Any

import httpx

from tests.crash.journal import Journal

POLICY = {
    "max_attempts": 20,
    "initial_interval_secs": 0.1,
    "heartbeat_timeout_secs": 1,
}
Event = dict[str, Any]
Command = dict[str, Any]


class LegacyWorker:
    def __init__(self, url: str, journal: Journal, queue: str = "payments") -> None:
        self._http = httpx.Client(base_url=f"{url}/api/v1", timeout=30.0)
        self._journal = journal
        self._queue = queue
        registration = {
            "identity": f"legacy-{os.getpid()}",
            "queue": queue,
            "workflows": ["Pay"],
            "activities": ["charge", "ship"],
        }
        self._id = self.post("/workers/register", **registration)["worker_id"]

    def post(self, path: str, **body: Any) -> Any:
        answer = self._http.post(path, json=body)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def work(self) -> bool:
        """One iteration of the loop; whether there was anything to do."""
        me = {"queue": self._queue, "worker_id": self._id}
        if task := self.post("/workflow-tasks/poll", **me):
            decided = decide(task["history"], self._journal)
            commands = [_on(self._queue, command) for command in decided]
            path = f"/workflow-tasks/{task['workflow_id']}/commands"
            self.post(path, worker_id=self._id, commands=commands)
            return True
        activity = self.post("/tasks/poll", **me)
        if "id" in activity:
            self.complete(activity, self.run(activity))
            return True
        return False

    def close(self) -> None:
        self._http.close()

    def complete(self, activity: dict[str, Any], result: str) -> None:
        self.post(f"/tasks/{activity['id']}/complete", result=result)

    def run(self, activity: dict[str, Any]) -> str:
        self._journal.note(activity["name"], activity["workflow_id"], activity["attempt"])
        if activity["name"] == "charge":
            self._journal.hang("activity")
        return {"charge": "charged", "ship": "shipped"}[activity["name"]]


def decide(history: list[Event], journal: Journal) -> list[Command]:
    """What the workflow does next: a function of its history alone."""
    payloads = {
        kind: [event["payload"] for event in history if event["event_type"] == kind]
        for kind in ("SideEffectRecorded", "SignalReceived", "ActivityCompleted")
    }
    if not payloads["SideEffectRecorded"]:
        token = os.urandom(8).hex()
        return [{"type": "RecordSideEffect", "seq": 1, "name": "token", "value": token}]
    if "go" not in [signal["signal"] for signal in payloads["SignalReceived"]]:
        return [{"type": "WaitForSignal", "name": "go"}]
    journal.hang("workflow task")
    token = payloads["SideEffectRecorded"][0]["value"]
    results = {done["activity_seq"]: done["result"] for done in payloads["ActivityCompleted"]}
    for seq, name in enumerate(("charge", "ship"), start=1):
        if seq not in results:
            return [
                {"type": "ScheduleActivity", "seq": seq, "name": name, "input": token, **POLICY}
            ]
    result = {"token": token, "charged": results[1], "shipped": results[2]}
    return [{"type": "CompleteWorkflow", "result": result}]


def _on(queue: str, command: Command) -> Command:
    """Activities are for this worker, too."""
    return command | {"task_queue": queue} if command["type"] == "ScheduleActivity" else command


def main(url: str, path: str) -> None:
    worker = LegacyWorker(url, Journal(path))
    while True:
        if not worker.work():
            time.sleep(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
