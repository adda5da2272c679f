"""A report with an id of its own, and one child workflow for each anomaly it finds."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
from dataclasses import dataclass

from assay import Client, Worker, workflow

logger = logging.getLogger("nightly-report")


@dataclass(frozen=True)
class Request:
    region: str


@dataclass(frozen=True)
class Anomaly:
    id: str
    kind: str


@dataclass(frozen=True)
class Case:
    report_id: str
    anomaly: Anomaly


@dataclass(frozen=True)
class Handled:
    anomaly: Anomaly
    fixed: bool


@dataclass(frozen=True)
class Report:
    report_id: str
    region: str
    anomalies_handled: int


@workflow.define("NightlyReport")
async def nightly_report(ctx: workflow.Context, request: Request) -> Report:
    # Recorded in history: a worker that takes over after a crash gets this id, not a new one.
    report_id = await ctx.side_effect("issue_report_id", issue_report_id)
    anomalies = await ctx.execute_activity(scan_anomalies, request.region)
    handled = await asyncio.gather(
        *(
            ctx.start_child_workflow(
                handle_anomaly,
                Case(report_id, anomaly),
                workflow_id=f"{report_id}-anomaly-{number}",
            )
            for number, anomaly in enumerate(anomalies, 1)
        )
    )
    return Report(report_id, request.region, sum(each.fixed for each in handled))


@workflow.define("HandleAnomaly")
async def handle_anomaly(ctx: workflow.Context, case: Case) -> Handled:
    return Handled(case.anomaly, await ctx.execute_activity(remediate, case))


def issue_report_id() -> str:
    return f"rep-{time.strftime('%Y-%m-%d')}-{random.randint(10_000, 99_999)}"


@workflow.activity("scan_anomalies")
def scan_anomalies(region: str) -> list[Anomaly]:
    logger.info("scanning %s", region)
    return [
        Anomaly("a-1", "stale_lock"),
        Anomaly("a-2", "missing_index"),
        Anomaly("a-3", "orphaned_record"),
    ]


@workflow.activity("remediate")
def remediate(case: Case) -> bool:
    logger.info("%s: mending %s", case.report_id, case.anomaly.kind)
    return True


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    url = os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")
    Worker(Client(url), queue="default").run()


if __name__ == "__main__":
    main()
