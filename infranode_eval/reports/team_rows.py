"""What a row of the suite team tells, read and checked: its verdict, its rounds, its sub-agents and their refusals.

Pure. Transcripts stand in a file of their own and are not needed here. Such a row has no call_match: a verdict here is
true under that name where all rounds are passed, so that everything that counts solved rows counts these as well.
Format: specification, team, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infranode_eval.reports.stored_verdicts import notes_in, outcome_in
from infranode_eval.team.metrics import INVOCATIONS, PARTIAL, SOLVED, UNSOLVED, Play
from lm_eval_task.errors import DataError
from lm_eval_task.records import FAILURES, Score

SUITE = "team"
OUTCOMES = (SOLVED, PARTIAL, UNSOLVED, *FAILURES)
COUNTS = ("rounds_passed", "rounds", "maf", "saft", "safa", "subagents")      # numbers of a run that are no shares


@dataclass(frozen=True, slots=True)
class Round:
    """A round's verdict. reason: why it ended before its time, None where it did not. exit: None where nothing ran."""

    id: str
    passed: bool
    reason: str | None
    exit: int | None
    timed_out: bool
    stdout: str

    @property
    def why(self) -> str:
        """What its check said in one line; empty where it is passed and ended as it should."""
        said = "timeout" if self.timed_out else "" if self.exit is None else f"exit {self.exit}"
        line = next(iter(self.stdout.strip().splitlines()), "")
        told = ", ".join(part for part in (said, line) if part)
        parts = [part for part in (self.reason, "" if self.passed else told) if part]
        return "; ".join(parts) or ("" if self.passed else "not checked")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A forbidden access: who, with which tool, which path (or raw text), in which round."""

    agent: str
    tool: str
    path: str
    round: str


@dataclass(frozen=True, slots=True)
class Managed:
    """What a play came to. play: its numbers; passed is None in a failure, which has no rounds here."""

    play: Play
    rounds: tuple[Round, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    invocations: Mapping[str, int] = field(default_factory=dict)


def verdict_of(row: Mapping[str, Any]) -> Score:
    """The verdict in a row; raise DataError for one that breaks the format."""
    outcome = outcome_in(row, OUTCOMES, SUITE)
    return Score(outcome, *notes_in(row), call_match=None if outcome in FAILURES else outcome == SOLVED)


def managed_of(row: Mapping[str, Any]) -> Managed | None:
    """What stands under "team"; None in a failure. Raise DataError for a row that breaks the format."""
    if row["outcome"] in FAILURES:
        return None
    told = row.get("team")
    try:
        rounds = tuple(_round(one) for one in told["rounds"])
        refusals = tuple(_refusal(one) for one in told["refusals"])
        invocations = {name: _is(told["invocations"][name], int) for name in INVOCATIONS}
        return Managed(Play.from_row(row), rounds, refusals, invocations)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f'row {row["task_id"]}: "team" is not what the suite writes ({error!r})') from None


def _round(value: Mapping[str, Any]) -> Round:
    return Round(_is(value["id"], str), _is(value["passed"], bool), _maybe(value["reason"], str),
                 _maybe(value["exit"], int), _is(value["timed_out"], bool), _is(value["stdout"], str))


def _refusal(value: Mapping[str, Any]) -> Refusal:
    return Refusal(*(_is(value[name], str) for name in ("agent", "tool", "path", "round")))


def _is(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, found {str(value)[:40]!r}")
    return value


def _maybe(value: Any, kind: type) -> Any:
    return None if value is None else _is(value, kind)
