"""The corridor of three values that a share of right SQL lies in, as far as an audit found faulty golds.

Source: specification, db_routing, requirement 65. An audit file has lines {"task_id": str, "gold_faulty": bool}.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_task.errors import DataError

NO_AUDIT = "kein Gold-Audit"


@dataclass(frozen=True, slots=True)
class Corridor:
    """Shares between 0 and 1 over the same `n` rows; None without rows.

    lower: rows with a faulty gold count as wrong. middle: as they were judged. upper: they count as right.
    faulty: how many of the rows have a faulty gold; None without an audit, then the three values are equal.
    """

    lower: float | None
    middle: float | None
    upper: float | None
    n: int
    faulty: int | None

    @property
    def note(self) -> str | None:
        return NO_AUDIT if self.faulty is None else None

    def to_json(self) -> dict[str, Any]:
        return {"lower": self.lower, "middle": self.middle, "upper": self.upper, "n": self.n, "faulty": self.faulty,
                "note": self.note}


def corridor(verdicts: Iterable[tuple[str, bool | None]], faulty: Collection[str] | None = None) -> Corridor:
    """The corridor of (task_id, sql_set or sql_strict). None as a verdict: gold did not run, the row is left out.

    faulty: task_ids with a faulty gold; None without an audit.
    """
    rows = [(bool(right), task_id in (faulty or ())) for task_id, right in verdicts if right is not None]
    found = None if faulty is None else sum(flagged for _, flagged in rows)
    if not rows:
        return Corridor(None, None, None, 0, found)
    counts = (sum(right and not flagged for right, flagged in rows), sum(right for right, _ in rows),
              sum(right or flagged for right, flagged in rows))
    return Corridor(*(count / len(rows) for count in counts), len(rows), found)


def read_audit(path: Path, task_ids: Collection[str] | None = None) -> frozenset[str]:
    """The task_ids with a faulty gold. Raise DataError for a bad line, a task named twice, or one not in `task_ids`."""
    seen: dict[str, bool] = {}
    for number, line in enumerate(_lines(path), 1):
        if line.strip():
            task_id, is_faulty = _entry(line, path, number)
            if task_id in seen:
                raise DataError(f"task {task_id} stands here a second time", path, number)
            if task_ids is not None and task_id not in task_ids:
                raise DataError(f"there is no task {task_id}", path, number)
            seen[task_id] = is_faulty
    return frozenset(task_id for task_id, is_faulty in seen.items() if is_faulty)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the gold audit cannot be read: {error}", path) from error


def _entry(line: str, path: Path, number: int) -> tuple[str, bool]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if (not isinstance(value, dict) or not isinstance(value.get("task_id"), str)
            or not isinstance(value.get("gold_faulty"), bool)):
        raise DataError('a line of a gold audit is {"task_id": str, "gold_faulty": true|false}', path, number)
    return value["task_id"], value["gold_faulty"]
