"""The scripted manager as a provider: what a run of the suite will take is counted over its plays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from infranode_eval.budget import Forecast
from infranode_eval.forecast import Count, Rehearsal, rehearsed
from infranode_eval.providers.protocol import Provider
from infranode_eval.team.script_player import Manager, scripts_of
from infranode_eval.team.scripted import Worker
from infranode_eval.team.tasks import TeamTask
from infranode_eval.team.tools import MAIN_TOOLS, subset
from lm_eval_task.errors import UsageError
from lm_eval_task.records import canonical_json

Playing = Callable[[TeamTask, Provider], Any]


class _Led(Rehearsal):
    """A rehearsal of the manager, with workers that are not counted: their price is not ours to tell."""

    def __init__(self, task: TeamTask, count: Count, tools_tokens: int) -> None:
        super().__init__(Manager("muster").for_task(task), count, tools_tokens)
        self._workers = {key: Worker(key).for_task(task) for key in ("llm", "vlm", "omni")}

    def as_role(self, name: str, cancelled: threading.Event) -> Provider:
        return self._workers[name]


def forecast_of(tasks: Iterable[TeamTask], play: Playing, count: Count, max_tokens: int) -> Forecast | None:
    """Requests and tokens of the manager, where it goes the scripted way; None where it has no script. play: as the
    suite's."""
    tools_tokens = count(canonical_json(subset(MAIN_TOOLS)))
    tasks = tuple(tasks)
    try:
        for task in tasks:
            scripts_of("muster", task.scenario)
    except UsageError:
        return None
    return rehearsed(((task, _Led(task, count, tools_tokens)) for task in tasks), play, 1, max_tokens)


