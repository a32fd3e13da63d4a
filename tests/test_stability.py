"""Failures, repeats and the band around a leader: all counted by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from infranode_eval.stability import (
    Drift,
    Given,
    Standing,
    drift_band,
    drift_between,
    drift_by_bucket,
    largest_drift,
    swaps,
)

A = Standing("A", 150, 182, 184)      # 0.8242, worst case 0.8152
B = Standing("B", 151, 184, 184)      # 0.8207 both ways
C = Standing("C", 140, 184, 184)


@pytest.mark.parametrize("standings, expected, why", [
    ([A, B, C], [("A", "B")], "A leads by answered rows; its two failures cost it the place"),
    ([C, B, A], [("A", "B")], "the order of the input is none"),
    ([Standing("A", 150, 184, 184), B, C], [], "no failure, no swap"),
    ([A, Standing("B", 150, 184, 184)], [], "equal in the worst case is no swap"),
    ([Standing("A", 75, 91, 92), Standing("B", 150, 182, 182)], [], "equal by answered rows is no swap"),
    ([Standing("A", 9, 9, 20), Standing("B", 16, 20, 20), Standing("C", 15, 20, 20)], [("A", "B")],
     "C passes A as well, but is not its neighbour"),
    ([Standing("A", 90, 100, 120), Standing("B", 88, 100, 110), Standing("C", 84, 100, 100)],
     [("A", "B"), ("B", "C")], "each of two neighbouring pairs counts"),
    ([Standing("A", 90, 100, 200), Standing("C", 80, 100, 200), Standing("B", 80, 100, 100)], [("A", "B")],
     "of equal shares the better worst case is the neighbour"),
    ([Standing("A", 0, 0, 184), B], [], "without an answered row there is no place to lose"),
    ([], [], "no row"),
    ([B], [], "one row has no neighbour"),
])
def test_swaps(standings, expected, why):
    assert swaps(standings) == expected, why


@pytest.mark.parametrize("standing, loss", [
    (A, 150 / 184 - 150 / 182), (B, 0.0), (Standing("x", 0, 0, 5), None), (Standing("x", 0, 0, 0), None)])
def test_what_failures_cost(standing, loss):
    assert standing.loss == (None if loss is None else pytest.approx(loss))


def run(text: str) -> dict[int, Given]:
    """One letter a question: R right, - no answer, anything else a wrong answer."""
    return {i: Given(None if c == "-" else c, c == "R") for i, c in enumerate(text)}


@pytest.mark.parametrize("first, second, expected, why", [
    ("RRab-", "RRab-", Drift(5, 2, 2, 0, 0, 0), "the same twice"),
    ("RRab-", "Raac-", Drift(5, 2, 1, 1, 0, 1), "one lost, one wrong in another way"),
    ("aR", "Ra", Drift(2, 1, 1, 1, 1, 0), "no difference in the share, and both questions differ"),
    ("a-", "-a", Drift(2, 0, 0, 0, 0, 2), "no answer and a wrong one are two answers"),
    ("", "", Drift(0, 0, 0, 0, 0, 0), "nothing in common"),
])
def test_drift_between_repeats(first, second, expected, why):
    assert drift_between(run(first), run(second)) == expected, why


def test_net_and_differing_are_both_shown():
    """Net +3 with 13 that differ: 5 gained, 2 lost, 6 wrong in another way."""
    found = drift_between(run("aaaaa" + "RR" + "bbbbbb" + "R" * 171), run("RRRRR" + "cc" + "dddddd" + "R" * 171))
    assert (found.n, found.net, found.differing) == (184, 3, 13)
    assert found.difference == pytest.approx(3 / 184)


def test_a_question_that_failed_in_one_repeat_is_left_out():
    second = run("RR")
    del second[0]
    assert drift_between(run("aR"), second) == Drift(1, 1, 1, 0, 0, 0)
    assert drift_between({}, {}).difference is None


def test_drift_by_bucket():
    buckets = {0: "hard", 1: "easy", 2: "hard", 3: "unused"}
    assert drift_by_bucket(buckets, run("RRa"), run("aRb")) == {
        "hard": Drift(2, 1, 0, 1, 0, 1), "easy": Drift(1, 1, 1, 0, 0, 0)}


def test_the_largest_drift_of_several_repeats():
    small, large = Drift(184, 150, 153, 2, 5, 6), Drift(184, 156, 151, 5, 0, 3)
    assert largest_drift([small, large]) == Fraction(5, 184)
    assert largest_drift([]) is None and largest_drift([Drift(0, 0, 0, 0, 0, 0)]) is None


@pytest.mark.parametrize("right, drift, expected, why", [
    ((156, 151, 150), 5, (True, True, False), "exactly on the edge is inside"),
    ((151, 150, 156), 5, (True, False, True), "the leader is the best, not the first"),
    ((156, 156, 155), 0, (True, True, False), "repeats that never differed leave ties only"),
    ((156,), 5, (True,), "the leader itself"),
    ((156, 151), None, None, "no repeat: unmeasured, and not 0"),
    ((), 5, None, "no row"),
])
def test_drift_band(right, drift, expected, why):
    shares = [Fraction(k, 184) for k in right]
    assert drift_band(shares, None if drift is None else Fraction(drift, 184)) == expected, why
