"""Rows of the suite db_routing as the report reads them: what is kept, and what breaks the format."""

from __future__ import annotations

import pytest

from infranode_eval.reports.archive import Row, run_from_json
from lm_eval_task.errors import DataError
from tests.reports.db_routing_runs import HARD, result, row, rows


@pytest.mark.parametrize("said, outcome, solved, declared", [
    ("right", "ok", True, "laden"), ("wrong", "wrong_database", False, "werkstatt"),
    ("none", "no_declaration", False, None), ("failed", "infra_error", None, None)])
def test_a_row_is_a_verdict_with_its_bucket_as_category(said, outcome, solved, declared) -> None:
    read = Row.of_route(row("laden-1", said))
    assert (read.score.outcome, read.score.call_match, read.details["declared"], read.category) == \
        (outcome, solved, declared, HARD)
    assert read.score.failed is (solved is None)


@pytest.mark.parametrize("change, message", [
    ({"outcome": "wrong_tool"}, "none of the 8 of suite db_routing"),
    ({"route_ok": None}, '"route_ok" must be true or false'),
    ({"probes": "laden"}, '"probes" must be a list of texts'),
    ({"probes": [1]}, '"probes" must be a list of texts'),
    ({"tool_turns": True}, '"tool_turns" must be a whole number'),
    ({"sql_set": "yes"}, '"sql_set" must be true'),
    ({"bucket": None}, '"bucket" is missing'),
    ({"stop_reason": None}, '"stop_reason" is missing'),
    ({"labels": [1]}, '"labels" must be a list of texts')])
def test_a_broken_row_is_named(change, message) -> None:
    with pytest.raises(DataError, match="row db_routing-laden-1: ") as caught:
        Row.of_route(row("laden-1") | change)
    assert message in str(caught.value)


def test_a_failure_needs_no_more_than_its_question() -> None:
    assert Row.of_route(row("laden-1", "failed")).details["probes"] is None
    with pytest.raises(DataError, match='"database" is missing'):
        Row.of_route(row("laden-1", "failed", database=None) | {"database": None})


@pytest.mark.parametrize("usage", [{"input_tokens": -1, "output_tokens": 1}, {"input_tokens": True}, "many", None])
def test_what_is_no_count_is_not_counted(usage) -> None:
    assert "tokens" not in Row.of_route(row("laden-1", usage=usage)).details


def test_what_a_run_is() -> None:
    run = run_from_json(result("m", rows(["right"])), "r.json")
    assert (run.measure, run.arm, run.hashes["panel"]) == ("route_ok", None, "9" * 64)
    single = run_from_json(result("m", rows(["right"]), condition="names", procedure="single_shot"), "r.json")
    assert (single.arm, single.single_shot) == ("names", True)
