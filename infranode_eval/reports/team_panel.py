"""The runs of the suite team as the values that its part of the page lays out; pure.

Every word comes from `Words`, in both languages at once; every number is a text already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.reports.charts import Point
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.figures import Summary
from infranode_eval.reports.planes import decimals_for, plane_of
from infranode_eval.reports.team import Cell, Team
from infranode_eval.reports.team_conditions import difference_lines
from infranode_eval.reports.team_tables import (
    SCENARIOS,
    SCORES,
    SHARES,
    Shown,
    front_of,
    scenarios_of,
    team_tables,
)
from infranode_eval.reports.words import Words
from infranode_eval.tables import ABSENT, Table

_HEADS = tuple(name.upper() for name in SHARES[1:])


def team_panel(number: int, exhibits: Sequence[Exhibit], labels: Sequence[str], runs: Mapping[int, int],
               words: Words) -> dict[str, Any]:
    """number: of the group. labels: of the exhibits. runs: the place of each in the list of plays, by its id()."""
    pairs = sorted(zip(exhibits, labels, strict=True),
                   key=lambda pair: (-(pair[0].summary.strict.get("sms") or 0.0), pair[1]))
    shown = [(label, e.summary, e.summary.team) for e, label in pairs if e.summary.team is not None]
    anchors = {id(e): f"g{number}-w{place}" for place, e in enumerate(exhibits)}
    places = {label: runs.get(id(e)) for e, label in pairs}
    priced = any(found.amount is not None for _, _, found in shown)
    return {"heads": _HEADS, "priced": priced, "unlike": difference_lines([(n, t.conditions) for n, _, t in shown]),
            "rows": [_row(label, s, found, anchors[id(e)], words)
                     for (e, _), (label, s, found) in zip(pairs, shown, strict=True)],
            "few": _few(max((len(found.conditions.scenarios) for _, _, found in shown), default=0), words),
            "scenarios": [name.split("_") for name in scenarios_of(shown)], "heat": _heat(shown, places, words),
            "plane": _plane(shown, words) if priced else None, "tables": _others(shown)}


def _few(scenarios: int, words: Words) -> str:
    return words("team_few_one") if scenarios == 1 else words("team_few", n=scenarios)


def _row(label: str, summary: Summary, found: Team, anchor: str, words: Words) -> dict[str, Any]:
    run, strict, interval = summary.run, found.strict, found.interval
    marks = [words("team_program")] if run.baseline else []
    marks += [words("incomplete")] if not run.complete else []
    refused = (strict.get("maf") or 0) + (strict.get("saft") or 0)
    return {"name": label, "marks": marks, "warning": anchor if summary.warnings else "",
            "note": words("team_answered", sms=words.percent(found.answered.get("sms")), n=run.failed)
            if found.partly else "",
            "sms": words.percent(strict.get("sms")), "range": words.limits(interval) if interval else "",
            "low": _at(interval.low) if interval else None, "high": _at(interval.high) if interval else None,
            "sms_at": _at(strict.get("sms")), "tcr_at": _at(strict.get("tcr")),
            "spoken": f"SMS {_spoken(strict.get('sms'))}, TCR {_spoken(strict.get('tcr'))}",
            "shares": [(head, words.percent(strict.get(name))) for head, name in zip(_HEADS, SHARES[1:], strict=True)],
            "rounds": words.same(_of(strict)), "agents": words.same(_number(strict.get("subagents"))),
            "forbidden": words.same(f"{_number(strict.get('maf'))} + {_number(strict.get('saft'))}"),
            "refused": bool(refused),
            "cost": words.number(found.amount, 4) if found.amount is not None else ABSENT}


def _of(strict: Mapping[str, float | None]) -> str:
    return f"{_number(strict.get('rounds_passed'))}/{_number(strict.get('rounds'))}"


def _number(value: float | None) -> str:
    return ABSENT if value is None else f"{value:g}"


def _at(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.2f}"


def _spoken(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _heat(shown: Shown, places: Mapping[str, int | None], words: Words) -> list[dict[str, Any]]:
    names = scenarios_of(shown)
    return [{"name": label, "run": "" if places[label] is None else places[label],
             "cells": [_cell(found.cells.get(name), name, words) for name in names]} for label, _, found in shown]


def _cell(cell: Cell | None, name: str, words: Words) -> dict[str, Any]:
    """heat: 0–10, "x" where no play has a verdict, which is no 0."""
    if cell is None or cell.sms is None:
        return {"sms": words.same(ABSENT), "rounds": "", "heat": "x", "task": name if cell is not None else ""}
    return {"sms": words.percent(cell.sms), "rounds": f"{cell.passed}/{cell.rounds}", "heat": round(10 * cell.sms),
            "task": name}


def _plane(shown: Shown, words: Words) -> dict[str, Any]:
    """Cost of the main agent against SMS; several currencies have no front."""
    priced = sorted([(found.amount, -(found.strict.get("sms") or 0.0), name, found) for name, _, found in shown
                     if found.amount is not None], key=lambda one: one[:3])
    front = front_of([found for *_, found in priced])
    points = [Point(name, amount, -score, place in front) for place, (amount, score, name, _) in enumerate(priced)]
    currencies = sorted({found.cost.currency or "?" for *_, found in priced if found.cost is not None})
    missing = [name for name, _, found in shown if found.amount is None]
    notes = [words("team_pool_unpriced")]
    notes += [words("effort_missing", names=", ".join(missing))] if missing else []
    notes += [words("team_currencies")] if len(currencies) > 1 else []
    title = words("team_cost_in", currency=", ".join(currencies))
    return plane_of(points, title, notes, "SMS", words, decimals_for([p.effort for p in points]))


def _others(shown: Shown) -> list[Table]:
    """The tables that are not drawn."""
    every = team_tables([s for _, s, _ in shown], [name for name, _, _ in shown])
    return [table for table in every if table.title not in (SCORES, SCENARIOS, "Cost and score")]
