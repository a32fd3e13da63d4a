"""What a run of the suite team comes to: its score with the parts, each scenario, what was refused and why; pure.

Formulas: `infranode_eval.team.metrics`. A failed play counts with all its rounds as not passed; where nobody tells how
many those are, the numbers are those that the file holds, and there is no interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from infranode_eval.reports.archive import Row, Run
from infranode_eval.reports.chain import Cost, cost_of
from infranode_eval.reports.team_conditions import Conditions, conditions_of
from infranode_eval.reports.team_rows import INVOCATIONS, SUITE, Managed, Refusal, Round
from infranode_eval.statistics import Interval
from infranode_eval.team.metrics import Play, Usage, run_values, sms_interval
from lm_eval_task.records import Task

Numbers = Mapping[str, "float | None"]
_NONE: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Place:
    """Where something happened. repeat: from 1."""

    scenario: str
    repeat: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A scenario in a run, all its repeats together. passed, rounds: sums; sms: of these plays, None where all failed.

    answered: plays with a verdict, of `plays`.
    """

    passed: int
    rounds: int | None
    sms: float | None
    plays: int
    answered: int


@dataclass(frozen=True, slots=True)
class Team:
    """A run of the suite. strict: over all plays, answered: without failures, under the names of results files.

    interval: of SMS over all plays, answered_interval: without failures; None where nothing tells how far it reaches.
    cells: by scenario, in the order of the rows. rounds, subagents, refusals: with their place, in order. failures: the
    plays without a verdict, each with its outcome and why. invocations: sums. cost: of the main agent alone.
    """

    strict: Numbers
    answered: Numbers
    interval: Interval | None
    answered_interval: Interval | None
    cells: Mapping[str, Cell]
    rounds: tuple[tuple[Place, Round], ...]
    subagents: tuple[tuple[Place, Usage], ...]
    refusals: tuple[tuple[Place, Refusal], ...]
    failures: tuple[tuple[Place, str], ...]
    invocations: Mapping[str, int]
    conditions: Conditions
    cost: Cost | None = None

    @property
    def amount(self) -> float | None:
        """Money for the main agent; None where no price is known."""
        return self.cost.amount if self.cost else None

    @property
    def partly(self) -> bool:
        """Do the numbers without failures differ from those over all plays?"""
        return bool(self.failures)

    @property
    def unpassed(self) -> tuple[tuple[Place, Round], ...]:
        """Rounds that are not passed, and those that a limit cut short."""
        return tuple((place, one) for place, one in self.rounds if one.why)


def team_of(run: Run, tasks: Mapping[str, Task], rounds: Mapping[str, int] = _NONE) -> Team | None:
    """None for a run of another suite, or without rows. tasks: the scenarios, as far as they are known.

    rounds: how many a scenario has, where others know it.
    """
    if run.suite != SUITE or not run.rows:
        return None
    known = {**rounds, **_rounds_by_scenario(run.rows, tasks)}
    plays = [_play(row, known.get(row.task_id)) for row in run.rows]
    whole = all(play is not None for play in plays)
    counted = [play for play in plays if play is not None]
    judged = [play for play in counted if not play.failed]
    managed = [(Place(row.task_id, row.repeat), found) for row in run.rows if (found := _managed(row)) is not None]
    return Team(
        run_values(counted) if whole else dict(run.metrics), run_values(judged) if judged else dict(run.answered),
        sms_interval(counted) if whole else None, sms_interval(judged) if judged else None,
        _cells(run.rows, plays, known),
        tuple((place, one) for place, found in managed for one in found.rounds),
        tuple((place, one) for place, found in managed for one in found.play.subagents),
        tuple((place, one) for place, found in managed for one in found.refusals), tuple(_failures(run.rows)),
        {name: sum(found.invocations[name] for _, found in managed) for name in INVOCATIONS},
        conditions_of(run), cost_of(run.totals))


def _managed(row: Row) -> Managed | None:
    return row.details.get("managed")


def _rounds_by_scenario(rows: Sequence[Row], tasks: Mapping[str, Task]) -> dict[str, int]:
    """How many rounds a scenario has: as a row tells, else as the scenario does where it is at hand."""
    found = {key: len(scenario.rounds) for key, task in tasks.items()
             if (scenario := getattr(task, "scenario", None)) is not None}
    return found | {row.task_id: told.play.rounds for row in rows if (told := _managed(row)) is not None}


def _play(row: Row, rounds: int | None) -> Play | None:
    """None for a failure of which nobody knows the rounds."""
    managed = _managed(row)
    if managed is not None:
        return managed.play
    return None if rounds is None else Play(row.task_id, rounds, None)


def _cells(rows: Sequence[Row], plays: Sequence[Play | None], known: Mapping[str, int]) -> dict[str, Cell]:
    found: dict[str, list[Play | None]] = {}
    for row, play in zip(rows, plays, strict=True):
        found.setdefault(row.task_id, []).append(play)
    return {name: _cell(inside, known.get(name)) for name, inside in found.items()}


def _cell(plays: Sequence[Play | None], rounds: int | None) -> Cell:
    judged = [play for play in plays if play is not None and not play.failed]
    counted = [play for play in plays if play is not None]
    return Cell(sum(play.passed or 0 for play in judged), None if rounds is None else rounds * len(plays),
                run_values(counted)["sms"] if judged else None, len(plays), len(judged))


def _failures(rows: Sequence[Row]) -> Iterator[tuple[Place, str]]:
    for row in rows:
        if row.score.failed:
            yield Place(row.task_id, row.repeat), row.score.outcome + (f", {row.score.why}" if row.score.why else "")
