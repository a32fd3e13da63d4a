"""The transcripts of a run in a file beside its results, for suites whose plays are too long to stand in the rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lm_eval_task.errors import DataError


def transcripts_path(out: Path) -> Path:
    """FILE.json → FILE.transcripts.jsonl"""
    return out.with_name(out.name.removesuffix(".json") + ".transcripts.jsonl")


class Hashed:
    """Lines on their way into a file; afterwards `sha256` (hex) and `count` say what went by."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines, self._hash, self.count = lines, hashlib.sha256(), 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self._hash.update(line + b"\n")
            self.count += 1
            yield line + b"\n"

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def read_transcripts(out: Path, told: Mapping[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """(task_id, repeat) → transcript. told: {"file", "sha256"} of the result.

    Raise DataError for a file that is missing, broken, or not the one that belongs to the result.
    """
    path = out.with_name(str(told["file"]))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}); it holds the transcripts of {out.name}",
                        path) from None
    if (found := hashlib.sha256(content).hexdigest()) != told["sha256"]:
        raise DataError(f"does not belong to {out.name}: sha256 {told['sha256']} expected, {found} found", path)
    try:
        rows = [json.loads(line) for line in content.splitlines()]
        return {(row["task_id"], row["repeat"]): row for row in rows}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError("is no file of transcripts", path) from None
