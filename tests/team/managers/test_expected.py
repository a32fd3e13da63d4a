"""Each scripted manager on each shipped scenario, against the table that was computed by hand for it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.shipped import DATA
from infranode_eval.team.golden_run import golden_run
from infranode_eval.team.manner import MANNERS
from infranode_eval.team.sandbox import open_sandbox
from infranode_eval.team.scenario import read_scenario
from infranode_eval.team.scoring import score_play
from tests.needs import need, need_program
from tests.team.plays import task_of

EXPECTED = Path(__file__).parents[1] / "expected"
IDS: list[str] = json.loads((DATA / "team/tests.json").read_text("utf-8"))["scenarios"]


def expected(name: str) -> dict[str, Any]:
    return json.loads((EXPECTED / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", IDS)
def test_a_table_for_each_manner_with_a_reason_for_each_number(name: str) -> None:
    assert list(expected(name)) == list(MANNERS)
    for row in expected(name).values():
        assert set(row["why"]) == set(row) - {"rounds", "why"}


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("name", IDS)
def test_a_play_has_the_numbers_of_its_table(name: str, manner: str) -> None:
    need("quickjs")
    need_program("bwrap", shutil.which("bwrap"))
    scenario, row = read_scenario(DATA / "team" / name), expected(name)[manner]
    told = score_play(task_of(scenario), golden_run(scenario, open_sandbox(), manner)).team
    assert told is not None
    assert [r["id"] for r in told["rounds"] if r["passed"]] == row["rounds"]
    numbers = {**told["values"], "subagents": len(told["subagents"])}
    assert {key: numbers[key] for key in row["why"]} == pytest.approx({key: row[key] for key in row["why"]}, abs=1e-6)
