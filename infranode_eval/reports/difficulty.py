"""How difficult each task is: the buckets that tasks.meta.json holds beside tasks.jsonl."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from sys import intern
from typing import Any

from infranode_eval.generator.output import meta_path
from infranode_eval.reports.archive import read_json

BUCKETS = ("easy", "medium", "hard")


def buckets_beside(path: str | Path) -> Mapping[str, str]:
    """The bucket of each task by id; empty where no such file, or no bucket in it, stands beside the tasks.

    Raise DataError for a file that is there and cannot be read as JSON.
    """
    beside = meta_path(Path(path))
    value = read_json(beside) if beside.is_file() else None
    tasks = value.get("tasks") if isinstance(value, dict) else None
    found = {key: _bucket(entry) for key, entry in tasks.items()} if isinstance(tasks, dict) else {}
    return {intern(key): bucket for key, bucket in found.items() if bucket in BUCKETS}


def _bucket(entry: Any) -> Any:
    difficulty = entry.get("difficulty") if isinstance(entry, dict) else None
    bucket = difficulty.get("bucket") if isinstance(difficulty, dict) else None
    return bucket if isinstance(bucket, str) else None
