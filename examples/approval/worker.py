"""Build, wait for somebody's approval, deploy; `pipeline_state` shows how far it is."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import Any

from assay import Client, Worker, workflow

QUEUE = "deploys"
STEPS = ("Build", "Approval", "Deploy")


@dataclass(frozen=True)
class Request:
    git_sha: str
    target_env: str


@dataclass(frozen=True)
class Source:
    ref: str


@dataclass(frozen=True)
class Artifact:
    image: str


@dataclass(frozen=True)
class Release:
    image: str
    env: str


@dataclass(frozen=True)
class Deployment:
    deployed: str
    env: str


@dataclass(frozen=True)
class Approved(Deployment):
    approver: str


class Pipeline:
    """The state that clients see, in the shape that the dashboard shows as steps."""

    def __init__(self, ctx: workflow.Context) -> None:
        self._ctx = ctx
        self._steps: list[dict[str, Any]] = [{"name": name, "status": "waiting"} for name in STEPS]
        self._status = "running"
        self._current = 1
        self._log: list[dict[str, Any]] = []
        ctx.register_query("pipeline_state", self.state)

    def state(self) -> dict[str, Any]:
        return {
            "status": self._status,
            "current_step": self._current,
            "steps": self._steps,
            "log": self._log,
        }

    def begin(self, name: str, **more: Any) -> None:
        self._current = STEPS.index(name) + 1
        self._step.update(status="running", started_at=self._ctx.now().isoformat(), **more)

    def end(self, message: str, status: str = "done") -> None:
        self._step.update(status=status, completed_at=self._ctx.now().isoformat())
        time = f"{self._ctx.now():%H:%M:%S}"
        self._log.append({"time": time, "msg": message, "step": self._current})

    def close(self, status: str) -> None:
        self._status = status
        for step in self._steps:
            if step["status"] == "waiting":
                step["status"] = "skipped"

    @property
    def _step(self) -> dict[str, Any]:
        return self._steps[self._current - 1]


@workflow.define("ApproveAndDeploy")
async def approve_and_deploy(ctx: workflow.Context, request: Request) -> Approved:
    pipeline = Pipeline(ctx)

    pipeline.begin("Build")
    artifact = await ctx.execute_activity(build, Source(request.git_sha))
    pipeline.end(f"built {artifact.image}")

    pipeline.begin("Approval", actions=["approve", "reject"])
    decision = await ctx.wait_for_signal("step_action")
    approver = decision["user"]
    await ctx.upsert_search_attributes({"approver": approver})
    if decision["action"] != "approve":
        pipeline.end(f"rejected by {approver}", "cancelled")
        pipeline.close("cancelled")
        ctx.cancel(f"rejected by {approver}")
    pipeline.end(f"approved by {approver}")

    pipeline.begin("Deploy")
    done = await ctx.execute_activity(deploy, Release(artifact.image, request.target_env))
    pipeline.end(f"deployed to {done.env}")
    pipeline.close("done")
    return Approved(done.deployed, done.env, approver)


@workflow.activity("build")
def build(source: Source) -> Artifact:
    return Artifact(f"registry.example.com/app:{source.ref}")


@workflow.activity("deploy")
async def deploy(release: Release) -> Deployment:
    return Deployment(release.image, release.env)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    url = os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")
    Worker(Client(url), queue=QUEUE, wait_secs=1).run()


if __name__ == "__main__":
    main()
