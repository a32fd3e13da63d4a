"""Buckets of difficulty from the file beside the tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.reports.difficulty import buckets_beside


def entry(bucket: Any) -> dict[str, Any]:
    return {"split": "test", "difficulty": {"margin": 0.5, "neighbours": 2, "bucket": bucket}}


@pytest.mark.parametrize("value, found, why", [
    ({"tasks": {"a": entry("easy"), "b": entry("hard")}}, {"a": "easy", "b": "hard"}, "as the generator writes it"),
    ({"tasks": {"a": entry("extreme"), "b": entry(3), "c": entry("medium")}}, {"c": "medium"}, "unknown buckets"),
    ({"tasks": {"a": {}, "b": None, "c": {"difficulty": "hard"}}}, {}, "entries without difficulty"),
    ({"version": "core-2026-12"}, {}, "a file from before there were buckets"),
    ({"tasks": []}, {}, "another shape"),
    ([1], {}, "somebody's own file"),
])
def test_buckets(tmp_path: Path, value: Any, found: dict[str, str], why: str) -> None:
    (tmp_path / "tasks.meta.json").write_text(json.dumps(value), "utf-8")
    assert buckets_beside(tmp_path / "tasks.jsonl") == found, why


def test_without_a_file_nothing_is_known(tmp_path: Path) -> None:
    assert buckets_beside(tmp_path / "tasks.jsonl") == {}


def test_a_broken_file_hides_no_result(tmp_path: Path) -> None:
    (tmp_path / "tasks.meta.json").write_bytes(b'{"tasks": \xff')
    assert buckets_beside(tmp_path / "tasks.jsonl") == {}
