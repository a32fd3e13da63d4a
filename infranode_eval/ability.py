"""Ability as a weighted sum over tasks: the weights, and the interval that belongs to them.

Pure. Ability is the unweighted mean of call_match over the categories without not_covered (specification: scoring,
Aggregates), so a task weighs 1 / (categories × tasks in its category) and a task of not_covered nothing.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Hashable, Sequence

from infranode_eval.statistics import DRAWS, SEED, Interval, wilson

POLICY = "not_covered"


def ability_weights(categories: Sequence[str]) -> list[float]:
    """The weight of each task, by its category; they sum to 1, or are all 0 where no task counts."""
    sizes = Counter(c for c in categories if c != POLICY)
    return [0.0 if c == POLICY else 1 / (len(sizes) * sizes[c]) for c in categories]


def ability_interval(solved: Sequence[float], categories: Sequence[str]) -> Interval | None:
    """95 % interval of ability for independent tasks; None where no task counts.

    solved: 0 or 1 for each task. Wilson limits of each category, joined as Zou and Donner, Statistics in Medicine 27
    (2008) 1693–1702, join limits of independent estimates (MOVER): the squared distances add up.
    """
    by_category: dict[str, list[float]] = {}
    for value, category in zip(solved, categories, strict=True):
        if category != POLICY:
            by_category.setdefault(category, []).append(value)
    if not by_category:
        return None
    parts = [wilson(sum(values), len(values)) for values in by_category.values()]
    estimate = math.fsum(p.estimate for p in parts) / len(parts)
    down = math.sqrt(math.fsum((p.estimate - p.low) ** 2 for p in parts)) / len(parts)
    up = math.sqrt(math.fsum((p.high - p.estimate) ** 2 for p in parts)) / len(parts)
    return Interval(estimate, max(0.0, estimate - down), min(1.0, estimate + up))


def clustered_ability_interval(solved: Sequence[float], categories: Sequence[str], clusters: Sequence[Hashable], *,
                               draws: int = DRAWS, seed: int = SEED) -> Interval | None:
    """95 % percentile interval of ability from drawing whole clusters within each category; None where none counts.

    solved: share of a task's repeats that are solved. Equal input and seed give equal limits.
    """
    strata: dict[str, dict[Hashable, list[float]]] = {}
    for value, category, cluster in zip(solved, categories, clusters, strict=True):
        if category != POLICY:
            entry = strata.setdefault(category, {}).setdefault(cluster, [0.0, 0.0])
            entry[0] += value
            entry[1] += 1
    if not strata:
        return None
    groups = [tuple(zip(*inside.values(), strict=True)) for inside in strata.values()]
    generator = random.Random(seed)
    means = [0.0] * draws
    for totals, sizes in groups:
        indices = range(len(totals))
        for draw in range(draws):
            chosen = generator.choices(indices, k=len(indices))
            means[draw] += sum(map(totals.__getitem__, chosen)) / sum(map(sizes.__getitem__, chosen))
    ordered = sorted(m / len(groups) for m in means)
    estimate = math.fsum(sum(t) / sum(s) for t, s in groups) / len(groups)
    return Interval(estimate, ordered[round(0.025 * (draws - 1))], ordered[round(0.975 * (draws - 1))])
