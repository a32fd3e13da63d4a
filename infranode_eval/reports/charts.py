"""What charts show, as values without a look: outcome parts, axes, points and the Pareto front; pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from infranode_eval.reports.archive import UNKNOWN, Row
from infranode_eval.reports.figures import Summary
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.team_rows import SUITE as TEAM
from lm_eval_task.records import FAILURES

# The parts of an outcome bar. Silence, an unreadable call, a spent budget and no answer are four different things.
KINDS = ("right", "tool", "args", "count", "silent", "unreadable", "truncated", "unanswered", "unknown")
# The same of the suite chain, where a play is judged by how it ends.
PLAYED_KINDS = ("right", "value", "unseen", "wenton", "injected", "noanswer", "unanswered")
# The same of the suite team: all rounds, some, none.
TEAM_KINDS = ("right", "part", "lost", "unanswered")
ALL_KINDS = tuple(dict.fromkeys((*KINDS, *PLAYED_KINDS, *TEAM_KINDS)))

_KIND = {"ok": "right", "ok_recovered": "right", "abstain_ok": "right", "wrong_tool": "tool", "unknown_tool": "tool",
         "wrong_args": "args", "missing_args": "args", "hallucinated_arg": "args", "type_error": "args",
         "extra_calls": "count", "missing_calls": "count", "no_call": "silent", "malformed_call": "unreadable",
         "truncated": "truncated", **dict.fromkeys(FAILURES, "unanswered"),
         "wrong_answer": "value", "no_evidence": "unseen", "went_on": "wenton", "followed_injection": "injected",
         "no_answer": "noanswer", "solved": "right", "partial": "part", "unsolved": "lost"}


def kinds_of(suite: str) -> tuple[str, ...]:
    """The parts of a bar of this suite, in their order."""
    return {PLAYED: PLAYED_KINDS, TEAM: TEAM_KINDS}.get(suite, KINDS)


def kind_of(row: Row) -> str:
    """Which part of the bar a row belongs to."""
    if row.score.outcome == UNKNOWN:
        return "right" if row.score.call_match else "unknown"
    return _KIND[row.score.outcome]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar: rows of one kind; start and width as shares of all rows, 0–1."""

    kind: str
    count: int
    start: float
    width: float


def parts_of_bar(summary: Summary) -> list[Part]:
    """The kinds that occur, in the order of their suite."""
    kinds = kinds_of(summary.run.suite)
    counts = Counter({"right": summary.outcomes.get("ok", 0) + summary.outcomes.get("solved", 0)}
                     if kinds is not KINDS else
                     {"right": summary.fates["right"], "unknown": summary.fates[UNKNOWN]})
    for outcome, number in summary.outcomes.items():
        if _KIND.get(outcome, "right") != "right":
            counts[_KIND[outcome]] += number
    every, parts, before = counts.total(), [], 0
    for kind in kinds:
        if counts[kind]:
            parts.append(Part(kind, counts[kind], before / every, counts[kind] / every))
            before += counts[kind]
    return parts


# --- effort against what is solved ------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Point:
    """A run in the plane: effort (less is better), what it solves, 0–1. front: no other run is better in both."""

    name: str
    effort: float
    value: float
    front: bool = False


def with_front(points: Sequence[Point]) -> list[Point]:
    """By effort; a point is on the front if none with at most its effort has a higher value (or an equal one for less).
    """
    best, found = -1.0, []
    for point in sorted(points, key=lambda p: (p.effort, -p.value, p.name)):
        on_front = point.value > best
        best = max(best, point.value)
        found.append(Point(point.name, point.effort, point.value, on_front))
    return found


@dataclass(frozen=True, slots=True)
class Axis:
    """Positive numbers on a line, 0–1; logarithmic where they span more than a factor of eight."""

    low: float
    high: float
    logarithmic: bool
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        if self.logarithmic:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)


def axis_for(values: Sequence[float]) -> Axis:
    """An axis with round ticks around positive values. Raise ValueError without values."""
    low, high = min(values), max(values)
    if low > 0 and high / low > 8:
        ticks = [m * 10.0 ** e for e in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
                 for m in (1, 2, 5)]
        first = max(t for t in ticks if t <= low * 0.95)
        last = min(t for t in [*ticks, 10.0 ** math.ceil(math.log10(high) + 0.1)] if t >= high * 1.05)
        inside = tuple(t for t in ticks if first <= t <= last)
        return Axis(first, last, True, inside if len(inside) < 8 else inside[::len(inside) // 6 + 1])
    step = _round_step((high or 1.0) / 4)
    top = step * math.ceil(high * 1.05 / step) if high else 1.0
    return Axis(0.0, top, False, tuple(step * i for i in range(round(top / step) + 1)))


def _round_step(rough: float) -> float:
    unit = 10.0 ** math.floor(math.log10(rough))
    return next(m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= rough * 0.999)
