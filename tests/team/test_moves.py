"""Moves of a manager in golden/play.json: played as they stand, refused with their place where they are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infranode_eval.team.moves import read_moves
from infranode_eval.team.scenario import Scenario, read_scenario
from infranode_eval.team.script_player import Manager, scripts_of
from lm_eval_task.errors import DataError, UsageError
from tests.team import probe
from tests.team.plays import task_of
from tests.team.test_script_player import LAWS, create, led, order


def moves(parent: Path, value: object) -> Scenario:
    folder = probe.write_probe(parent)
    (folder / "golden" / "play.json").write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return read_scenario(folder)


def test_moves_are_played_and_a_text_waits_where_something_runs(tmp_path: Path) -> None:
    scenario = moves(tmp_path, [
        {"round": "r1", "answers": [{"calls": [create().to_json(), order(LAWS, run_in_background=True).to_json()]},
                                    {"text": "Warte."},
                                    {"calls": [{"name": "Write", "arguments": {"file_path": "/arbeit/ausgabe/r1.json",
                                                                               "content": '{"frist_tage": 14}'}}]},
                                    {"text": "Fertig."}]},
        {"round": "r2", "answers": [{"calls": [{"name": "Write", "arguments": {
            "file_path": "/arbeit/ausgabe/r2.json",
            "content": '{"frist_tage": 30, "vorher": 14, "differenz": 16}'}}]}]}])
    done = led(scenario, Manager("muster").for_task(task_of(scenario)))
    assert done.score.outcome == "solved" and len(done.notices) == 1
    with pytest.raises(UsageError):
        scripts_of("koeder", scenario)


def test_without_the_file_there_are_no_moves(tmp_path: Path) -> None:
    assert read_moves(read_scenario(probe.write_probe(tmp_path))) is None


@pytest.mark.parametrize("value", [
    "{", {}, [], [{"round": "r1", "answers": []}], [{"round": "r2", "answers": []}, {"round": "r1", "answers": []}],
    [{"round": "r1"}, {"round": "r2", "answers": []}],
    [{"round": "r1", "answers": [{}]}, {"round": "r2", "answers": []}],
    [{"round": "r1", "answers": [{"calls": []}]}, {"round": "r2", "answers": []}],
    [{"round": "r1", "answers": [{"text": 7}]}, {"round": "r2", "answers": []}],
    [{"round": "r1", "answers": [{"text": "x", "calls": []}]}, {"round": "r2", "answers": []}],
    [{"round": "r1", "answers": [{"calls": [{"name": 7}]}]}, {"round": "r2", "answers": []}]])
def test_moves_in_another_form_are_refused_with_their_place(tmp_path: Path, value: object) -> None:
    with pytest.raises(DataError) as caught:
        read_moves(moves(tmp_path, value))
    assert "play.json" in str(caught.value)
