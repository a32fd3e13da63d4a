"""The suite team as a run sees it: tasks, settings, hashes, aggregates, and a play that is over."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.providers.protocol import ProviderOptions, Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.providers.team import Team
from infranode_eval.suites import Setup, open_suite, team
from infranode_eval.team.pool import read_pool
from infranode_eval.team.scripted import Worker
from infranode_eval.team.tools import toolset
from lm_eval_task.errors import DataError, UsageError
from tests.team import probe
from tests.team.plays import calls, create, run, solve, task_of, tiny, write
from tests.team.stub_team import write_two

POOL = {key: {"model_id": f"m-{key}", "api_base": "http://127.0.0.1:9", "modalities": modalities}
        for key, modalities in (("llm", {}), ("vlm", {"image": 1}), ("omni", {"audio": 1}))}


def setup(folder: Path | None = None, **own: Any) -> Setup:
    return Setup.of("native", toolset(), Sampling(64), None, team.scene(folder, toolset(), {"sandbox": "none", **own}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_two(tmp_path / "tasks")


def test_it_is_a_suite_and_its_tasks_are_its_scenarios(folder: Path) -> None:
    assert open_suite("team").MODE == "native"
    found = team.load(folder, toolset(), "all")
    assert [(one.task_id, one.category, one.question) for one in found] == [
        ("probe_klein", "law", "Widerspruchsfrist"), ("probe_zwei", "law", "Widerspruchsfrist")]


@pytest.mark.parametrize("act, error", [
    (lambda folder: team.load(folder, toolset(), "core"), UsageError),
    (lambda folder: team.load(folder / "gibtsnicht", toolset(), "all"), DataError),
    (lambda folder: team.read_tools("tools.json"), UsageError),
    (lambda folder: setup(folder, task="gibtsnicht"), UsageError)])
def test_what_cannot_be_meant_is_refused(folder: Path, act: Any, error: type) -> None:
    with pytest.raises(error):
        act(folder)


def test_chosen_scenarios_alone_are_eligible_in_the_order_of_the_folder(folder: Path) -> None:
    tasks = team.load(folder, toolset(), "all")
    assert [one.task_id for one in team.eligible(tasks, setup(folder))] == ["probe_klein", "probe_zwei"]
    assert [one.task_id for one in team.eligible(tasks, setup(folder, task="probe_zwei"))] == ["probe_zwei"]
    assert [one.task_id for one in team.eligible(tasks, setup(folder, task="probe_zwei,probe_klein"))] == [
        "probe_klein", "probe_zwei"]


def test_settings_tell_pool_sandbox_engine_and_limits_and_no_address(folder: Path) -> None:
    """T17"""
    settings = setup(folder, pool=read_pool(json.dumps(POOL), "x", {})).scene.settings
    assert settings["sandbox"] == "none" and settings["limits"]["turns"] == 40
    assert settings["pool"]["vlm"] == {"model_id": "m-vlm", "modalities": {"text": True, "image": 1},
                                       "max_tokens": 4096}
    assert "127.0.0.1" not in json.dumps(settings) and settings["workflow"] in ("quickjs", "off")


def test_hashes_hang_on_the_chosen_scenarios_and_not_on_their_golden_folder(folder: Path) -> None:
    tasks = team.load(folder, toolset(), "all")
    before = team.hashes(tasks, toolset(), setup(folder))
    assert team.hashes(tasks[:1], toolset(), setup(folder))["tasks"] != before["tasks"]
    probe.write_json(folder / "probe_klein" / "golden" / "lint.json", {"r1": {"only_in_session": ["x"]}})
    assert team.hashes(team.load(folder, toolset(), "all"), toolset(), setup(folder)) == before
    probe.write(folder / "probe_klein" / "workspace" / "akten" / "neu.txt", "x")
    after = team.hashes(team.load(folder, toolset(), "all"), toolset(), setup(folder))
    assert {name for name in after if after[name] != before[name]} == {"tasks"}


def test_a_play_is_scored_stored_and_scored_again(tmp_path: Path) -> None:
    task = task_of(tiny(tmp_path))
    main = ScriptedProvider([calls(create(), run("los")), calls(solve()), "Fertig."])
    provider = Team(main, {"llm": ScriptedProvider(["gut"]), "vlm": Worker("vlm"), "omni": Worker("omni")})
    write_two(tmp_path / "tasks")
    made = team.play(task, provider, setup(tmp_path / "tasks"))
    score = team.score(task, made, setup(tmp_path / "tasks"))
    stored = json.loads(json.dumps(made.course.to_json()))
    assert score.outcome == "solved" and team.rescore(task, stored) == score
    assert team.answers_of(stored) == list(made.answers) and len(made.answers) == 3
    for name, broken in (("usage", None), ("rounds", [{"id": "r1"}]), ("subagents", [{"name": "x"}]), ("rounds", 7)):
        with pytest.raises(DataError):
            team.rescore(task, {**stored, "team": {**stored["team"], name: broken} if broken else {}})
    assert team.notes_of(stored) == {"done": stored}
    failed = team.failure(task, "infra_error", "weg")
    metrics = team.aggregate([(task, score), (task, failed)])
    assert metrics["tcr"] == 0.5 and metrics["rounds"] == 2 and metrics["subagents"] == 1
    assert team.headline(metrics, False) == {"sms": metrics["sms"], "tcr": 0.5} and team.headline(metrics, True) is None


def test_a_single_provider_is_no_team(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        team.play(task_of(tiny(tmp_path)), ScriptedProvider([]), setup(write_two(tmp_path / "tasks")))


def test_a_main_that_should_hear_needs_an_api_that_takes_sounds(tmp_path: Path) -> None:
    """T16"""
    from infranode_eval.providers import open_provider

    pool = read_pool(json.dumps({**POOL, "main": {"model_id": "h", "modalities": {"audio": 1}}}), "x", {})
    options = ProviderOptions("h", toolset(), "http://127.0.0.1:9", "k")
    with pytest.raises(UsageError):
        team.staffed(open_provider("anthropic", options), {"pool": pool}, options)
    staffed = team.staffed(open_provider("openai", options), {"pool": pool}, options)
    assert set(staffed.roles) == {"llm", "vlm", "omni"}     # type: ignore[attr-defined]
    assert staffed.as_role("llm", threading.Event()) is staffed.roles["llm"]    # type: ignore[attr-defined]


def test_a_main_at_the_address_of_a_worker_keeps_to_its_pace(tmp_path: Path) -> None:
    """T36: limits belong to the endpoint; whoever asks first would have set them alone"""
    from infranode_eval.providers import open_provider

    pool = read_pool(json.dumps({**POOL, "main": {"model_id": "h"}, "llm": {**POOL["llm"], "rpm": 30}}), "x", {})
    options = ProviderOptions("h", toolset(), "http://127.0.0.1:9")
    staffed = team.staffed(open_provider("openai", options), {"pool": pool}, options)
    assert staffed.rpm == 30 == staffed.roles["vlm"].rpm    # type: ignore[attr-defined]


def test_a_play_takes_its_limits_from_the_settings(tmp_path: Path) -> None:
    made = setup(write_two(tmp_path / "tasks"))
    made.scene.settings["limits"]["turns"] = 1
    provider = Team(ScriptedProvider([calls(write("ausgabe/r1.txt", "gut"))]), {
        key: Worker(key) for key in ("llm", "vlm", "omni")})
    course = team.play(task_of(tiny(tmp_path)), provider, made).course
    assert course.told["rounds"][0]["reason"] == "turn_limit"


def test_a_manager_that_must_always_call_would_end_no_round() -> None:
    options = ProviderOptions("m", toolset(), tool_choice="required")
    with pytest.raises(UsageError, match="--tool-choice required lets no round end"):
        team.staffed(ScriptedProvider([]), {}, options)
