"""How difficult each task is: the buckets that tasks.meta.json holds beside tasks.jsonl."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from sys import intern
from typing import Any

from infranode_eval.generator.output import meta_path

BUCKETS = ("easy", "medium", "hard")


def buckets_beside(path: str | Path) -> Mapping[str, str]:
    """The bucket of each task by id. Empty whatever is wrong with that file: results can be shown without it."""
    try:
        value = json.loads(meta_path(Path(path)).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    tasks = value.get("tasks") if isinstance(value, dict) else None
    found = {key: _bucket(entry) for key, entry in tasks.items()} if isinstance(tasks, dict) else {}
    return {intern(key): bucket for key, bucket in found.items() if bucket in BUCKETS}


def _bucket(entry: Any) -> Any:
    difficulty = entry.get("difficulty") if isinstance(entry, dict) else None
    bucket = difficulty.get("bucket") if isinstance(difficulty, dict) else None
    return bucket if isinstance(bucket, str) else None
