"""Item analysis as tables for people and as values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.reports.figures import Summary
from infranode_eval.reports.items import (
    FEWEST,
    GAP,
    GOOD,
    MOST_SHOWN,
    Analysis,
    Item,
    Look,
    Sighting,
    analysis_of,
    models_of,
)
from infranode_eval.tables import ABSENT, Column, Table, percent

_LONGEST = 90           # characters of a text in a cell


def items_note(summaries: Sequence[Summary]) -> str | None:
    """The line that says why there is no table of tasks that look broken; None if there is one."""
    count, found = len(models_of(summaries)), analysis_of(summaries)
    if found is None:
        return (f"item analysis: needs complete runs of {FEWEST} models over these tasks, here "
                f"{'is' if count == 1 else 'are'} {count}")
    return None if found.suspects else f"item analysis: no task looks broken to {count} models"


def items_tables(summaries: Sequence[Summary], look: Look | None = None) -> list[Table]:
    """The tasks that look broken; no table without any. look: shows what was asked and called."""
    found = analysis_of(summaries)
    if found is None or not found.suspects:
        return []
    shown = found.suspects[:MOST_SHOWN]
    seen = look(summaries, [i.task_id for i in shown]) if look else {}
    columns = (Column("task"), Column("right", right=True), Column("discrimination", right=True), Column("why"),
               Column("question"), Column("gold"), Column("called most by those who are wrong"))
    rows = tuple((i.task_id, percent(i.right, 0), discrimination(i), i.why or "", *_seen_cells(seen.get(i.task_id)))
                 for i in shown)
    return [Table(f"Tasks that look broken: {len(found.suspects)} of {len(found.items)}", columns, rows, (
        *_listed(found), f"over {found.models} models; right: per cent of them; discrimination: correlation of a task "
        "with the other tasks, over the models (point-biserial); with few models it is a hint and no proof",
        f"nobody is right: though each model has {100 * GOOD:.0f} % of the other tasks right; the better ones are "
        f"wrong: negative, and those who fail it have {100 * GAP:.0f} points more of the other tasks right"))]


def every_item_table(summaries: Sequence[Summary]) -> list[Table]:
    """All tasks in the order of the rows; no table with too few models."""
    found = analysis_of(summaries)
    if found is None:
        return []
    columns = (Column("task"), Column("category"), Column("right", right=True), Column("discrimination", right=True),
               Column("looks broken"))
    rows = tuple((i.task_id, i.category, percent(i.right, 0), discrimination(i), i.why or "") for i in found.items)
    return [Table(f"Every task, over {found.models} models", columns, rows, (
        f"discrimination: {ABSENT} where all models do alike",))]


def _listed(found: Analysis) -> list[str]:
    more = len(found.suspects) - MOST_SHOWN
    return [f"the first {MOST_SHOWN} are shown, {more} more stand in --items"] if more > 0 else []


def discrimination(item: Item) -> str:
    return ABSENT if item.discrimination is None else f"{item.discrimination:+.2f}"


def _seen_cells(seen: Sighting | None) -> tuple[str, str, str]:
    if seen is None:
        return ABSENT, ABSENT, ABSENT
    most = f"{seen.called[0][0]} ({seen.called[0][1]} of {sum(n for _, n in seen.called)})" if seen.called else ABSENT
    return _cut(seen.question) or ABSENT, _cut(seen.gold) or ABSENT, _cut(most)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST - 1] + "…"


# --- for programs -----------------------------------------------------------------------------------------------------

def items_json(summaries: Sequence[Summary], look: Look | None = None) -> dict[str, Any] | None:
    """Every task, and what was asked and called in those that look broken; None with too few models."""
    found = analysis_of(summaries)
    if found is None:
        return None
    ids = [i.task_id for i in found.suspects]
    seen = look(summaries, ids) if look and ids else {}
    return {"models": found.models, "tasks": [_item_json(i) for i in found.items],
            "suspects": [{"task_id": key, **_seen_json(seen.get(key))} for key in ids]}


def _item_json(item: Item) -> dict[str, Any]:
    return {"task_id": item.task_id, "category": item.category, "right": item.right,
            "discrimination": item.discrimination, "gap": item.gap, "why": item.why}


def _seen_json(seen: Sighting | None) -> Mapping[str, Any]:
    return {"question": seen.question if seen else None, "gold": seen.gold if seen else None,
            "called": [{"calls": text, "rows": count} for text, count in seen.called] if seen else []}
