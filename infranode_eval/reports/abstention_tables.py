"""Abstention as tables for people and as values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.reports.abstention import DONE, GOLDS, POLICIES, POLICY, Abstention, Line
from infranode_eval.reports.figures import Summary
from infranode_eval.statistics import Interval
from infranode_eval.tables import ABSENT, FEW, Column, Table, limits, percent

_MEANING = ("call right: the right call (call_match); ask right: asked back without a call; refuse right: a readable "
            "text without a call; balanced: unweighted mean of the three; a failure is not right")
_EXPECT = ("done: a reply with calls has called, a text with the label asks has asked, any other readable text has "
           "refused; what a task expects instead of a call moves this table only, never call_match")
_POLICY = (f"{POLICY} measures a policy, for no tool text says which towns there are: it counts in no class, and is "
           "right without a call or with a look into the list of cities")


def abstention_tables(summaries: Sequence[Summary], names: Sequence[str]) -> list[Table]:
    """An overview with a row for each run, the matrix gold × done, and a line for each category; names: of the runs."""
    shown = [(name, s, s.abstention) for name, s in zip(names, summaries, strict=True) if s.abstention is not None]
    if not shown:
        return []
    return [_overview(shown),
            _lines("Gold × done, rows", "gold", [(name, found.classes) for name, _, found in shown],
                   (_EXPECT, _POLICY)),
            _lines("By category, rows", "category", [(name, found.categories) for name, _, found in shown], ())]


def _overview(runs: Sequence[tuple[str, Summary, Abstention]]) -> Table:
    columns = (Column("model"), *(Column(h, right=True) for h in (
        "balanced", "95 %", *(f"{gold} right" for gold in GOLDS), "n", "scored", "failed")))
    rows = [(name, *_balanced_cells(found.balanced), *(_class_cell(found, gold) for gold in GOLDS), str(s.run.n),
             str(s.run.n - s.run.failed), str(s.run.failed)) for name, s, found in runs]
    rows += [(f"{p.name} (by definition)", percent(p.balanced), ABSENT, *(percent(p.right[gold]) for gold in GOLDS),
              ABSENT, ABSENT, ABSENT) for p in POLICIES]
    method = "cluster bootstrap" if any(found.drawn for _, _, found in runs) else "Wilson"
    return Table("Call, ask or refuse", columns, tuple(rows), (
        "per cent, or k/n below 30 rows; this set has no tiers and is never ranked with others", _MEANING,
        f"95 %: {method} for each class, joined for the mean"))


def _balanced_cells(balanced: Interval | None) -> tuple[str, str]:
    return (ABSENT, ABSENT) if balanced is None else (percent(balanced.estimate), limits(balanced))


def _class_cell(found: Abstention, gold: str) -> str:
    """Like `tables.share`, with the interval that fits the rows."""
    line, interval = found.classes.get(gold), found.shares.get(gold)
    if line is None or interval is None:
        return ABSENT
    if line.n < FEW:
        return f"{line.right}/{line.n} {limits(interval, 0)}"
    return f"{percent(interval.estimate)} {limits(interval)}"


def _lines(title: str, of: str, runs: Sequence[tuple[str, Mapping[str, Line]]], notes: tuple[str, ...]) -> Table:
    gold = (Column("gold"),) if of != "gold" else ()
    columns = (Column("model"), Column(of), *gold, *(Column(h, right=True) for h in (*DONE, "right", "n")))
    rows = tuple((name, key or "(none)", *([line.gold] if gold else []), *(str(line.done[d]) for d in DONE),
                  str(line.right), str(line.n)) for name, lines in runs for key, line in lines.items())
    return Table(title, columns, rows, notes)


# --- for programs -----------------------------------------------------------------------------------------------------

def abstention_json(found: Abstention) -> dict[str, Any]:
    """Everything the tables show, proportions 0–1."""
    return {"balanced": _interval_json(found.balanced), "drawn": found.drawn,
            "classes": {gold: {**line_json(line), "share": _interval_json(found.shares[gold])}
                        for gold, line in found.classes.items()},
            "categories": {name: {"gold": line.gold, **line_json(line)} for name, line in found.categories.items()},
            "policies": {policy.name: {"balanced": policy.balanced, **policy.right} for policy in POLICIES}}


def line_json(line: Line) -> dict[str, Any]:
    """A flat row."""
    return {"n": line.n, "right": line.right, **{f"done_{name}": line.done[name] for name in DONE}}


def _interval_json(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
