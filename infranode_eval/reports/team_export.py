"""Runs of the suite team as values for programs: one object for JSON, lines for the tables of CSV.

Pure. Shares are 0–1, absent values None. Lists of tools, paths and files are joined by blanks in a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infranode_eval.reports.figures import Summary
from infranode_eval.reports.team import Place, Team
from infranode_eval.reports.team_conditions import POOL
from infranode_eval.reports.team_rows import COUNTS
from infranode_eval.reports.team_tables import SHARES
from infranode_eval.statistics import Interval
from infranode_eval.team.limits import Limits
from infranode_eval.team.metrics import mca, roc, tpp, wpp

Line = Mapping[str, Any]
_CONDITIONS = (*(f"pool {role}" for role in POOL), "sandbox", "workflow engine",
               *(f"limit {name}" for name in Limits().to_json()), "scenarios", "data", "tools", "words of the host",
               "scorer")        # the same columns for every run
HEADERS = {"team": ("sms",), "team_scenarios": ("scenario",), "team_rounds": ("scenario",),
           "team_subagents": ("scenario",), "team_refusals": ("scenario",)}      # of tables without lines


def team_json(found: Team) -> dict[str, Any]:
    """Everything that the tables show of a run."""
    return {"strict": dict(found.strict), "answered": dict(found.answered), "interval": _limits(found.interval),
            "answered_interval": _limits(found.answered_interval), "conditions": dict(found.conditions.facts),
            "cost": None if found.cost is None else {"amount": found.cost.amount, "currency": found.cost.currency,
                                                     "tokens": found.cost.tokens},
            "scenarios": list(scenario_lines(found)), "rounds": list(round_lines(found)),
            "subagents": [{**_at(place), **usage.to_json(), **_factors(usage)} for place, usage in found.subagents],
            "refusals": list(refusal_lines(found)),
            "failures": [{**_at(place), "why": why} for place, why in found.failures],
            "invocations": dict(found.invocations)}


def _limits(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else {"low": interval.low, "high": interval.high, "level": 0.95}


def _at(place: Place) -> dict[str, Any]:
    return {"scenario": place.scenario, "repeat": place.repeat}


def _factors(usage: Any) -> dict[str, float]:
    return {"tpp": tpp(usage), "roc": roc(usage), "wpp": wpp(usage), "mca": mca(usage)}


def team_line(summary: Summary, found: Team) -> Line:
    """A run: shares over all plays and over the answered ones, counts, cost, conditions."""
    run, interval = summary.run, found.interval
    return {**{name: found.strict.get(name) for name in SHARES}, "sms_low": interval.low if interval else None,
            "sms_high": interval.high if interval else None, **{name: found.strict.get(name) for name in COUNTS},
            **{f"{name}_answered": found.answered.get(name) for name in SHARES},
            "cost": found.amount, "currency": found.cost.currency if found.cost else None,
            "tokens": found.cost.tokens if found.cost else None, **found.invocations,
            **{name.replace(" ", "_"): found.conditions.facts.get(name) for name in _CONDITIONS},
            "n": run.n, "scored": run.n - run.failed, "failed": run.failed}


def scenario_lines(found: Team) -> Iterator[Line]:
    for name, cell in found.cells.items():
        yield {"scenario": name, "sms": cell.sms, "rounds_passed": cell.passed, "rounds": cell.rounds,
               "plays": cell.plays, "answered": cell.answered}


def round_lines(found: Team) -> Iterator[Line]:
    """Every round of every play with a verdict, passed ones as well."""
    for place, one in found.rounds:
        yield {**_at(place), "round": one.id, "passed": one.passed, "reason": one.reason, "exit": one.exit,
               "timed_out": one.timed_out, "why": one.why}


def subagent_lines(found: Team) -> Iterator[Line]:
    for place, usage in found.subagents:
        yield {**_at(place), "subagent": usage.name, "model_key": usage.model_key,
               "granted": " ".join(sorted(usage.granted)), "used": " ".join(sorted(usage.used)),
               "paths": " ".join(usage.paths), "files": usage.files, "touched": len(usage.touched),
               **{name: usage.media.get(name, 0) for name in ("image", "audio", "video")}, "refused": usage.refused,
               **_factors(usage)}


def refusal_lines(found: Team) -> Iterator[Line]:
    for place, one in found.refusals:
        yield {**_at(place), "round": one.round, "agent": one.agent, "tool": one.tool, "path": one.path}
