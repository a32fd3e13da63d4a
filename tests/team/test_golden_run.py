"""A play of programs: the same bytes every time, and a log that a round's check could read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from typing import Any

import pytest

from infranode_eval.team.golden_run import golden_run, runs_until
from infranode_eval.team.sandbox import open_sandbox
from infranode_eval.team.scenario import Scenario, read_collection
from infranode_eval.team.workflow import engine
from tests.needs import need_program


@pytest.fixture
def scenario() -> Scenario:
    need_program("bwrap", shutil.which("bwrap"))
    need_program("quickjs", engine())
    return next(one for one in read_collection() if one.scenario_id == "wissenschaft_pegel")


def test_a_play_of_programs_is_the_same_twice(scenario: Scenario) -> None:
    """Threads have no order; a transcript of programs has one, so that a stored run can be written again."""
    first, second = (golden_run(scenario, open_sandbox()).to_json() for _ in range(2))
    assert json.dumps(first) == json.dumps(second)


def test_a_rounds_log_ends_with_its_round(scenario: Scenario) -> None:
    events: list[Mapping[str, Any]] = [
        {"event": kind, "run": f"run{number}", "subagent": "a", "session": "s1", "round": round_.id}
        for number, round_ in enumerate(scenario.rounds) for kind in ("start", "end")]
    until = runs_until(events, scenario)
    assert [until(round_.id).count("\n") for round_ in scenario.rounds] == [2, 4, 6, 8, 10, 12]
