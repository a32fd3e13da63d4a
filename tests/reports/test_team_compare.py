"""Two runs of the suite team, round by round: what is paired with what, and when nothing can be."""

from __future__ import annotations

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.team_compare import compare_rounds, flip_line, rounds_json, rounds_sections
from infranode_eval.tables import render
from lm_eval_task.errors import DataError
from tests.reports.team_runs import agent, failed, result, row


def run(model: str, rows, **more):
    return run_from_json(result(model, rows, **more), f"{model}.json")


def test_rounds_are_paired_by_scenario_repeat_and_id(golden) -> None:
    first = run("first", [row("recht", "+--", [agent()]), row("pegel", "+++", [agent()])])
    second = run("second", [row("recht", "+++", [agent()]), row("pegel", "-++", [agent()])])
    found = compare_rounds(first, second)
    assert (found.pairs.both, found.pairs.first_only, found.pairs.second_only, found.pairs.neither) == (3, 2, 1, 0)
    assert found.difference.estimate == pytest.approx(1 / 6) and found.p == 1.0
    assert [(f.scenario, f.round, f.gained, f.why) for f in found.flips] == [
        ("recht", "r2", True, "exit 1, falsch: x"), ("recht", "r3", True, "exit 1, falsch: x"),
        ("pegel", "r1", False, "exit 1, falsch: x")]
    golden("compare_team.txt", render(rounds_sections(found), "text"))


def test_many_rounds_of_one_side_are_no_chance() -> None:
    scenarios = [f"s{n}" for n in range(5)]
    found = compare_rounds(run("a", [row(name, "---") for name in scenarios]),
                           run("b", [row(name, "+++") for name in scenarios]))
    assert found.p == found.exact == pytest.approx(2 / 2 ** 15)
    assert "more than chance explains" in rounds_sections(found)[0].notes[0]


def test_a_failed_play_passes_no_round() -> None:
    """Its rounds are those of the other run's play."""
    found = compare_rounds(run("a", [failed("recht"), row("pegel")]), run("b", [row("recht"), row("pegel")]))
    assert found.pairs.first_only == 3 and {flip.why for flip in found.flips} == {"infra_error"}
    assert found.teams[0].strict["rounds"] == 6, "not the numbers of a file that knew another count"


def test_only_scenarios_that_both_hold_count() -> None:
    one = run("a", [row("recht", "+++"), row("pegel", "+++")])
    other = run("b", [row("pegel", "++-")], tasks="9" * 64)
    found = compare_rounds(one, other, common=True)
    assert list(found.by_scenario) == ["pegel"] and found.pairs.n == 3
    assert any("data differs" in note for note in found.notes), "the same id may hold other files"


@pytest.mark.parametrize(("rows", "more", "words", "why"), [
    ([row("recht", "+++")], {"tasks": "9" * 64}, "--common compares the scenarios that both hold", "other data"),
    ([row("pegel", "+++")], {}, "no scenario in common", "nothing to pair"),
    ([row("recht", "+++++")], {}, "other rounds or other repeats", "another version of it"),
    ([row("recht", "+++"), row("recht", "+++", repeat=2)], {}, "other rounds or other repeats", "played twice"),
    ([failed("recht")], {}, None, "paired all the same")])
def test_what_cannot_be_paired_is_refused_in_one_line(rows, more, words, why) -> None:
    one, other = run("a", [row("recht", "+++")]), run("b", rows, **more)
    if words is None:
        assert compare_rounds(one, other).pairs.n == 3
        return
    with pytest.raises(DataError, match=words) as error:
        compare_rounds(one, other)
    assert "\n" not in str(error.value)


def test_two_failures_say_nothing() -> None:
    with pytest.raises(DataError, match="neither run has a play of recht with a verdict"):
        compare_rounds(run("a", [failed("recht")]), run("b", [failed("recht")]))


def test_a_run_of_another_suite_is_refused() -> None:
    other = run_from_json({**result("b", [row("recht")]), "suite": "team"}, "b.json")
    with pytest.raises(DataError, match="suite team / chain"):
        compare_rounds(other, type(other)(**{**{n: getattr(other, n) for n in other.__dataclass_fields__},
                                             "suite": "chain"}))


def test_for_programs() -> None:
    found = compare_rounds(run("a", [row("recht", "+--")]), run("b", [row("recht", "++-")]))
    value = rounds_json(found)
    assert (value["rounds"], value["gained"], value["lost"], value["neither"]) == (3, 1, 0, 1)
    assert value["scenarios"] == {"recht": {"first": 1, "second": 2, "rounds": 3}}
    assert value["flips"] == [flip_line(found.flips[0])] == [
        {"scenario": "recht", "repeat": 1, "round": "r2", "change": 1, "why": "exit 1, falsch: x"}]
