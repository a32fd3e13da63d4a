"""Choosing the tasks of a run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from lm_eval_task.dataset import CHOICES, choose, load_tasks
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
    assert len({t.question for t in load_tasks(TOOLS, "all")}) == len(load_tasks(TOOLS, "all"))
    assert len(load_tasks(TOOLS, "extended")) >= 600
