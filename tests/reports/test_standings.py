"""Standings: who is ranked, who stands outside and why; the same tiers as in the tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.effort import Effort
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.groups import grouped, names_of
from infranode_eval.reports.ranks import tiers
from infranode_eval.reports.standings import standings_of
from infranode_eval.reports.tasksets import known_sets
from lm_eval_task.records import Reply, Task


@pytest.fixture
def exhibit(make_result, demo_file: Path, toolset, answer) -> Callable[..., Exhibit]:
    """exhibit(name, share): a model that solves the first `share` of the tasks."""
    sets = known_sets(toolset, demo_file)

    def make(name: str, share: float = 1.0, otherwise: str = "Weiß ich nicht.", finish: str = "stop",
             **header) -> Exhibit:
        tasks = list(sets[0].tasks)

        def reply(task: Task) -> Reply:
            right = tasks.index(task.task_id) < share * len(tasks)
            return Reply.from_text(answer(task)) if right else Reply.from_text(otherwise, finish)

        run = run_from_json(make_result(reply, model=name, **header), f"{name}.json", toolset)
        return Exhibit(summarise(run, sets, toolset), run, Effort(), None, sets[0].tasks)

    return make


def test_models_are_ranked_by_ability_and_tiers_are_those_of_the_tables(exhibit) -> None:
    runs = [exhibit("bad", 0.05), exhibit("good", 1.0), exhibit("fair", 0.8),
            exhibit("guess", 0.5, backend="baseline")]
    found = standings_of(runs)
    assert [(s.exhibit.run.model, s.tier, s.best, s.worst, s.outside) for s in found] == [
        ("good", 1, 1, 2, None), ("fair", 1, 1, 2, None), ("bad", 2, 3, 3, None),
        ("guess", None, None, None, "baseline")]
    assert tiers([s.exhibit.summary for s in found]) == [s.tier for s in found]


def test_a_spent_budget_costs_the_rank(exhibit) -> None:
    found = standings_of([exhibit("good"), exhibit("cut", 0.9, otherwise="<think>hm", finish="length")])
    assert [(s.exhibit.run.model, s.outside) for s in found] == [("good", None), ("cut", "budget")]


def test_intervals_belong_to_ability(exhibit) -> None:
    [found] = standings_of([exhibit("half", 0.5)])
    assert found.ability is not None and found.ability.low < found.ability.estimate < found.ability.high
    assert found.ability.estimate == pytest.approx(found.exhibit.summary.strict["ability"])


def test_ties_come_in_the_order_of_their_names(exhibit) -> None:
    runs = [exhibit(name) for name in "cab"]
    assert [s.exhibit.run.model for s in standings_of(runs)] == list("abc")


def test_runs_that_differ_in_scorer_or_mode_form_groups_and_only_twins_are_named_by_file(exhibit) -> None:
    runs = [exhibit("a"), exhibit("b"), exhibit("a", scorer_version="0.9"), exhibit("a", mode="native", setup="N")]
    groups = grouped(runs)
    assert [len(g) for g in groups.values()] == [2, 1, 1]
    assert sorted(names_of(runs).values()) == ["a", "a", "a", "b"]
    twins = [exhibit("a"), exhibit("a")]
    assert set(names_of(twins).values()) == {"a · a.json"}
