"""What a row of the suite chain tells, read and checked: its verdict, and what was counted on the way.

Pure. Such a row has no call_match: what it solved is `task_success` (specification: chain, "Score"). A verdict here
holds that under `call_match`, so that everything that counts solved rows counts these as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lm_eval_task.errors import DataError
from lm_eval_task.records import FAILURES, Call, Score

SUITE = "chain"
CONTROL = "control"         # the set of the twins that do have a plain value
OUTCOMES = ("ok", "wrong_answer", "no_evidence", "went_on", "followed_injection", "no_answer", *FAILURES)
STOPS = ("answered", "answered_late", "no_answer", "max_turns", "truncated", "failure")
DETAILS: Mapping[str, type] = {
    "set": str, "pair": str, "task_success": bool, "answer_match": bool, "evidence": bool, "path_match": bool,
    "followed_injection": bool, "poisoned": bool, "broke_must_not": bool, "step_recall": float, "calls_made": int,
    "needed": int, "turns": int, "extra_reads": int, "repeated_calls": int, "error_results": int,
    "recovered_after_error": bool, "honest_null": bool, "invented_value": bool, "near_miss": str,
    "key_from_memory": bool, "answer_in_prose": bool, "stop_reason": str, "evidence_turn": int, "answer": dict}
_ALWAYS = ("task_success", "answer_match", "evidence", "calls_made", "needed", "error_results", "stop_reason")
_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", dict: "an object"}


def verdict_of(row: Mapping[str, Any]) -> Score:
    """The verdict in a row; raise DataError for one that breaks the format."""
    outcome = row.get("outcome")
    if outcome not in OUTCOMES:
        raise DataError(f'row {row["task_id"]}: "outcome" {outcome!r} is none of the {len(OUTCOMES)} of suite {SUITE}')
    failed, success = outcome in FAILURES, row.get("task_success")
    if type(success) is not (type(None) if failed else bool):
        right = "null in a failure" if failed else _WORDS[bool]
        raise DataError(f'row {row["task_id"]}: "task_success" must be {right}, found {success!r}')
    labels, sub, why = row.get("labels") or [], row.get("sub"), row.get("why") or ""
    if not isinstance(why, str) or sub is not None and not isinstance(sub, str) \
            or not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise DataError(f'row {row["task_id"]}: "labels" must be a list of texts, "sub" and "why" texts')
    parsed = row.get("parsed")
    return Score(outcome, sub, tuple(labels), why, parsed if isinstance(parsed, bool) else None, call_match=success,
                 calls=calls_in(row))


def details_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What was counted beside the verdict, by DETAILS; what is null is left out. Raise DataError for a wrong value."""
    found = {name: row[name] for name in DETAILS if row.get(name) is not None}
    for name, value in found.items():
        if not _fits(value, DETAILS[name]):
            right = _WORDS[DETAILS[name]]
            raise DataError(f'row {row["task_id"]}: "{name}" must be {right}, found {str(value)[:40]!r}')
    if row["outcome"] not in FAILURES:
        missing = [name for name in _ALWAYS if name not in found]
        if missing:
            raise DataError(f'row {row["task_id"]}: "{missing[0]}" is missing')
    return found


def _fits(value: Any, kind: type) -> bool:
    return type(value) is kind or kind is float and type(value) is int


def is_native(row: Mapping[str, Any]) -> bool:
    """Did some call of the play come as a native one? Calls that stood in text have no id."""
    transcript = row.get("transcript")
    turns = transcript.get("turns") if isinstance(transcript, dict) else None
    return any(isinstance(one, dict) and one.get("id") is not None
               for turn in (turns if isinstance(turns, list) else ()) if isinstance(turn, dict)
               for one in (turn["executed"] if isinstance(turn.get("executed"), list) else ()))


def calls_in(row: Mapping[str, Any]) -> tuple[Call, ...] | None:
    """All calls that were emitted; None without a readable one. Raise DataError for anything but a list of calls."""
    value = row.get("calls")
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(c, dict) and isinstance(c.get("name"), str) for c in value):
        raise DataError(f'row {row["task_id"]}: "calls" must be null or a list of {{"name", "arguments"}}')
    return tuple(Call(c["name"], c["arguments"] if isinstance(c.get("arguments"), dict) else {}) for c in value)
