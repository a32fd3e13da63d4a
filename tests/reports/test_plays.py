"""Rows of the suite chain as they are read: what is kept, and what is refused by name."""

from __future__ import annotations

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.plays import DETAILS, OUTCOMES, details_of, verdict_of
from lm_eval_task.errors import DataError
from lm_eval_task.records import FAILURES
from tests.reports.chain_runs import BY_ID, WORLD, failure, result, right, wrong

ONE = "stop-bonn-1"


def read(told, **change):
    """change: of the row, after all numbers were made."""
    value = result({ONE: told})
    row_in = next(row for row in value["rows"] if row["task_id"] == ONE)
    row_in.update(change)
    return run_from_json(value, "r.json")


def row_of(run, key=ONE):
    return next(row for row in run.rows if row.task_id == key)


def test_what_a_row_solves_is_its_task_success() -> None:
    solved, lost, failed = (row_of(read(told)) for told in (right(BY_ID[ONE]), wrong(BY_ID[ONE], "went_on"), failure()))
    assert [row.score.call_match for row in (solved, lost, failed)] == [True, False, None]
    assert failed.score.failed and not lost.score.failed
    assert solved.details["needed"] == 1 and "near_miss" not in solved.details, "null says nothing"
    assert solved.native and solved.score.calls[0].name == "get_city_resource"


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_is_read(outcome: str) -> None:
    told = failure() | {"outcome": outcome} if outcome in FAILURES else right(BY_ID[ONE]) | {"outcome": outcome}
    assert row_of(read(told)).score.outcome == outcome


@pytest.mark.parametrize("change, message", [
    ({"outcome": "wrong_tool"}, "'wrong_tool' is none of the 11 of suite chain"),
    ({"task_success": None}, '"task_success" must be true or false, found None'),
    ({"task_success": 1}, '"task_success" must be true or false, found 1'),
    ({"outcome": "infra_error"}, '"task_success" must be null in a failure, found True'),
    ({"calls_made": "2"}, '"calls_made" must be a whole number'),
    ({"calls_made": True}, '"calls_made" must be a whole number, found \'True\''),
    ({"step_recall": "1"}, '"step_recall" must be a number'),
    ({"honest_null": "no"}, '"honest_null" must be true or false'),
    ({"answer": "36"}, '"answer" must be an object'),
    ({"stop_reason": None}, '"stop_reason" is missing'),
    ({"labels": "x"}, '"labels" must be a list of texts'),
    ({"calls": [{"arguments": {}}]}, '"calls" must be null or a list'),
])
def test_a_row_that_breaks_the_format_is_refused_by_name(change, message) -> None:
    with pytest.raises(DataError, match="r.json: row stop-bonn-1: ") as caught:
        read(right(BY_ID[ONE]), **change)
    assert message in str(caught.value)


def test_a_whole_number_is_a_number_too() -> None:
    assert row_of(read(right(BY_ID[ONE]) | {"step_recall": 1})).details["step_recall"] == 1


def test_every_detail_has_a_kind_and_nothing_else_is_kept() -> None:
    row = {"task_id": "t", **right(BY_ID[ONE]), "set": "core", "transcript": {}, "labels": [], "why": ""}
    assert details_of(row).keys() <= DETAILS.keys() and verdict_of(row).call_match is True


def test_the_world_of_a_run_stands_in_its_settings() -> None:
    assert run_from_json(result(), "r.json").world == WORLD
    assert run_from_json(result(world=None), "r.json").world == {}
