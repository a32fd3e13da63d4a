"""Tiers: the weighted paired test is McNemar's where it should be, and tiers say only what the test says."""

from __future__ import annotations

import random

import pytest

from infranode_eval.reports.tiers import paired_p, tiers_of
from infranode_eval.statistics import mcnemar


@pytest.mark.parametrize(("first_only", "second_only"), [(0, 0), (1, 0), (5, 0), (12, 3), (3, 12), (20, 20), (40, 9)])
def test_equal_weights_give_mcnemars_corrected_test(first_only: int, second_only: int) -> None:
    first = [1.0] * first_only + [0.0] * second_only + [1.0, 0.0]
    second = [0.0] * first_only + [1.0] * second_only + [1.0, 0.0]
    weights = [1 / len(first)] * len(first)
    assert paired_p(first, second, weights, range(len(first))) == pytest.approx(mcnemar(first_only, second_only).p)


@pytest.mark.parametrize(("first", "second", "weights", "clusters", "p", "why"), [
    ([1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 1, 2], 1.0, "no task tells them apart"),
    ([1, 1, 1], [0, 0, 0], [0, 0, 0], [0, 1, 2], 1.0, "tasks without weight tell nothing"),
    ([1, 0, 1, 0], [0, 1, 0, 1], [1] * 4, [0, 0, 1, 1], 1.0, "differences that cancel inside each cluster"),
    ([1, 0], [0, 1], [1, 1], [0, 1], 1.0, "as many the one way as the other"),
])
def test_no_difference_has_p_one(first, second, weights, clusters, p, why) -> None:
    assert paired_p(first, second, weights, clusters) == p, why


def test_tasks_of_one_cluster_count_as_one() -> None:
    alone = paired_p([1.0] * 12, [0.0] * 12, [1.0] * 12, range(12))
    together = paired_p([1.0] * 12, [0.0] * 12, [1.0] * 12, [i // 4 for i in range(12)])
    assert alone < 0.01 < 0.05 < together


def test_runs_alike_are_told_apart_in_less_than_one_of_twenty_samples() -> None:
    generator = random.Random(7)
    weights = [1 / 3 / 10] * 10 + [1 / 3 / 20] * 20 + [1 / 3 / 40] * 40
    found = 0
    for _ in range(400):
        hardness = [generator.random() for _ in weights]
        first, second = ([float(generator.random() < h) for h in hardness] for _ in range(2))
        found += paired_p(first, second, weights, range(70)) < 0.05
    assert found / 400 < 0.05


def test_no_two_runs_of_a_tier_are_separable_and_ranks_count_the_certain_ones() -> None:
    good, fair, bad = [1.0] * 40, [1.0] * 37 + [0.0] * 3, [0.0] * 38 + [1.0] * 2
    found = tiers_of([good, fair, bad], [1 / 40] * 40, range(40))
    assert found.tier == (1, 1, 2)
    assert (found.best, found.worst) == ((1, 1, 3), (2, 2, 3))


def test_more_pairs_need_more_evidence() -> None:
    one, two = [1.0] * 40, [1.0] * 32 + [0.0] * 8
    assert tiers_of([one, two], [1 / 40] * 40, range(40)).tier == (1, 2)
    crowd = [one, *[[1.0] * 39 + [0.0]] * 5, two]
    assert tiers_of(crowd, [1 / 40] * 40, range(40)).tier == (1,) * 7, "Holm over 21 pairs, not one"


def test_one_run_has_a_tier_of_its_own_and_none_has_none() -> None:
    assert tiers_of([[1.0]], [1.0], [0]).tier == (1,)
    assert tiers_of([], [], []).tier == ()
