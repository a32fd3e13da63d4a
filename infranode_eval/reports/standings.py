"""The standings of one group of comparable runs: tiers and ranks, and who stands outside them and why.

Pure. The same tiers as in `ranks`, with the ranks between which each run may stand. Only models over the same tasks are
ranked, by ability (strict). Outside stand baselines, runs whose token budget cut replies, and runs of which only
numbers are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infranode_eval.reports.ability import ability_interval
from infranode_eval.reports.exhibits import Exhibit, ordered
from infranode_eval.reports.figures import Summary
from infranode_eval.reports.ranks import OUTSIDE, placed_in_tiers, reasons_outside
from infranode_eval.statistics import Interval


@dataclass(frozen=True, slots=True)
class Standing:
    """One run's place. tier, best, worst: None outside the ranking, where `outside` says why, and without tiers."""

    exhibit: Exhibit
    ability: Interval | None
    tier: int | None = None
    best: int | None = None
    worst: int | None = None
    outside: str | None = None


def standings_of(exhibits: Sequence[Exhibit]) -> list[Standing]:
    """Ranked runs first, in the order of their ability, then those outside, by reason.

    Without tiers and ranks where there are more than MOST_RANKED models: every pair would have to be tested.
    """
    runs = ordered(exhibits)
    reasons = reasons_outside([e.summary for e in runs])
    ranked = [e for e, reason in zip(runs, reasons, strict=True) if reason is None]
    tiers = placed_in_tiers([e.summary for e in ranked])
    found = [Standing(e, interval_of(e.summary), *(tiers.tier[i], tiers.best[i], tiers.worst[i]) if tiers else ())
             for i, e in enumerate(ranked)]
    for reason in OUTSIDE:
        found += [Standing(e, interval_of(e.summary), outside=reason)
                  for e, why in zip(runs, reasons, strict=True) if why == reason]
    return found


def interval_of(summary: Summary) -> Interval | None:
    """95 % interval of ability; None without rows."""
    tally = summary.tally
    if tally is None:
        return None
    solved = list(tally.shares.values())
    clusters = tally.clusters or tally.task_ids
    return ability_interval(solved, tally.categories, clusters if is_drawn(summary) else None, tally.policies)


def is_drawn(summary: Summary) -> bool:
    """Does the interval come from drawing clusters? Where rows are not independent."""
    return summary.repeats > 1 or (summary.tally is not None and bool(summary.tally.clusters))
