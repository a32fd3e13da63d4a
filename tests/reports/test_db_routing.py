"""The numbers of a run of the suite db_routing: each by hand from a few rows."""

from __future__ import annotations

import pytest

from infranode_eval.db_routing.costs import Rates
from infranode_eval.reports.db_routing import ALL, Route
from tests.reports.db_routing_runs import FREE, HARD, result, right, row, rows, summary


def routing(made, **more):
    found = summary("m", made, **more).routing
    assert found is not None
    return found


def test_failures_leave_the_denominator_and_are_wrong_in_the_worst_case() -> None:
    found = routing(rows(right(150, 184, 2)))
    assert (found.leading.right, found.leading.answered, found.leading.asked) == (150, 182, 184)
    assert round(found.leading.of_answered, 4) == 0.8242 and round(found.leading.worst_case, 4) == 0.8152


def test_routes_by_bucket_database_and_cluster() -> None:
    found = routing(rows(["right", "wrong", "right"], ["right", "failed"]))
    assert {name: (r.right, r.answered, r.asked) for name, r in found.routes.items()} == {
        ALL: (3, 4, 5), FREE: (1, 1, 2), HARD: (2, 3, 3)}
    assert found.databases["werkstatt"] == Route(0, 1, 2) and found.clusters["isolated"] == Route(1, 1, 1)
    assert found.hard_of == ({"hafen": 1, "laden": 1, "werkstatt": 1}, {"handel": 2, "isolated": 1})


def test_no_hard_question_leads_to_all_of_them() -> None:
    found = routing(rows(free=["right", "wrong"]), limit=2)
    assert (found.hard, found.leading, found.limit) == (None, Route(1, 2, 2), 2)


def test_sql_is_over_answered_rows_whose_gold_ran() -> None:
    found = routing([row("laden-1"), row("laden-2", sql_strict=False), row("hafen-1", "wrong"),
                     row("hafen-2", sql_set=None, sql_strict=None), row("hafen-3", "failed")])
    sets, strict = (found.corridor(kind) for kind in ("sql_set", "sql_strict"))
    assert (sets.lower, sets.middle, sets.upper, sets.n) == (2 / 3, 2 / 3, 2 / 3, 3) and sets.note == "kein Gold-Audit"
    assert strict.middle == 1 / 3


def test_the_status_of_a_run_without_a_call_is_no_news_of_a_program() -> None:
    silent = rows(["right"] * 20, tool_calls=0, probes=[], first_probe=None)
    assert routing(silent).status == "excluded_no_tool_calls"
    assert routing(silent[:19]).status is None
    assert routing(silent, backend="baseline").status is None
    assert routing(silent, condition="names", procedure="single_shot").status is None


def test_more_than_half_of_the_calls_recovered_is_model_and_adapter() -> None:
    assert routing(rows(["right"] * 3, recovered_calls=1)).adapted
    assert not routing([row("laden-1", recovered_calls=1), row("laden-2")]).adapted


def test_repeats_drift_by_bucket_and_a_question_may_be_wrong_otherwise() -> None:
    first = rows(["right", "right", "wrong", "wrong"])
    second = rows(["right", "wrong", "right", "none"], repeat=2)
    found = routing(first + second, repeats=2)
    (drift,) = found.drifts[HARD]
    assert (drift.n, drift.first, drift.second, drift.lost, drift.gained, drift.moved) == (4, 2, 2, 1, 1, 1)
    assert found.drift == 0 and routing(first).drift is None


def test_drawn_answers_are_reckoned() -> None:
    found = routing([row("laden-1", chance=1 / 3), row("hafen-1", "wrong", chance=1 / 3)], backend="baseline")
    assert found.drawn and found.leading.right == pytest.approx(2 / 3)


def test_tokens_are_summed_and_bills_need_every_row() -> None:
    usage = {"input_tokens": 100, "output_tokens": 10, "cached_tokens": 40, "reasoning_tokens": 0}
    found = routing([row("laden-1", usage=usage), row("laden-2", usage=usage), row("laden-3")])
    assert (found.spent.rows, found.spent.asked, found.spent.uncached, found.spent.read, found.spent.output,
            found.spent.billed) == (2, 3, 120, 80, 20, None)
    once = {"usage": usage, "billed": 0.5}
    assert routing([row("laden-1", **once), row("laden-2", **once)]).spent.billed == 1.0
    assert routing([row("laden-1", **once), row("laden-2", usage=usage)]).spent.billed is None


def test_what_is_written_into_a_cache_has_a_price_of_its_own() -> None:
    """A million tokens a price unit each: 20 plain, 30 written at 1.25, 50 read at 0.1; as if uncached: 100."""
    usage = {"input_tokens": 100, "output_tokens": 0, "cached_tokens": 50, "reasoning_tokens": 0}
    spent = routing([row("laden-1", usage=usage, cache_write=30)]).spent
    listed, estimated = (1_000_000 * price for price in spent.prices(Rates(1.0, 0.0, 0.1, 1.25)))
    assert (listed, estimated) == (pytest.approx(100), pytest.approx(20 + 37.5 + 5))


def test_a_row_that_followed_the_paragraph() -> None:
    found = routing([row("laden-1", follows_paragraph=True), row("laden-2", follows_paragraph=False)],
                    condition="permuted", procedure="single_shot")
    assert found.follows == (1, 2)



def test_stored_numbers_are_those_of_the_rows() -> None:
    value = result("m", rows(["right", "failed"], ["wrong"]))
    assert summary("m", rows(["right", "failed"], ["wrong"])).strict == value["metrics"]
