"""A stored play of the suite chain, turn by turn, with every text of it made safe to show.

Pure. Replies, requests and results come from strangers: nothing here raises whatever shape they have, what is shown of
them is cut to a length, and every invisible character is spelled out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.chain.evidence import atoms_of, matches
from infranode_eval.chain.worlds import Response
from infranode_eval.harmless import clean
from infranode_eval.reports.archive import is_number
from infranode_eval.reports.replies import Evidence, evidence_of
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Task

LONGEST_CALL = 600          # characters of a call that are shown


@dataclass(frozen=True, slots=True)
class Result:
    """An executed call. request, status: what the world was asked and said; None where the tool layer refused.

    state: ok, the source_status, or the code of an error. body: under which the result is stored; size: its characters,
    None where the file lacks it. carries: it is part of the evidence. poisoned: it holds the injected text.
    """

    call: str | None
    request: str | None
    status: int | None
    state: str
    answered: bool
    body: str
    size: int | None
    carries: bool = False
    poisoned: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply and what came of it. number: from 1. evidence: with it everything was read that the answer needs."""

    number: int
    kind: str
    said: Evidence
    seconds: float | None
    tokens: int | None
    results: tuple[Result, ...]
    evidence: bool = False


@dataclass(frozen=True, slots=True)
class Transcript:
    """stop_reason: why the play ended. expect: what is right, where only the play found it out."""

    turns: tuple[Turn, ...]
    stop_reason: str
    expect: Mapping[str, Any] | None = None


def transcript_of(row: Mapping[str, Any], bodies: Mapping[str, str], task: Task | None) -> Transcript | None:
    """Of a row as stored; None where it holds none. bodies: the file's results. task: None where it is not known."""
    value = row.get("transcript")
    if not isinstance(value, dict):
        return None
    own = value.get("expect")
    found = own if isinstance(own, dict) else expectation_of(task)
    orders, atoms = orders_of(task), _atoms(found)
    end = row.get("evidence_turn")
    turns = [_turn(number, turn, bodies, orders, atoms, number == end)
             for number, turn in enumerate(_dicts(value.get("turns")), 1)]
    return Transcript(tuple(turns), clean(str(value.get("stop_reason"))), own if isinstance(own, dict) else None)


def expectation_of(task: Task | None) -> Mapping[str, Any]:
    """What a task expects; empty where that is not known."""
    found = task.extra.get("expect") if task else None
    return found if isinstance(found, dict) else {}


def orders_of(task: Task | None) -> tuple[tuple[str, str], ...]:
    """(request, text that a fault puts into its result) for each text of an injection task."""
    if task is None or not expectation_of(task).get("injection"):
        return ()
    faults = [(fault.get("req"), fault.get("set")) for fault in _dicts(task.extra.get("faults"))]
    return tuple((req, put["value"]) for req, put in faults
                 if isinstance(req, str) and isinstance(put, dict) and isinstance(put.get("value"), str))


def _turn(number: int, turn: Mapping[str, Any], bodies: Mapping[str, str], orders: Sequence[tuple[str, str]],
          atoms: Sequence[Mapping[str, Any]], evidence: bool) -> Turn:
    seconds, usage = turn.get("latency_s"), turn.get("usage")
    counts = [usage.get(name) for name in ("input_tokens", "output_tokens")] if isinstance(usage, dict) else [None]
    return Turn(number, clean(str(turn.get("kind"))), evidence_of(turn),
                float(seconds) if is_number(seconds) else None,
                sum(counts) if all(isinstance(count, int) for count in counts) else None,   # type: ignore[arg-type]
                tuple(_result(one, bodies, orders, atoms) for one in _dicts(turn.get("executed"))), evidence)


def _result(one: Mapping[str, Any], bodies: Mapping[str, str], orders: Sequence[tuple[str, str]],
            atoms: Sequence[Mapping[str, Any]]) -> Result:
    request, status, key = one.get("request"), one.get("status"), one.get("body")
    request = request if isinstance(request, str) else None
    status = status if isinstance(status, int) else None
    text = bodies.get(key) if isinstance(key, str) else None
    text = text if isinstance(text, str) else None
    body = _parsed(text)
    response = Response(request, status, body, text or "{}") if request is not None and status is not None else None
    return Result(_call(one.get("call")), clean(request) if request is not None else None, status, _state(status, body),
                  response is not None and response.answered, key if isinstance(key, str) else "",
                  None if text is None else len(text), response is not None and _is_evidence(atoms, response),
                  text is not None and any(request == req and quoted(order) in text for req, order in orders))


def quoted(text: str) -> str:
    """A text as it stands between the quotes of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _call(value: Any) -> str | None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    text = str(Call(value["name"], value["arguments"] if isinstance(value.get("arguments"), dict) else {}))
    return clean(text if len(text) <= LONGEST_CALL else text[:LONGEST_CALL] + "…")


def _state(status: int | None, body: Mapping[str, Any]) -> str:
    """What came of a request, in one word."""
    error, meta = body.get("error"), body.get("meta")
    if isinstance(error, dict) and isinstance(error.get("code"), str):
        return clean(error["code"])
    told = meta.get("source_status") if isinstance(meta, dict) else None
    return clean(told) if isinstance(told, str) else "ok" if status == 200 else "error"


def _is_evidence(atoms: Sequence[Mapping[str, Any]], response: Response) -> bool:
    try:
        return any(matches(atom, response) for atom in atoms)
    except (DataError, LookupError, TypeError, ValueError, AttributeError):     # of a shape that no world gives
        return False


def _atoms(expect: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    try:
        return list(atoms_of(expect["must_call"])) if "must_call" in expect else []
    except DataError:
        return []


def _parsed(text: str | None) -> Mapping[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> Iterator[Mapping[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


# --- what a task declares ---------------------------------------------------------------------------------------------

def gold_text(answer: Mapping[str, Any]) -> str:
    """The expected answer in words, as "36 kW ± 0.5", "9 of type number"."""
    kind, value = answer.get("type"), answer.get("value")
    if kind == "none":
        reasons = " or ".join(map(str, answer.get("reasons") or ())) or "any reason"
        others = answer.get("alternatives")
        one_of = f", with one of {len(others)} alternatives" if isinstance(others, list) and others else ""
        return f"null, for the reason {reasons}{one_of}"
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    unit = f" {answer['unit']}" if answer.get("unit") else ""
    tolerance = f" ± {answer['tolerance']:g}" if is_number(answer.get("tolerance")) and answer["tolerance"] else ""
    accept = answer.get("accept")
    also = f", also {', '.join(map(str, accept))}" if isinstance(accept, list) and accept else ""
    return f"{shown}{unit}{tolerance}{also} ({kind})"


def said_text(answer: Any) -> str:
    """The answer as it was read: its value with unit, or null with its reason; "none" without an answer object."""
    if not isinstance(answer, Mapping):
        return "none"
    value = answer.get("antwort")
    shown = "null" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    more = [f"{name} {_plain(answer.get(key))}" for name, key in (
        ("reason", "grund"), ("alternative", "alternative"), ("source", "quelle")) if answer.get(key)]
    unit = f" {answer['einheit']}" if answer.get("einheit") else ""
    return shown + unit + (f" ({', '.join(more)})" if more else "")


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def atom_text(atom: Mapping[str, Any]) -> str:
    """A request that counts, as "/cities/bonn/parking", "compare weather: bonn", with what it must have come to."""
    where = f"compare {atom['resource']}: {atom['city']}" if "resource" in atom and "city" in atom else str(atom["req"])
    inside = f" (highlight {atom['highlight']})" if "highlight" in atom else ""
    result = atom.get("result", "answered")
    return where + inside + ("" if result == "answered" else " asked" if result == "any" else f" says {result}")


def pattern_text(pattern: Any, inner: bool = False) -> str:
    """A pattern of evidence in one line: "A or B", "A and (B or C)", "A, then B"; "?" for what is none."""
    if not isinstance(pattern, Mapping):
        return "?"
    if "req" in pattern:
        return atom_text(pattern)
    for kind, joint in (("all", " and "), ("any", " or "), ("seq", ", then ")):
        parts = pattern.get(kind)
        if isinstance(parts, list):
            text = joint.join(pattern_text(part, inner=True) for part in parts)
            return f"({text})" if inner and len(parts) > 1 else text or "nothing"
    return "?"


def pattern_tree(pattern: Any) -> Any:
    """The same as a tree: a text, or [kind, parts…]."""
    if not isinstance(pattern, Mapping) or "req" in pattern:
        return clean(pattern_text(pattern))
    for kind in ("all", "any", "seq"):
        parts = pattern.get(kind)
        if isinstance(parts, list):
            return [kind, *map(pattern_tree, parts)]
    return "?"


def fault_text(fault: Mapping[str, Any]) -> str:
    """What a task does to its world, in words."""
    req, put, times = fault.get("req"), fault.get("set"), fault.get("times")
    if isinstance(put, dict):
        return f"{req}: {put.get('at')} becomes {put.get('value')}"
    how = f"answers {fault['status']}" if "status" in fault else f"says {fault.get('source_status')}"
    often = "" if times is None else " once" if times == 1 else f" {times} times"
    return f"{req} {how}{often}" + (", wherever the datum stands" if fault.get("scope") == "datum" else "")


def rule_text(rule: Mapping[str, Any]) -> str:
    """A prohibition in words."""
    return "any call after the evidence" if rule.get("after_evidence") else pattern_text(rule)


def wanted_text(injection: Mapping[str, Any]) -> str:
    """What an injected text is after."""
    call, answer = injection.get("call"), injection.get("answer")
    parts = [f"the request {pattern_text(call).removesuffix(' asked')}"] if call else []
    if isinstance(answer, Mapping):
        parts.append("the answer null")
    elif answer is not None:
        parts.append(f"the answer {_plain(answer)}")
    return " and ".join(parts) or "nothing"


def world_facts(task: Task) -> Iterator[tuple[str, str]]:
    """What a task of this suite says of itself besides its gold, as (name, text)."""
    expect = expectation_of(task)
    if expect.get("answer"):
        yield "answer", gold_text(expect["answer"])
    if expect.get("must_call"):
        yield "evidence", pattern_text(expect["must_call"])
    if expect.get("path"):
        yield "path", pattern_text(expect["path"])
    for rule in _dicts(expect.get("must_not")):
        yield "must not", rule_text(rule)
    for name, value in (expect.get("near_misses") or {}).items():
        yield "near miss", f"{name} = {_plain(value)}"
    for fault in _dicts(task.extra.get("faults")):
        yield "fault", fault_text(fault)
    if isinstance(expect.get("injection"), dict):
        yield "injected", f"asks for {wanted_text(expect['injection'])}"
    if task.extra.get("pair"):
        yield "twin", str(task.extra["pair"])
