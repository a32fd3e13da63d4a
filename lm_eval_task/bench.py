"""The verdict on one case of the test bench, and the numbers of its five stages.

Reading, outcomes and equality are those of the main suite (parse, metrics, match) under the policy `bench`. Here stands
what only this suite has: steps with alternatives, hits, the original's rule beside ours, and its metrics.
Source of every rule: specification, bench ("Metrics", "Matching").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lm_eval_task.cases import SILENT, STAGES, offered, sets_of, steps_of
from lm_eval_task.decode import decode_all
from lm_eval_task.jsoncalls import read_arguments
from lm_eval_task.match import Policy, bench_policy, calls_equal, form_notes, pairing, same_text_equal
from lm_eval_task.metrics import FILTERED, ability, is_filtered, mean, score_reading
from lm_eval_task.parse import calls_from_message
from lm_eval_task.records import Call, Reading, Reply, Score, Task
from lm_eval_task.shapes import parts_of
from lm_eval_task.tools import Toolset

Steps = Sequence[Sequence[Call]]   # per expected call the calls that fulfil it, itself first


def score_case(task: Task, reply: Reply, tools: Toolset, mode: str = "prompt", zone: str = "") -> Score:
    """The verdict on one reply; `call_match` says whether the case succeeds. Never raises.

    tools: all of them; the case's `nur` is applied here. zone: of the golds' local times ("+02:00", "Europe/Berlin").
    """
    tools = offered(task, tools)
    reading = calls_from_message(reply.message, tools, mode, reply.finish_reason, several=True)
    if is_filtered(reply, reading):
        return FILTERED
    steps, policy = steps_of(task), bench_policy(zone, sets_of(task))
    fit = _fit(reading.calls or (), steps, tools, policy)
    score = score_reading(replace(task, expected=fit.golds, accept=()), reading, tools, policy)
    if score.failed:
        return score
    wants_order = bool(task.extra.get("reihenfolge"))
    if score.call_match and wants_order and not fit.in_order:
        score = replace(score, outcome="wrong_args", sub="other", labels=(*score.labels, "wrong_order"),
                        call_match=False, request_match=False, datum_match=False,
                        why="each call is right, but the case wants them in its order")
    details = {
        "hits": fit.hits, "steps": len(steps), "emitted": len(reading.calls or ()),
        "form_notes": list(fit.notes), "broken": reading.broken,
        **_by_the_original(reply.message, reading, steps, bool(score.call_match), wants_order),
        **_silence(task, score, reading.text),
        "first_step_only": len(reading.calls or ()) == fit.hits == 1 and not reading.broken
        if task.category == "S3" else None}
    return replace(score, lenient_call_match=score.call_match, details=details)


class _Fit(NamedTuple):
    """How the readable calls cover the steps.

    golds: at each step the alternative that the reply fulfils, or comes nearest to. in_order: call by call.
    """

    hits: int
    golds: tuple[Call, ...]
    notes: tuple[str, ...]
    in_order: bool


def _fit(calls: Sequence[Call], steps: Steps, tools: Toolset, policy: Policy) -> _Fit:
    def fulfilled(call: int, step: int) -> Call | None:
        return next((gold for gold in steps[step] if calls_equal(tools, calls[call], gold, policy)), None)

    in_order = len(calls) == len(steps) and all(fulfilled(i, i) is not None for i in range(len(steps)))
    partners = list(range(len(steps))) if in_order else pairing(
        lambda call, step: fulfilled(call, step) is not None, len(calls), len(steps))
    caller = {step: call for call, step in enumerate(partners) if step is not None}
    other = {call.name for call, step in zip(calls, partners, strict=True) if step is None}
    golds = tuple(fulfilled(caller[i], i) if i in caller
                  else next((gold for gold in step if gold.name in other), step[0]) for i, step in enumerate(steps))
    notes = tuple(f"{golds[i].name}.{note}" for i, call in sorted(caller.items()) for note in form_notes(
        tools.by_name[golds[i].name], calls[call].arguments, golds[i].arguments, policy))
    return _Fit(len(caller), golds, notes, in_order)


# --- the original's rule ----------------------------------------------------------------------------------------------

def _by_the_original(message: Mapping[str, Any], reading: Reading, steps: Steps, silent: bool,
                     wants_order: bool) -> dict[str, Any]:
    """`streng_hits` and `streng_match`: equal as text, equal keys, each step served by the first call that fits.

    silent: what counts where no call is right, the same under both rules.
    """
    calls, broken = _raw_calls(message, reading)
    free = list(range(len(calls)))
    for step in steps:
        first = next((i for i in free if _same_text(calls[i], step)), None)
        if first is not None:
            free.remove(first)
    hits = len(calls) - len(free)
    ordered = not wants_order or all(_same_text(call, step) for call, step in zip(calls, steps, strict=False))
    right = hits == len(steps) == len(calls) and not broken and ordered
    return {"streng_hits": hits, "streng_match": right if steps else silent}


def _raw_calls(message: Mapping[str, Any], reading: Reading) -> tuple[list[tuple[str, Any]], bool]:
    """(name, arguments) as the original saw them: of a native call whatever stands there, an object or not."""
    entries = [entry for entry in parts_of(message).entries if entry.name]
    if reading.broken_name is None or not entries:
        return [(call.name, call.arguments) for call in reading.calls or ()], reading.broken
    calls: list[tuple[str, Any]] = []
    for entry in entries:
        arguments, plain = read_arguments(entry.arguments), entry.arguments
        if arguments is not None:
            plain = arguments.value
        elif isinstance(plain, str):
            decoded = decode_all(plain)
            if decoded is None:
                return calls, True
            plain = decoded.value
        calls.append((entry.name.strip(), plain))
    return calls, False


def _same_text(call: tuple[str, Any], step: Sequence[Call]) -> bool:
    return any(call[0] == gold.name and same_text_equal(call[1], gold.arguments) for gold in step)


# --- silence ----------------------------------------------------------------------------------------------------------

def _silence(task: Task, score: Score, text: str) -> dict[str, bool | None]:
    """What a silent reply says, where no call is right; None where the question does not arise."""
    if task.category not in SILENT or score.outcome != "abstain_ok":
        return {"asked": None, "asked_right": None, "claims_done": None}
    asked, words = "asks" in score.labels, task.extra.get("fehlt")
    return {"asked": asked, "asked_right": asked and _names_one(text, words) if words else None,
            "claims_done": "claims_done" in score.labels}


def _names_one(text: str, words: Sequence[str]) -> bool:
    """Does one of the words occur, in any case, at the start of a word of the text?"""
    text = unicodedata.normalize("NFC", text).casefold()
    starts = "|".join(re.escape(unicodedata.normalize("NFC", word).casefold()) for word in words)
    return re.search(rf"(?<!\w)(?:{starts})", text) is not None


# --- aggregates -------------------------------------------------------------------------------------------------------

def aggregate_cases(pairs: Sequence[tuple[Task, Score]]) -> dict[str, float | None]:
    """The metrics over cases and their scores; a failure counts as not solved, not form-correct, not still (strict).

    Shares are 0–1, `schritte_je_auftrag` is a number of calls. None where a metric has no case.
    """
    acting = [(task, score) for task, score in pairs if task.category not in SILENT]
    still = [(task, score) for task, score in pairs if task.category in SILENT]
    steps = sum(len(task.expected) for task, _ in acting)
    silent = [score.details for task, score in still if task.category == "S5" and score.outcome == "abstain_ok"]
    success = mean(bool(score.call_match) for _, score in pairs)
    metrics = {
        "formkorrekt": mean(_count(s, "emitted") >= 1 and not s.details["broken"] for _, s in acting),
        "richtig_je_schritt": sum(_count(s, "hits") for _, s in acting) / steps if steps else None,
        "auftraege_gelungen": success,
        "schritte_je_auftrag": mean(_count(s, "emitted") for _, s in pairs),
        "stillgehalten": mean(s.outcome == "abstain_ok" for _, s in still),
        "ability": ability((task.category, bool(score.call_match)) for task, score in pairs),
        "call_match": success,
        "parsed": mean(bool(s.parsed) for _, s in pairs),
        "streng_auftraege_gelungen": mean(bool(s.details.get("streng_match")) for _, s in pairs),
        "asked": mean(bool(d["asked"]) for d in silent),
        "asked_right": mean(d["asked_right"] for d in silent if d["asked_right"] is not None),
        "claims_done": mean(bool(d["claims_done"]) for d in silent),
        "first_step_only": mean(bool(s.details.get("first_step_only")) for t, s in acting if t.category == "S3"),
    }
    return metrics | {f"call_match_{stage}": mean(bool(s.call_match) for t, s in pairs if t.category == stage)
                      for stage in STAGES}


def _count(score: Score, name: str) -> int:
    """A count among the details; 0 in a failure, which has none."""
    return score.details.get(name, 0)
