"""The verdict: what is declared, what the SQL of the answer is worth, and which names it all stands under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from infranode_eval.db_routing.scoring import EXTRAS
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.suites import Transcript, db_routing
from lm_eval_task.records import MATCHES, Call
from tests.db_routing.plays import by_policy, played, said, schema, setup_for

GOLD = "SELECT COUNT(*) FROM kunden_stamm WHERE kunden_ort = 'Köln'"
VERDICTS: list[tuple[Any, str, bool, bool | None, bool | None, str | None, str]] = [
    # (last reply, outcome, lenient, sql_set, sql_strict, sql_error, why)
    (said("db_02", GOLD), "ok", True, True, True, None, "all right"),
    (said(" DB_02", "SELECT 2"), "ok", True, True, True, None, "other SQL with the same rows"),
    (said("db_02", "SELECT 2.0 UNION ALL SELECT 2"), "ok", True, True, False, None, "one row too many"),
    (said("db_02", "SELECT 3"), "ok", True, False, False, None, "wrong SQL beside the right route"),
    (said("db_02", "SELECT nichts"), "ok", True, False, False, "no_such_column", "SQL that fails"),
    (said("db_02"), "ok", True, False, False, "missing", "no SQL"),
    (said("db_02", 3), "ok", True, False, False, "not_a_string", "a number for SQL"),
    (said("db_02", "SELECT 1") + said("db_02", "SELECT 2"), "ok", True, False, False, "conflicting", "two SQLs"),
    (said("db_01", GOLD), "wrong_database", False, False, False, "no_such_table", "gold in the wrong database"),
    (said("db_01", "SELECT 2"), "wrong_database", False, True, True, None, "the right rows from nowhere: apart"),
    (f"Die Datenbank ist db_02: {GOLD}", "no_declaration", True, False, False, "no_declaration", "prose alone"),
    (said("db_4", GOLD), "no_declaration", False, False, False, "no_declaration", "no alias"),
    ("db_01 oder db_02", "no_declaration", False, False, False, "no_declaration", "two in prose"),
    (said("db_02", "SELECT julianday('now')"), "ok", True, False, False, "nondeterministic", "other rows each time"),
]


@pytest.mark.parametrize(("last", "outcome", "lenient", "sql_set", "sql_strict", "sql_error", "why"), VERDICTS,
                         ids=[case[-1] for case in VERDICTS])
def test_the_verdict_on_an_answer(task: RoutingTask, last: Any, outcome: str, lenient: bool, sql_set: bool | None,
                                  sql_strict: bool | None, sql_error: str | None, why: str) -> None:
    row = played(task, [schema("db_02"), "Fertig.", last]).row
    assert (row["outcome"], row["lenient_call_match"], row["sql_set"], row["sql_strict"], row["sql_error"]) == (
        outcome, lenient, sql_set, sql_strict, sql_error), why
    assert row["route_ok"] is (outcome == "ok"), "the route does not ask for the SQL"


def test_the_last_probe_inherits_nothing(task: RoutingTask) -> None:
    row = played(task, [schema("db_02"), "Fertig.", "Gefunden."]).row
    assert (row["probes"], row["declared"], row["route_ok"]) == (["laden"], None, False)


def test_shared_names_follow_the_route_and_the_sql(task: RoutingTask) -> None:
    twice = "SELECT 2 UNION ALL SELECT 2"
    score = played(task, [schema("db_02"), "Fertig.", said("db_02", twice)]).score
    assert {name: getattr(score, name) for name in MATCHES} == {
        "parsed": True, "call_match": True, "tool_match": True, "request_match": True, "args_match": True,
        "datum_match": None, "lenient_call_match": True}
    assert score.calls == (Call("select_database", {"database": "laden"}),) and not score.failed
    row = score.to_json()
    assert set(EXTRAS) <= row.keys() and (row["sql"], row["bucket"]) == (twice, "neighbour_free")
    assert (row["sql_set"], row["sql_strict"]) == (True, False), "args_match is sql_set"


def test_a_gold_that_does_not_run_leaves_the_sql_denominator_only(tasks: Mapping[str, RoutingTask]) -> None:
    broken = replace(tasks["laden-001"], gold_sql="SELECT nichts")
    row = by_policy(broken, "oracle").row
    assert (row["sql_set"], row["sql_error"], row["route_ok"]) == (None, "gold_no_such_column", True)
    silent = by_policy(broken, "narrator").row
    assert (silent["sql_set"], silent["args_match"]) == (None, None), "whatever the reply"


def test_order_counts_only_where_gold_has_one(tasks: Mapping[str, RoutingTask]) -> None:
    sql = "SELECT kunden_name FROM kunden_stamm ORDER BY kunden_name DESC"
    ordered = played(tasks["laden-002"], ["Fertig.", said("db_02", sql)]).row
    assert (ordered["sql_set"], ordered["sql_strict"]) == (True, False)
    sql = "SELECT rad_marke FROM rad_stamm ORDER BY id DESC"
    free = played(tasks["werkstatt-004"], ["Fertig.", said("db_01", sql)]).row
    assert (free["sql_set"], free["sql_strict"]) == (True, True)


def test_the_same_transcript_gives_the_same_score(task: RoutingTask) -> None:
    found, setup = by_policy(task, "switcher"), setup_for(task)
    transcript = Transcript(found.course.messages, found.course.answers, found.course)
    assert db_routing.score(task, transcript, setup) == db_routing.score(task, transcript, setup) == found.score


def test_no_real_name_reaches_a_model(tasks: Mapping[str, RoutingTask]) -> None:
    """Whatever is called: no name of a database stands in a request, unless the model wrote it itself."""
    for task in tasks.values():
        for name in ("oracle", "never_stops", "parallel_prober"):
            for messages, tools, _ in by_policy(task, name).requests:
                told = f"{messages} {tools}".casefold()
                assert not any(hidden in told for hidden in task.panel.databases), (task.task_id, name)
