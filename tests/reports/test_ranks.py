"""Tiers in a table, who stands outside them, and orders that depend on the number."""

from __future__ import annotations

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.ranks import MOST_RANKED, is_unranked, other_orders, tier_notes, tiers
from infranode_eval.statistics import holm, mcnemar
from lm_eval_task.records import Call, Reply, Task


@pytest.fixture
def equal_tasks():
    """60 tasks of one category, in which ability is call_match."""
    return tuple(Task(f"t{i:02}", f"Wetter {i}?", (Call("weather", {"slug": f"stadt-{i}"}),), category="routing_named")
                 for i in range(60))


@pytest.fixture
def summary(make_result, answer, equal_tasks):
    """summary(model, wrong): the first `wrong` tasks are wrong."""

    def make(model, wrong=0, wrong_from=0, tasks=equal_tasks, said="Nein.", finish=None, **header):
        missed = {t.task_id for t in tasks[wrong_from:wrong_from + wrong]}
        value = make_result(lambda t: Reply.from_text(said, finish) if t.task_id in missed
                            else Reply.from_text(answer(t)), tasks=tasks, model=model, **header)
        return summarise(run_from_json(value, f"{model}.json"))

    return make


@pytest.mark.parametrize("wrong, found, why", [
    ([0, 0, 0], [1, 1, 1], "equal runs share a tier"),
    ([0, 30, 31], [1, 2, 2], "30 discordant tasks are more than chance, one is not"),
    ([30, 0, 31], [2, 1, 2], "whatever the order of the table"),
    ([0, 7], [1, 2], "(7-1)²/7 = 5.1, p = 0.023: one pair needs no correction"),
    ([0, 7, 7], [1, 1, 1], "three pairs: Holm asks the smallest p for 0.05 / 3"),
    ([0, 12, 24, 36], [1, 2, 3, 4], "(12-1)²/12 = 10.1, p = 0.0015, times 6 pairs at most"),
    ([0], [1], "one run is its own tier"),
])
def test_tiers(summary, wrong, found, why):
    assert tiers([summary(f"m{i}", n) for i, n in enumerate(wrong)]) == found, why


def test_the_correction_is_over_all_pairs():
    """What the rows above rest on."""
    assert mcnemar(7, 0).p == pytest.approx(0.0233, abs=1e-4)
    assert min(holm([mcnemar(7, 0).p, mcnemar(7, 0).p, 1.0])) == pytest.approx(0.0700, abs=1e-4)


@pytest.mark.parametrize("dataset, unranked", [
    ("robust", True), ("abstain", True), ("robust (so named by the file)", True), ("abstain, common rows", True),
    ("core", False), ("robust-own", False), (None, False)])
def test_sets_with_tables_of_their_own(dataset, unranked):
    assert is_unranked(dataset) is unranked


def test_who_has_no_rank(summary, equal_tasks):
    among = [summary("good"), summary("bad", 30), summary("oracle", backend="baseline"),
             summary("cut", 30, said="Ich überlege noch", finish="length"), summary("short", tasks=equal_tasks[:20])]
    assert tiers(among) == [1, 2, None, None, None]
    [note] = tier_notes(among)
    assert "Holm over 1 pairs" in note and "baselines" in note


def test_too_many_runs_are_not_tested_in_pairs_and_that_is_said(summary):
    many = [summary("m")] * (MOST_RANKED + 1)
    assert tiers(many) == [None] * len(many)
    assert tier_notes(many) == ["no tiers: 101 models would take 5,050 paired tests; name fewer files (up to 100 are "
                                "compared)"]


def test_alone_there_is_nothing_to_explain(summary):
    assert tier_notes([summary("m")]) == [] and tiers([]) == [] and tier_notes([]) == []


def test_both_orders_where_call_match_and_ability_disagree(make_result, answer, demo_tasks):
    """Four of four in one category cost half of the ability, six of 32 in the other more call_match."""
    def one(task):
        return Reply.from_text("Nein." if task.category == "routing_named" else answer(task))

    def other(task):
        return Reply.from_text("Nein." if task in demo_tasks[4:10] else answer(task))

    pair = [summarise(run_from_json(make_result(r, model=m), m)) for m, r in (("deep", one), ("wide", other))]
    assert other_orders(pair) == [
        "the order by call_match is another one: by ability wide, deep; by call_match deep, wide"]
    assert other_orders(pair[:1]) == []
