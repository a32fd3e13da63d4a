"""A verdict as inspect_ai shows it, and back: value, answer, explanation, and our row as metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from inspect_ai.scorer import Score

from infranode_eval.reports.transcripts import gold_text, said_text, world_facts
from infranode_eval.results import storable
from infranode_eval.runner import message_in
from lm_eval_task.records import FAILURES, Call, Task
from lm_eval_task.records import Score as Verdict

_LEFT_OUT = ("transcript", "keys", "usage_raw")     # stands in the messages, or tells nobody anything here
_OWN = tuple(field.name for field in fields(Verdict) if field.name not in ("details", "calls", "labels"))
NO_CALL = "no call"


def number_of(row: Mapping[str, Any]) -> str:
    """The name of the number that a row counts in."""
    return "task_success" if "task_success" in row else "call_match"


def score_of(row: Mapping[str, Any]) -> Score:
    """row: as in a results file. A failure counts as not solved, as in the strict numbers; its error is told."""
    why = f"{row.get('why') or ''}: {message_in(row['error'])}" if row.get("error") else row.get("why") or ""
    return Score(value=1.0 if row.get(number_of(row)) else 0.0, answer=harmless(answer_text(row)),
                 explanation=harmless(why), metadata=harmless(storable(
                     {key: value for key, value in row.items() if key not in _LEFT_OUT})))


def answer_text(row: Mapping[str, Any]) -> str:
    """The calls of a single reply; the final answer of a play; nothing for a failure."""
    if row["outcome"] in FAILURES:
        return ""
    if "task_success" in row:
        return said_text(row.get("answer"))
    if row.get("calls") is None:
        return "none that can be read" if row.get("parsed") is False else NO_CALL
    return calls_text(tuple(Call(call["name"], call["arguments"]) for call in row["calls"]))


def target_of(task: Task) -> list[str]:
    """The expected answer of a play; else the gold calls, then each accepted alternative."""
    expect = task.extra.get("expect")
    if isinstance(expect, Mapping):
        return [gold_text(expect["answer"])]
    return [calls_text(calls) for calls in task.alternatives]


def calls_text(calls: tuple[Call, ...]) -> str:
    return "\n".join(map(str, calls)) or NO_CALL


def facts_of(task: Task) -> dict[str, Any]:
    """What a reader may want to know of a task, by name; names that stand twice hold a list."""
    facts: dict[str, Any] = {"category": task.category, **({"set": task.set} if task.set else {})}
    if not isinstance(task.extra.get("expect"), Mapping):
        return facts
    for name, text in world_facts(task):
        known = facts.get(name)
        facts[name] = text if known is None else [*(known if isinstance(known, list) else [known]), text]
    return facts


def verdict_from(row: Mapping[str, Any]) -> Verdict:
    """The verdict that `score_of` put into its metadata, as a suite's `aggregate` takes it."""
    calls = row.get("calls")
    return Verdict(**{name: row.get(name) for name in _OWN}, labels=tuple(row.get("labels") or ()),
                   calls=None if calls is None else tuple(Call(c["name"], c["arguments"]) for c in calls),
                   details={key: value for key, value in row.items() if key not in _OWN})


def harmless(value: Any) -> Any:
    """The same with lone surrogates spelled out: no log can hold them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {harmless(key): harmless(inner) for key, inner in value.items()}
    return [harmless(inner) for inner in value] if isinstance(value, (list, tuple)) else value
