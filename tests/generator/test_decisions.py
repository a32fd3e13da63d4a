"""Every call whose answer holds what a task asks for is decided, and the accepts of the rows agree."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from infranode_eval.generator.carriers import snapshot_carriers
from infranode_eval.generator.decisions import Check, Decision, Decisions, candidates, problems
from infranode_eval.generator.templates import phrasings
from infranode_eval.shipped import read_shipped
from lm_eval_task.dataset import load_tasks
from lm_eval_task.datum import Carriers
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools()


@cache
def table() -> Carriers:
    return snapshot_carriers(TOOLS)


def test_the_shipped_tasks_and_phrasings_have_no_undecided_call() -> None:
    found, counts = problems(load_tasks(TOOLS, "all"), phrasings().values(), table())
    assert not found
    assert counts["gold"] > 3000 and counts["reject"] > 3000 and counts["accept"] > 50 and "undecided" not in counts


def test_every_rule_is_used_and_every_decision_gives_a_reason() -> None:
    value = read_shipped("datum.json")
    rows = [*value["decisions"], *value["overrides"]]
    assert {row["rule"] for row in rows} == set(value["rules"])
    assert all(len(row["reason"]) > 20 for row in rows)
    tasks = {task.task_id for task in load_tasks(TOOLS, "all")}
    assert all(row.get("phrasing") in phrasings() or row.get("task") in tasks for row in value["overrides"])


def call(name: str, **arguments: Any) -> Call:
    return Call(name, {"slug": "koeln", **arguments})


def key(resource: str) -> Call:
    return call("get_city_resource", resource=resource)


def task(*expected: Call, datum: list[str], accept: Any = (), phrasing: str = "made-1", category: str = "",
         **more: Any) -> Task:
    return Task("t", "Frage?", expected, accept, category, extra={"phrasing": phrasing, "datum": datum, **more})


SMALL = Carriers({
    "a.x": frozenset(("get_city_resource/a", "get_city_overview", "get_city_resource/overview", "compare/a")),
    "b.x": frozenset(("get_city_resource/b",)), "base.x": frozenset(("get_city", "get_city_resource/base")),
}, {"get_city_resource/b": frozenset(("bonn",))})


def decided(*rows: tuple[Any, ...], neighbours: Any = ()) -> Decisions:
    """rows: (datum, call, verdict) or (datum, call, verdict, phrasing)."""
    made = [Decision((row[1],), row[2], "specific", "because", (row[0],) if len(row) == 3 else (),
                     row[3] if len(row) == 4 else None) for row in rows]
    return Decisions(tuple(made), tuple(neighbours))


OVERVIEW = ("a.*", "get_city_overview", "reject")
COMPARE = ("a.*", "compare/*", "reject")
CASES = [
    (task(key("a"), datum=["a.x"]), [OVERVIEW, COMPARE], [], "both are decided, the other spelling follows"),
    (task(key("a"), datum=["a.x"]), [OVERVIEW], ["t: compare/a: a.x: undecided"], "one is not"),
    (task(key("a"), datum=["a.x"]), [("a.*", "*", "accept"), ],
     ["t: compare/a: decided accept, but not in accept", "t: get_city_overview: decided accept, but not in accept"],
     "accepted by the table, not by the row"),
    (task(key("a"), datum=["a.x"], accept=((call("get_city_overview"),),)), [OVERVIEW, COMPARE],
     ["t: get_city_overview: in accept, but no decision accepts it"], "accepted by the row, not by the table"),
    (task(key("a"), datum=["a.x"], accept=((call("get_city_overview"),),)),
     [(None, "get_city_overview", "accept", "made-1"), OVERVIEW, COMPARE], ["a.*: get_city_overview: reject: stale"],
     "an override comes first, and leaves the rule without a candidate"),
    (task(key("a"), datum=["a.x"], accept=((call("get_city_overview"),),)),
     [(None, "get_city_overview", "accept", "t"), COMPARE], [], "an override for one task, by its id"),
    (task(key("a"), datum=["a.x"], accept=((key("a"), key("b")),)), [OVERVIEW, COMPARE],
     ["t: get_city_resource/a + get_city_resource/b: in accept, but no decision accepts it"], "a plan of two calls"),
    (task(call("get_city"), datum=["base.x"]), [], [], "the same request needs no decision"),
    (task(call("get_city"), datum=["base.x"]), [("base.*", "get_city_overview", "reject")],
     ["base.*: get_city_overview: reject: stale"], "a decision without a candidate"),
    (task(key("a"), datum=["a.x", "a.y"]), [OVERVIEW, COMPARE], ["t: no gold call holds a.y"], "an unknown datum"),
    (task(key("b"), datum=["b.x"]), [], ["t: no gold call holds b.x"], "the gold does not answer for the city"),
    (task(key("b"), datum=["b.x"], category="not_covered"), [], [], "which is what not_covered is about"),
    (task(key("a"), datum=["a.x"], category="not_covered"), [OVERVIEW, COMPARE],
     ["t: the uncovered city's answer holds a.x"], "it is covered"),
    (task(key("a"), datum=[]), [], ["t: names no datum"], "nothing to look for"),
    (task(datum=[]), [], [], "no call is right"),
    (task(key("a"), call("get_city"), datum=["a.x", "base.x"]), [OVERVIEW, COMPARE], [], "two calls, each for its own"),
    (task(key("a"), datum=["a.x"], then=[Call("station_board_departures", {"eva": "8000207"}).to_json()]),
     [OVERVIEW, COMPARE], ["t: station_board_departures: a.x: undecided"], "a call after the look-up is decided, too"),
]


@pytest.mark.parametrize(("asked", "rows", "lines", "why"), CASES, ids=[row[-1] for row in CASES])
def test_problems(asked: Task, rows: list[Any], lines: list[str], why: str) -> None:
    check = Check(SMALL, decided(*rows))
    found = check.problems(asked) + check.stale()
    assert len(found) == len(lines) and all(one.startswith(line) for one, line in zip(found, lines, strict=True)), found


def test_cities_side_by_side_need_a_decision_on_one_call_each() -> None:
    asked = task(Call("compare", {"resource": "a", "cities": "bonn,koeln"}), datum=["a.x"])
    labels = [c.label for c in candidates(asked, SMALL, decided())]
    assert labels == ["compare/a", "each:get_city_overview", "each:get_city_resource/a",
                      "each:get_city_resource/overview"]


def test_neighbours_are_candidates_where_they_answer() -> None:
    near = decided(neighbours=[("base.*", ("get_city_resource/a", "get_city_resource/b"))])
    found = [c.label for c in candidates(task(call("get_city"), datum=["base.x"]), SMALL, near)]
    assert "get_city_resource/a" in found and "get_city_resource/b" not in found
    assert "get_city_resource/b" in [c.label for c in candidates(
        task(Call("get_city", {"slug": "bonn"}), datum=["base.x"]), SMALL, near)]


@pytest.mark.parametrize("row", [
    {"datum": "a.*", "decision": "reject", "rule": "specific", "reason": "no call"},
    {"datum": "a.*", "call": "b", "decision": "perhaps", "rule": "specific", "reason": "no such verdict"}])
def test_a_broken_decision_is_refused(row: dict[str, str]) -> None:
    with pytest.raises(DataError, match=r"datum\.json"):
        Decision.from_json(row)
