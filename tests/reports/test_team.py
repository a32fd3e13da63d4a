"""What a run of the suite team comes to: numbers over rows, what failures cost, conditions, caveats, broken rows."""

from __future__ import annotations

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.team_conditions import common_line, difference_lines
from lm_eval_task.errors import DataError
from tests.reports.team_runs import POOL, agent, failed, result, row, summary


def test_stored_numbers_are_those_of_the_rows() -> None:
    value = result("m", [row("recht", "++-", [agent()]), row("pegel", "+++", [agent(granted="Read Write")])])
    found = summarise(run_from_json(value, "m.json"))
    assert found.strict == value["metrics"] and not found.warnings
    assert found.team.strict["sms"] == pytest.approx(5 / 6 * (0.75 + 0.5 + 1 + 1) / 4), "TPP .75, ROC .5"


def test_a_stored_number_that_the_rows_do_not_give_is_told_and_not_shown() -> None:
    value = result("m", [row("recht", "++-", [agent()])])
    value["metrics"]["sms"] = 1.0
    found = summarise(run_from_json(value, "m.json"))
    assert found.strict["sms"] == pytest.approx(2 / 3) and "stored sms differ" in found.warnings[0]


def test_a_failure_costs_all_its_rounds_strictly_and_nothing_among_the_answered() -> None:
    """Its rounds are known from a repeat of the same scenario."""
    found = summary("m", [row("recht", "+++", [agent()]), failed("recht", repeat=2)]).team
    assert (found.strict["sms"], found.answered["sms"]) == (0.25, 1.0), "half the rounds, half of each factor"
    assert found.partly and found.failures[0][1] == "infra_error, timeout"
    assert found.cells["recht"].rounds == 6 and found.cells["recht"].sms == 0.25


def test_a_failure_whose_rounds_nobody_knows_leaves_the_stored_numbers_without_an_interval() -> None:
    found = summary("m", [row("recht", "+++", [agent()]), failed("pegel")]).team
    assert found.strict["rounds"] == 6 and found.interval is None and found.cells["pegel"].rounds is None
    assert found.cells["pegel"].sms is None, "no play with a verdict is no 0"


def test_five_scenarios_have_an_interval_and_one_has_none() -> None:
    rows = [row(f"s{n}", passed, [agent()]) for n, passed in enumerate(("+++", "++-", "+--", "---", "+++"))]
    found = summary("m", rows).team.interval
    assert found.low < found.estimate < found.high and found.estimate == pytest.approx(9 / 15)
    assert summary("m", rows[1:2]).team.interval is None


@pytest.mark.parametrize(("more", "what"), [
    ({"pool": {**POOL, "vlm": {"model_id": "other", "modalities": {"text": True, "image": 8}}}}, "pool vlm"),
    ({"pool": {**POOL, "omni": None}}, "pool omni"),
    ({"pool": {**POOL, "main": {"modalities": {"text": True, "image": 4}}}}, "pool main"),
    ({"sandbox": "none"}, "sandbox"), ({"workflow": "off"}, "workflow engine"),
    ({"limits": {"turns": 10}}, "limit turns"), ({"tasks": "9" * 64}, "data")])
def test_runs_that_were_made_otherwise_are_told_apart(more, what) -> None:
    one, other = (summary(name, [row("recht")], **settings).team.conditions
                  for name, settings in (("one", {}), ("other", more)))
    lines = difference_lines([("one", one), ("other", other)])
    assert any(line.startswith(f"NOT MADE ALIKE: {what} differs") and "(one)" in line and "(other)" in line
               for line in lines), lines
    assert what not in common_line([("one", one), ("other", other)])
    assert difference_lines([("one", one), ("again", one)]) == []


def test_another_scenario_is_another_condition() -> None:
    one, other = (summary("m", [row(name)]).team.conditions for name in ("recht", "pegel"))
    assert difference_lines([("a", one), ("b", other)]) == [
        "NOT MADE ALIKE: scenarios differs, so numbers of these runs must not be compared: recht (a); pegel (b)"]


@pytest.mark.parametrize(("made", "settings", "words"), [
    ([row("recht", "++-", [agent()])], {"sandbox": "none"}, "no agent had Bash"),
    ([row("recht", "++-", [agent()])], {"workflow": "off"}, "no script engine"),
    ([row("recht", "+tt", [agent()])], {}, "2 of 3 rounds ended before their time (2 turn_limit)"),
    ([row("recht", "+++")], {}, "in 1 of 1 plays no sub-agent was created"),
    ([row("recht", "+++", [agent()], labels=["tokens_estimated"])], {}, "told no token counts")])
def test_what_a_reader_must_know(made, settings, words) -> None:
    assert any(words in line for line in summary("m", made, **settings).warnings)
    assert not any(words in line for line in summary("m", [row("recht", "+++", [agent()])]).warnings)


def _broken(change):
    value = result("m", [row("recht", "++-", [agent()], ["main Read /x r1"])])
    change(value["rows"][0])
    return value


@pytest.mark.parametrize(("change", "why"), [
    (lambda r: r.update(outcome="ok"), "an outcome of another suite"),
    (lambda r: r.update(team=None), "a verdict without what it is about"),
    (lambda r: r["team"].pop("rounds"), "no rounds"),
    (lambda r: r["team"]["rounds"][0].update(passed=1), "a number is no verdict"),
    (lambda r: r["team"]["rounds"][0].update(exit="0"), "a text is no exit code"),
    (lambda r: r["team"]["subagents"][0].update(model_key="gpt"), "no such key"),
    (lambda r: r["team"]["subagents"][0].update(files=-1), "a negative count"),
    (lambda r: r["team"]["refusals"][0].update(path=None), "a refusal of nothing"),
    (lambda r: r["team"].update(invocations={}), "no counts"),
    (lambda r: r.update(team=[]), "a list"),
])
def test_a_row_that_breaks_the_format_is_refused_by_its_name(change, why) -> None:
    with pytest.raises(DataError, match="row recht: "):
        run_from_json(_broken(change), "m.json")
