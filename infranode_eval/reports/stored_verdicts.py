"""What rows of every suite tell of a verdict in the same words: whether it was solved, notes beside it, calls.

Pure. Every function raises DataError, naming the row, for what breaks the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lm_eval_task.errors import DataError
from lm_eval_task.records import FAILURES, Call


def outcome_in(row: Mapping[str, Any], outcomes: tuple[str, ...], suite: str) -> str:
    """The outcome, one of those of the suite."""
    outcome = row.get("outcome")
    if outcome not in outcomes:
        raise DataError(f'row {row["task_id"]}: "outcome" {outcome!r} is none of the {len(outcomes)} of suite {suite}')
    return outcome


def solved_in(row: Mapping[str, Any], name: str) -> bool | None:
    """The verdict that stands under a name: None in a failure, else true or false."""
    failed, value = row["outcome"] in FAILURES, row.get(name)
    if type(value) is not (type(None) if failed else bool):
        right = "null in a failure" if failed else "true or false"
        raise DataError(f'row {row["task_id"]}: "{name}" must be {right}, found {value!r}')
    return value


def notes_in(row: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...], str]:
    """(sub, labels, why)."""
    labels, sub, why = row.get("labels") or (), row.get("sub"), row.get("why") or ""
    if not isinstance(why, str) or sub is not None and not isinstance(sub, str) or labels and not (
            isinstance(labels, list) and all(isinstance(label, str) for label in labels)):
        raise DataError(f'row {row["task_id"]}: "labels" must be a list of texts, "sub" and "why" texts')
    return sub, tuple(labels), why


def calls_in(row: Mapping[str, Any]) -> tuple[Call, ...] | None:
    """The calls as they were made, valid or not; a model's name may be anything. None without a readable one."""
    value = row.get("calls")
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(c, dict) and isinstance(c.get("name"), str) for c in value):
        raise DataError(f'row {row["task_id"]}: "calls" must be null or a list of {{"name", "arguments"}}')
    return tuple(Call(c["name"], c["arguments"] if isinstance(c.get("arguments"), dict) else {}) for c in value)
