"""Some tasks of one workflow share a queue of jobs; no more than that many run at once."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass

from assay import Client, Worker, workflow


@dataclass(frozen=True)
class Plan:
    workers: int = 3
    jobs: int = 6


@dataclass(frozen=True)
class Done:
    worker: int
    job: int
    result: int


@dataclass(frozen=True)
class Summary:
    total: int
    processed: list[Done]


@workflow.define("WorkerPool")
async def worker_pool(ctx: workflow.Context, plan: Plan) -> Summary:
    jobs = workflow.Channel[int](10)  # sending waits while ten jobs lie in it
    processed: list[Done] = []

    async def work(number: int) -> None:
        async for job in jobs:
            result = await ctx.execute_activity(double, job)
            processed.append(Done(number, job, result))

    async with asyncio.TaskGroup() as workers:
        for number in range(1, plan.workers + 1):
            workers.create_task(work(number))
        for job in range(1, plan.jobs + 1):
            await jobs.send(job)
        jobs.close()  # the workers end when it is empty
    return Summary(sum(done.result for done in processed), processed)


@workflow.activity("double")
def double(job: int) -> int:
    return job * 2


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    url = os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")
    Worker(Client(url), queue="default").run()


if __name__ == "__main__":
    main()
