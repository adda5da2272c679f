"""What stands behind the question mark."""

import json
from urllib.parse import quote

import pytest

from tests.web.calls import Calls
from tests.web.fakes import HandClock


@pytest.fixture(autouse=True)
def _runs(calls: Calls, clock: HandClock) -> None:
    for number in range(1, 6):
        attributes = {"n": number, "even": number % 2 == 0, "text": f"{number}"}
        calls.start(f"r{number}", workflow_type=f"T{number % 2}", search_attributes=attributes)
        clock.time += 1


def _ids(calls: Calls, query: str) -> list[str]:
    answer = calls.get(f"/workflows{query}")
    assert answer.status == 200, answer
    return [record["id"] for record in answer.body]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("", ["r5", "r4", "r3", "r2", "r1"]),
        ("?limit=2", ["r5", "r4"]),
        ("?limit=2&offset=2", ["r3", "r2"]),
        ("?limit=0", []),
        ("?limit=-1", ["r5", "r4", "r3", "r2", "r1"]),
        ("?limit=-7&offset=-3", ["r5", "r4", "r3", "r2", "r1"]),
        ("?offset=99", []),
        ("?limit=%2B2", ["r5", "r4"]),
        ("?type=T0", ["r4", "r2"]),
        ("?type=", []),
        ("?status=PENDING&type=T1", ["r5", "r3", "r1"]),
        ("?status=pending&limit=1", ["r5"]),
        ("?status=&limit=1", ["r5"]),
        ("?status=COMPLETED", []),
        ("?namespace=other", []),
        ("?namespace=%ff", []),
        ("?claimed_by=w-1&limit=1", ["r5"]),
        ("?foo=1&foo=2&limit=1", ["r5"]),
        ("?search_attrs=&limit=1", ["r5"]),
    ],
)
def test_a_list_is_newest_first_and_filtered(calls: Calls, query: str, ids: list[str]) -> None:
    assert _ids(calls, query) == ids


@pytest.mark.parametrize(
    ("attributes", "ids"),
    [
        ({"n": 3}, ["r3"]),
        ({"n": 3.0}, ["r3"]),
        ({"n": "3"}, []),
        ({"text": "3"}, ["r3"]),
        ({"even": True}, ["r4", "r2"]),
        ({"even": 1}, []),
        ({"even": True, "n": 4}, ["r4"]),
        ({"nobody": None}, []),
        ({}, ["r5", "r4", "r3", "r2", "r1"]),
    ],
)
def test_attributes_are_compared_by_type_and_value(
    calls: Calls, attributes: dict[str, object], ids: list[str]
) -> None:
    assert _ids(calls, f"?search_attrs={quote(json.dumps(attributes))}") == ids


@pytest.mark.parametrize(
    "query",
    [
        "?limit=x",
        "?limit=",
        "?limit=1.5",
        "?limit=99999999999999999999",
        "?offset=x",
        "?limit=1&limit=2",
        "?namespace=a&namespace=b",
        "?status=BOGUS",
        "?status=TERMINATED",
        "?status=PENDING&status=FAILED",
        "?search_attrs=nope",
        "?search_attrs=[1]",
        "?search_attrs=%7B",
        "?search_attrs=null",
    ],
)
def test_a_parameter_that_cannot_be_read_or_is_given_twice_is_400(calls: Calls, query: str) -> None:
    answer = calls.get(f"/workflows{query}")
    assert (answer.status, answer.body["code"]) == (400, "bad_request")
    assert query[1:].split("=", maxsplit=1)[0] in answer.body["error"]


@pytest.fixture
def _history(calls: Calls) -> None:
    for number in range(2, 8):
        calls.post("/workflows/r1/signal/go", {"payload": number})


@pytest.mark.usefixtures("_history")
@pytest.mark.parametrize(
    ("query", "seqs"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7]),
        ("?limit=2", [1, 2]),
        ("?limit=2&cursor=2", [3, 4]),
        ("?cursor=5", [6, 7]),
        ("?cursor=7", []),
        ("?cursor=-5&limit=1", [1]),
        ("?order=desc&limit=2", [7, 6]),
        ("?order=desc&cursor=6&limit=2", [5, 4]),
        ("?order=desc&cursor=1", []),
        ("?order=asc", [1, 2, 3, 4, 5, 6, 7]),
        ("?limit=0", [1]),
        ("?limit=65535", [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_a_history_is_read_whole_or_in_pages(calls: Calls, query: str, seqs: list[int]) -> None:
    answer = calls.get(f"/workflows/r1/events{query}")
    assert [event["seq"] for event in answer.body] == seqs


@pytest.mark.parametrize(
    "query",
    [
        "?limit=-1",
        "?limit=65536",
        "?limit=x",
        "?cursor=abc",
        "?cursor=",
        "?order=DESC",
        "?order=",
        "?order=asc&order=desc",
        "?limit=1&limit=1",
    ],
)
def test_a_page_that_cannot_be_understood_is_400(calls: Calls, query: str) -> None:
    assert calls.get(f"/workflows/r1/events{query}").status == 400


def test_an_unknown_run_has_no_events_and_no_children(calls: Calls) -> None:
    assert calls.get("/workflows/nope/events").body == []
    assert calls.get("/workflows/nope/events?limit=3").body == []
    assert calls.get("/workflows/nope/children").body == []
    assert calls.get("/workflows/nope/state").status == 404
