"""Choosing the tasks of a run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from lm_eval_task.dataset import CHOICES, choose, load_tasks, retired_in, version_after
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
SHIPPED = Path(__file__).parent.parent / "tasks.jsonl"


def file_of(path: Path, *sets: str | None) -> Path:
    rows = [{"task_id": f"t{i}", "question": "?", "expected": [], **({} if s is None else {"set": s})}
            for i, s in enumerate(sets)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


CHOSEN = [
    ("core", ["core"]), ("extended", ["extended"]), ("robust", ["robust"]), ("abstain", ["abstain"]),
    ("all", ["core", "extended", "abstain", "robust", None]), ("full", ["core", "extended"]),
]


@pytest.mark.parametrize(("which", "sets"), CHOSEN, ids=[c[0] for c in CHOSEN])
def test_set(tmp_path: Path, which: str, sets: list[str | None]) -> None:
    path = file_of(tmp_path / "tasks.jsonl", "core", "extended", "abstain", "robust", None)
    assert [t.set for t in load_tasks(TOOLS, which, path)] == sets


@pytest.mark.parametrize("which", [*CHOICES, "full"])
def test_a_file_without_sets_runs_whole(tmp_path: Path, which: str) -> None:
    assert len(load_tasks(TOOLS, which, file_of(tmp_path / "tasks.jsonl", None, None, None))) == 3


def test_a_set_that_the_file_does_not_have_is_named(tmp_path: Path) -> None:
    path = file_of(tmp_path / "tasks.jsonl", "core", None)
    with pytest.raises(DataError, match="no task of set robust; it has core"):
        load_tasks(TOOLS, "robust", path)


def test_an_unknown_set_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="core, extended, robust, abstain, all"):
        load_tasks(TOOLS, "kern", file_of(tmp_path / "tasks.jsonl", None))


def test_a_gold_outside_the_tools_names_file_and_task(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"task_id": "t", "question": "?", "expected": [{"name": "weather", "arguments": {"ort": "k"}}]}',
    "utf-8")
    with pytest.raises(DataError) as error:
        load_tasks(TOOLS, "core", path)
    assert "task t" in str(error.value) and str(path) in str(error.value)


def test_the_order_of_the_file_is_kept() -> None:
    tasks = [Task(str(i), "?", (Call("list_cities"),), set=s) for i, s in enumerate(("extended", "core", "extended",
    "core"))]
    assert [t.task_id for t in choose(tasks, "full")] == ["0", "1", "2", "3"]
    assert [t.task_id for t in choose(tasks, "core")] == ["1", "3"]


@pytest.mark.skipif(not SHIPPED.is_file(), reason="tasks.jsonl is not built yet")
def test_the_core_set_of_the_project() -> None:
    core = load_tasks(TOOLS)
    assert Counter(t.category for t in core) == {
        "routing_broad": 12, "routing_named": 12, "resource_key": 24, "slug_resolution": 8, "poi_type": 12,
        "compare_multi": 5, "not_covered": 12, "two_step": 6}
    assert len({t.question for t in load_tasks(TOOLS, "full")}) == len(load_tasks(TOOLS, "full"))
    assert len(load_tasks(TOOLS, "extended")) >= 600


# --- retired rows -----------------------------------------------------------------------------------------------------

def retired_file(path: Path, *marks: object, **fields: object) -> Path:
    """One row a mark; None for a row in use."""
    rows = [{"task_id": f"t{i}", "set": "core", "question": "?", "expected": [], **fields,
             **({} if mark is None else {"retired": mark})} for i, mark in enumerate(marks)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


GONE = {"date": "2026-12-05", "reason": "wrong call: 404 not_found"}


@pytest.mark.parametrize("which", ["core", "full", "all"])
def test_retired_rows_are_left_out_unless_asked_for(tmp_path: Path, which: str) -> None:
    path = retired_file(tmp_path / "t.jsonl", None, GONE, None)
    assert [t.task_id for t in load_tasks(TOOLS, which, path)] == ["t0", "t2"]
    assert [t.task_id for t in load_tasks(TOOLS, which, path, retired=True)] == ["t0", "t1", "t2"]
    assert retired_in(which, path) == 1


def test_a_retired_gold_may_lie_outside_the_tools_of_today(tmp_path: Path) -> None:
    path = retired_file(tmp_path / "t.jsonl", GONE, expected=[{"name": "get_city_resource", "arguments": {
        "slug": "bonn", "resource": "no-longer-there"}}])
    with path.open("a", encoding="utf-8") as file:
        file.write('\n{"task_id": "t9", "set": "core", "question": "?", "expected": []}')
    assert [t.task_id for t in load_tasks(TOOLS, "core", path)] == ["t9"]


def test_a_file_of_retired_rows_only_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="all are retired"):
        load_tasks(TOOLS, "core", retired_file(tmp_path / "t.jsonl", GONE, GONE))


@pytest.mark.parametrize("mark", [True, "2026-12-05", {}, {"date": "5.12.2026", "reason": "x"},
                                  {"date": "2026-12-05", "reason": ""}, {"date": "2026-12-05"}, []])
def test_a_mark_without_day_and_reason_is_an_error_that_names_file_and_task(tmp_path: Path, mark: object) -> None:
    path = retired_file(tmp_path / "t.jsonl", None, mark)
    with pytest.raises(DataError, match=r't.jsonl: task t1: "retired" must be'):
        load_tasks(TOOLS, "core", path)


def core(name: str, date: str | None, set_name: str = "core") -> Task:
    extra = {"retired": {"date": date, "reason": "x"}} if date else {}
    return Task(name, "?", (), (), "c", set_name, None, extra)


@pytest.mark.parametrize(("before", "tasks", "after", "why"), [
    ("core-2026-12", [core("a", None)], "core-2026-12", "nothing retired"),
    ("core-2026-12", [core("a", "2026-12-05"), core("b", None)], "core-2026-12+r1-2026-12-05", "one"),
    ("core-2026-12+r1-2026-12-05", [core("a", "2026-12-05"), core("b", "2027-01-02")], "core-2026-12+r2-2027-01-02",
     "another, later: the name does not grow"),
    ("core-2026-12", [core("a", "2026-12-05", "extended")], "core-2026-12", "the version is that of the core"),
    ("core-2026-12+r1-2026-12-05", [core("a", None)], "core-2026-12", "revived by hand"),
])
def test_the_version_names_how_many_core_rows_are_retired_and_since_when(
        before: str, tasks: list[Task], after: str, why: str) -> None:
    assert version_after(before, tasks) == after, why
