"""A scenario as a task of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infranode_eval.team.scenario import Scenario, read_collection
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Task

SETS = ("all",)


@dataclass(frozen=True, slots=True)
class TeamTask(Task):
    """task_id: the scenario's id; category: its domain; question: its title."""

    scenario: Scenario = None       # type: ignore[assignment]

    @property
    def wants_several(self) -> bool:
        """Some rounds can only be passed with runs at the same time."""
        return True


def read_team_tasks(folder: str | Path | None, chosen: Sequence[str] = ()) -> tuple[TeamTask, ...]:
    """The scenarios of a folder with tests.json, without one the project's own; of these the chosen ids, if any.

    Raise DataError for a scenario that breaks the format, UsageError for an id that is none.
    """
    scenarios = read_collection(folder)
    known = {scenario.scenario_id for scenario in scenarios}
    for name in chosen:
        if name not in known:
            raise UsageError(f"--task {name}: there is no such scenario; expected some of {', '.join(sorted(known))}")
    return tuple(TeamTask(one.scenario_id, one.title, (), category=one.domain, scenario=one)
                 for one in scenarios if not chosen or one.scenario_id in chosen)
