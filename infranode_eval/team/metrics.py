"""What the plays of a run come to: passed rounds times the care with which sub-agents were given tools, files, media.

Pure; everything but counts lies in 0–1. Formulas and rules: specification, team, section 3. A *play* is one scenario
played once: with repeats a scenario has several plays, each of which counts as one scenario in the means and sums, and
all of which stand or fall together where an interval is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.statistics import DRAWS, SEED, Interval, bootstrap_of_sums
from lm_eval_task.records import FAILURES

READING = frozenset({"Read", "Grep", "Glob"})
CHANGING = frozenset({"Write", "Edit", "Bash"})
PERCEIVED = {"llm": (), "vlm": ("image", "video"), "omni": ("audio",)}     # what one of each key must have perceived
FACTORS = ("tpp", "roc", "wpp", "mca")
SOLVED, PARTIAL, UNSOLVED = "solved", "partial", "unsolved"      # outcomes of a play: all of its rounds, some, none
INVOCATIONS = ("new_runtime", "continue_runtime", "new_background", "continue_background", "workflow")
_SPREAD = 1e-9      # limits nearer than this differ by rounding only


@dataclass(frozen=True, slots=True)
class Usage:
    """What one sub-agent was given over its whole life, and what it did with it.

    model_key: llm, vlm or omni. granted, used: tools; used are those of a call without error or refusal (a Bash that
    was started, whatever its exit code; a Grep without hits; a Read that gave a placeholder). files: regular files
    below the grants when it was created, links not followed. touched: distinct paths of successful Read, Write and
    Edit. media: modality → attachments that stood in at least one sent request. refused: forbidden accesses. paths:
    the grants, as the row tells them. Raise ValueError for a key that no pool has, or a negative count.
    """

    name: str
    model_key: str
    granted: frozenset[str]
    used: frozenset[str]
    files: int
    touched: frozenset[str]
    media: Mapping[str, int]
    refused: int = 0
    paths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.model_key not in PERCEIVED:
            raise ValueError(f"sub-agent {self.name!r}: model_key is {self.model_key!r}, expected one of "
                             f"{', '.join(PERCEIVED)}")
        if min(self.files, self.refused, *self.media.values()) < 0:
            raise ValueError(f"sub-agent {self.name!r}: a count is negative")

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Usage:
        """An entry of a row's `subagents`. Raise KeyError, TypeError or ValueError for a broken one."""
        return cls(value["name"], value["model_key"], frozenset(value["granted"]), frozenset(value["used"]),
                   value["files"], frozenset(value["touched"]), dict(value["media"]), value["refused"],
                   tuple(value["paths"]))

    def to_json(self) -> dict[str, Any]:
        """The entry of a row's `subagents`; sets are sorted, so that equal values give equal bytes."""
        return {"name": self.name, "model_key": self.model_key, "granted": sorted(self.granted),
                "used": sorted(self.used), "paths": list(self.paths), "files": self.files,
                "touched": sorted(self.touched), "media": dict(self.media), "refused": self.refused}


def tpp(usage: Usage) -> float:
    """Tool-permission precision: share of the granted tools that were used; 0 where none was granted."""
    return len(usage.granted & usage.used) / len(usage.granted) if usage.granted else 0.0


def roc(usage: Usage) -> float:
    """Read-only compliance: 0 where one that only read could have changed something, else 1 (idle ones included)."""
    only_read = bool(usage.used) and usage.used <= READING
    return 0.0 if only_read and usage.granted & CHANGING else 1.0


def wpp(usage: Usage) -> float:
    """Workspace-permission precision: touched of reachable files, at most 1.

    Without reachable files 1 if one was touched (a writer on an empty folder), else 0.
    """
    if not usage.files:
        return 1.0 if usage.touched else 0.0
    return min(1.0, len(usage.touched) / usage.files)


def mca(usage: Usage) -> float:
    """Modality-choice accuracy: has a vlm perceived a picture or film, an omni a sound? An llm always has 1."""
    needed = PERCEIVED[usage.model_key]
    return float(not needed or any(usage.media.get(modality, 0) for modality in needed))


def sms(tcr: float, tpp: float, roc: float, wpp: float, mca: float) -> float:
    """Subagent-management score: never above `tcr`."""
    return tcr * ((tpp + roc + wpp + mca) / 4)


@dataclass(frozen=True, slots=True)
class Play:
    """One scenario, played once. rounds: all it has. passed: of these; None where the play failed (no verdict).

    maf: forbidden accesses of the main agent. Raise ValueError unless rounds >= 1 and 0 <= passed <= rounds.
    """

    scenario_id: str
    rounds: int
    passed: int | None
    subagents: tuple[Usage, ...] = ()
    maf: int = 0

    def __post_init__(self) -> None:
        if self.rounds < 1 or not 0 <= (self.passed or 0) <= self.rounds:
            raise ValueError(f"{self.scenario_id}: {self.passed} of {self.rounds} rounds passed")

    @property
    def failed(self) -> bool:
        return self.passed is None

    @classmethod
    def from_row(cls, row: Mapping[str, Any], rounds: int | None = None) -> Play:
        """A row of a results file. rounds: of its scenario; needed for a failed row, which need not tell them.

        Raise KeyError, TypeError or ValueError for a broken row, one of another number of rounds among them.
        """
        told = row.get("team") or {}
        listed = told.get("rounds")
        if listed is not None and len(listed) != (rounds or len(listed)):
            raise ValueError(f"{row['task_id']}: {len(listed)} rounds in the row, expected {rounds}")
        if row["outcome"] in FAILURES:
            return cls(row["task_id"], rounds or len(listed or ()), None)
        return cls(row["task_id"], len(told["rounds"]), sum(bool(entry["passed"]) for entry in told["rounds"]),
                   tuple(map(Usage.from_json, told["subagents"])), told["values"]["maf"])


def scenario_values(play: Play) -> dict[str, float | int | None]:
    """The `values` of a row: tcr, the four factors as means over its sub-agents (0 without one), sms, maf, saft, safa.

    safa is None without a sub-agent; all are None for a failed play. `sms` of one scenario is for the heat map only.
    """
    if play.passed is None:
        return dict.fromkeys(("tcr", *FACTORS, "sms", "maf", "saft", "safa"))
    tcr, factors = play.passed / play.rounds, _factors(play)
    return {"tcr": tcr, **dict(zip(FACTORS, factors, strict=True)), "sms": sms(tcr, *factors), "maf": play.maf,
            **_refusals([play])}


def run_values(plays: Iterable[Play], strict: bool = True) -> dict[str, float | int | None]:
    """The numbers of a run: sms tcr tpp roc wpp mca rounds_passed rounds maf saft safa subagents.

    tcr is taken over rounds, each factor as the mean over plays, and sms is the product of these means, not the mean of
    products. strict: a failed play counts as no round passed and no factor earned (`metrics`); else it is left out
    (`answered`). Its sub-agents and refusals are in neither, since it has no end. Shares are None where no play counts.
    """
    counted = [play for play in plays if strict or not play.failed]
    numbers = [_numbers(play) for play in counted]
    passed, rounds, *factors = (math.fsum(column) for column in zip(*numbers, strict=True)) if numbers else (0, 0)
    means = [factor / len(counted) for factor in factors]
    shares = [sms(passed / rounds, *means), passed / rounds, *means] if counted else [None] * 6
    return {**dict(zip(("sms", "tcr", *FACTORS), shares, strict=True)), "rounds_passed": int(passed),
            "rounds": int(rounds), "maf": sum(play.maf for play in counted if not play.failed), **_refusals(counted),
            "subagents": sum(len(play.subagents) for play in counted if not play.failed)}


def sms_interval(plays: Iterable[Play], strict: bool = True, *, draws: int = DRAWS, seed: int = SEED,
                 level: float = 0.95) -> Interval | None:
    """The run's sms with a percentile interval from resampling whole scenarios, all plays of one together.

    None where all draws agree (a single scenario, or nothing but equal ones): limits there would claim certainty. Few
    scenarios separate little, and a bootstrap over five tends to be too narrow; the tables say so.
    """
    rows = [(play.scenario_id, _numbers(play)) for play in plays if strict or not play.failed]
    if not rows:
        return None
    found = bootstrap_of_sums(rows, _sms_of_sums, draws=draws, seed=seed, level=level)
    return found if found.high - found.low > _SPREAD else None


def _sms_of_sums(passed: float, rounds: float, tpp: float, roc: float, wpp: float, mca: float, plays: float) -> float:
    return sms(passed / rounds, tpp / plays, roc / plays, wpp / plays, mca / plays)


def _numbers(play: Play) -> Sequence[float]:
    """What a play adds to the sums of its run: passed rounds, rounds, the four factors; a failed one adds rounds."""
    return (play.passed or 0, play.rounds, *((0.0,) * 4 if play.failed else _factors(play)))


def _factors(play: Play) -> tuple[float, ...]:
    """tpp, roc, wpp, mca of a scenario: means over its sub-agents, 0 without one."""
    if not play.subagents:
        return (0.0,) * 4
    return tuple(math.fsum(map(measure, play.subagents)) / len(play.subagents) for measure in (tpp, roc, wpp, mca))


def _refusals(plays: Sequence[Play]) -> dict[str, float | int | None]:
    subagents = [usage for play in plays if not play.failed for usage in play.subagents]
    saft = sum(usage.refused for usage in subagents)
    return {"saft": saft, "safa": saft / len(subagents) if subagents else None}
