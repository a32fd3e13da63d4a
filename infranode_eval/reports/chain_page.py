"""Tasks and plays of the suite chain as values for the page's script: everything in them is text that may be shown.

Pure. A result that many plays received stands once, under its sha256.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from infranode_eval.chain.answers import TYPES
from infranode_eval.harmless import clean
from infranode_eval.reports.archive import Row, is_number
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.replies import Text, visible
from infranode_eval.reports.team_page import shown_bodies
from infranode_eval.reports.transcripts import (
    Result,
    Transcript,
    Turn,
    expectation_of,
    fault_text,
    orders_of,
    pattern_tree,
    quoted,
    rule_text,
    wanted_text,
)
from lm_eval_task.records import Task

LONGEST_BODY = 30_000       # characters of one result that the page holds
MOST_BODIES = 24_000_000    # characters of all of them; a browser opens such a page, but nobody waits for more
_COUNTS = ("turns", "calls_made", "needed", "error_results", "extra_reads", "repeated_calls")
_FLAGS = ("path_match", "poisoned", "followed_injection", "broke_must_not", "honest_null", "invented_value",
          "key_from_memory", "answer_in_prose")


# --- a task -----------------------------------------------------------------------------------------------------------

def played_task(task: Task) -> dict[str, Any]:
    """{"played": what is right, what counts as evidence, what the test does to its world}."""
    expect = expectation_of(task)
    injection = expect.get("injection") if isinstance(expect.get("injection"), dict) else None
    near = expect.get("near_misses")
    return {"played": {
        "category": clean(task.category), "set": clean(task.set or ""), "gold": _gold(expect.get("answer") or {}),
        "evidence": pattern_tree(expect["must_call"]) if "must_call" in expect else None,
        "path": pattern_tree(expect["path"]) if expect.get("path") else None,
        "rules": [clean(rule_text(rule)) for rule in expect.get("must_not") or () if isinstance(rule, dict)],
        "near": [[clean(str(name)), _plain(value)] for name, value in near.items()] if isinstance(near, dict) else [],
        "faults": [visible(fault_text(fault)) for fault in task.extra.get("faults") or ()
                   if isinstance(fault, dict) and not (injection and isinstance(fault.get("set"), dict))],
        "orders": [[visible(text), visible(quoted(text))] for _, text in orders_of(task)],
        "wanted": clean(wanted_text(injection)) if injection else None, "wish": _wish(injection),
        "twin": clean(str(task.extra["pair"])) if task.extra.get("pair") else None}}


def _wish(injection: Mapping[str, Any] | None) -> str | None:
    """The request that an injected order is after, None where it wants none, or one of several."""
    call = injection.get("call") if injection else None
    request = call.get("req") if isinstance(call, Mapping) else None
    return clean(request) if isinstance(request, str) else None


def _gold(answer: Mapping[str, Any]) -> dict[str, Any]:
    """none: there is no value, and these reasons say so; others: how many alternatives count."""
    none, tolerance = answer.get("type") == "none", answer.get("tolerance")
    others, accept = answer.get("alternatives"), answer.get("accept")
    kind = str(answer.get("type"))
    return {"kind": kind if kind in TYPES else "string", "none": none,
            "value": None if none else _plain(answer.get("value")),
            "unit": clean(str(answer["unit"])) if answer.get("unit") else None,
            "plus": f"{tolerance:g}" if is_number(tolerance) and tolerance else None,
            "accept": [_plain(value) for value in accept] if isinstance(accept, list) else [],
            "reasons": [clean(str(reason)) for reason in answer.get("reasons") or ()] if none else [],
            "others": len(others) if isinstance(others, list) else 0}


def _plain(value: Any) -> str:
    return visible(", ".join(map(str, value)) if isinstance(value, list) else str(value))


# --- a play -----------------------------------------------------------------------------------------------------------

def play_of(row: Row, play: Transcript | None) -> dict[str, Any]:
    """{"play": turns, answer and counts}; without turns where the file holds no transcript."""
    details = row.details
    own = (play.expect or {}).get("answer") if play else None
    return {"play": {
        "turns": [_turn(turn) for turn in play.turns] if play else [],
        "stop": clean(str(details.get("stop_reason") or "failure")), "match": bool(details.get("answer_match")),
        "evidence": bool(details.get("evidence")), "at": details.get("evidence_turn"),
        "near": clean(details["near_miss"]) if details.get("near_miss") else None,
        "answer": _answer(details.get("answer")), "gold": _gold(own) if isinstance(own, Mapping) else None,
        "counts": {name: details[name] for name in _COUNTS if name in details},
        "flags": {name: details[name] for name in _FLAGS if name in details}}}


def _answer(said: Any) -> dict[str, Any] | None:
    """None: no answer object. value None: null."""
    if not isinstance(said, Mapping):
        return None
    value = said.get("antwort")
    return {"value": None if value is None else _short(_plain(value)),
            **{name: _short(_plain(said[key])) if said.get(key) else None for name, key in (
                ("unit", "einheit"), ("reason", "grund"), ("other", "alternative"), ("source", "quelle"))}}


def _short(text: str) -> str:
    cut = Text.of(text, 400)
    return cut.shown + ("…" if cut.left_out else "")


def _turn(turn: Turn) -> dict[str, Any]:
    said = turn.said
    return {"n": turn.number, "kind": turn.kind, "text": said.text.shown, "left": said.text.left_out,
            "entries": [[e.shown, e.left_out] for e in said.entries] if not turn.results else [],
            "thoughts": [said.thoughts.shown, said.thoughts.left_out] if said.thoughts.shown else None,
            "finish": said.finish_reason, "s": turn.seconds, "tokens": turn.tokens, "evidence": turn.evidence,
            "results": [_result(result) for result in turn.results]}


def _result(result: Result) -> dict[str, Any]:
    return {"call": result.call, "req": result.request, "status": result.status, "state": result.state,
            "ok": result.answered, "body": result.body, "size": result.size, "carries": result.carries,
            "poisoned": result.poisoned}


def bodies_of(exhibits: Iterable[Exhibit]) -> dict[str, list[Any]]:
    """sha256 → [text as it may be shown, how many characters are left out], each once, in the order of their use.

    Beyond MOST_BODIES characters in all nothing is kept: the page says that the file holds the rest.
    """
    found: dict[str, list[Any]] = {}
    left = MOST_BODIES
    for exhibit in exhibits:
        if exhibit.courses:
            new = {key: text for key, text in exhibit.bodies.items() if key not in found}
            found |= dict(shown_bodies(new, left))
            left -= sum(len(found[key][0]) for key in new if key in found)
        used = (result.body for play in exhibit.plays if play for turn in play.turns for result in turn.results)
        for key in dict.fromkeys(used):
            if key in found or key not in exhibit.bodies:
                continue
            text = Text.of(exhibit.bodies[key], LONGEST_BODY)
            if len(text.shown) <= left:
                found[key] = [text.shown, text.left_out]
                left -= len(text.shown)
    return found
