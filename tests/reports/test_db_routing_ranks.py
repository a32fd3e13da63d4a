"""The order of runs: tiers, the drift band, what failures turn round, and who stands outside."""

from __future__ import annotations

from infranode_eval.reports.db_routing_ranks import in_band, is_ranked, ranked, routing_tiers, swapped
from tests.reports.db_routing_runs import HARD, right, rows, summary


def test_tiers_hold_what_paired_tests_do_not_tell_apart() -> None:
    runs = [summary("good", rows(right(58, 60))), summary("near", rows(right(56, 60))),
            summary("weak", rows(right(20, 60)))]
    assert routing_tiers(runs) == [1, 1, 2]
    assert ranked(runs[::-1]) == [2, 1, 0]


def test_only_questions_that_both_answered_are_paired() -> None:
    """30 failures are no wrong answers: over the other 30 both are equal."""
    assert routing_tiers([summary("a", rows(right(60, 60))), summary("b", rows(right(30, 60, 30)))]) == [1, 1]


def test_who_has_no_rank() -> None:
    silent = rows(right(20, 20), tool_calls=0)
    for outside in (summary("p", rows(right(5, 9)), backend="baseline"), summary("l", rows(right(5, 9)), limit=9),
                    summary("s", silent), summary("f", rows(["failed"]))):
        assert not is_ranked(outside)
        assert routing_tiers([outside]) == [None] and in_band([outside]) == [None]
    assert routing_tiers([]) == []


def test_neighbours_swap_where_failures_cost_the_lead() -> None:
    runs = [summary("failing", rows(right(150, 184, 2))), summary("steady", rows(right(151, 184)))]
    assert swapped(runs, ["failing", "steady"], HARD) == [("failing", "steady")]
    assert swapped(runs[1:], ["steady"], HARD) == []


def test_the_drift_band_reaches_as_far_as_repeats_have_moved() -> None:
    twice = rows(right(10, 10)) + rows(right(8, 10), repeat=2)
    runs = [summary("twice", twice, repeats=2), summary("inside", rows(right(7, 10))),
            summary("outside", rows(right(6, 10)))]
    assert in_band(runs) == [True, True, False], "20 points, both ends included: 90 − 70 = 20"
    assert in_band(runs[1:]) == [None, None]
