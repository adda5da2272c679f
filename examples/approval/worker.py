"""Build, wait for somebody's approval, deploy; `pipeline_state` shows how far it is."""

from __future__ import annotations

import logging
import os
from typing import Any

from assay import Client, Worker, activity, workflow

QUEUE = "deploys"
STEPS = ("Build", "Approval", "Deploy")


class Pipeline:
    """The state that clients and the dashboard see."""

    def __init__(self, ctx: workflow.Context) -> None:
        self._ctx = ctx
        self._steps: list[dict[str, Any]] = [{"name": name, "status": "waiting"} for name in STEPS]
        self._status = "running"
        ctx.register_query("pipeline_state", self.state)

    def state(self) -> dict[str, Any]:
        running = [number for number, step in enumerate(self._steps, 1) if "started_at" in step]
        return {
            "status": self._status,
            "current_step": max(running, default=1),
            "steps": self._steps,
        }

    def begin(self, name: str, **more: Any) -> None:
        self._step(name).update(status="running", started_at=self._ctx.now(), **more)

    def end(self, name: str, status: str = "done") -> None:
        self._step(name).update(status=status, completed_at=self._ctx.now())

    def close(self, status: str) -> None:
        self._status = status
        for step in self._steps:
            if step["status"] == "waiting":
                step["status"] = "skipped"

    def _step(self, name: str) -> dict[str, Any]:
        return next(step for step in self._steps if step["name"] == name)


@workflow.define("ApproveAndDeploy")
async def approve_and_deploy(ctx: workflow.Context, input: dict[str, Any]) -> dict[str, Any]:
    pipeline = Pipeline(ctx)

    pipeline.begin("Build")
    artifact = await ctx.execute_activity("build", {"ref": input["git_sha"]})
    pipeline.end("Build")

    pipeline.begin("Approval", actions=["approve", "reject"])
    decision = await ctx.wait_for_signal("step_action")
    await ctx.upsert_search_attributes({"approver": decision["user"]})
    if decision["action"] != "approve":
        pipeline.end("Approval", "cancelled")
        pipeline.close("cancelled")
        ctx.cancel(f"rejected by {decision['user']}")
    pipeline.end("Approval")

    pipeline.begin("Deploy")
    deployed = await ctx.execute_activity(
        "deploy", {"image": artifact["image"], "env": input["target_env"]}
    )
    pipeline.end("Deploy")
    pipeline.close("done")
    return {**deployed, "approver": decision["user"]}


@workflow.activity("build")
def build(_ctx: activity.Context, input: dict[str, Any]) -> dict[str, Any]:
    return {"image": f"registry.example.com/app:{input['ref']}"}


@workflow.activity("deploy")
async def deploy(_ctx: activity.Context, input: dict[str, Any]) -> dict[str, Any]:
    return {"deployed": input["image"], "env": input["env"]}


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    url = os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")
    Worker(Client(url), queue=QUEUE, wait_secs=1).run()


if __name__ == "__main__":
    main()
