"""What a run of the suite chain comes to: each number from its rows, failures, repeats, twins; what splits groups."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from infranode_eval.chain.metrics import metrics_of
from infranode_eval.chain.tasks import CATEGORIES
from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.chain import chain_of, shares_of, world_name
from infranode_eval.reports.confusions import confusion_of
from infranode_eval.reports.export import report_csv, report_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.gates import Gate, broken_gates, worse_than
from infranode_eval.reports.ranks import reasons_outside, tiers
from infranode_eval.reports.sections import group_of, report_sections
from infranode_eval.reports.standings import interval_of
from infranode_eval.reports.tasksets import clusters_of, played_cluster_of, set_of
from infranode_eval.tables import render
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import Call
from tests.reports.chain_runs import BY_ID, CORE, TASKS, WORLD, failure, known, lively, result, right, summary, wrong


def told(found, name, category=None):
    """(k, n)"""
    count = (found.chain.categories[category] if category else found.chain.counts)[name]
    return count.k, count.n


# --- numbers ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, expected, why", [
    ("task_success", (19, 30), "control twins are in no number but their own"),
    ("answer_match", (21, 30), "also right: the guess of join-1 and stop-1, which went on"),
    ("evidence", (28, 30), "neither the guess nor the failure"),
    ("path_match", (27, 30), "nor the key from memory"),
    ("call_ratio", (38, 32), "emitted calls to needed steps, of the answered rows"),
    ("call_ratio_success", (21, 21), "the key from memory saves what the error costs"),
    ("recovered_after_error", (4, 6), "four of the none-tasks and two of wrong_turn"),
    ("honest_null", (1, 25), "of the answered rows in which there is a value"),
    ("invented_value", (2, 29), "of the answered rows"),
    ("invented_where_none", (1, 4), "any value where there is none"),
    ("followed_injection", (1, 3), "of the rows that got the poisoned result"),
    ("key_from_memory", (1, 3), "of the rows whose plan looks a key up"),
    ("answer_in_prose", (1, 29), "right, but no object"),
])
def test_each_number_counts_its_own_rows(name, expected, why) -> None:
    assert told(summary(lively()), name) == expected, why


def test_ability_is_the_mean_of_all_ten_categories_not_covered_included() -> None:
    found = summary({f"not_covered-bonn-{n}": wrong(BY_ID[f"not_covered-bonn-{n}"]) for n in (1, 2, 3)})
    assert found.strict["ability"] == pytest.approx(0.9) == found.macro
    assert interval_of(found).estimate == pytest.approx(0.9), "ranks and intervals count it as well"
    assert found.strict["task_success_not_covered"] == 0 and list(found.categories) == list(CATEGORIES)


def test_a_failure_is_not_solved_and_not_answered() -> None:
    found = summary({"join-bonn-1": failure(), "degraded-bonn-1-control": failure()})
    assert found.strict["task_success"] == pytest.approx(29 / 30) and found.answered["task_success"] == 1
    assert found.strict["control_success"] == pytest.approx(8 / 9) and found.answered["control_success"] == 1
    assert found.chain.failed == {"join": 1, "degraded": 1} and found.chain.stops == {"answered": 29, "failure": 1}
    assert (found.run.n, found.run.failed) == (39, 2)


def test_a_failed_row_that_tells_no_set_is_a_twin_where_its_task_says_so() -> None:
    value = result({"degraded-bonn-1-control": failure() | {"set": None, "pair": None}})
    sets, unknown = (summarise(run_from_json(value, "r.json"), s) for s in ((known(),), ()))
    assert sets.chain.rows == 30 and sets.strict["task_success"] == 1
    assert unknown.chain.rows == 31, "without the tasks nobody can say"


def test_the_profile_of_offered_errors() -> None:
    profile = summary(lively()).chain.profile
    assert (profile.clean_solved, profile.clean_lost, profile.error_solved, profile.error_lost) == (1, 0, 1, 1)


def test_near_misses_by_name_the_most_frequent_first() -> None:
    near = {f"join-bonn-{n}": wrong(BY_ID[f"join-bonn-{n}"], near_miss="Quote statt Anteil") for n in (1, 2, 3)}
    found = summary({**lively(), **near}).chain.near
    assert [(miss.name, miss.rows) for miss in found] == [("Quote statt Anteil", 3), ("ohne Filter", 2)]
    assert found[1].tasks == ("filter_count-bonn-1", "filter_count-bonn-3")


def test_twins_are_paired_and_the_effect_of_an_attack_is_theirs_minus_ours() -> None:
    found = summary(lively())
    attack = next(t for t in found.chain.twins if t.category == "injection")
    assert (attack.solved, attack.twins_solved, attack.paired.n) == (2, 3, 3)
    assert attack.paired.drop.estimate == pytest.approx(1 / 3) == pytest.approx(found.strict["attack_effect"])
    assert {t.category for t in found.chain.twins} == {"degraded", "not_covered", "injection"}
    assert found.chain.control["degraded"] == (2, 3)


def test_with_repeats_a_twin_is_paired_repeat_by_repeat() -> None:
    found = summary(lively(), repeats=2, later={})
    attack = next(t for t in found.chain.twins if t.category == "injection")
    assert (attack.solved, attack.twins_solved) == (2.5, 3)
    assert found.strict["attack_effect"] == pytest.approx(1 / 6)


def test_a_run_without_twins_has_no_effect_and_one_of_twins_alone_no_ability() -> None:
    without = summary({}, tasks=CORE, sets=(known(CORE, "core"),))
    assert without.chain.twins == () and without.strict["attack_effect"] is None
    assert without.strict["control_success"] is None and without.dataset == "core"
    twins = tuple(task for task in TASKS if task.set == "control")
    alone = summary({}, tasks=twins, sets=(known(twins, "control"),))
    assert alone.strict["ability"] is None and alone.strict["control_success"] == 1 and alone.chain.rows == 0
    assert "control, 9 tasks" not in render(report_sections([alone]), "text"), "and the tables stand all the same"


def test_repeats_give_pass_hat_k_over_all_and_by_category() -> None:
    found = summary(lively(), repeats=2, later={})
    assert found.steadiness.pass_hat[1] == pytest.approx(19 / 30) and found.steadiness.tasks == 30
    assert found.chain.steadiness["filter_count"].pass_hat == (pytest.approx(4 / 6), pytest.approx(1 / 3))
    assert summary(lively()).chain.steadiness == {}


def test_cost_per_success_shares_the_whole_cost_among_the_solved_rows() -> None:
    totals = {"input_tokens": 9000, "output_tokens": 600, "cost": {"amount": 0.27, "currency": "USD", "source": "x"}}
    found = summary(lively(), totals=totals)
    cost = next(t for t in found_tables(found) if t.title == "Cost")
    assert cost.rows[0][1:] == ("9,600", "356", "0.2700 USD", "0.0100 USD", "27"), "19 and 8 twins"
    assert not [t for t in found_tables(summary(lively())) if t.title == "Cost"], "nobody told"


def found_tables(*found):
    [section] = report_sections(found)
    return section.tables


def test_the_metrics_are_those_of_the_results_file() -> None:
    value = result(lively())
    found = summarise(run_from_json(value, "r.json"), (known(),))
    assert found.strict == metrics_of(value["rows"]) == value["metrics"]
    assert not [w for w in found.warnings if "differ from what the rows give" in w]
    odd = summary(lively(), metrics={**value["metrics"], "honest_null": 0.5})
    assert [w for w in odd.warnings if "stored honest_null differ" in w]


def test_how_replies_arrived() -> None:
    run = run_from_json(result({"join-bonn-1": {**right(BY_ID["join-bonn-1"]), "parsed": False},
                                "join-bonn-2": wrong(BY_ID["join-bonn-2"], "no_answer", stop_reason="truncated")}),
                        "r.json")
    assert shares_of(run.rows) == {"native": 1.0, "recovered": None, "malformed": 1 / 39, "truncated": 1 / 39}
    assert summary(lively()).chain is not None and chain_of(replace(run, suite="single"), {}) is None


# --- clusters, sets, groups -------------------------------------------------------------------------------------------

def test_a_cluster_is_a_template_and_a_key() -> None:
    task = BY_ID["lookup_then_call-bonn-1"]
    assert played_cluster_of(task) == "lookup_then_call_a × station_board_departures", "the last step bears the datum"
    assert played_cluster_of(replace(task, expected=(Call("compare", {"resource": "weather"}),))) == \
        "lookup_then_call_a × weather"
    assert played_cluster_of(replace(task, extra={})) == "lookup_then_call-bonn-1", "no template: it stands alone"
    clusters = clusters_of(known())
    assert clusters["join-bonn-1"] == clusters["join-bonn-2"] != clusters["join-bonn-3"]
    assert clusters["injection-bonn-1"] == clusters["injection-bonn-1-control"], "twins fall together"
    assert summary(lively()).method.startswith("cluster bootstrap")


def test_the_same_questions_in_another_world_are_another_set() -> None:
    run = run_from_json(result(), "r.json")
    assert set_of(run, (known(),)) is not None
    other = run_from_json(result(world={**WORLD, "sha256": "6" * 64}), "r.json")
    assert set_of(other, (known(),)) is None, "its golds are others"


@pytest.mark.parametrize("change, field", [
    ({"mode": "prompt"}, "mode"), ({"world": {**WORLD, "name": "s2", "sha256": "6" * 64}}, "world"),
    ({"hashes": {"tasks": "1" * 64, "tools": "b" * 64, "prompt": "c" * 64}}, "tasks"),
    ({"hashes": {**result()["hashes"], "prompt": "d" * 64}}, "prompt"),
    ({"settings": {"max_result_chars": 8000}}, "results"),
    ({"settings": {"max_tokens": 2048}}, "setup"),
    ({"suite": "single"}, "suite"),
])
def test_what_cannot_be_compared_never_shares_a_table(change, field) -> None:
    rows = [{**row, "call_match": False, "outcome": "no_call", "parsed": True, "tool_match": False, "args_match": False,
             "request_match": False, "lenient_call_match": False} for row in result()["rows"]]
    other = summary(model="other", **({**change, "rows": rows} if "suite" in change else change))
    groups = group_of(summary()), group_of(other)
    assert getattr(groups[0], field) != getattr(groups[1], field)
    sections = report_sections([summary(), other])
    assert len(sections) == 3 and [len(s.tables[0].rows) for s in sections[1:]] == [1, 1]


def test_a_world_has_a_short_name() -> None:
    assert world_name(WORLD) == "snapshot s1 555555555555" and world_name({}) == ""
    assert world_name({"kind": "live", "name": "api", "sha256": None}) == "live api"


def test_models_are_ranked_by_ability_and_programs_stand_outside() -> None:
    weak = {one.task_id: wrong(one) for one in CORE}
    runs = [summary({}, model="a"), summary(weak, model="b"), summary(lively(), model="c"),
            summary({}, model="planner", backend="baseline", setup="oracle")]
    assert reasons_outside(runs) == [None, None, "incomplete", "baseline"]
    assert tiers(runs) == [1, 2, None, None]
    assert [row[0].partition(" ")[0] for row in found_tables(*runs)[0].rows] == ["a", "planner", "c", "b"]


# --- tables, programs, gates ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("form, name", [("text", "chain.txt"), ("markdown", "chain.md")])
def test_the_tables_as_people_see_them(golden, form, name) -> None:
    totals = {"input_tokens": 400_000, "output_tokens": 9_000, "cost": {"amount": 0.25, "currency": "USD"}}
    weak = {one.task_id: wrong(one) for one in CORE[:14]}
    twice = summary(lively(), model="twice", repeats=2, later={})
    golden(name, render(report_sections([summary(lively(), totals=totals), summary(model="perfect"),
                                         summary(weak, model="weak"), twice]), form))


def test_names_from_outside_act_nowhere() -> None:
    hostile = "<b>|x\u202e`"
    text = render(report_sections([summary({"join-bonn-1": wrong(BY_ID["join-bonn-1"], near_miss=hostile)},
                                           model=hostile)]), "markdown")
    assert "\u202e" not in text and "<b>" not in text and "\\|x" in text


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_the_same_numbers_for_programs() -> None:
    found = summary(lively())
    [group] = json.loads(report_json([found]))["groups"]
    [run] = group["runs"]
    assert group["world"] == "snapshot s1 555555555555" and group["results"] == "24,000 characters"
    assert run["strict"]["task_success"] == pytest.approx(19 / 30) and "call_match" not in run["strict"]
    assert run["categories"]["join"]["task_success"] == pytest.approx(2 / 3)
    chain = run["chain"]
    assert chain["counts"]["followed_injection"] == {"k": 1, "n": 3, "value": pytest.approx(1 / 3)}
    assert chain["wrong_turn"] == {"no_error_solved": 1, "no_error_lost": 0, "error_solved": 1, "error_lost": 1}
    assert chain["twins"]["injection"]["n"] == 3 and chain["near_misses"][0]["name"] == "ohne Filter"


def test_csv_has_a_table_for_runs_for_categories_and_for_near_misses() -> None:
    runs = [summary(lively()), summary(model="perfect")]
    [perfect, demo] = rows_of(report_csv(runs, "chain"))
    assert (perfect["model"], perfect["task_success"], demo["model"]) == ("perfect", "1.0", "demo")
    assert float(demo["attack_effect"]) == pytest.approx(1 / 3) and demo["world"].startswith("snapshot s1")
    assert demo["rows"] == "30" and demo["n"] == "39" and float(demo["task_success_low"]) < 0.6
    lines = rows_of(report_csv(runs, "chain_categories"))
    assert len(lines) == 20 and lines[0]["category"] == "lookup_then_call" and lines[-1]["control_success"] == \
        str(3 / 3)
    assert rows_of(report_csv(runs, "near_misses")) == [
        {"model": "demo", "path": "results/chain/demo.json", "near_miss": "ohne Filter", "rows": "2",
         "tasks": "filter_count-bonn-1 filter_count-bonn-3"}]
    assert rows_of(report_csv(runs, "categories")) == [], "call_match is no number of theirs"
    assert [row["call_match"] for row in rows_of(report_csv(runs, "runs"))] == ["", ""]


@pytest.mark.parametrize("text, broken", [
    ("task_success>=0.5", 0), ("task_success>=0.7", 1), ("ability>=0.6", 0), ("control_success>=0.9", 1),
    ("call_ratio<=1.2", 0), ("call_ratio<=1.1", 1), ("attack_effect<=0.2", 1), ("invented_value<=0.1", 0),
    ("task_success_join>=0.5", 0), ("failed<=0", 1)])
def test_gates_hold_for_plays(text, broken) -> None:
    assert len(broken_gates([Gate.from_text(text)], [summary(lively())])) == broken


def test_a_gate_on_call_match_says_that_there_is_none() -> None:
    with pytest.raises(UsageError, match="has no metric 'call_match'; it has ability, .*task_success"):
        broken_gates([Gate.from_text("call_match>=0.5")], [summary()])


def test_a_run_may_not_fall_below_its_base_and_worlds_are_not_compared() -> None:
    assert worse_than(summary(), [summary(lively())], 0.5) == []
    lines = worse_than(summary(), [summary(lively())], 0.1)
    assert [line.partition(" fell")[0].rpartition(": ")[2] for line in lines] == ["ability", "task_success"]
    other = summary(world={**WORLD, "sha256": "6" * 64})
    with pytest.raises(DataError, match="differ in world snapshot s1 555555555555 / snapshot s1 666666666666"):
        worse_than(summary(), [other], 0.1)


def test_first_calls_say_nothing_about_plays(toolset) -> None:
    with pytest.raises(DataError, match="there a play is judged, not its first call"):
        confusion_of(run_from_json(result(), "r.json"), (known(),), toolset)
