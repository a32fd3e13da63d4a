"""Gates for continuous integration: conditions that a run's strict numbers must keep.

Pure: summaries in, one line per broken gate out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infranode_eval.reports.chain import CALL_RATIOS
from infranode_eval.reports.comparison import differing
from infranode_eval.reports.db_routing import NO_SHARES
from infranode_eval.reports.figures import Summary
from infranode_eval.reports.team_rows import COUNTS as TEAM_COUNTS
from lm_eval_task.errors import DataError, UsageError

_CONDITION = re.compile(r"\s*(\w+)\s*(>=|<=|==|>|<)\s*(-?\d+(?:\.\d*)?|-?\.\d+)\s*")
_NEAR = 1e-9            # a number that was computed in another order may differ in its last bits
COUNTS = ("n", "scored", "failed", "schritte_je_auftrag", *CALL_RATIOS, "attack_effect",
          *NO_SHARES, *TEAM_COUNTS)       # not from 0 to 1
AGAINST = ("ability", "call_match", "task_success", "sms")     # as far as a run has them


@dataclass(frozen=True, slots=True)
class Gate:
    """A metric, a comparison and a number, as "call_match>=0.8"."""

    metric: str
    comparison: str
    limit: float

    @classmethod
    def from_text(cls, text: str) -> Gate:
        """Raise UsageError for anything but METRIC OPERATOR NUMBER."""
        found = _CONDITION.fullmatch(text)
        if found is None:
            raise UsageError(f"--gate {text!r}: expected METRIC>=NUMBER (or <=, >, <, ==), e.g. 'call_match>=0.8'")
        return cls(found[1], found[2], float(found[3]))

    def __str__(self) -> str:
        return f"{self.metric}{self.comparison}{self.limit:g}"

    def holds(self, value: float | None) -> bool:
        """A number that does not exist holds nothing."""
        if value is None:
            return False
        if abs(value - self.limit) < _NEAR:
            return "=" in self.comparison
        return {">=": value > self.limit, ">": value > self.limit, "<=": value < self.limit, "<": value < self.limit,
                "==": False}[self.comparison]


def gate_values(summary: Summary) -> Mapping[str, float | None]:
    """The numbers a gate may name: the strict metrics as the file names them, the counts, and the shares of serving."""
    run = summary.run
    return {**summary.strict, "macro": summary.macro, "n": run.n, "scored": run.n - run.failed, "failed": run.failed,
            **summary.shares}


def broken_gates(gates: Sequence[Gate], summaries: Sequence[Summary]) -> list[str]:
    """A line for each gate that a run breaks. Raise UsageError for a metric that a run does not have."""
    lines = []
    for summary in summaries:
        values = gate_values(summary)
        for gate in gates:
            if gate.metric not in values:
                raise UsageError(f"--gate {gate}: {summary.run.path} has no metric {gate.metric!r}; it has "
                                 f"{', '.join(sorted(values))}")
            if gate.metric not in COUNTS and not 0 <= gate.limit <= 1:
                raise UsageError(f"--gate {gate}: {gate.metric} is a proportion from 0 to 1 (tables show per cent); "
                                 f"write {gate.limit / 100:g} for {gate.limit:g} %")
            if not gate.holds(values[gate.metric]):
                lines.append(f"{_name(summary)}: {gate.metric} is {_number(values[gate.metric])}, the gate is {gate}")
    return lines


def kept_line(gates: Sequence[Gate], summaries: Sequence[Summary]) -> str:
    """What to say when nothing broke: a log that shows nothing proves nothing."""
    return f"{len(summaries)} runs keep {', '.join(map(str, gates)) or 'the base'}"


def worse_than(base: Summary, summaries: Sequence[Summary], max_drop: float) -> list[str]:
    """A line for each run and metric that fell below the base by more than `max_drop` (0–1).

    Raise DataError for a run that may not be compared with the base.
    """
    lines = []
    for summary in summaries:
        differ = differing(base.run, summary.run, ("tasks", "tools", "arm", "mode", "suite", "scorer version", "world",
                                              "panel"))
        if (base.task_count, base.repeats) != (summary.task_count, summary.repeats):
            differ.append(f"number of tasks × repeats {base.task_count} × {base.repeats} / {summary.task_count} × "
                          f"{summary.repeats}")
        if differ:
            raise DataError(f"--gate-against: {base.run.path} and {summary.run.path} cannot be compared, they differ "
                            f"in {', '.join(differ)}")
        for metric in AGAINST:
            was, now = base.strict.get(metric), summary.strict.get(metric)
            if was is not None and (now is None or was - now > max_drop + _NEAR):
                lines.append(f"{_name(summary)}: {metric} fell from {_number(was)} ({base.run.path}) to "
                             f"{_number(now)}, allowed is a drop of {max_drop:g}")
    return lines


def _name(summary: Summary) -> str:
    return f"{summary.run.model} ({summary.run.path})"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")
