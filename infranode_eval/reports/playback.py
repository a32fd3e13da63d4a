"""A play of the suite chain under the lens: turn by turn as lines of text, and as values for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infranode_eval.harmless import clean
from infranode_eval.reports.archive import Row
from infranode_eval.reports.replies import visible
from infranode_eval.reports.transcripts import Result, Transcript, Turn, expectation_of, gold_text, said_text
from lm_eval_task.records import Task

PREVIEW = 320           # characters of a result that a terminal shows
_COUNTS = (("turns", "turn"), ("calls_made", "call"), ("needed", "needed step"), ("error_results", "error"),
           ("extra_reads", "extra read"), ("repeated_calls", "repeated call"))
_PARTS = ("answer_match", "evidence", "path_match")
_SLIPS = ("followed_injection", "broke_must_not", "honest_null", "invented_value", "key_from_memory", "answer_in_prose")


def play_lines(play: Transcript, bodies: Mapping[str, str]) -> Iterator[str]:
    """Every turn with its calls and how their results begin; the lines are not yet harmless."""
    for turn in play.turns:
        yield f"  {f'turn {turn.number}':<9} {_heading(turn)}"
        if turn.said.thoughts.shown:
            yield from _block("thought", turn.said.thoughts.shown, turn.said.thoughts.left_out)
        if turn.said.text.shown or not (turn.results or turn.said.entries):
            yield from _block("reply", turn.said.text.shown or "(empty)", turn.said.text.left_out)
        if not turn.results:
            for entry in turn.said.entries:
                yield from _block("entry", entry.shown, entry.left_out)
        for result in turn.results:
            yield f"  {'call':<9} {result.call or 'unreadable'}"
            yield f"  {'came back':<9} {came_back(result)}"
            yield from _preview(bodies.get(result.body))


def _heading(turn: Turn) -> str:
    parts = [turn.kind, turn.said.finish_reason, None if turn.seconds is None else f"{turn.seconds:.1f} s",
             None if turn.tokens is None else f"{turn.tokens:,} tokens"]
    told = ", ".join(part for part in parts if part)
    return told + (" << the evidence is complete" if turn.evidence else "")


def came_back(result: Result) -> str:
    """As "/cities/bonn/parking: 200 ok, 1,234 characters"."""
    asked = "no request" if result.request is None else result.request
    status = "" if result.status is None else f"{result.status} "
    size = "not stored" if result.size is None else f"{result.size:,} characters"
    marks = [mark for mark, holds in (("carries what the answer needs", result.carries),
                                      ("POISONED: holds the injected text", result.poisoned)) if holds]
    return f"{asked}: {status}{result.state}, {size}" + (f" << {'; '.join(marks)}" if marks else "")


def _preview(text: str | None) -> Iterator[str]:
    if text:
        yield from _block("", visible(text[:PREVIEW]), max(0, len(text) - PREVIEW))


def _block(name: str, text: str, left_out: int) -> Iterator[str]:
    for number, line in enumerate(text.split("\n")):
        yield f"  {'' if number else name:<9} {line}".rstrip()
    if left_out:
        yield f"  {'':<9} … {left_out:,} more characters"


def verdict_lines(row: Row, task: Task | None, play: Transcript | None) -> Iterator[str]:
    """What was answered, what it was compared with, and what was counted on the way."""
    details = row.details
    expect = (play.expect if play and play.expect else None) or expectation_of(task)
    yield f"  {'answered':<9} {said_text(details.get('answer'))}"
    if expect.get("answer"):
        match = "match" if details.get("answer_match") else "no match"
        slip = f", the near miss {details['near_miss']}" if details.get("near_miss") else ""
        yield f"  {'compared':<9} with {gold_text(expect['answer'])}: {match}{slip}"
    counts = ", ".join(f"{details[name]} {word}{'' if details[name] == 1 else 's'}"
                       for name, word in _COUNTS if details.get(name) is not None)
    yield f"  {'counts':<9} {counts}; ended by {details.get('stop_reason', '?')}"
    parts = [f"{name} {'yes' if details.get(name) else 'no'}" for name in _PARTS]
    if details.get("evidence_turn") is not None:
        parts[1] += f" (turn {details['evidence_turn']})"
    yield f"  {'matches':<9} {', '.join([*parts, *(name for name in _SLIPS if details.get(name))])}"


def play_json(play: Transcript | None, bodies: Mapping[str, str]) -> Any:
    """Turns with their calls and the whole results; None where the file holds none."""
    if play is None:
        return None
    return {"stop_reason": play.stop_reason, "turns": [_turn_json(turn, bodies) for turn in play.turns]}


def _turn_json(turn: Turn, bodies: Mapping[str, str]) -> dict[str, Any]:
    return {"number": turn.number, "kind": turn.kind, "text": turn.said.text.shown,
            "thoughts": turn.said.thoughts.shown, "finish_reason": turn.said.finish_reason, "latency_s": turn.seconds,
            "tokens": turn.tokens, "evidence": turn.evidence,
            "results": [{"call": r.call, "request": r.request, "status": r.status, "state": r.state,
                         "answered": r.answered, "carries": r.carries, "poisoned": r.poisoned,
                         "body": clean(bodies[r.body]) if r.body in bodies else None} for r in turn.results]}
