"""What a row of the suite chain tells, read and checked: its verdict, and what was counted on the way.

Pure. Such a row has no call_match: what it solved is `task_success` (specification: chain, "Score"). A verdict here
holds that under `call_match`, so that everything that counts solved rows counts these as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infranode_eval.reports.stored_verdicts import calls_in, notes_in, outcome_in, solved_in
from lm_eval_task.errors import DataError
from lm_eval_task.records import FAILURES, Score

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
    outcome, success, parsed = outcome_in(row, OUTCOMES, SUITE), solved_in(row, "task_success"), row.get("parsed")
    return Score(outcome, *notes_in(row), parsed if isinstance(parsed, bool) else None, call_match=success,
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
