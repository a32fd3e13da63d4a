"""Transcripts beside the results: written together, found again, and refused if they belong to another file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infranode_eval.beside import Hashed, read_transcripts, transcripts_path
from infranode_eval.results import write_result
from infranode_eval.shelf import Shelf, ShelvedRows
from lm_eval_task.errors import DataError

LINES = [{"task_id": "a", "repeat": 1, "messages": ["ä"]}, {"task_id": "a", "repeat": 2, "messages": []}]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    shelf = Shelf()
    places = [shelf.put(json.dumps(line, ensure_ascii=False).encode()) for line in LINES]
    path = tmp_path / "m.json"
    write_result(path, {"format": 1, "transcripts": ShelvedRows(shelf, places), "rows": []})
    return path


def told(out: Path) -> dict[str, object]:
    return json.loads(out.read_bytes())["transcripts"]


def test_it_stands_beside_the_result_under_its_name() -> None:
    assert transcripts_path(Path("r/m.native.json")) == Path("r/m.native.transcripts.jsonl")


def test_the_result_names_file_hash_and_number(out: Path) -> None:
    assert told(out)["file"] == "m.transcripts.jsonl" and told(out)["n"] == 2
    assert len(transcripts_path(out).read_bytes().splitlines()) == 2


def test_each_row_finds_its_transcript(out: Path) -> None:
    assert read_transcripts(out, told(out)) == {("a", 1): LINES[0], ("a", 2): LINES[1]}


@pytest.mark.parametrize(("change", "says"), [
    (lambda path: path.unlink(), "cannot be read"),
    (lambda path: path.write_bytes(path.read_bytes() + b" "), "does not belong to m.json"),
    (lambda path: path.write_bytes(b""), "does not belong to m.json"),
])
def test_a_file_that_is_not_the_one_is_named(out: Path, change: object, says: str) -> None:
    change(transcripts_path(out))   # type: ignore[operator]
    with pytest.raises(DataError, match=says):
        read_transcripts(out, told(out))


def test_lines_of_another_kind_are_refused(tmp_path: Path) -> None:
    lines = Hashed([b"[]"])
    (tmp_path / "m.transcripts.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(DataError, match="no file of transcripts"):
        read_transcripts(tmp_path / "m.json", {"file": "m.transcripts.jsonl", "sha256": lines.sha256})
