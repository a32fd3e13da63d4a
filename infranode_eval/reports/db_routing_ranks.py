"""The order of the runs of the suite db_routing in one table: tiers, the drift band, and what failures turn round.

Pure. Ranked are models over a whole panel that have called a tool, by the answered questions of the bucket that leads.
Source: specification, db_routing, 27, 30 and 42.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from infranode_eval.reports.db_routing import ALL, Routing
from infranode_eval.reports.tiers import paired_p, placed
from infranode_eval.stability import drift_band, swaps

if TYPE_CHECKING:
    from infranode_eval.reports.figures import Summary

MOST_RANKED = 100       # every pair is tested


def order_key(routing: Routing) -> tuple[bool, float, float]:
    """Excluded runs last; by the leading bucket, then by all questions; those without an answer behind the others."""
    leading, whole = routing.leading.of_answered, routing.routes[ALL].of_answered
    return routing.status is not None, -(-1.0 if leading is None else leading), -(-1.0 if whole is None else whole)


def is_ranked(summary: Summary) -> bool:
    """Is it a model over a whole panel, in the loop with tools, with an answer in the leading bucket?"""
    found = summary.routing
    return (found is not None and not summary.run.baseline and found.limit is None and found.status is None
            and found.leading.answered > 0)


def ranked(summaries: Sequence[Summary]) -> list[int]:
    """The places in `summaries` of the runs that are ranked, the best first; those of one condition are given."""
    return sorted((i for i, s in enumerate(summaries) if is_ranked(s)),
                  key=lambda i: order_key(summaries[i].routing))       # type: ignore[arg-type]


def routing_tiers(summaries: Sequence[Summary]) -> list[int | None]:
    """The tier of each run, from 1; None outside the ranking, and for all where there are too many to compare."""
    places = ranked(summaries)
    found: list[int | None] = [None] * len(summaries)
    if 0 < len(places) <= MOST_RANKED:
        shares = [_shares(s.routing) for i in places if (s := summaries[i]).routing is not None]
        p_values = [_p(one, other) for one, other in combinations(shares, 2)]
        for place, tier in zip(places, placed(len(places), p_values).tier, strict=True):
            found[place] = tier
    return found


def _shares(routing: Routing) -> dict[str, float]:
    """The share of its answered repeats that is right, by task of the leading bucket."""
    found: dict[str, list[bool]] = {}
    for (task, _), given in routing.given.items():
        if routing.hard is None or routing.buckets[task] == routing.hard:
            found.setdefault(task, []).append(given.right)
    return {task: sum(right) / len(right) for task, right in found.items()}


def _p(one: dict[str, float], other: dict[str, float]) -> float:
    """Over the tasks that both answered."""
    common = [task for task in one if task in other]
    return paired_p([one[task] for task in common], [other[task] for task in common], [1.0] * len(common), common)


def swapped(summaries: Sequence[Summary], names: Sequence[str], bucket: str) -> list[tuple[str, str]]:
    """Neighbours whose order turns round if every failure is wrong, as (ahead among the answered, behind)."""
    return swaps(s.routing.routes[bucket].standing(name) for name, s in zip(names, summaries, strict=True)
                 if is_ranked(s) and s.routing is not None and bucket in s.routing.routes)


def measured_drift(summaries: Sequence[Summary]) -> Fraction | None:
    """The largest difference between two repeats of one of the runs in the leading bucket; None without a repeat."""
    return max((drift for s in summaries if is_ranked(s) and s.routing is not None
                and (drift := s.routing.drift) is not None), default=None)


def in_band(summaries: Sequence[Summary]) -> list[bool | None]:
    """Is each run within the largest drift of the leader? None outside the ranking, and where no drift is measured."""
    places = ranked(summaries)
    shares = [Fraction(int(route.right), route.answered) for i in places
              if (found := summaries[i].routing) is not None and (route := found.leading)]
    band = drift_band(shares, measured_drift(summaries))
    found_: list[bool | None] = [None] * len(summaries)
    for place, inside in zip(places, band or (), strict=band is not None):
        found_[place] = inside
    return found_
