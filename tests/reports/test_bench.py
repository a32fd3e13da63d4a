"""What a bench run comes to: the specification's numbers, failures, repeats, baselines by definition, the tables."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.bench import Ratio, bench_of, metrics_of, policies_of, setup_of
from infranode_eval.reports.bench_tables import bench_tables, least_gain
from infranode_eval.reports.comparison import differing
from infranode_eval.reports.export import report_csv, report_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.gates import Gate, broken_gates
from infranode_eval.reports.ranks import tiers
from infranode_eval.reports.sections import report_sections
from infranode_eval.reports.tasksets import case_sets
from infranode_eval.tables import render
from lm_eval_task.bench import aggregate_cases, score_case
from lm_eval_task.cases import read_cases
from lm_eval_task.errors import DataError
from lm_eval_task.records import Reply, Score, tasks_fingerprint
from tests.reports.bench_runs import BY_ID, CASES, called, failure, fixture, result, right, summary, wrong

NAMES = ("formkorrekt", "richtig_je_schritt", "auftraege_gelungen", "schritte_je_auftrag", "stillgehalten", "streng")


def numbers(found, answered=False):
    """As (k, n), by name."""
    part = found.bench.answered if answered else found.bench.numbers
    return {name: (getattr(part, name).k, getattr(part, name).n) for name in NAMES}


def test_the_fixture_of_the_specification() -> None:
    found = summary(fixture())
    assert numbers(found) == {
        "formkorrekt": (28, 28), "richtig_je_schritt": (36, 37), "auftraege_gelungen": (40, 42),
        "schritte_je_auftrag": (39, 42), "stillgehalten": (13, 14), "streng": (40, 42)}
    solved = found.bench.numbers.auftraege_gelungen.interval
    still = found.bench.numbers.stillgehalten.interval
    assert [round(100 * x, 1) for x in (solved.estimate, solved.low, solved.high)] == [95.2, 84.2, 98.7]
    assert [round(100 * x, 1) for x in (still.estimate, still.low, still.high)] == [92.9, 68.5, 98.7]
    stages = {stage: (one.solved, one.n) for stage, one in found.bench.stages.items()}
    assert stages == {"S1": (8, 8), "S2": (11, 12), "S3": (8, 8), "S4": (6, 6), "S5": (7, 8)}
    assert found.bench.missed == ("S2-9", "S5-8")


def test_failures_are_not_solved_not_well_formed_and_not_still() -> None:
    found = summary({key: failure() for key in ("S1-1", "S3-8", "S4-1", "S5-1")})
    assert numbers(found) == {
        "formkorrekt": (26, 28), "richtig_je_schritt": (33, 37), "auftraege_gelungen": (38, 42),
        "schritte_je_auftrag": (33, 42), "stillgehalten": (12, 14), "streng": (38, 42)}
    assert numbers(found, answered=True) == {
        "formkorrekt": (26, 26), "richtig_je_schritt": (33, 33), "auftraege_gelungen": (38, 38),
        "schritte_je_auftrag": (33, 38), "stillgehalten": (12, 12), "streng": (38, 38)}
    assert found.bench.silence.silent == 7, "a failure is silent, but it has not kept still"


def test_steps_of_a_failure_come_from_another_repeat_where_cases_are_not_known() -> None:
    found = summary({"S3-8": failure()}, repeats=2, later={}, sets=())
    assert numbers(found)["richtig_je_schritt"] == (71, 74)


@pytest.mark.parametrize("told, expected, why", [
    ({"broken": True, "emitted": 1}, 27, "something could not be read"),
    ({"broken": True, "emitted": 0}, 27, "nothing could be read"),
    ({"emitted": 0}, 27, "no call where one is wanted"),
    ({"emitted": 1}, 28, "a wrong call, or an unknown name, is a call"),
])
def test_formkorrekt_wants_a_readable_call_and_nothing_broken(told, expected, why) -> None:
    assert summary({"S1-1": wrong(BY_ID["S1-1"], **told)}).bench.numbers.formkorrekt.k == expected, why


def test_what_became_of_silence_counts_silent_cases_only() -> None:
    found = summary({"S5-1": called(BY_ID["S5-1"]),
                     "S5-2": {**right(BY_ID["S5-2"]), "asked_right": False},
                     "S5-3": {**right(BY_ID["S5-3"]), "asked": False, "asked_right": False, "claims_done": True}}).bench
    silence = found.silence
    assert (silence.n, silence.silent, silence.asked, silence.asked_right, silence.claims_done) == (8, 7, 6, 5, 1)
    assert metrics_of(found)["claims_done"] == pytest.approx(1 / 7)
    assert found.numbers.stillgehalten == Ratio(13, 14), "a claim is silent all the same"


def test_a_number_without_rows_is_none_and_never_zero() -> None:
    only_calls = tuple(case for case in CASES if case.category == "S2")
    found = summary({}, cases=only_calls)
    assert found.strict["stillgehalten"] is None and found.strict["asked"] is None
    assert "—" in found_table(found, "The numbers").rows[0]
    assert [t.title for t in bench_tables([found], ["demo"])] == ["The numbers", "By stage, solved of all"]


def found_table(found, title):
    return next(t for t in bench_tables([found], ["demo"]) if t.title == title)


def test_the_metrics_have_the_names_of_the_results_file() -> None:
    strict = summary(fixture()).strict
    assert strict["auftraege_gelungen"] == strict["call_match"] == pytest.approx(40 / 42)
    assert strict["ability"] == pytest.approx((1 + 11 / 12 + 1 + 1 + 7 / 8) / 5)
    assert {*NAMES[:5], "streng_auftraege_gelungen", "asked", "asked_right", "claims_done", "first_step_only",
            "call_match_S1", "call_match_S5", "parsed"} <= strict.keys()


def test_stored_numbers_that_the_rows_do_not_give_are_told() -> None:
    found = summary(fixture(), metrics={"stillgehalten": 1.0, "auftraege_gelungen": 40 / 42})
    assert [w for w in found.warnings if "stored stillgehalten differ" in w]


@pytest.mark.parametrize("field, value", [("hits", "2"), ("hits", True), ("form_notes", "x"), ("form_notes", [1]),
                                          ("claims_done", 1)])
def test_a_row_that_breaks_the_format_is_refused(field, value) -> None:
    bad = result({"S1-1": {**right(BY_ID["S1-1"]), field: value}})
    with pytest.raises(DataError, match=f'row S1-1: "{field}" must be'):
        run_from_json(bad, "bad.json")


def test_other_suites_have_no_bench() -> None:
    run = run_from_json({**result(), "suite": "single"}, "a.json")
    assert bench_of(run, {}) is None


# --- baselines --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, solved, still, steps", [
    ("never_calls", (14, 42), (14, 14), (0, 37)), ("asks_always", (14, 42), (14, 14), (0, 37)),
    ("first_step_only", (34, 42), (14, 14), (28, 37)), ("oracle", (42, 42), (14, 14), (37, 37))])
def test_baselines_by_definition_are_those_of_the_specification(name, solved, still, steps) -> None:
    [policy] = [p for p in policies_of(summary(fixture()).bench) if p.name == name]
    found = policy.numbers
    assert [(r.k, r.n) for r in (found.auftraege_gelungen, found.stillgehalten, found.richtig_je_schritt)] \
        == [solved, still, steps]


def test_a_stored_baseline_stands_in_for_its_definition_and_in_the_same_table_as_models() -> None:
    silent = {case.task_id: wrong(case, "no_call", emitted=0) for case in CASES if case.expected}
    silent |= {f"S5-{n}": {**right(BY_ID[f"S5-{n}"]), "asked": False, "asked_right": False} for n in range(1, 9)}
    never = summary(silent, model="never_calls", backend="baseline", setup="Dafür passt kein Werkzeug.",
                    settings={"max_tokens": None, "temperature": None})
    sections = report_sections([summary(fixture()), never])
    [section] = [s for s in sections if s.title.startswith("bench")]
    names = [row[0] for row in section.tables[0].rows]
    assert names[0].startswith("demo") and names[1].startswith("never_calls (baseline)")
    assert names[2:] == [f"{n} (by definition)" for n in ("asks_always", "first_step_only", "oracle")]
    asking = next(t for t in section.tables if t.title.startswith("S5"))
    assert [row[1:3] for row in asking.rows] == [("7/8", "7/7"), ("8/8", "0/8"), ("8/8", "8/8")]


# --- tables -----------------------------------------------------------------------------------------------------------

def lively() -> dict:
    """What a model on a server without parallel calls may do."""
    only = {f"S3-{n}": wrong(BY_ID[f"S3-{n}"], "missing_calls", emitted=1, hits=1, first_step_only=True)
            for n in (1, 2, 3)}
    return {**fixture(), **only,
            "S2-4": {**right(BY_ID["S2-4"]), "form_notes": ["duration_min: digits as text"], "streng_match": True},
            "S2-8": {**right(BY_ID["S2-8"]), "streng_match": False},
            "S4-1": failure(),
            "S5-2": {**right(BY_ID["S5-2"]), "asked": False, "asked_right": False, "claims_done": True}}


@pytest.mark.parametrize("form, name", [("text", "bench.txt"), ("markdown", "bench.md")])
def test_the_tables_as_people_see_them(golden, form, name) -> None:
    twice = summary(lively(), model="twice", repeats=2, later=fixture())
    golden(name, render(report_sections([summary(lively()), summary(model="perfect"), twice]), form))


def first_steps(count: int, several: bool = False) -> dict:
    """S3 cases that end after one right call; the other S3 cases hold several calls, or else a wrong one."""
    return {f"S3-{n}": wrong(BY_ID[f"S3-{n}"], "missing_calls", emitted=1, hits=1, first_step_only=True) if n <= count
            else right(BY_ID[f"S3-{n}"]) if several else wrong(BY_ID[f"S3-{n}"], emitted=1) for n in range(1, 9)}


@pytest.mark.parametrize("runs, blamed, why", [
    ([first_steps(3)], 1, "three cases, and never several calls"),
    ([first_steps(2)], 0, "two cases may be the model's choice"),
    ([first_steps(3, several=True)], 0, "this run emits several calls elsewhere"),
    ([first_steps(8), first_steps(0, several=True)], 0, "a run beside it does"),
    ([first_steps(8), first_steps(8)], 2, "nobody does")])
def test_a_server_is_blamed_where_no_reply_holds_several_calls(runs, blamed, why) -> None:
    found = [summary(verdicts, model=f"m{n}") for n, verdicts in enumerate(runs)]
    table = next(t for t in bench_tables(found, [s.run.model for s in found]) if t.title.startswith("S3"))
    assert len([n for n in table.notes if "server or its chat template" in n]) == blamed, why


def test_repeats_of_one_case_are_one_case_that_ends_after_a_call() -> None:
    found = summary(first_steps(1), repeats=4)
    assert found.bench.first_step_only.k == 4 and found.bench.first_step_cases == 1
    assert not [n for n in found_table(found, "S3: several calls in one reply").notes if "server" in n]


def test_a_claim_is_marked_and_said_to_be_worse_than_a_call() -> None:
    table = found_table(summary(lively()), "S5: a value is missing")
    [claims] = [c for c in table.columns if c.bad]
    assert claims.header == "claims done (!)" and table.rows[0][table.columns.index(claims)] == "1/7"
    assert "worse than a call" in table.notes[0] and "1 of 7 silent replies" in table.notes[1]


def test_missed_cases_are_named_with_what_they_test() -> None:
    rows = found_table(summary(fixture()), "Missed cases").rows
    assert rows == (("S2-9", "prüft S2-9", "1", "demo"), ("S5-8", "prüft S5-8", "1", "demo"))


def test_pass_hat_k_stands_for_each_stage() -> None:
    table = found_table(summary(fixture(), repeats=2, later={}), "Repeats, by stage")
    by_stage = {row[1]: row for row in table.rows}
    assert by_stage["S2"] == ("demo", "S2", "12", "1/12", "95.8", "91.7"), "23/24 once, 11 of 12 both times"
    assert by_stage["S1"] == ("demo", "S1", "8", "0/8", "100.0", "100.0")
    main = found_table(summary(fixture(), repeats=2, later={}), "The numbers").rows[0]
    assert main[1].startswith("mean 97.6 [") and "/" not in main[1], "repeats of a case are not independent rows"


def test_rows_of_one_case_are_one_cluster() -> None:
    """With repeats: wider than Wilson over the rows, and never narrower than the cases allow."""
    wrongs = {f"S2-{n}": wrong(BY_ID[f"S2-{n}"]) for n in range(1, 11)}
    once, thrice = summary(wrongs), summary(wrongs, repeats=3)
    one, three = (s.bench.numbers.auftraege_gelungen.interval for s in (once, thrice))
    assert three.high - three.low == pytest.approx(one.high - one.low, abs=0.03), "asking again adds no cases"
    still = summary({"S5-8": called(BY_ID["S5-8"])}, repeats=3).bench.numbers.stillgehalten
    assert (still.k, still.n) == (39, 42) and still.interval == Ratio(13, 14).interval, "14 are too few to draw"
    assert summary(wrongs).bench.numbers.auftraege_gelungen.rows == (), "asked once: independent"


def test_a_note_says_how_many_rows_of_how_many_cases() -> None:
    [note] = [n for n in found_table(summary(repeats=3), "The numbers").notes if "rows of" in n]
    assert note.startswith("126 rows of 42 cases, each asked 3 times; mean: of these rows")
    assert not [n for n in found_table(summary(), "The numbers").notes if "rows of" in n]
    stages = found_table(summary(repeats=3), "By stage, solved of all")
    assert stages.columns[1].header == "S1 (8 cases)" and stages.rows[0][1] == "mean 100.0"
    assert "Wilson" not in stages.notes[1]


def test_two_wordings_of_a_case_are_one_case() -> None:
    both = CASES + tuple(replace(c, task_id=c.task_id + "-p") for c in CASES)
    found = summary({"S1-1": wrong(BY_ID["S1-1"])}, cases=both, sets=())
    assert found.bench.cases == 42 and len(found.bench.numbers.auftraege_gelungen.rows) == 84
    assert found_table(found, "The numbers").notes[0].startswith("84 rows of 42 cases, each asked in 2 wordings;")
    rows = found_table(found, "The numbers").rows
    assert rows[0][1].startswith("83/84 = 98.8 [") and rows[1][1] == "28/84 = 33.3", "a policy has no rows to draw"
    assert found_table(found, "By stage, solved of all").rows[0][1] == "15/16 = 93.8", "no interval over both wordings"


def test_the_original_rule_leads_where_a_run_asks_for_it() -> None:
    turned = {"S2-1": {**right(BY_ID["S2-1"]), "streng_match": False},
              "S2-2": {**right(BY_ID["S2-2"]), "streng_match": False}}
    headline = {"streng": 40 / 42, "auftraege_gelungen": 1.0}
    first, second = summary(turned, model="a", headline=headline), \
        summary({"S1-1": wrong(BY_ID["S1-1"])}, model="b", headline=headline)
    [section] = report_sections([first, second])
    assert [c.header for c in section.tables[0].columns][1:3] == ["streng", "auftraege_gelungen"]
    assert [row[0].split()[0] for row in section.tables[0].rows][:2] == ["b", "a"], "41 before 40 by that rule"
    [plain] = report_sections([summary(turned, model="a"), summary({"S1-1": wrong(BY_ID["S1-1"])}, model="b")])
    assert [row[0].split()[0] for row in plain.tables[0].rows][:2] == ["a", "b"], "42 before 41 by ours"


def test_one_sentence_says_what_so_few_cases_can_show() -> None:
    [line] = [n for n in found_table(summary(), "The numbers").notes if "smallest difference" in n]
    assert "42 cases" in line and "21 points (9 cases) if they differ in 25 % of the cases" in line
    assert "none if they differ in 12 %" in line and line.endswith("two cases more or less are noise")
    assert least_gain(42) == 6 and least_gain(5) is None


def test_a_bench_is_never_ranked_and_stands_behind_the_main_suite(make_result, answer) -> None:
    found = [summary(fixture(), model="a"), summary(model="b")]
    assert tiers(found) == [None, None]
    main = make_result(lambda t: Reply.from_text(answer(t)))
    titles = [s.title for s in report_sections([*found, summarise(run_from_json(main, "main.json"))])]
    assert len(titles) == 3 and titles[1].startswith("infranode_tools_de") and titles[2].startswith("bench, original")


def test_gates_take_the_names_of_the_suite() -> None:
    found = [summary(fixture())]
    assert broken_gates([Gate.from_text("auftraege_gelungen>=0.95"), Gate.from_text("schritte_je_auftrag<=1.5")],
                        found) == []
    assert broken_gates([Gate.from_text("stillgehalten>=1")], found)


# --- for programs -----------------------------------------------------------------------------------------------------

def test_json_holds_everything_that_the_tables_show() -> None:
    [group] = json.loads(report_json([summary(lively())]))["groups"]
    [run] = group["runs"]
    found = run["bench"]
    assert found["numbers"]["auftraege_gelungen"] == {"k": 36, "n": 42, "value": 36 / 42}
    assert found["silence"]["claims_done"] == 1 and found["first_step_only"] == {"k": 3, "n": 8}
    assert found["stages"]["S5"]["solved"] == 7 and found["stages"]["S5"]["low"] < 7 / 8
    assert found["form_notes"] == {"duration_min: digits as text": ["S2-4"]} and found["turned_by_streng"] == ["S2-8"]
    assert found["baselines"]["never_calls"]["stillgehalten"]["value"] == 1


@pytest.mark.parametrize("table, rows, column, value", [
    ("bench", 1, "auftraege_gelungen", str(40 / 42)), ("stages", 5, "solved", "8"), ("stages", 5, "stage", "S1")])
def test_csv_has_a_row_for_each_run_or_stage(table, rows, column, value) -> None:
    lines = list(csv.DictReader(io.StringIO(report_csv([summary(fixture())], table))))
    assert len(lines) == rows and lines[0][column] == value


@pytest.mark.parametrize("table", ["bench", "stages"])
def test_the_main_suite_has_no_lines_in_the_tables_of_the_bench(table, make_result, answer) -> None:
    main = summarise(run_from_json(make_result(lambda t: Reply.from_text(answer(t))), "main.json"))
    assert report_csv([main], table).startswith("model,path") and report_csv([main], table).count("\n") == 1


# --- beside the scorer ------------------------------------------------------------------------------------------------

def replies(case):
    """Every kind of reply to a case, right, half right, silent, broken and none at all."""
    calls = [call.to_json() for call in case.expected]
    texts = [json.dumps(calls) if calls else "Das geht leider nicht.", json.dumps(calls[:1]) if calls else "[{",
             "Erledigt, ich habe den Termin eingetragen.", "Welche Nummer soll es sein, und wann?",
             '{"name": "list_rooms", "arguments": {"min_seats": "3"}}', '{"name": "delete_contact", "arguments": [']
    return [*map(Reply.from_text, texts), Score.failure("infra_error", "timed out")]


@pytest.mark.parametrize("shift", range(7))
def test_the_report_counts_as_the_scorer_does(shift) -> None:
    cases = read_cases()
    pairs, rows = [], []
    for number, case in enumerate(cases.tasks):
        given = replies(case)[(number + shift) % 7]
        score = given if isinstance(given, Score) else score_case(case, given, cases.tools, "prompt", cases.zone)
        pairs.append((case, score))
        rows.append({"task_id": case.task_id, "category": case.category, "repeat": 1, **score.to_json(),
                     "reply": None, "error": None})
    failed = sum(score.failed for _, score in pairs)
    value = {**result(), "rows": rows, "counts": {"n": 42, "scored": 42 - failed, "failed": failed},
             "hashes": {"tasks": tasks_fingerprint(cases.tasks)}}
    found = summarise(run_from_json(value, "a.json"), case_sets())
    answered = [pair for pair in pairs if not pair[1].failed]
    for mine, theirs in ((found.strict, aggregate_cases(pairs)), (found.answered, aggregate_cases(answered))):
        assert {name: mine[name] for name in theirs} == pytest.approx(theirs), "every name of the scorer, and its value"


@pytest.mark.parametrize(("header", "named"), [
    ({}, "B"), ({"settings": {"max_tokens": 1024, "temperature": 0.0}}, "custom (max_tokens 1024, temperature 0.0)"),
    ({"settings": {"max_tokens": 512, "temperature": 0.7}}, "custom (max_tokens 512, temperature 0.7)"),
    ({"backend": "baseline", "setup": "baseline: replays", "settings": {}}, "B"),
    ({"suite": "single", "setup": "S"}, "S"),
], ids=["by default", "another budget", "another temperature", "a program", "another suite"])
def test_the_usual_set_up_has_a_name_in_tables_and_comparisons(header, named) -> None:
    run = run_from_json(result(**header), "r.json")
    assert setup_of(run) == named
    usual = run_from_json(result(), "u.json")
    assert bool(differing(run, usual, ("set-up",))) is (named != "B")
