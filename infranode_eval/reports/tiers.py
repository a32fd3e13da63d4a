"""Tiers: which runs a set of tasks can tell apart, and which it cannot.

Pure. Pairwise paired tests with Holm's correction over all pairs (specification: scoring, Aggregates). The test is
McNemar's, generalised to weighted tasks and to clusters of tasks that stand or fall together: with equal weights and
one task a cluster it is McNemar's with continuity correction.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

from infranode_eval.statistics import holm

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Tiers:
    """tier: the tier of each run, from 1. best, worst: the ranks between which a run may stand, from 1.

    Within a tier no two runs differ beyond chance; runs of neighbouring tiers may still be close to each other.
    """

    tier: tuple[int, ...]
    best: tuple[int, ...]
    worst: tuple[int, ...]


def paired_p(first: Sequence[float], second: Sequence[float], weights: Sequence[float],
             clusters: Sequence[Hashable]) -> float:
    """Two-sided p value that two runs solve equally much; 1 where no weighted task tells them apart.

    first, second: what each run solved of each task, 0–1. If runs were alike, each cluster's difference could as well
    have the other sign: the weighted sum has mean 0 and the variance of its squares. The sum is moved towards 0 by the
    smallest step that a sign makes, McNemar's correction for continuity.
    """
    sums: dict[Hashable, float] = {}
    for a, b, weight, cluster in zip(first, second, weights, clusters, strict=True):
        if weight and a != b:
            sums[cluster] = sums.get(cluster, 0.0) + weight * (a - b)
    steps = [abs(s) for s in sums.values() if abs(s) > 1e-12]
    if not steps:
        return 1.0
    distance = max(0.0, abs(math.fsum(sums.values())) - min(steps))
    return math.erfc(distance / math.sqrt(2 * math.fsum(s * s for s in steps)))


def tiers_of(ordered: Sequence[Sequence[float]], weights: Sequence[float], clusters: Sequence[Hashable],
             level: float = LEVEL) -> Tiers:
    """Tiers of runs that come in the order of their ability, the best first; all over the same tasks in one order."""
    count = len(ordered)
    return placed(count, [paired_p(ordered[a], ordered[b], weights, clusters)
                          for a, b in combinations(range(count), 2)], level)


def placed(count: int, p_values: Sequence[float], level: float = LEVEL) -> Tiers:
    """Tiers of `count` runs, the best first, from the p value of each pair, in the order of `combinations`.

    A run joins the tier above it if it cannot be told apart from any run in it, else it opens the next one.
    """
    pairs, adjusted = combinations(range(count), 2), holm(p_values)
    apart = {pair for pair, p in zip(pairs, adjusted, strict=True) if p < level}
    tier, members = [], []
    for run in range(count):
        if not members or any((other, run) in apart for other in members):
            members = []
            tier.append(tier[-1] + 1 if tier else 1)
        else:
            tier.append(tier[-1])
        members.append(run)
    best, worst = [1] * count, [count] * count
    for better, worse in apart:
        best[worse] += 1
        worst[better] -= 1
    return Tiers(tuple(tier), tuple(best), tuple(worst))
