"""The golden run of a scenario: the scripted manager on the scripted pool; its log proves what the rounds claim."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from infranode_eval.providers.protocol import Sampling
from infranode_eval.team.course import Course
from infranode_eval.team.play import Play, Stage
from infranode_eval.team.pool import MAX_TOKENS, SCRIPTED_POOL, hire
from infranode_eval.team.runlog import lines_of
from infranode_eval.team.sandbox import Sandbox
from infranode_eval.team.scenario import Scenario
from infranode_eval.team.script_player import Manager
from infranode_eval.team.scripted import Worker
from infranode_eval.team.slots import Slots
from infranode_eval.team.tasks import TeamTask
from infranode_eval.team.workflow import engine

MUSTER = "muster"


def golden_run(scenario: Scenario, sandbox: Sandbox, manner: str = MUSTER) -> Course:
    """A play of a scripted manager. Raise UsageError where the scenario has none."""
    task = TeamTask(scenario.scenario_id, scenario.title, (), category=scenario.domain, scenario=scenario)
    sampling = Sampling(MAX_TOKENS)
    pool = {key: hire(Worker(key).for_task(task), role.to_json(), sampling)
            for key, role in SCRIPTED_POOL.roles.items()}
    with Slots().take() as slot:
        stage = Stage(scenario, hire(Manager(manner).for_task(task), {}, sampling), pool, sandbox, slot,
                      bash=sandbox.kind != "none", workflow=engine() is not None)
        return Play(stage, threading.Event()).run()


def runs_until(events: Sequence[Mapping[str, Any]], scenario: Scenario) -> Callable[[str], str]:
    """Round id → the log of runs that the round's check could read, as JSON lines. events: of all rounds."""
    order = {round_.id: place for place, round_ in enumerate(scenario.rounds)}

    def until(round_id: str) -> str:
        return lines_of([event for event in events if order[event["round"]] <= order[round_id]])

    return until
