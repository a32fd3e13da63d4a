"""The verdict on a play, from its transcript alone: rounds, outcome, reason, values; the same however often."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.team.course import Course
from infranode_eval.team.scoring import failure_of, score_play
from lm_eval_task.errors import DataError
from tests.team.plays import task_of, tiny


def told(*rounds: dict[str, Any], **more: Any) -> dict[str, Any]:
    filled = [{"id": f"r{n}", "first": 1, "reason": None, "exit": 0, "timed_out": False, "stdout": "gut", **row}
              for n, row in enumerate(rounds, 1)]
    return {"sessions": [], "events": [], "workflows": [], "rounds": filled, "subagents": [], "refusals": [],
            "invocations": {}, "usage": {}, "labels": [], "estimated": False, "replayed": 0, "live": 3} | more


WORKER = {"name": "a", "model_key": "vlm", "granted": ["Read", "Glob"], "used": ["Read"], "paths": ["akten"],
          "files": 4, "touched": ["/arbeit/akten/a"], "media": {"image": 1, "audio": 0, "video": 0}, "refused": 2}


def score(parent: Path, *rounds: dict[str, Any], **more: Any):
    return score_play(task_of(tiny(parent, len(rounds))), Course((), (), told(*rounds, **more)))


@pytest.mark.parametrize("rounds, outcome, why", [
    (({}, {}), "solved", ""),
    (({}, {"exit": 1, "stdout": "falsch: frist\nmehr"}), "partial", "r2: exit 1, falsch: frist"),
    (({"exit": 1, "stdout": ""}, {"exit": 2}), "unsolved", "r1: exit 1"),
    (({"stdout": "schlecht"}, {}), "partial", "r1: exit 0, schlecht"),
    (({"exit": None, "timed_out": True, "stdout": ""}, {}), "partial", "r1: timeout"),
    (({}, {"exit": None, "reason": "token_limit", "stdout": ""}), "partial", "r2: token_limit"),
    (({"reason": "turn_limit"}, {}), "solved", ""),
    (({"reason": "turn_limit", "exit": 1, "stdout": ""}, {}), "partial", "r1: exit 1")])
def test_the_checks_decide_and_the_first_that_failed_is_told(tmp_path: Path, rounds: tuple, outcome: str,
                                                             why: str) -> None:
    """T31"""
    found = score(tmp_path, *rounds)
    assert (found.outcome, found.why) == (outcome, why)
    assert [row["passed"] for row in found.to_json()["team"]["rounds"]].count(True) == round(
        found.to_json()["team"]["values"]["tcr"] * len(rounds))


@pytest.mark.parametrize("rounds, why", [
    ([{}], "one is left out"), ([{}, {}, {}], "one too many"), ([{"id": "r2"}, {"id": "r1"}], "another order"),
    ([{}, {"id": "r1"}], "one twice"), ([], "none")])
def test_a_transcript_of_other_rounds_gets_no_verdict(tmp_path: Path, rounds: list, why: str) -> None:
    """Without its worst round a play would get a better score."""
    with pytest.raises(DataError, match="rounds"):
        score_play(task_of(tiny(tmp_path, 2)), Course((), (), told(*rounds)))


def test_values_follow_the_workers_and_refusals(tmp_path: Path) -> None:
    refusals = [{"agent": agent, "tool": "Read", "path": "x", "round": "r1"} for agent in ("main", "a", "a")]
    values = score(tmp_path, {}, {"exit": 1}, subagents=[WORKER], refusals=refusals).to_json()["team"]["values"]
    assert {name: values[name] for name in ("tcr", "tpp", "roc", "wpp", "mca", "maf", "saft", "safa")} == {
        "tcr": 0.5, "tpp": 0.5, "roc": 1.0, "wpp": 0.25, "mca": 1.0, "maf": 1, "saft": 2, "safa": 2.0}
    assert values["sms"] == pytest.approx(0.5 * (0.5 + 1 + 0.25 + 1) / 4)


def test_without_a_sub_agent_all_is_passed_and_nothing_managed(tmp_path: Path) -> None:
    values = score(tmp_path, {}).to_json()["team"]["values"]
    assert (values["tcr"], values["sms"], values["safa"]) == (1.0, 0.0, None)


def test_labels_tell_what_was_odd(tmp_path: Path) -> None:
    assert score(tmp_path, {}, labels=["update_collision"], estimated=True).labels == ("update_collision",
                                                                                      "tokens_estimated")


def test_the_same_transcript_gives_the_same_score_and_the_light_one_its_play(tmp_path: Path) -> None:
    task = task_of(tiny(tmp_path))
    course = Course((), (), told({}, subagents=[WORKER]))
    again = Course.from_json(json.loads(json.dumps(course.to_json())))
    assert score_play(task, course) == score_play(task, again)
    light = score_play(task, course).light()
    assert light.team is None and light.play == score_play(task, course).play and not light.failed


def test_a_changed_check_changes_the_verdict_on_a_stored_play(tmp_path: Path) -> None:
    scenario = tiny(tmp_path)
    stricter = replace(scenario, rounds=(replace(scenario.rounds[0], check=replace(
        scenario.rounds[0].check, stdout_contains="besser")),))
    course = Course((), (), told({}))
    assert (score_play(task_of(scenario), course).outcome, score_play(task_of(stricter), course).outcome) == (
        "solved", "unsolved")


def test_a_failure_has_no_values_and_its_rounds_are_not_passed(tmp_path: Path) -> None:
    found = failure_of(task_of(tiny(tmp_path, 3)), "infra_error", "weg", "timeout")
    assert found.failed and found.calls is None
    assert found.to_json() == {"outcome": "infra_error", "sub": "timeout", "labels": [], "why": "weg", "calls": None,
                               "team": None}
    assert (found.play.rounds, found.play.passed) == (3, None)
