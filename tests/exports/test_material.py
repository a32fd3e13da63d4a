"""Which rows may train: those of the split train, and nothing that measures or repeats what measures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from infranode_eval.exports.material import Material, for_measuring, for_training
from lm_eval_task.errors import BenchError, DataError, UsageError
from tests.exports.trial_data import SPLITS, TASKS, maker

Make = Callable[..., Material]


@pytest.fixture
def material(tmp_path: Path) -> Make:
    return maker(tmp_path)


@pytest.fixture
def dataset(material: Make, tmp_path: Path) -> Path:
    return tmp_path / "data" / "tasks.jsonl"


def remark(dataset: Path, task_id: str, split: str) -> None:
    """Give a task another split."""
    path = dataset.with_suffix(".meta.json")
    meta = json.loads(path.read_text("utf-8"))
    meta["tasks"].setdefault(task_id, {})["split"] = split
    path.write_text(json.dumps(meta), "utf-8")


def test_training_takes_the_split_train_without_what_a_measuring_row_asks(material: Make) -> None:
    base = next(task.extra["base"] for task in TASKS if task.set == "robust")
    assert SPLITS[base] == "train"
    found = for_training(material("sft-trl"))
    assert {t.task_id for t in found.tasks} == {i for i, split in SPLITS.items() if split == "train"} - {base}
    assert found.notes == ("1 left out: a row that measures asks the same question",)


def test_a_question_of_the_split_test_does_not_train_either(material: Make, dataset: Path) -> None:
    before = for_training(material("sft-trl")).tasks
    asked = next(task.question for task in TASKS if SPLITS.get(task.task_id) == "test")
    rows = [json.loads(line) for line in dataset.read_text("utf-8").splitlines()]
    twin = next(row for row in rows if row["task_id"] == before[0].task_id)
    twin["question"] = asked
    dataset.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert [t.task_id for t in for_training(material("sft-trl")).tasks] == [t.task_id for t in before[1:]]


def test_dev_may_be_exported_for_choosing_between_runs(material: Make) -> None:
    found = for_training(material("sft-trl", split="dev"))
    assert {t.task_id for t in found.tasks} == {i for i, split in SPLITS.items() if split == "dev"}


@pytest.mark.parametrize(("more", "said"), [
    ({"split": "test"}, "--split test would put what measures into it"),
    ({"split": "all"}, "--split all would"),
    ({"which": "core"}, "--set core would"),
    ({"which": "robust"}, "--set robust would"),
    ({"which": "full"}, "--set full would"),
])
def test_what_measures_is_refused_for_training(material: Make, more: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        for_training(material("dpo", **more))
    assert "--allow-contamination" in str(caught.value) and "\n" not in str(caught.value)


def test_a_row_with_a_canary_that_is_marked_for_training_is_named(material: Make, dataset: Path) -> None:
    chosen = for_training(material("sft-trl")).tasks[0].task_id
    rows = [json.loads(line) for line in dataset.read_text("utf-8").splitlines()]
    next(row for row in rows if row["task_id"] == chosen)["canary"] = "do not train on this row"
    dataset.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(DataError, match=f"task {chosen} carries a canary against training, but its split is train"):
        for_training(material("sft-trl"))


@pytest.mark.parametrize("name", ["core", "robust"])
def test_a_measuring_row_that_is_marked_for_training_is_named(
        material: Make, dataset: Path, name: str) -> None:
    task_id = next(task.task_id for task in TASKS if task.set == name)
    remark(dataset, task_id, "train")
    with pytest.raises(DataError, match=f"task {task_id} is of set {name}, which only measures"):
        for_training(material("sft-trl"))


def test_abstain_rows_train_only_where_the_file_says_so(material: Make, dataset: Path) -> None:
    with pytest.raises(DataError, match="holds no task for --export sft-trl --set abstain"):
        for_training(material("sft-trl", which="abstain"))
    remark(dataset, "abstain-0", "train")
    assert [t.task_id for t in for_training(material("sft-trl", which="abstain")).tasks] == ["abstain-0"]


def test_with_the_flag_everything_goes_and_the_note_says_what_it_costs(material: Make) -> None:
    found = for_training(material("sft-trl", split="all", contaminate=True))
    assert found.tasks == TASKS
    assert "cannot be measured with this benchmark any more" in found.notes[0]


def test_measuring_takes_a_set_and_a_split(material: Make) -> None:
    assert for_measuring(material("hf")).tasks == TASKS
    assert {t.set for t in for_measuring(material("inspect"), "core").tasks} == {"core"}
    assert {t.set for t in for_measuring(material("inspect", which="abstain"), "core").tasks} == {"abstain"}
    tested = material("hf", split="test")
    assert {tested.split_of(t) for t in for_measuring(tested).tasks} == {"test"}


def test_a_file_without_splits_has_nothing_to_train_on(material: Make, dataset: Path) -> None:
    dataset.with_suffix(".meta.json").unlink()
    with pytest.raises(DataError, match=r"the file beside it \(.meta.json\) names no split"):
        for_training(material("sft-trl"))


@pytest.mark.parametrize("meta", ['{"tasks": []}', '{"tasks": {"a": "train"}}', '{"tasks": {"a": {"split": "eval"}}}',
                                  "[]", "{"])
def test_a_broken_meta_file_is_one_line(material: Make, dataset: Path, meta: str) -> None:
    dataset.with_suffix(".meta.json").write_text(meta)
    with pytest.raises(BenchError) as caught:
        material("hf")
    assert "tasks.meta.json" in str(caught.value) and "\n" not in str(caught.value)
