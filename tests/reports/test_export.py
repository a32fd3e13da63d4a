"""The report for programs: keys and columns that stay, numbers 0-1, and every number that the tables show."""

from __future__ import annotations

import csv
import io
import json

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.export import TABLES, csv_text, report_csv, report_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.tasksets import TaskSet
from lm_eval_task.records import Reply, Score, tasks_fingerprint


@pytest.fixture
def summaries(make_result, answer, demo_tasks):
    """Two comparable runs, one with failures, and one with repeats in native mode."""
    buckets = {t.task_id: ("hard", "easy", "medium")[i % 3] for i, t in enumerate(demo_tasks)}
    core = TaskSet("core", tasks_fingerprint(demo_tasks), {t.task_id: t for t in demo_tasks}, buckets=buckets)

    def failing(task):
        return Score.failure("infra_error", "x") if task.category == "routing_named" else Reply.from_text(answer(task))

    def make(model, replier, **header):
        return summarise(run_from_json(make_result(replier, model=model, **header), f"r/{model}.json"), [core])

    def right(task):
        return Reply.from_text(answer(task))

    return [make("right", right), make("failing", failing), make("native", right, mode="native", repeats=2)]


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_json(summaries, golden):
    text = report_json(summaries, ["r/bad.json: is not JSON"])
    value = json.loads(text)
    assert [[run["model"] for run in g["runs"]] for g in value["groups"]] == [["native"], ["right", "failing"]]
    golden("report.json", text)


def test_json_numbers_are_those_of_the_summary(summaries):
    value = json.loads(report_json(summaries))
    by_name = {run["model"]: run for group in value["groups"] for run in group["runs"]}
    failing, summary = by_name["failing"], summaries[1]
    assert failing["strict"]["call_match"] == summary.strict["call_match"] == 0.9
    assert failing["answered"]["call_match"] == 1.0
    assert (failing["n"], failing["scored"], failing["failed"]) == (40, 36, 4)
    assert failing["interval"]["low"] == summary.interval.low and failing["macro"] == summary.macro
    assert failing["categories"]["routing_named"] == {"solved": 0, "n": 4, "answered": 0, "call_match": None}
    assert failing["outcomes"] == {"infra_error": 4, "ok": 36} and failing["repeats"] is None
    assert by_name["native"]["repeats"] == {"call_match": [1.0, 1.0], "drift": 0.0, "changed": 0, "tasks": 40,
                                            "pass_hat": [1.0, 1.0]}
    assert [by_name[name]["tier"] for name in ("right", "failing", "native")] == [1, None, 1]   # failing: incomplete


@pytest.mark.parametrize("table", TABLES)
def test_csv(summaries, golden, table):
    golden(f"report_{table}.csv", report_csv(summaries, table))


@pytest.mark.parametrize("table, count, keys", [
    ("runs", 3, ("model", "path")),
    ("categories", 9, ("model", "path", "category")),
    ("first_calls", 21, ("model", "path", "first_call")),
    ("repeats", 2, ("model", "path", "k")),
    ("difficulty", 9, ("model", "path", "bucket")),
])
def test_csv_is_tidy(summaries, table, count, keys):
    found = rows(report_csv(summaries, table))
    assert len(found) == count and len({tuple(row[k] for k in keys) for row in found}) == count
    assert all(None not in row and None not in row.values() for row in found), "every line has every column"


def test_absent_values_are_empty_and_numbers_are_shares(summaries):
    found = {row["model"]: row for row in rows(report_csv(summaries))}
    assert found["failing"]["call_match"] == "0.9" and found["right"]["drift"] == ""
    categories = {(r["model"], r["category"]): r for r in rows(report_csv(summaries, "categories"))}
    assert categories["failing", "routing_named"]["call_match"] == "", "no answer is not 0"
    assert categories["native", "resource_key"]["low"] == "", "repeats of a task are no independent rows"


@pytest.mark.parametrize("table", TABLES)
def test_a_table_without_lines_has_its_header(table):
    assert report_csv([], table).startswith("model,path") and report_csv([], table).count("\n") == 1


@pytest.mark.parametrize("value, cell, why", [
    ("=1+1", "'=1+1", "a spreadsheet would run it"),
    ("@SUM(A1)", "'@SUM(A1)", "so does this"),
    ('a,"b"', 'a,"b"', "quoted by the csv writer"),
    ("a\nb\x1b[2J\u202e", r"a\x0ab\x1b[2J\u202e", "nothing acts on a terminal, a row is one line"),
    ("gpt-5", "gpt-5", "a dash inside is no formula"),
    (-0.5, "-0.5", "a number is a number"),
])
def test_cells_are_harmless(value, cell, why):
    assert rows(csv_text([{"model": value}]))[0]["model"] == cell, why


def test_the_header_of_an_empty_table_is_that_of_a_full_one(summaries):
    for table in ("categories", "outcomes", "first_calls", "repeats", "difficulty"):
        assert report_csv([], table).rstrip("\n") == report_csv(summaries, table).split("\n")[0]
