"""The Hugging Face folder: `load_dataset` reads it from disk, and every row becomes the task it was."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from infranode_eval.exports import hub
from infranode_eval.exports.material import Material, Order, read_material
from lm_eval_task.cases import read_cases
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools
from tests.exports.trial_data import SPLITS, TASKS, maker
from tests.needs import need

Make = Callable[..., Material]


@pytest.fixture
def material(tmp_path: Path) -> Make:
    return maker(tmp_path)


@pytest.fixture
def folder(material: Make, tmp_path: Path) -> Path:
    need("datasets")
    for name, content in hub.exported(material("hf")).files.items():
        path = tmp_path / "hf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "hf"


def test_load_dataset_reads_splits_and_counts_from_disk(folder: Path, tmp_path: Path) -> None:
    found = need("datasets").load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert list(found) == ["core", "train", "dev", "test", "robust", "abstain"]
    counts = Counter(hub.split_name(task, SPLITS.get(task.task_id)) for task in TASKS)
    assert {name: part.num_rows for name, part in found.items()} == counts
    assert {name: feature.dtype for name, feature in found["core"].features.items()} == {
        name: dtype for name, (dtype, _) in hub.TASK_COLUMNS.items()}


def test_every_row_becomes_the_task_it_was(folder: Path, tmp_path: Path) -> None:
    found = need("datasets").load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    again = {row["task_id"]: hub.task_of(row) for part in found.values() for row in part}
    assert [again[task.task_id] for task in TASKS] == list(TASKS)


def test_tools_are_a_config_of_their_own(folder: Path, tmp_path: Path) -> None:
    rows = need("datasets").load_dataset(str(folder), "tools", split="tools", cache_dir=str(tmp_path / "cache"))
    assert list(rows) == [{"name": t.name, "description": t.description, "parameters": json.dumps(
        t.parameters, ensure_ascii=False)} for t in read_tools().tools]


def test_the_test_bench_is_two_configs_in_two_wordings(folder: Path, tmp_path: Path) -> None:
    load, cache = need("datasets").load_dataset, str(tmp_path / "cache")
    found = load(str(folder), "bench", cache_dir=cache)
    for name in hub.WORDINGS:
        assert tuple(map(hub.case_of, found[name])) == read_cases(which=name).tasks
    tools = load(str(folder), "bench_tools", split="tools", cache_dir=cache)
    assert [row["name"] for row in tools] == [tool.name for tool in read_cases().tools.tools]


def test_beside_own_tasks_there_is_no_bench(tmp_path: Path) -> None:
    need("datasets")
    path = tmp_path / "own.jsonl"
    path.write_text('{"task_id": "a", "question": "Wie warm ist es?", "expected": []}\n', "utf-8")
    made = hub.exported(read_material(Order("hf", tmp_path / "out", path)))
    assert "README.md" in made.files and not [name for name in made.files if name.startswith("bench")]


def test_the_measured_difficulty_stands_in_columns(material: Make) -> None:
    made = material("hf")
    measured, core = (next(t for t in TASKS if t.set == name) for name in ("extended", "core"))
    row = hub.row_of(measured, made)
    assert (row["split"], row["difficulty"], row["margin"], row["neighbours"]) == ("train", "hard", -0.5, 3)
    assert hub.row_of(core, made)["difficulty"] is None


ODD = [
    Task("a", "?", ()),
    Task("b", "?", (), expect="ask", set="abstain", category="city_missing"),
    Task("c", "?", (Call("x", {"n": 5, "f": 0.5, "b": True, "l": ["ä"], "o": {"k": None}}),), ((Call("y"),), ()),
         "cat", None, None, {"variant": "nfd", "base": "a", "datum": ["weather"], "then": [], "note": None}),
]


@pytest.mark.parametrize("task", ODD, ids=[task.task_id for task in ODD])
def test_odd_rows_survive_the_round_trip(task: Task, material: Make) -> None:
    assert hub.task_of(hub.row_of(task, material("hf"))) == task


def test_the_card_documents_every_column_and_split(material: Make) -> None:
    made = material("hf")
    text = hub.card(hub.by_split(made), made)
    for name in (*hub.TASK_COLUMNS, *hub.TOOL_COLUMNS):
        assert f"| `{name}` |" in text and f"  - name: {name}\n" in text
    assert "license: apache-2.0" in text and "\n- de\n" in text and "core-2026-12" in text
    for name, tasks in hub.by_split(made).items():
        assert f"| {name} | {len(tasks)} |" in text and f"path: data/{name}.parquet" in text


@pytest.mark.parametrize(("which", "split", "name"), [
    ("core", None, "core"), ("extended", "train", "train"), ("extended", None, "extended"), ("robust", None, "robust"),
    ("abstain", "train", "abstain"), (None, "dev", "dev"), (None, None, "tasks")])
def test_where_a_row_stands(which: str | None, split: str | None, name: str) -> None:
    assert hub.split_name(Task("t", "?", (), set=which), split) == name
