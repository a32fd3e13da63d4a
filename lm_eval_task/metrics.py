"""The scorer: one reply against one task gives one verdict, many verdicts give the numbers of a table.

Pure: a reply (text, native calls, reasoning, finish reason) and a task go in, nothing else. lm-eval, run_eval,
selftest and report call `score_reply`; none of them judges on its own.
Source of every rule: specification, scoring ("The verdict, step by step", "Equality", "Aggregates").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lm_eval_task.datum import carried
from lm_eval_task.match import (
    MAIN,
    Policy,
    arguments_equal,
    calls_equal,
    fault_of,
    first_unpaired,
    lenient_call,
    normal_arguments,
    pairing,
)
from lm_eval_task.parse import calls_from_message
from lm_eval_task.records import MATCHES, Call, Reading, Reply, Score, Task
from lm_eval_task.tools import NAMED_TOOLS, Toolset, call_problem, request_of
from lm_eval_task.wording import asks_back, claims_done

SCORER_VERSION = "1.1"

_BOARDS = frozenset(("station_board_departures", "station_board_arrivals"))
# Categories that measure a policy and stay out of ability: to call or to look first where a source may not deliver
# (specification: scoring), and what to do about a town that only the list of cities, not the tools, could rule out.
POLICIES = ("not_covered", "city_outside")


def score_reply(task: Task, reply: Reply, tools: Toolset, mode: str = "prompt") -> Score:
    """The verdict on one reply. Never raises; an empty reply is the failure `empty_reply`, not a silence."""
    reading = calls_from_message(reply.message, tools, mode, reply.finish_reason)
    if is_filtered(reply, reading):
        return FILTERED
    return score_reading(task, reading, tools)


FILTERED = Score.failure("infra_error", "the provider's content filter left no reply", "content_filter")


def is_filtered(reply: Reply, reading: Reading) -> bool:
    """Did the provider's content filter leave nothing of the reply?"""
    return reply.finish_reason == "content_filter" and not reading.attempted and not reading.text


def score_reading(task: Task, reading: Reading, tools: Toolset, policy: Policy = MAIN) -> Score:
    """The verdict on what a reply says; the best of the gold and its accepted alternatives counts.

    The same request, and a match but for faults of serving, count with whichever of them they were found: the nearest
    answer by name and arguments need not be the one whose URL the reply shares. policy: what counts as equal, chosen
    by the suite.
    """
    if reading.broken:
        return _unreadable(task, reading)
    if not reading.calls:
        return _without_calls(task, reading, tools, policy)
    if not task.accept:
        score = _with_calls(task, task.expected, reading, tools, policy)
    else:
        scores = [_with_calls(task, expected, reading, tools, policy) for expected in task.alternatives]
        score = max(scores, key=lambda s: (s.call_match, s.args_match, s.tool_match))
        same, lenient = (any(getattr(s, name) for s in scores) for name in ("request_match", "lenient_call_match"))
        if (same, lenient) != (score.request_match, score.lenient_call_match):
            score = replace(score, request_match=same, datum_match=same, lenient_call_match=lenient)
    if not score.request_match and carried(task, reading.calls, tools):
        return replace(score, datum_match=True)
    return score


def _unreadable(task: Task, reading: Reading) -> Score:
    """Step 3: something attempted could not be read, even beside a complete call."""
    named = reading.broken_name is not None and any(
        len(expected) == 1 and expected[0].name == reading.broken_name for expected in task.alternatives)
    if reading.truncated:
        return _wrong(reading, "truncated", "the reply was cut inside a call", tool_match=named)
    return _wrong(reading, "malformed_call", "a call was attempted and cannot be read", tool_match=named)


def _without_calls(task: Task, reading: Reading, tools: Toolset, policy: Policy) -> Score:
    """Steps 4 to 6: no call. A call in the reasoning is credited in lenient_call_match only."""
    lenient = reading.lenient is not None and any(
        len(reading.lenient) == len(expected) and None not in _partners(tools, reading.lenient, expected, policy)
        for expected in task.alternatives if expected)
    if reading.truncated:
        return _wrong(reading, "truncated", "the token budget ended before a call or an answer")
    if not reading.text:
        if reading.thought:
            return _wrong(reading, "no_call", "a thought, but neither a call nor a text", lenient=lenient)
        return Score.failure("empty_reply", "text, calls and reasoning are all blank")
    labels = _wording_labels(reading.text)
    if any(not expected for expected in task.alternatives):
        return _right(reading, "abstain_ok", "no call is right, and none was made", labels)
    return _wrong(reading, "no_call", f"no call; expected {_show(task.expected)}", lenient=lenient, labels=labels)


def _with_calls(task: Task, expected: Sequence[Call], reading: Reading, tools: Toolset, policy: Policy) -> Score:
    """Steps 7 to 9: readable calls beside one alternative of the gold."""
    calls = reading.calls
    if len(calls) == len(expected) == 1 and calls_equal(tools, calls[0], expected[0], policy):
        return _right(reading, "ok_recovered" if reading.recovered else "ok", "as expected")
    if not expected:
        return _wrong(reading, "extra_calls", f"{_show(calls)}, but no call is right", parsed=True)
    if len(calls) != len(expected):
        outcome = "extra_calls" if len(calls) > len(expected) else "missing_calls"
        labels = ("right_plus_extra",) if outcome == "extra_calls" and _covers(tools, calls, expected, policy) else ()
        return _wrong(reading, outcome, f"{len(calls)} calls instead of {len(expected)}: {_show(calls)}", parsed=True,
                      tool_match=any(calls[0].name == e.name for e in expected),
                      args_match=any(calls_equal(tools, calls[0], e, policy) for e in expected), labels=labels)
    partners = _partners(tools, calls, expected, policy)
    if None not in partners:
        return _right(reading, "ok_recovered" if reading.recovered else "ok", "as expected")
    first, open_ones = first_unpaired(partners, len(expected))
    beside = next((expected[j] for j in open_ones if expected[j].name == calls[first].name), expected[open_ones[0]])
    fault = fault_of(tools, calls[first], beside, policy)
    labels = _eva_labels(task, tools, calls, expected)
    single = len(calls) == 1
    tool_match = fault.outcome not in _WRONG_NAME if single else \
        Counter(c.name for c in calls) == Counter(e.name for e in expected)
    # With one call, equal names and equal arguments would have been a match, and with equal names no two calls of
    # different arguments cause the same request; only a wrong JSON type can be read more leniently.
    same = not (single and tool_match) and _same_requests(tools, calls, expected)
    return Score(
        fault.outcome, fault.sub, _unique(reading.labels, labels), fault.why, parsed=True, tool_match=tool_match,
        args_match=not (single and tool_match) and _arguments_match(tools, calls, expected, policy), call_match=False,
        request_match=same, datum_match=same,
        lenient_call_match="eva_from_memory_right" in labels
        or (tool_match and not (single and fault.outcome == "wrong_args")
            and None not in _partners(tools, [lenient_call(tools, c) for c in calls], expected, policy)),
        calls=calls)


_WRONG_NAME = frozenset(("wrong_tool", "unknown_tool"))


def _right(reading: Reading, outcome: str, why: str, labels: tuple[str, ...] = ()) -> Score:
    return Score(outcome, None, _unique(reading.labels, labels), why, True, True, True, True, True, True, True,
                 reading.calls)


def _wrong(reading: Reading, outcome: str, why: str, *, parsed: bool = False, tool_match: bool = False,
           args_match: bool = False, lenient: bool = False, labels: tuple[str, ...] = ()) -> Score:
    return Score(outcome, None, _unique(reading.labels, labels), why, parsed, tool_match, args_match, False, False,
                 False, lenient, reading.calls)


def _show(calls: Sequence[Call]) -> str:
    text = ", ".join(map(str, calls)) or "no call"
    return text if len(text) <= 200 else text[:197] + "…"


def _partners(tools: Toolset, calls: Sequence[Call], expected: Sequence[Call], policy: Policy) -> list[int | None]:
    """For each call the index of the expected call that it covers, or None."""
    return pairing(lambda a, e: calls_equal(tools, calls[a], expected[e], policy), len(calls), len(expected))


def _covers(tools: Toolset, calls: Sequence[Call], expected: Sequence[Call], policy: Policy) -> bool:
    """Is every expected call among the actual ones, each covered by one of its own?"""
    return sum(partner is not None for partner in _partners(tools, calls, expected, policy)) == len(expected)


def _arguments_match(tools: Toolset, calls: Sequence[Call], expected: Sequence[Call], policy: Policy) -> bool:
    """Equal multisets of arguments whatever the names, under the gold tools' schemas (as the original benchmark)."""
    return None not in pairing(
        lambda a, e: arguments_equal(tools.by_name[expected[e].name], calls[a].arguments, expected[e].arguments,
                                     policy),
        len(calls), len(expected))


def _same_requests(tools: Toolset, calls: Sequence[Call], expected: Sequence[Call]) -> bool:
    """Would the API have received the very same requests, though the names differ?

    Only get_city_resource shares paths with other tools, and only the twelve send requests at all.
    """
    if not any(_alias(call) for call in (*calls, *expected)):
        return False
    return Counter(_request(tools, c) for c in calls) == Counter(_request(tools, e) for e in expected) \
        and all(_request(tools, c) is not None for c in calls)


def _alias(call: Call) -> bool:
    key = call.arguments.get("resource") if call.name == "get_city_resource" else None
    return isinstance(key, str) and key in NAMED_TOOLS


def _request(tools: Toolset, call: Call) -> str | None:
    tool = tools.get(call.name)
    if tool is None or call_problem(tools, call) is not None:
        return None
    return request_of(Call(call.name, normal_arguments(tool, call.arguments)))


def _eva_labels(task: Task, tools: Toolset, calls: Sequence[Call], expected: Sequence[Call]) -> tuple[str, ...]:
    """A board call where the station list was expected: the EVA came from memory, right or invented.

    The row's `then` lists the calls that may follow the look-up; a board call equal to one of them knew the number.
    """
    following = task.extra.get("then")
    if not following or len(calls) != 1 or len(expected) != 1 or calls[0].name not in _BOARDS:
        return ()
    called = lenient_call(tools, calls[0]).to_json()
    known = isinstance(following, list) and called in following
    return ("eva_from_memory_right",) if known else ("eva_invented",)


def _wording_labels(text: str) -> tuple[str, ...]:
    """Labels that move no number: does a reply without a call ask back, does it claim an action?"""
    return (("asks",) if asks_back(text) else ()) + (("claims_done",) if claims_done(text) else ())


def _unique(labels: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """Both, each label once; the usual reply has none."""
    return tuple(dict.fromkeys(labels + more)) if labels or more else ()


# --- aggregates -------------------------------------------------------------------------------------------------------

def mean(values: Iterable[bool | float]) -> float | None:
    """Arithmetic mean, rounded once (the same bits on every Python); None for no value ("—" in tables, never 0)."""
    values = list(values)
    return math.fsum(values) / len(values) if values else None


def ability(rows: Iterable[tuple[str, bool]]) -> float | None:
    """Unweighted mean over all categories but POLICIES of the mean call_match; rows: (category, call_match)."""
    by_category: dict[str, list[bool]] = {}
    for category, matched in rows:
        if category not in POLICIES:
            by_category.setdefault(category, []).append(matched)
    return mean(mean(values) for values in by_category.values())


def aggregate(rows: Sequence[tuple[str, Score]]) -> dict[str, float | None]:
    """The metrics over (category, score) rows, 0–1; a failure counts as not solved (strict).

    None where a metric has no row, so `aggregate` of the answered rows alone gives the other denominator.
    """
    matches = {name: [bool(getattr(s, name)) for _, s in rows] for name in MATCHES}
    categories = list(dict.fromkeys(category for category, _ in rows))
    right_tool = [bool(s.call_match) for _, s in rows if s.tool_match]
    metrics: dict[str, float | None] = {
        "ability": ability((c, bool(s.call_match)) for c, s in rows),
        "call_match": mean(matches["call_match"]),
        "tool_match": mean(matches["tool_match"]),
        "args_match": mean(matches["args_match"]),
        "tool_choice": mean(matches["tool_match"]),
        "args_given_tool": mean(right_tool),
        "parsed": mean(matches["parsed"]),
        "request_match": mean(matches["request_match"]),
        "datum_match": mean(matches["datum_match"]),
        "lenient_call_match": mean(matches["lenient_call_match"]),
    }
    for category in categories:
        metrics[f"call_match_{category}"] = mean(bool(s.call_match) for c, s in rows if c == category)
    return metrics


def confusion(pairs: Iterable[tuple[Task, Score]], tools: Toolset) -> Mapping[str, Counter[str]]:
    """Gold tool → how often each tool was called first (an offered name, "none", "unknown"); answered rows only."""
    table: dict[str, Counter[str]] = {}
    for task, score in pairs:
        if score.failed:
            continue
        gold = task.expected[0].name if task.expected else "none"
        called = score.calls[0].name if score.calls else "none"
        table.setdefault(gold, Counter())[called if called == "none" or called in tools else "unknown"] += 1
    return table
