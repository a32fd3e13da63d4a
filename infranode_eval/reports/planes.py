"""Effort against what is solved, as the values that the page draws; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.reports.charts import Point, axis_for
from infranode_eval.reports.words import Words

HEIGHT = 240            # pixels between the lowest value and 100 per cent


def plane_of(points: Sequence[Point], title: str, notes: Sequence[str], measure: str, words: Words, decimals: int,
             slowest: Mapping[str, float | None] | None = None) -> dict[str, Any]:
    """points: at least one, in the order of their effort. slowest: below what 95 % lie, by name, where it is shown."""
    axis = axis_for([p.effort for p in points])
    lowest = 25 * int(4 * max(0.0, min(p.value for p in points) - 0.05))     # per cent at the foot of the chart
    shown = [{"name": p.name, "x": _at(axis.place(p.effort)), "y": _height(100 * p.value, lowest), "front": p.front,
              "effort": words.number(p.effort, decimals), "value": words.percent(p.value),
              "p95": words.number((slowest or {}).get(p.name), decimals)} for p in points]
    front = [s for s in shown if s["front"]]
    lines = [{"x1": a["x"], "y1": a["y"], "x2": b["x"], "y2": b["y"]} for a, b in zip(front, front[1:], strict=False)]
    return {"axis": title, "title": title, "points": shown, "front": lines,
            "xs": [{"at": _at(axis.place(t)), "text": _number(t)} for t in axis.ticks],
            "ys": [{"at": _height(v, lowest), "text": v} for v in (0, 25, 50, 75, 100) if v >= lowest],
            "p95": slowest is not None, "notes": list(notes),
            "spoken": "; ".join(f"{p.name}: {_number(p.effort)}, {measure} {100 * p.value:.1f} %" for p in points)}


def _at(share: float) -> str:
    return f"{100 * share:.2f}"


def _height(value: float, lowest: int) -> float:
    """Pixels below the upper edge for a value in per cent."""
    return round(HEIGHT * (100 - value) / (100 - lowest), 1)


def decimals_for(values: Iterable[float]) -> int:
    """So many that the smallest shows two digits, and the column one number of them."""
    least = min((v for v in values if v > 0), default=1.0)
    return min(4, max(0, 1 - math.floor(math.log10(least))))


def _number(value: float) -> str:
    """Three digits that matter, without an exponent."""
    if value >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f") if value >= 10_000 else f"{value:.0f}"
    return f"{value:.0f}" if value >= 100 else f"{float(f'{value:.3g}'):g}"
