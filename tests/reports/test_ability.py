"""Ability's weights and intervals: they belong to the number that the scorer gives."""

from __future__ import annotations

import math
import random

import pytest

from infranode_eval.reports.ability import ability_interval, ability_weights
from infranode_eval.statistics import wilson
from lm_eval_task.metrics import ability

CATEGORIES = ["a"] * 4 + ["b"] * 16 + ["not_covered"] * 5


def test_the_weighted_sum_is_the_scorers_ability() -> None:
    solved = [float(i % 3 == 0) for i in range(25)]
    weighted = math.fsum(w * s for w, s in zip(ability_weights(CATEGORIES), solved, strict=True))
    assert weighted == pytest.approx(ability(zip(CATEGORIES, map(bool, solved), strict=True)))
    assert math.fsum(ability_weights(CATEGORIES)) == pytest.approx(1)


def test_without_a_category_that_counts_there_is_no_ability() -> None:
    assert ability_weights(["not_covered"] * 3) == [0.0] * 3
    assert ability_interval([1.0] * 3, ["not_covered"] * 3) is None


def test_one_category_has_wilsons_interval() -> None:
    found, expected = ability_interval([1.0] * 7 + [0.0] * 3, ["a"] * 10), wilson(7, 10)
    assert (found.estimate, found.low, found.high) == pytest.approx((expected.estimate, expected.low, expected.high))


@pytest.mark.parametrize("clusters", [None, range(25), [i // 2 for i in range(25)]])
@pytest.mark.parametrize("solved", [[1.0] * 25, [0.0] * 25])
def test_all_or_nothing_keeps_a_width_on_one_side(solved: list[float], clusters) -> None:
    found = ability_interval(solved, CATEGORIES, clusters)
    assert 0 <= found.low <= found.estimate <= found.high <= 1 and found.high - found.low > 0.05


def test_nineteen_of_twenty_intervals_hold_the_truth() -> None:
    generator = random.Random(3)
    chances = {"a": 0.9, "b": 0.5, "c": 0.7}
    categories = ["a"] * 6 + ["b"] * 24 + ["c"] * 12
    truth = sum(chances.values()) / 3
    held = 0
    for _ in range(500):
        found = ability_interval([float(generator.random() < chances[c]) for c in categories], categories)
        held += found.low <= truth <= found.high
    assert 0.93 <= held / 500 <= 0.985


def test_clusters_that_stand_or_fall_together_widen_the_interval() -> None:
    solved, categories = [float(i % 8 < 4) for i in range(40)], ["a"] * 40
    alone = ability_interval(solved, categories, range(40))
    together = ability_interval(solved, categories, [i // 4 for i in range(40)])
    assert alone.estimate == together.estimate == 0.5
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert together == ability_interval(solved, categories, [i // 4 for i in range(40)]), "same seed"
