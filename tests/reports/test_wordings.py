"""Both wordings of a bench beside each other: which runs are paired, which cases flip, what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.export import report_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.tasksets import TaskSet, clusters_of
from infranode_eval.reports.wordings import wordings_by_group, wordings_of, wordings_sections
from infranode_eval.tables import render
from lm_eval_task.records import tasks_fingerprint
from tests.reports.bench_runs import BY_ID, CASES, failure, fixture, known, result, summary, wrong

MISSED = {"S2-9": wrong(BY_ID["S2-9"]), "S1-1": wrong(BY_ID["S1-1"]), "S3-2": wrong(BY_ID["S3-2"])}


def both(**options):
    return [summary(fixture(), path="a.json", **options),
            summary(MISSED, which="paraphrase", path="a.paraphrase.json", **options)]


def test_the_flips_of_one_model_are_named() -> None:
    [found] = wordings_of(both())
    assert (sum(found.original.values()), sum(found.paraphrase.values())) == (40, 39)
    assert found.lost == ["S1-1", "S3-2"] and found.gained == ["S5-8"]
    assert found.words == "3 of 42 cases flip, not more than chance one way (p = 1)"
    text = render(wordings_sections(both()), "text")
    assert "40/42" in text and "39/42" in text and "S1-1, S3-2" in text and "two cases more or less are noise" in text


@pytest.mark.parametrize("ids, said", [
    ((), "no case flips"),
    (("S1-1", "S1-2", "S1-3", "S1-4", "S1-5"), "5 of 42 cases flip, not more than chance"),
    (("S1-1", "S1-2", "S1-3", "S1-4", "S1-5", "S1-6"), "the other wording costs more than chance (p = 0.0312)"),
])
def test_it_says_whether_that_is_more_than_chance(ids, said) -> None:
    [found] = wordings_of([summary(), summary({i: wrong(BY_ID[i]) for i in ids}, which="paraphrase")])
    assert said in found.words


def test_one_run_may_hold_both_wordings() -> None:
    again = tuple(replace(case, task_id=f"{case.task_id}-p", question="anders") for case in CASES)
    every = (*CASES, *again)
    both_of = TaskSet("all", tasks_fingerprint(every), {t.task_id: t for t in every}, suite="bench")
    value = result({"S2-9": wrong(BY_ID["S2-9"]), "S1-1-p": wrong(BY_ID["S1-1"])}, cases=every, set="all")
    found = summarise(run_from_json(value, "all.json"), [both_of])
    [one] = wordings_of([found])
    assert one.lost == ["S1-1"] and one.gained == ["S2-9"] and len(one.original) == 42
    assert found.method.startswith("cluster bootstrap"), "the two wordings of a case are not independent"
    assert clusters_of(known()) == {}, "in one wording every case stands alone"


@pytest.mark.parametrize("other, why", [
    ({"model": "other"}, "another model"), ({"mode": "native"}, "another mode"),
    ({"settings": {"max_tokens": 1024, "temperature": 0}}, "another set-up"),
    ({"scorer_version": "0.9"}, "another scorer"), ({"repeats": 2}, "other repeats"),
])
def test_runs_that_differ_are_no_pair(other, why) -> None:
    first, second = summary(), summary(which="paraphrase", **other)
    assert wordings_of([first, second]) == [], why


def test_programs_and_other_suites_are_left_out(make_result, answer) -> None:
    assert wordings_of([summary(backend="baseline"), summary(which="paraphrase", backend="baseline")]) == []
    assert wordings_sections([summary()]) == []


def test_a_failure_counts_as_not_solved() -> None:
    [found] = wordings_of([summary(), summary({"S4-1": failure()}, which="paraphrase")])
    assert found.lost == ["S4-1"]


@pytest.mark.parametrize("first, second, pairs", [
    ("original", "paraphrase", 1), ("faelle", "faelle.paraphrase", 1), ("faelle", "paraphrase", 0),
    ("original", "faelle.paraphrase", 0), ("a.b", "a.b.paraphrase", 1), ("faelle.paraphrase", "faelle.paraphrase", 0),
])
def test_cases_that_are_not_there_are_paired_by_the_name_of_their_set(first, second, pairs) -> None:
    runs = [summary(sets=(), set=first), summary(MISSED, sets=(), set=second, path="b.json")]
    assert len(wordings_of(runs)) == pairs


def test_programs_get_the_same() -> None:
    [one] = json.loads(report_json(both()))["wordings"]
    assert one["only_original"] == ["S1-1", "S3-2"] and one["only_paraphrase"] == ["S5-8"]
    assert (one["original"], one["paraphrase"], one["n"], one["test"]) == (40, 39, 42, "McNemar, exact")


def test_the_page_gets_them_with_the_first_of_the_two_runs() -> None:
    [(group, [table])] = wordings_by_group(both()).items()
    assert group.dataset == "original" and table.title == "Original and paraphrase"
