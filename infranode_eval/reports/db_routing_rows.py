"""What a row of the suite db_routing tells, read and checked: its verdict, and how the model went there.

Pure. Transcripts stand in a file of their own and are not needed here. Format: specification, db_routing, section 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

from infranode_eval.reports.stored_verdicts import notes_in, outcome_in, solved_in
from lm_eval_task.errors import DataError
from lm_eval_task.records import FAILURES, Call, Score

SUITE = "db_routing"
AGENTIC, SINGLE_SHOT = "agentic", "single_shot"
OUTCOMES = ("ok", "wrong_database", "no_declaration", *FAILURES)
DETAILS: Mapping[str, type] = {
    "declared": str, "declared_alias": str, "declaration_error": str, "prose_route": str, "route_ok": bool,
    "first_probe": str, "probes": list, "switched": bool, "declared_unprobed": bool, "tool_turns": int,
    "tool_calls": int, "api_calls": int, "over_limit": int, "parallel_obeyed": bool, "recovered_calls": int,
    "schema_truncated": int, "rows_truncated": int, "sql_set": bool, "sql_strict": bool, "sql_error": str,
    "stop_reason": str, "condition": str, "procedure": str, "upstreams": list, "history": str, "bucket": str,
    "database": str, "cluster": str}
_ALWAYS = ("bucket", "database")                # also of a failure
_ANSWERED = ("route_ok", "probes", "switched", "tool_turns", "tool_calls", "api_calls", "over_limit",
             "parallel_obeyed", "recovered_calls", "schema_truncated", "rows_truncated", "stop_reason", "condition",
             "procedure", "upstreams")
_WORDS = {str: "a text", bool: "true or false", int: "a whole number", list: "a list of texts"}
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens")


def verdict_of(row: Mapping[str, Any]) -> Score:
    """The verdict in a row; raise DataError for one that breaks the format."""
    outcome, route, declared = outcome_in(row, OUTCOMES, SUITE), solved_in(row, "route_ok"), row.get("declared")
    calls = () if not isinstance(declared, str) else (Call("select_database", {"database": declared}),)
    return Score(outcome, *notes_in(row), _truth(row, "parsed"), tool_match=route,
                 args_match=_truth(row, "sql_set"), call_match=route, request_match=route,
                 lenient_call_match=_truth(row, "lenient_call_match"), calls=None if outcome in FAILURES else calls)


def _truth(row: Mapping[str, Any], name: str) -> bool | None:
    value = row.get(name)
    if value is not None and type(value) is not bool:
        raise DataError(f'row {row["task_id"]}: "{name}" must be true, false or null, found {value!r}')
    return value


def details_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the numbers of a run are made of, under the names of a row. Raise DataError for a wrong value."""
    found: dict[str, Any] = {"task_id": intern(row["task_id"]), "outcome": row["outcome"]}
    for name, kind in DETAILS.items():
        value = row.get(name)
        if value is not None and not _fits(value, kind):
            raise DataError(f'row {row["task_id"]}: "{name}" must be {_WORDS[kind]}, found {str(value)[:40]!r}')
        found[name] = intern(value) if kind is str and value is not None else \
            tuple(map(intern, value)) if kind is list and value is not None else value
    needed = _ALWAYS if row["outcome"] in FAILURES else (*_ALWAYS, *_ANSWERED)
    missing = [name for name in needed if found[name] is None]
    if missing:
        raise DataError(f'row {row["task_id"]}: "{missing[0]}" is missing')
    return found | {name: row.get(name) for name in ("parsed", "lenient_call_match")} | _numbers(row) | _rare(row)


def _fits(value: Any, kind: type) -> bool:
    return type(value) is kind and (kind is not list or all(isinstance(inner, str) for inner in value))


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens of all its requests; None where nobody told."""
    usage = row.get("usage")
    if not isinstance(usage, dict):
        return {}
    counts = tuple(n if isinstance(n := usage.get(name), int) and not isinstance(n, bool) and n >= 0 else None
                   for name in _COUNTS)
    return {} if counts[0] is None or counts[1] is None else {"tokens": counts}


def _rare(row: Mapping[str, Any]) -> dict[str, Any]:
    """What few rows hold: the worth of a drawn answer, whether the paragraph was followed, tokens and money."""
    found: dict[str, Any] = {}
    if isinstance(chance := row.get("chance"), float) and 0 <= chance <= 1:
        found["chance"] = chance
    if isinstance(row.get("follows_paragraph"), bool):
        found["follows_paragraph"] = row["follows_paragraph"]
    for name in ("cache_write", "final_cache_write"):
        if isinstance(written := row.get(name), int):
            found[name] = written
    return found | ({"billed": row["billed"]} if "billed" in row else {})

