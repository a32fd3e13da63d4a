"""The tables of the suite team: the whole report as text and Markdown, and what single cells and lines say."""

from __future__ import annotations

import csv
import io
import json

import pytest

from infranode_eval.reports.export import TABLES, report_csv, report_json
from infranode_eval.reports.sections import report_sections
from infranode_eval.reports.team_tables import MOST, few_sentence, front_of, team_tables
from infranode_eval.tables import FORMATS, render
from tests.reports.team_runs import agent, demo, row, summary


@pytest.mark.parametrize("form", FORMATS)
def test_the_report(golden, form) -> None:
    golden(f"team.{'md' if form == 'markdown' else 'txt'}", render(report_sections(demo()), form))


@pytest.mark.parametrize("table", [name for name in TABLES if name.startswith("team")])
def test_csv(golden, table) -> None:
    golden(f"{table}.csv", report_csv(demo(), table))


def table(title: str, *summaries):
    return next((t for t in team_tables(summaries, [s.run.model for s in summaries]) if t.title == title), None)


def test_the_best_is_first_and_equal_names_are_told_apart_by_their_files() -> None:
    [section] = report_sections([summary("m", [row("recht", "++-", [agent()])]), *demo()])
    assert [cells[0].partition(" ")[0] for cells in section.tables[0].rows] == ["careful", "m", "lavish", "cheap",
                                                                              "alone"]
    twice = [summary("m", [row("recht", "+++", [agent()])]), summary("m", [row("recht", "++-", [agent()])])]
    [section] = report_sections(twice)
    assert [cells[0] for cells in section.tables[0].rows] == ["m · results/team/m.json"] * 2


@pytest.mark.parametrize(("scenarios", "words"), [
    (1, "1 scenario separates few models: no tiers, and no interval from one scenario"),
    (5, "5 scenarios separate few models: no tiers, and 95 % (whole scenarios drawn again) from so few"),
    (40, "no tiers; 95 %: whole scenarios drawn again from the 40")])
def test_how_much_so_many_scenarios_can_tell(scenarios, words) -> None:
    assert few_sentence(scenarios).startswith(words)


def test_no_sub_agent_has_no_average() -> None:
    found = table("Management of sub-agents", summary("m", [row("recht")]))
    cells = dict(zip([c.header for c in found.columns], found.rows[0], strict=True))
    assert (cells["SAFa"], cells["SAFt"], cells["sub-agents"], cells["cost of main"]) == ("—", "0", "0", "—")


def test_the_front_of_cost_and_score() -> None:
    found = table("Cost and score", *demo())
    assert [(cells[0], cells[-1]) for cells in found.rows] == [("cheap", "yes"), ("lavish", "yes"), ("careful", "yes")]
    worse = summary("dear", [row("recht", "+--", [agent()])], cost=20.0)
    assert [cells[-1] for cells in table("Cost and score", worse, *demo()).rows] == ["yes", "yes", "yes", "no"]
    euros = summary("euro", [row("recht")], cost=1.0, currency="EUR")
    assert front_of([s.team for s in (euros, demo()[0])]) == frozenset(), "prices in two currencies have no order"
    assert table("Cost and score", summary("m", [row("recht")])) is None


def test_a_sub_agent_that_used_all_it_was_granted_is_counted_and_not_listed() -> None:
    rows = [row("recht", "+++", [agent("gut"), agent("viel", granted="Read Bash"), agent("neugierig", refused=1)])]
    assert [cells[2] for cells in table("Grants and their use", summary("m", rows)).rows] == ["viel", "neugierig"]
    assert table("Runs of sub-agents", summary("m", rows)).rows[0][1:3] == ("3", "1/3")


def test_a_long_table_says_where_the_rest_is() -> None:
    found = table("Forbidden accesses", summary("m", [row("recht", "+++", [], [
        f"main Read /arbeit/{n} r1" for n in range(MOST + 7)])]))
    assert len(found.rows) == MOST and found.notes[-1] == "7 more lines: report.py --format csv --table team_refusals"


def test_what_strangers_wrote_acts_nowhere() -> None:
    evil = "\x1b[31m|<script>alert(1)</script>"
    found = summary("m", [row("recht", "+-+", [agent("x", granted="Read Bash")], [f"main Read {evil} r1"])])
    markdown = render(report_sections([found]), "markdown")
    assert "<script>" not in markdown and "\x1b" not in markdown and "&lt;script&gt;" in markdown


def test_json_holds_all_that_the_tables_show() -> None:
    [group] = json.loads(report_json(demo()))["groups"]
    runs = {run["model"]: run for run in group["runs"]}
    assert list(runs) == ["careful", "lavish", "cheap", "alone"] and all(run["tier"] is None for run in runs.values())
    team = runs["lavish"]["team"]
    assert team["refusals"] == [{"scenario": "pegel", "repeat": 1, "round": "r2", "agent": "ohr", "tool": "Read",
                                 "path": "/arbeit/akten/x"}] * 2
    assert team["cost"] == {"amount": 4.0, "currency": "USD", "tokens": 1100} and team["strict"]["saft"] == 2
    assert runs["cheap"]["team"]["failures"] == [{"scenario": "pegel", "repeat": 1, "why": "infra_error, timeout"}]
    assert runs["alone"]["team"]["conditions"]["sandbox"] == "none"


def test_every_run_has_the_same_columns_whatever_its_settings() -> None:
    pool = {"main": {"modalities": {"text": True, "image": 4}}, "llm": None}
    other = summary("other", [row("recht", "+++", [agent()])], pool=pool, limits={"turns": 3, "more": 1})
    lines = list(csv.DictReader(io.StringIO(report_csv([*demo(), other], "team"))))
    found = {line["model"]: line for line in lines}
    assert (found["other"]["pool_main"], found["other"]["pool_llm"], found["other"]["pool_vlm"]) == (
        "(text, image 4)", "not offered", "")
    assert [found["other"][f"limit_{name}"] for name in ("turns", "runs")] == ["3", ""]
    assert all(line["scorer"] == found["careful"]["scorer"] for line in lines) and None not in lines[0]


def test_rounds_as_lines_are_all_of_them() -> None:
    lines = list(csv.DictReader(io.StringIO(report_csv(demo(), "team_rounds"))))
    assert len(lines) == 21 and sum(line["passed"] == "True" for line in lines) == 14
