"""Ability as a weighted sum over tasks: the weights, and the interval that belongs to them.

Pure. Ability is the unweighted mean of call_match over the categories without the policies (specification: scoring,
Aggregates), so a task weighs 1 / (categories × tasks in its category) and a task of a policy nothing. In the suite
chain it is the mean of task_success over all categories: there a look first is never wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.statistics import Interval, cluster_bootstrap, wilson
from lm_eval_task.metrics import POLICIES


def policies_of(suite: str) -> tuple[str, ...]:
    """The categories of a suite that stay out of ability."""
    return () if suite in (PLAYED, ROUTED) else POLICIES


def ability_weights(categories: Sequence[str], policies: Sequence[str] = POLICIES) -> list[float]:
    """The weight of each task, by its category; they sum to 1, or are all 0 where no task counts."""
    sizes = Counter(c for c in categories if c not in policies)
    return [0.0 if c in policies else 1 / (len(sizes) * sizes[c]) for c in categories]


def ability_interval(solved: Sequence[float], categories: Sequence[str], clusters: Sequence[Hashable] | None = None,
                     policies: Sequence[str] = POLICIES) -> Interval | None:
    """95 % interval of ability; None where no task counts.

    solved: share of a task's repeats that are solved, 0–1. clusters: which tasks stand or fall together; None for
    tasks that were asked once and are independent. The limits of each category, Wilson's or from drawing clusters, are
    joined as Zou and Donner, Statistics in Medicine 27 (2008) 1693–1702, join limits of independent estimates (MOVER):
    their squared distances add up.
    """
    by_category: dict[str, list[int]] = {}
    for index, category in enumerate(categories):
        if category not in policies:
            by_category.setdefault(category, []).append(index)
    if not by_category:
        return None
    parts = [_part([solved[i] for i in inside], None if clusters is None else [clusters[i] for i in inside])
             for inside in by_category.values()]
    estimate = math.fsum(p.estimate for p in parts) / len(parts)
    down = math.sqrt(math.fsum((p.estimate - p.low) ** 2 for p in parts)) / len(parts)
    up = math.sqrt(math.fsum((p.high - p.estimate) ** 2 for p in parts)) / len(parts)
    return Interval(estimate, max(0.0, estimate - down), min(1.0, estimate + up))


def _part(solved: Sequence[float], clusters: Sequence[Hashable] | None) -> Interval:
    """One category. Tasks that are all alike draw no width: there Wilson's limits hold, with clusters as the rows."""
    if clusters is None:
        return wilson(sum(solved), len(solved))
    if len(set(solved)) == 1 and solved[0] in (0, 1):
        count = len(set(clusters))
        return wilson(solved[0] * count, count)
    return cluster_bootstrap(zip(clusters, solved, strict=True))
