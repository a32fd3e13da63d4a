"""The numbers over rows, worked out by hand on a few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from infranode_eval.db_routing.metrics import by_bucket, hardest, metrics_of
from infranode_eval.db_routing.scoring import EXTRAS
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.suites import db_routing
from tests.db_routing.plays import by_policy


def row(task_id: str, **values: Any) -> dict[str, Any]:
    """An answered row: laden, probed and declared rightly, one tool call."""
    base = {**dict.fromkeys(EXTRAS), "task_id": task_id, "outcome": "ok", "declared": "laden", "route_ok": True,
            "parsed": True, "lenient_call_match": True, "first_probe": "laden", "probes": ["laden"], "switched": False,
            "declared_unprobed": False, "tool_turns": 2, "tool_calls": 1, "api_calls": 3, "over_limit": 0,
            "parallel_obeyed": True, "recovered_calls": 0, "schema_truncated": 0, "rows_truncated": 0,
            "sql_set": True, "sql_strict": True, "stop_reason": "stopped", "bucket": "neighbour_free",
            "database": "laden", "cluster": "handel", "procedure": "agentic"}
    return {**base, **values}


WRONG = {"outcome": "wrong_database", "declared": "hafen", "route_ok": False, "lenient_call_match": False,
         "sql_set": False, "sql_strict": False, "declared_unprobed": True}
ROWS = [
    row("1"),
    row("2", bucket="neighbour_hard", **WRONG, tool_turns=9, tool_calls=9, api_calls=10, stop_reason="max_turns",
        recovered_calls=9),
    row("3", bucket="neighbour_hard", probes=["hafen", "laden"], first_probe="hafen", switched=True, tool_calls=12,
        over_limit=1, parallel_obeyed=False, sql_strict=False),
    row("4", database="hafen", cluster=None, route_ok=False, outcome="no_declaration", declared=None, parsed=False,
        declared_unprobed=None, lenient_call_match=True, sql_set=None, sql_strict=None, probes=[], first_probe=None,
        tool_turns=1, tool_calls=0, api_calls=2),
    {**dict.fromkeys(EXTRAS), "task_id": "5", "outcome": "infra_error", "bucket": "neighbour_hard",
     "database": "laden", "cluster": "handel"}]
EXPECTED = {
    "route_ok": 2 / 5, "call_match": 2 / 5, "tool_match": 2 / 5, "request_match": 2 / 5, "parsed": 3 / 5,
    "lenient_call_match": 3 / 5, "ability": 1 / 3, "route_neighbour_hard": 1 / 3, "route_neighbour_free": 1 / 2,
    "route_cluster_handel": 2 / 4, "route_cluster_isolated": 0.0, "route_database_laden": 2 / 4,
    "route_database_hafen": 0.0, "sql_set": 2 / 4, "args_match": 2 / 4, "sql_strict": 1 / 4,
    "sql_set_given_route": 1.0, "gap_hard": 1 / 2 - 1 / 3, "gap_prose": 1 / 5, "gap_sql": 2 / 5 - 2 / 4,
    "tool_turns": 14 / 4, "tool_calls": 22 / 4, "api_calls": 18 / 4, "probed": 4 / 4, "probed_several": 1 / 4,
    "probed_none": 1 / 4, "first_probe_acc": 2 / 4, "first_probe_kept": 1 / 3, "first_probe_share": 3 / 4,
    "switched": 1 / 4, "switched_gained": 1.0, "switched_lost": 0.0, "declared_unprobed": 1 / 3,
    "recovered_share": 9 / 22, "over_limit_share": 1 / 22, "parallel_obeyed": 3 / 4, "schema_truncated": 0.0,
    "rows_truncated": 0.0, "stopped_max_turns": 1 / 4, "stopped_truncated": 0.0, "stopped_blank": 0.0,
    "stopped_context_overflow": 0.0, "chance": 1 / 3, "majority": 4 / 5, "majority_hard": 1.0}


def test_every_number_by_hand() -> None:
    found = metrics_of(ROWS, 3)
    assert found.keys() == EXPECTED.keys()
    assert found == pytest.approx(EXPECTED)


def test_answered_rows_leave_failures_out() -> None:
    found = metrics_of(ROWS[:4], 3)
    assert (found["route_ok"], found["route_neighbour_hard"], found["sql_set"]) == (2 / 4, 1 / 2, 2 / 3)
    assert found["tool_turns"] == 14 / 4, "how a model went about it was told of answered rows before"


def test_without_rows_nothing_is_told() -> None:
    assert set(metrics_of([], 3).values()) == {None}


def test_failures_alone_have_no_ways_and_no_sql() -> None:
    found = metrics_of(ROWS[4:], 3)
    assert (found["route_ok"], found["tool_turns"], found["sql_set"], found["recovered_share"]) == (0.0, None, None,
                                                                                                   None)


@pytest.mark.parametrize(("buckets", "expected"), [
    (["neighbour_free", "neighbour_hard"], "neighbour_hard"), (["neighbour_free"], "neighbour_hard"),
    (["easy", "medium"], "hard_strict"), ([], None)])
def test_the_bucket_that_leads(buckets: list[str], expected: str | None) -> None:
    assert hardest([{"bucket": name} for name in buckets]) == expected
    assert list(by_bucket({"bucket": name} for name in buckets)) == buckets


def test_the_headline_is_the_hardest_bucket_and_beside_it_all(tasks: Mapping[str, RoutingTask]) -> None:
    found = db_routing.aggregate([(task, by_policy(task, "first_probe").score) for task in tasks.values()])
    assert db_routing.headline(found, False) == {"route_neighbour_hard": 1 / 4, "route_ok": 2 / 12}
    assert db_routing.headline({}, True) is None, "there is one rule only"
    assert not any("strict" in name and "sql" not in name for name in found), "no jury has voted"
