"""The code in docs/sdk.md runs, its workflows do what the page says, and it names what there is."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assay import activity, channel, client, errors, failure, saga, testing, workflow
from assay._children import ChildOptions
from assay._context import ActivityOptions
from assay._message import Message
from assay._start import StartOptions
from assay.client import Client, WorkflowHandle
from assay.worker import WorkerOptions

from .examples.page_scenes import MODULES, REFUSED, SCENES
from .scripted import RECORD, STARTED, Script, play_awaiting, play_blocking

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sdk.md").read_text()
BLOCKS: list[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
WORKFLOWS = {
    name: number
    for number, block in enumerate(BLOCKS)
    for name in re.findall(r'@workflow\.define\("(\w+)"\)', block)
}

Load = Callable[[int], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Run a block as a module of its own; what it registers is forgotten afterwards."""
    monkeypatch.setattr(workflow, "default_registry", workflow.Registry())
    loaded: list[str] = []

    def run(number: int) -> ModuleType:
        module = ModuleType(f"docs_block_{number}")
        loaded.append(module.__name__)
        sys.modules[module.__name__] = module
        exec(compile(BLOCKS[number], f"docs/sdk.md block {number}", "exec"), module.__dict__)
        return module

    yield run
    for name in loaded:
        del sys.modules[name]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_page_runs(number: int, load: Load) -> None:
    assert any(callable(value) for value in vars(load(number)).values())


# -- its workflows and functions -------------------------------------------------------------------


def test_every_workflow_of_the_page_has_a_scene() -> None:
    assert SCENES.keys() == WORKFLOWS.keys()


@pytest.mark.parametrize("name", SCENES)
def test_a_workflow_does_what_the_page_says(name: str, load: Load) -> None:
    load(WORKFLOWS[name])
    play, expected = SCENES[name]

    with testing.Environment() as env:
        assert play(env) == expected


def _block(text: str) -> int:
    return next(number for number, block in enumerate(BLOCKS) if text in block)


def test_the_tests_on_the_page_pass(load: Load) -> None:
    module = load(_block("def test_an_approved_order_is_paid"))
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]

    assert len(tests) == 2
    for test in tests:
        test()


def test_what_the_page_keeps_it_can_replay(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(WORKFLOWS["Hello"])
    with testing.Environment() as env:
        run = env.start("Hello", "Ada", id="h-1")
        run.result()
    events = [
        {
            "id": event.seq,
            "workflow_id": "h-1",
            "seq": event.seq,
            "event_type": event.event_type,
            "payload": json.dumps(event.payload),
            "timestamp": event.timestamp,
        }
        for event in run.history
    ]
    record = {**RECORD, "id": "h-1", "workflow_type": "Hello"}
    (tmp_path / "tests" / "histories").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    module = load(_block("def keep("))
    play_blocking(Script((200, record), (200, events)), lambda client: module.keep(client, "h-1"))

    module.test_open_runs_can_go_on_with_this_code()
    assert [file.name for file in tmp_path.glob("tests/histories/*")] == ["h-1.json"]


def test_the_difference_that_the_page_shows_is_the_one_that_is_told() -> None:
    old, new = workflow.Registry(), workflow.Registry()

    @old.define("Payment")
    async def payment(ctx: workflow.Context, order: Any) -> Any:
        return await ctx.execute_activity("charge", order)

    with testing.Environment(registry=old) as env:
        env.activity("charge", lambda: "paid")
        run = env.start("Payment", {"total": 5})
        run.result()

    block = BLOCKS[WORKFLOWS["Payment"]]
    without_version = re.sub(r"    if ctx\.version.*\n.*\n", "", block)
    names: dict[str, Any] = {"workflow": new}
    code = without_version.replace("from assay import workflow", "").replace(
        ": workflow.Context", ""
    )
    exec(compile(code, "payments.py", "exec"), names)

    with pytest.raises(errors.NonDeterminismError) as told:
        testing.replay(run.export(), new)
    shown = next(
        text for text in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if "got:" in text
    )
    assert shown.strip() in str(told.value)


def test_the_table_of_what_is_refused_has_a_case_each() -> None:
    rows = PAGE.split("| refused | use |\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]

    assert {name for row in rows for name in re.findall("`(.*?)`", row.split("|")[1])} == set(
        REFUSED
    )


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_page_says_is_refused_is(name: str) -> None:
    registry = workflow.Registry()
    call = compile(REFUSED[name], "reaching.py", "eval")
    names: dict[str, Any] = {}
    exec(f"import {MODULES}\nfrom datetime import UTC, date, datetime", names)

    @registry.define("Reaching")
    async def reaching() -> None:
        eval(call, names)

    with testing.Environment(registry=registry) as env, pytest.raises(errors.ForbiddenCallError):
        env.start("Reaching").result()


def test_the_page_greets_by_a_client(
    load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = load(_block('client.execute("Hello"'))
    script = Script((201, STARTED), (200, {**RECORD, "result": '"Hello, Ada!"'}))
    monkeypatch.setattr(module, "Client", lambda url: Client(url, transport=script))
    module.main()

    assert capsys.readouterr().out == "Hello, Ada!\n"


def test_the_page_starts_with_the_options_that_it_names(load: Load) -> None:
    module = load(WORKFLOWS["Parcel"])
    script = Script((201, STARTED), (200, RECORD))

    assert play_blocking(script, module.ship) == "done"
    assert script.asked()[0][3] == {
        "workflow_type": "Parcel",
        "namespace": "main",
        "task_queue": "default",
        "input": "order-7",
        "id_conflict_policy": "use_existing",
        "context": {"tenant": "acme"},
        "run_timeout": 3600.0,
        "retry_policy": {"maximum_attempts": 3},
        "messages": [{"name": "shipped", "payload": "no. 5"}],
        "workflow_id": "order-7",
    }


def test_the_page_lists_runs_with_a_problem(load: Load) -> None:
    stuck = {**RECORD, "problem": {"code": "non_determinism", "text": "differs", "since": 5.0}}
    script = Script((200, [stuck, RECORD]))
    found = play_blocking(script, load(_block("def stuck")).stuck)

    assert len(found) == 1
    assert "non_determinism" in found[0]


def test_the_page_approves_by_an_asynchronous_client(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load(_block("async def approve"))

    class Here:
        """Stands for `AsyncClient(url)` where there is one already."""

        def __init__(self, client: Any) -> None:
            self.client = client

        async def __aenter__(self) -> Any:
            return self.client

        async def __aexit__(self, *_: object) -> None:
            return None

    async def approve(client: Any) -> Any:
        monkeypatch.setattr(module, "AsyncClient", lambda url: Here(client))
        return await module.approve("http://e", "w-1")

    assert play_awaiting(Script((200, {}), (200, RECORD)), approve) == "done"


# -- completeness --------------------------------------------------------------------------------


def _public(owner: Any) -> set[str]:
    return {name for name in vars(owner) if not name.startswith("_")}


def _told(name: str) -> bool:
    """Say whether the page names it, as code."""
    return re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", PAGE) is not None


def _untold(names: set[str]) -> set[str]:
    return {name for name in names if not _told(name)}


def _first_column(heading: str) -> set[str]:
    """Return the code in the first column of the table under a heading of columns."""
    rows = PAGE.split(heading, 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`(?:await )?(\w+)", row.split("|")[1])}


def test_the_table_of_the_context_is_complete() -> None:
    public = _public(workflow.Context) | {"context", "random"}

    assert _first_column("| `ctx` | |") == public


def test_the_tables_of_options_are_complete() -> None:
    assert _first_column("| option of an activity |") == set(ActivityOptions.__annotations__)
    assert _first_column("| option of a child |") == set(ChildOptions.__annotations__)
    assert _first_column("| option of a start |") == set(StartOptions.__annotations__)
    assert _first_column("| option | default |") == set(WorkerOptions.__annotations__) - {"clock"}


def test_the_fields_of_info_are_named() -> None:
    line = next(line for line in PAGE.splitlines() if line.startswith("`info` "))
    fields = set(workflow.Info.__dataclass_fields__) - {"context", "incarnation"}

    assert set(re.findall(r"`(\w+)`", line)) == fields | {"info"}


@pytest.mark.parametrize(
    ("owner", "besides"),
    [
        (Client, set()),
        (client.Schedules, set()),
        (client.Namespaces, set()),
        (client.RetryPolicy, {"wire"}),
        (WorkflowHandle, set()),
        (activity.Context, set()),
        (channel.Channel, set()),
        (workflow.ChildHandle, set()),
        (workflow.Exited, set()),
        (Message, set()),
        (saga.Saga, set()),
        (failure.Failure, {"read", "says_more", "wire"}),
        (testing.Environment, set()),
        (testing.Run, set()),
    ],
)
def test_what_a_user_can_call_is_named(owner: Any, besides: set[str]) -> None:
    assert _untold(_public(owner)) == besides


@pytest.mark.parametrize("module", [workflow, activity, testing])
def test_the_names_of_a_module_are_named(module: Any) -> None:
    assert _untold(set(module.__all__)) <= {"ActivityOptions", "ChildOptions"}


def test_the_tree_of_errors_is_the_one_in_the_code() -> None:
    assert errors.__doc__ is not None
    tree = re.search(r"    AssayError\n(?:    .*\n)+", errors.__doc__)

    assert tree is not None
    assert re.sub("^    ", "", tree.group(0), flags=re.MULTILINE) in PAGE


# What the Lua client has, and the functions and options of the Temporal-style page.
LUA = """
connect define activity listen start list describe get_events get_state list_children signal
cancel terminate continue_as_new schedules namespaces workers queues create patch pause resume
delete stats execute_activity execute_parallel sleep wait_for_signal start_child_workflow
side_effect register_query upsert_search_attributes heartbeat queue identity
max_concurrent_workflows max_concurrent_activities namespace token status type search_attrs limit
offset task_queue max_attempts initial_interval_secs backoff_coefficient start_to_close_secs
heartbeat_timeout_secs timeout pipeline_state step_action
"""
TEMPORAL_STYLE = """
workflow.info workflow.exec workflow.version workflow.attrs workflow.history_length
workflow.history_size process.spawn process.spawn_monitored process.exec process.with_options
with_name with_message process.with_context ctx.get ctx.all process.inbox process.listen msg:topic
msg:payload msg:from process.send channel.new channel.select case_receive time.after
coroutine.spawn time.sleep time.now uuid.v4 crypto.random_bytes process.events process.event.EXIT
process.event.LINK_DOWN process.monitor process.unmonitor process.link process.unlink
process.set_options trap_links process.terminate process.cancel funcs.call funcs.new
activity.retry_policy err:kind err:retryable err:message event.result.value event.result.error
id task_queue execution_timeout run_timeout task_timeout id_conflict_policy id_reuse_policy
execution_error_when_already_started retry_policy cron_schedule memo search_attributes
enable_eager_start start_delay parent_close_policy wait_for_cancellation namespace
"""


@pytest.mark.parametrize(
    ("heading", "names"),
    [("Coming from the Lua client", LUA), ("Coming from the Temporal-style page", TEMPORAL_STYLE)],
)
def test_everything_has_its_python_form(heading: str, names: str) -> None:
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    first = "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("|"))

    missing = [name for name in names.split() if not re.search(rf"\b{re.escape(name)}\b", first)]
    assert missing == []
