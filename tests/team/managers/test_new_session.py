"""What C7 claims of every shipped scenario: a new session in the place of the old one fails the round."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from infranode_eval.providers.protocol import Sampling
from infranode_eval.shipped import DATA
from infranode_eval.team.manner import Desk, RoundScript, Script, Turn, Wait
from infranode_eval.team.play import Play, Stage
from infranode_eval.team.pool import MAX_TOKENS, SCRIPTED_POOL, hire
from infranode_eval.team.sandbox import open_sandbox
from infranode_eval.team.scenario import read_scenario
from infranode_eval.team.script_player import Manager, scripts_of
from infranode_eval.team.scripted import Worker
from infranode_eval.team.slots import Slots
from tests.needs import need, need_program
from tests.team.plays import task_of

IDS: list[str] = json.loads((DATA / "team/tests.json").read_text("utf-8"))["scenarios"]


def forgetful(scripts: Sequence[RoundScript]) -> list[RoundScript]:
    """The same scripts, but each order opens a new session."""
    def turned(action: Turn | Wait) -> Turn | Wait:
        if isinstance(action, Wait):
            return action
        return tuple(replace(call, arguments={k: v for k, v in call.arguments.items() if k != "session_id"})
                     if call.name == "RunSubagent" else call for call in action)

    def wrapped(script: RoundScript) -> RoundScript:
        def play(desk: Desk) -> Script:
            inner, value = script(desk), None
            while True:
                try:
                    action = inner.send(value)
                except StopIteration:
                    return
                value = yield turned(action)

        return play

    return [wrapped(script) for script in scripts]


@pytest.mark.parametrize("name", IDS)
def test_without_the_old_session_the_round_fails(name: str) -> None:
    need("quickjs")
    need_program("bubblewrap", shutil.which("bwrap"))
    scenario, sampling = read_scenario(DATA / "team" / name), Sampling(MAX_TOKENS)
    claiming = {r.id for r in scenario.rounds if any(claim.startswith("C7:") for claim in r.covers)}
    task = task_of(scenario)
    pool = {key: hire(Worker(key).for_task(task), role.to_json(), sampling)
            for key, role in SCRIPTED_POOL.roles.items()}
    main = Manager("muster", lambda: forgetful(scripts_of("muster", scenario)))
    with Slots().take() as slot:
        course = Play(Stage(scenario, hire(main, {}, sampling), pool, open_sandbox(), slot), threading.Event()).run()
    assert course.told["invocations"]["continue_runtime"] == 0
    failed = {row["id"] for row in course.told["rounds"]
              if not scenario.round(row["id"]).check.passes(row["exit"], row["stdout"], row["timed_out"])}
    assert claiming and claiming <= failed
