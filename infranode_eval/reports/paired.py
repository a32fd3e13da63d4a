"""Two columns of verdicts over the same tasks: how far apart they are, and whether that is more than chance.

Pure. Newcombe and McNemar where tasks are independent and asked once; drawn clusters and the paired test by clusters
where tasks stand or fall together, or were asked several times (specification: scoring, Aggregates).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from infranode_eval.reports.tiers import paired_p
from infranode_eval.statistics import (
    Interval,
    PairedTest,
    Pairs,
    cluster_bootstrap,
    exact_is_shown,
    mcnemar,
    mcnemar_exact,
    paired_difference,
)


@dataclass(frozen=True, slots=True)
class Paired:
    """`second` beside `first`, in solved tasks (a part of a task where repeats differ).

    difference: second minus first. gained, lost: tasks that the second, or the first, solves more often. corrected,
    exact: McNemar's tests, None with repeats. clustered: p of the test by clusters, None for independent tasks. p: of
    the test that decides.
    """

    n: int
    first: float
    second: float
    gained: int
    lost: int
    difference: Interval
    method: str
    corrected: PairedTest | None
    exact: float | None
    clustered: float | None
    p: float

    @property
    def drop(self) -> Interval:
        """First minus second: what the second loses."""
        return Interval(*(0.0 - d for d in (self.difference.estimate, self.difference.high, self.difference.low)))

    @property
    def exact_is_shown(self) -> bool:
        return self.exact is not None and exact_is_shown(self.gained, self.lost)


def pair(first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable],
         repeats: int = 1) -> Paired:
    """first, second: what each solved of each task, 0–1. clusters: which tasks stand or fall together.

    repeats: how often tasks were asked. Raise ValueError without tasks.
    """
    pairs = Pairs.of([share == 1 for share in second], [share == 1 for share in first])
    differences = [b - a for a, b in zip(first, second, strict=True)]
    gained, lost = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    together = repeats > 1 or len(set(clusters)) < len(clusters)
    clustered = paired_p(second, first, [1.0] * len(first), clusters) if together else None
    corrected, exact = mcnemar(gained, lost), mcnemar_exact(gained, lost)
    p = clustered if clustered is not None else exact if exact_is_shown(gained, lost) else corrected.p
    return Paired(len(first), sum(first), sum(second), gained, lost,
                  _drawn(differences, clusters, first, repeats) if together else paired_difference(pairs),
                  "cluster bootstrap" if together else "Newcombe", None if repeats > 1 else corrected,
                  None if repeats > 1 else exact, clustered, p)


def _drawn(differences: Sequence[float], clusters: Sequence[Hashable], first: Sequence[float],
           repeats: int) -> Interval:
    """The mean difference. Tasks that are all alike draw no width: there Newcombe's limits hold, clusters as tasks."""
    count, alike = len(set(clusters)), set(differences)
    if alike == {0.0}:
        solved = round(count * sum(first) / len(first))
        return paired_difference(Pairs(solved, 0, 0, count - solved))
    if alike in ({1.0}, {-1.0}):
        return paired_difference(Pairs(0, count, 0, 0) if alike == {1.0} else Pairs(0, 0, count, 0))
    # In repeats and not in tasks, so that the numbers are whole: such are drawn faster.
    found = cluster_bootstrap((cluster, d * repeats) for cluster, d in zip(clusters, differences, strict=True))
    return Interval(*(limit / repeats for limit in (found.estimate, found.low, found.high)))
