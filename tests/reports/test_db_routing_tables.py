"""The tables of the suite db_routing: what stands in them, what stands apart, and which words never appear."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from infranode_eval.reports.db_routing_arms import routing_arms_sections
from infranode_eval.reports.export import TABLES, report_csv, report_json
from infranode_eval.reports.sections import report_sections
from infranode_eval.tables import render
from tests.reports.db_routing_runs import FREE, HARD, right, row, rows, summary


def text(*summaries) -> str:
    return render(report_sections([s for s in summaries if s.run.arm is None])
                  + routing_arms_sections(summaries), "text")


def table(shown: str, title: str) -> str:
    """From its title to the blank line behind its rows."""
    return shown.partition(f"\n{title}\n\n")[2].partition("\n\n")[0]


GOOD = summary("good", rows(right(150, 184, 2), right(20, 20)))
STEADY = summary("steady", rows(right(151, 184), right(19, 20)))


def test_answered_and_strict_stand_side_by_side_and_swaps_are_listed() -> None:
    shown = table(text(GOOD, STEADY), "Routes")
    good = next(line for line in shown.split("\n") if line.startswith("good"))
    assert "150/182 = 82.4" in good and "[76.2–87.3]" in good and " 81.5 " in good
    assert "adjacent ranks that swap if failures are wrong, nachbar-hart: good / steady" in shown
    assert "Drift ungemessen" in shown and "tier: runs of one tier" in shown
    assert "covers the sampling of questions only" in shown


def test_every_bucket_has_its_n_and_limits() -> None:
    shown = table(text(STEADY), "Route by bucket")
    assert re.search(r"nachbar-hart +steady +151/184 = 82\.1 +\[75\.9–86\.9\] +82\.1 +0", shown)
    assert re.search(r"nachbar-frei +steady +19/20 = 95\.0", shown)


def test_a_full_bucket_is_saturated_only_if_every_ranked_run_fills_it() -> None:
    assert "gesättigt: nachbar-frei" in text(GOOD)
    assert "gesättigt" not in text(GOOD, STEADY)


def test_sql_says_that_there_was_no_audit_of_gold() -> None:
    shown = table(text(STEADY), "SQL")
    assert "170/204 = 83.3" in shown and "corridor: kein Gold-Audit" in shown


def test_hard_beside_easy_is_a_line_of_each_ranked_run_that_is_right_and_wrong() -> None:
    """Halves in empty cells would give 1.006 where all is right; and what a program reaches says nothing of models."""
    wrong = summary("wrong", rows(right(0, 20), right(0, 20)))
    perfect = summary("perfect", rows(right(20, 20), right(20, 20)))
    program = summary("program", rows(right(10, 20), right(9, 20)), backend="baseline")
    assert program.run.baseline
    shown = text(STEADY, wrong, perfect, program)
    line, = re.findall(r"^(?:steady|wrong|perfect|program).*: [0-9.]+ \[[0-9.]+, [0-9.]+\].*$", shown, re.MULTILINE)
    assert line.startswith("steady: 0.8") and "p = " in line
    assert "within databases:\nsteady: " in shown


def test_switches_are_counted_by_first_probe_and_declaration() -> None:
    made = [row("laden-1", probes=["hafen", "laden"], first_probe="hafen", switched=True),
            row("laden-2", "wrong", probes=["laden", "werkstatt"], first_probe="laden", switched=True),
            row("laden-3", "wrong", probes=["hafen", "laden"], first_probe="hafen", switched=True), row("hafen-1")]
    shown = table(text(summary("m", made)), "Switching")
    cells = next(line for line in shown.split("\n") if line.startswith("m ")).split()
    assert cells[1:8] == ["3/4", "0", "1", "1", "1", "1", "+0"]
    probe = table(text(summary("m", made)), "First probe and declaration")
    assert "2/4 = 50.0" in probe and "+0.0" in probe


def test_an_excluded_run_is_named_below_the_table_and_in_none() -> None:
    silent = summary("silent", rows(right(20, 20), tool_calls=0))
    shown = text(summary("good", rows(right(18, 20))), silent)
    assert "excluded_no_tool_calls: silent (20 answered questions without a single tool call)" in shown
    assert not re.search(r"^silent", shown, re.MULTILINE)
    alone = text(silent)
    assert "excluded_no_tool_calls: silent" in alone and "none: every run is excluded\n" in alone


def test_recovered_calls_make_it_model_and_adapter() -> None:
    assert "adapted !1 (Modell + Adapter)" in text(summary("adapted", rows(right(3, 3), recovered_calls=1)))


def test_baselines_stand_on_the_same_questions() -> None:
    shown = table(text(STEADY), "Baselines on the same questions")
    assert re.search(r"chance +33\.3 +33\.3", shown) and re.search(r"majority +69/204 = 33\.8 +62/184 = 33\.7", shown)
    assert "not at hand" in shown


@pytest.mark.parametrize("other, word", [
    ({"panel": "8" * 64}, "panel"), ({"mode": "prompt"}, "mode"), ({"limit": 9}, "--limit"),
    ({"temperature": 1.0}, "set-up")])
def test_what_cannot_be_compared_never_shares_a_table(other, word) -> None:
    made = rows(right(5, 9))
    shown = text(summary("erstes", made), summary("zweites", made, **other))
    assert "2 groups of runs" in shown and word in shown.split("\n\n")[1]
    assert not any("erstes" in part and "zweites" in part for part in re.split(r"\n={5,}\n", shown)[2:])


def test_a_cut_run_has_no_rank() -> None:
    shown = text(summary("cut", rows(right(5, 9)), limit=9))
    assert "cut to 9 questions by --limit or --per-category: no rank, no tier" in shown
    assert re.search(r"^cut +— +— +5/9", shown, re.MULTILINE)


def test_questions_that_nobody_graded_are_one_group() -> None:
    shown = text(summary("m", [row("laden-1", bucket="—"), row("hafen-1", "wrong", bucket="—")]))
    assert re.search(r"^m +1 +— +1/2 = 50\.0", shown, re.MULTILINE)
    assert "nachbar" not in shown.partition("Definitions")[0]


@pytest.mark.parametrize("made", [
    rows(["failed"] * 3), rows(["none"] * 3), rows(["failed", "right"], names=("hafen",)),
    [row("laden-1", usage={"input_tokens": -5, "output_tokens": -1})]])
def test_whatever_happened_is_shown(made) -> None:
    assert "Routes" in text(summary("m", made)) and json.loads(report_json((summary("m", made),)))


def test_repeats_have_no_interval_and_no_standard_deviation() -> None:
    made = rows(right(5, 10)) + rows(right(3, 10), repeat=2)
    shown = text(summary("twice", made, repeats=2))
    assert re.search(r"^twice +1 +yes +8/20 = 40\.0 +— ", shown, re.MULTILINE)
    assert "keine Standardabweichung" in shown and "within 20.0 points of the leader" in shown


def test_cost_names_its_order_and_upstreams_are_told() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 10, "cached_tokens": 0, "reasoning_tokens": 0}
    shown = text(summary("m", rows(right(2, 3), usage=usage, upstreams=["b", "a"])))
    assert "Größenordnung" in shown and "3,000" in table(shown, "Cost")
    assert "a (3), b (3)" in table(shown, "Upstreams")


@pytest.mark.parametrize("model, cells", [
    ("claude-haiku-4-5", ["3,000", "1,500", "300", "3/3", "—", "0.0032", "0.0045", "30.0"]),
    ("nobody-priced-it", ["3,000", "1,500", "300", "3/3", "—", "—", "—", "—"])])
def test_cached_input_costs_what_the_list_says(model, cells) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100, "cached_tokens": 500, "reasoning_tokens": 0}
    shown = table(text(summary(model, rows(right(2, 3), usage=usage))), "Cost")
    assert next(line for line in shown.split("\n") if line.startswith(model)).split()[-8:] == cells


def test_limits_come_from_the_data() -> None:
    shown = text(summary("m", rows(right(2, 4), names=("laden", "werkstatt", "laden", "hafen"), schema_truncated=1)))
    assert "limit: databases are anonymised in name only" in shown
    assert "limit: 3/4 = 75.0 % of the nachbar-hart questions belong to the cluster handel" in shown
    assert "limit: schemas were cut in 4 answered questions of these runs, results in 0" in shown


def test_several_versions_of_the_harness_are_a_warning() -> None:
    one, other = (replace(s, run=replace(s.run, version=v)) for s, v in ((GOOD, "1.0"), (STEADY, "1.1")))
    assert "warning: made by several versions of the harness: 1.0, 1.1" in text(one, other)


ARMS = [summary("m", rows(right(6, 10)), condition="anonymised", procedure="single_shot"),
        summary("m", rows(["wrong"] * 6 + ["right"] * 4), condition="names", procedure="single_shot")]


def test_conditions_are_paired_with_the_base_in_a_table_of_their_own() -> None:
    shown = text(GOOD, *ARMS)
    assert "db_routing, conditions in one request without tools" in shown
    assert "m " not in table(shown, "Routes")
    assert re.search(r"names +4/10 = 40\.0 +\[16\.8–68\.7\] +40\.0 +10 +4 +6 +0\.100 +0\.752 +0\.754", shown)
    assert "no run of the base anonymised" in text(ARMS[1])


EVERYTHING = (GOOD, STEADY, *ARMS, summary("twice", rows(right(2, 3)) + rows(right(1, 3), repeat=2), repeats=2))


def test_without_votes_no_word_of_votes() -> None:
    outputs = [text(*EVERYTHING), report_json(EVERYTHING), *(report_csv(EVERYTHING, name) for name in TABLES)]
    for output in outputs:
        assert not re.search("hard_strict|jury|qq_only", output, re.IGNORECASE)


def test_with_votes_their_bucket_leads() -> None:
    made = [row("laden-1", bucket="hard_strict"), row("laden-2", "wrong", bucket="hard_strict"),
            row("hafen-1", bucket="easy")]
    shown = text(summary("m", made))
    assert re.search(r"^hard_strict +m +1/2 = 50\.0", shown, re.MULTILINE) and "jury:" in shown
    assert "neighbour_buckets" not in shown


def test_definitions_stand_once_and_are_the_same_in_json() -> None:
    shown, value = text(GOOD, STEADY), json.loads(report_json((GOOD, STEADY)))
    assert shown.count("probe: A probe is a call that reaches a database") == 1
    assert {one["id"] for one in value["definitions"]["9" * 64]} >= {"probe", "swap", "drift_band", "corridor"}
    assert all(one["en"] in shown for one in value["definitions"]["9" * 64])


def test_json_holds_what_the_tables_show() -> None:
    run = json.loads(report_json((GOOD,)))["groups"][0]["runs"][0]["routing"]
    hard = run["routes"][HARD]
    assert (hard["right"], hard["answered"], hard["asked"]) == (150, 182, 184)
    assert hard["strict"] == pytest.approx(150 / 184) and run["leading"] == HARD and run["drift"] is None
    assert run["sql"]["sql_set"]["note"] == "kein Gold-Audit"


@pytest.mark.parametrize("name, lines, key, value", [
    ("routing", 2, "leading_answered", "182"), ("routes", 16, "name", "all"), ("categories", 4, "category", FREE),
    ("routing_arms", 0, "model", None)])
def test_csv_is_flat(name, lines, key, value) -> None:
    read = list(csv.DictReader(io.StringIO(report_csv((GOOD, STEADY), name))))
    assert len(read) == lines and (not read or value in {line[key] for line in read})


def test_csv_of_conditions() -> None:
    read = list(csv.DictReader(io.StringIO(report_csv(ARMS, "routing_arms"))))
    assert [(line["condition"], line["bucket"], line["gained"], line["lost"]) for line in read] == [
        ("anonymised", "all", "0", "0"), ("anonymised", HARD, "0", "0"), ("names", "all", "4", "6"),
        ("names", HARD, "4", "6")]


def test_names_from_strangers_are_harmless() -> None:
    assert "\x1b" not in text(summary("m\x1b[31m", rows(right(1, 2), upstreams=["\x1b[2J"])))
