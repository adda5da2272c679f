"""Looks again and again until something is ready, without a history that grows for ever."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace

from assay import Client, Worker, workflow

CHECKS_PER_RUN = 3

logger = logging.getLogger("poller")


@dataclass(frozen=True)
class Job:
    name: str
    ready_after: int
    every: str = "1m"
    checks: int = 0


@dataclass(frozen=True)
class Ready:
    name: str
    checks: int


@workflow.define("Poller")
async def poller(ctx: workflow.Context, job: Job) -> Ready:
    while True:
        job = replace(job, checks=job.checks + 1)
        if await ctx.execute_activity(is_ready, job, max_attempts=10):
            return Ready(job.name, job.checks)
        await ctx.sleep(job.every)
        if job.checks % CHECKS_PER_RUN == 0:
            ctx.continue_as_new(job)


@workflow.activity("is_ready")
def is_ready(job: Job) -> bool:
    logger.info("looking at %s, time %d", job.name, job.checks)
    return job.checks >= job.ready_after


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    url = os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")
    Worker(Client(url), queue="default").run()


if __name__ == "__main__":
    main()
