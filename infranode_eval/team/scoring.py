"""The verdict on a play, from its transcript alone: which rounds are passed, and with how much care.

Pure: the same course gives the same score. Source: specification, team, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from infranode_eval.team.agent import MAIN
from infranode_eval.team.course import Course
from infranode_eval.team.metrics import PARTIAL, SOLVED, UNSOLVED, Play, Usage, scenario_values
from infranode_eval.team.scenario import Scenario
from infranode_eval.team.tasks import TeamTask
from lm_eval_task.errors import DataError
from lm_eval_task.records import FAILURES, Call

_WHY = 200      # characters of a check's output in the reason


@dataclass(frozen=True, slots=True)
class TeamScore:
    """team: what a row holds under "team"; None in a failure row. play: the numbers of it, for the run's."""

    outcome: str
    play: Play
    sub: str | None = None
    labels: tuple[str, ...] = ()
    why: str = ""
    team: Mapping[str, Any] | None = field(default=None, hash=False)
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def failed(self) -> bool:
        return self.outcome in FAILURES

    @property
    def calls(self) -> tuple[Call, ...] | None:
        """None: single calls are not judged here."""
        return None

    def light(self) -> TeamScore:
        """Without what only the row needs; the play is what is left of it."""
        return replace(self, labels=(), why="", team=None, details={"play": True})

    def to_json(self) -> dict[str, Any]:
        """The scorer's part of a result row."""
        return {"outcome": self.outcome, "sub": self.sub, "labels": list(self.labels), "why": self.why,
                "calls": None, "team": self.team}


def failure_of(task: TeamTask, outcome: str, why: str, sub: str | None = None) -> TeamScore:
    """The row of a play that got no end: none of its rounds is passed."""
    rounds = len(task.scenario.rounds)
    return TeamScore(outcome, Play(task.task_id, rounds, None), sub, (), why)


def score_play(task: TeamTask, course: Course) -> TeamScore:
    """Judge a course by the checks of its scenario. Raise DataError for one of other rounds than the scenario's."""
    told = course.told
    _check_rounds(task.scenario, [row["id"] for row in told["rounds"]])
    rounds = [_round(task.scenario, row) for row in told["rounds"]]
    passed = sum(row["passed"] for row in rounds)
    usages = tuple(map(Usage.from_json, told["subagents"]))
    maf = sum(one["agent"] == MAIN for one in told["refusals"])
    play = Play(task.task_id, len(rounds), passed, usages, maf)
    team = {"values": _rounded(scenario_values(play)), "rounds": rounds, "subagents": told["subagents"],
            "invocations": told["invocations"], "refusals": told["refusals"], "usage": told["usage"],
            "replayed": told["replayed"], "live": told["live"]}
    outcome = SOLVED if passed == len(rounds) else PARTIAL if passed else UNSOLVED
    labels = (*told["labels"], *(["tokens_estimated"] if told["estimated"] else []))
    return TeamScore(outcome, play, None, labels, _why(rounds), team)


def _check_rounds(scenario: Scenario, told: list[str]) -> None:
    """A round that is left out would be none that is not passed."""
    if told != (expected := [round_.id for round_ in scenario.rounds]):
        raise DataError(f"the transcript tells of the rounds {', '.join(map(str, told)) or 'none'}, expected those of "
                        f"{scenario.scenario_id}: {', '.join(expected)}")


def _round(scenario: Scenario, row: Mapping[str, Any]) -> dict[str, Any]:
    """A round with its verdict. One that was never checked is not passed, one that was cut short may be."""
    check = scenario.round(row["id"]).check
    checked = row["exit"] is not None or row["timed_out"]
    passed = checked and check.passes(row["exit"], row["stdout"], row["timed_out"], row.get("matched"))
    return {"id": row["id"], "passed": passed, "reason": row["reason"], "exit": row["exit"],
            "timed_out": row["timed_out"], "stdout": row["stdout"][:_WHY]}


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}


def _why(rounds: list[dict[str, Any]]) -> str:
    """The first round that is not passed, with what its check said."""
    first = next((row for row in rounds if not row["passed"]), None)
    if first is None:
        return ""
    if first["exit"] is None:
        said = "timeout" if first["timed_out"] else first["reason"] or "killed"
    else:
        line = next(iter(first["stdout"].strip().splitlines()), "")
        said = f"exit {first['exit']}" + (f", {line}" if line else "")
    return f"{first['id']}: {said}"
