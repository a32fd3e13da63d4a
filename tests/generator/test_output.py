"""Output: both files or none, and the old ones stay whatever happens before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infranode_eval.generator import output
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Call, Task, read_tasks

TASK = Task("t-1", "Wie warm ist es in Köln?", (Call("weather", {"slug": "koeln"}),), category="c", set="core")


@pytest.mark.parametrize(("name", "meta"), [("tasks.jsonl", "tasks.meta.json"), ("x.txt", "x.txt.meta.json")])
def test_the_meta_file_lies_beside(name: str, meta: str) -> None:
    assert output.meta_path(Path("a") / name) == Path("a") / meta


def test_what_is_written_can_be_read_again(tmp_path: Path) -> None:
    output.write(tmp_path / "tasks.jsonl", [TASK], {"seed": 1})
    assert read_tasks(tmp_path / "tasks.jsonl") == (TASK,)
    assert "Köln" in (tmp_path / "tasks.jsonl").read_text("utf-8")
    assert json.loads((tmp_path / "tasks.meta.json").read_text()) == {"seed": 1}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tasks.jsonl", "tasks.meta.json"]


def test_notes_of_tasks_take_a_line_each(tmp_path: Path) -> None:
    meta = {"version": "v", "tasks": {"t-1": {"split": "test"}, "t-2": {}}, "last": 1}
    lines = output.meta_text(meta).splitlines()
    assert '  "t-1": {"split": "test"},' in lines and '  "t-2": {}' in lines
    assert json.loads(output.meta_text(meta)) == meta


def test_a_failure_on_the_way_leaves_the_old_files_and_no_rest(tmp_path: Path) -> None:
    output.write(tmp_path / "tasks.jsonl", [TASK], {"seed": 1})
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(TypeError):
        output.write(tmp_path / "tasks.jsonl", [], {"seed": object()})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_full_disk_leaves_the_old_files_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    output.write(tmp_path / "tasks.jsonl", [TASK], {"seed": 1})
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    monkeypatch.setattr(output.os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        output.write(tmp_path / "tasks.jsonl", [], {"seed": 2})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_folder_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        output.write(tmp_path / "no" / "tasks.jsonl", [TASK], {})


def test_counts_and_hashes_are_per_set(tmp_path: Path) -> None:
    other = Task("t-2", "Und in Ulm?", TASK.expected, category="d", set="extended")
    assert output.counts([TASK, other]) == {"core": {"all": 1, "c": 1}, "extended": {"all": 1, "d": 1}}
    found = output.hashes([TASK, other])
    assert len({found["core"], found["extended"], found["all"]}) == 3
    assert found["core"] == output.hashes([TASK])["all"]
