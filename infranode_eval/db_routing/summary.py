"""What a run of the suite db_routing prints at its end: the share that leads, each bucket, each database, the ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infranode_eval.db_routing.behaviour import answered, status_of
from infranode_eval.db_routing.buckets import LABELS
from infranode_eval.db_routing.contamination import contamination_of
from infranode_eval.db_routing.metrics import by, by_bucket, hardest, share
from infranode_eval.db_routing.permutation import permutation_line
from infranode_eval.db_routing.scoring import AGENTIC
from infranode_eval.statistics import wilson
from infranode_eval.summary import per_cent

Row = Mapping[str, Any]


def routing_summary(result: Mapping[str, Any]) -> Iterator[str]:
    """result: a whole results file. Repeats of one task are no independent rows: with them there is no interval."""
    rows = list(result["rows"])
    kept, hard = answered(rows), hardest(rows)
    repeats = max(Counter(row["task_id"] for row in rows).values(), default=1)
    if hard is not None:
        inside = [row for row in kept if row["bucket"] == hard]
        yield _line(f"Route, {LABELS[hard]}", _share(inside, "route_ok", repeats))
    yield _line("Route, alle", _share(kept, "route_ok", repeats))
    if result["counts"]["failed"]:
        worst = per_cent(result["metrics"]["route_ok"])
        yield _line("schlechtester Fall", f"{worst} %, jeder Ausfall als falsch gezählt")
    told = [row for row in kept if row["sql_set"] is not None]
    if told:
        yield _line("SQL", f"sql_set {_share(told, 'sql_set', repeats)}, sql_strict {_fraction(told, 'sql_strict')}")
    if any(row["procedure"] == AGENTIC for row in kept):
        yield _line("Werkzeugschritte", _ways(result["answered"]))
    if result["metrics"].get("follows_paragraph") is not None:
        yield _line("folgt dem Text", f"{per_cent(result['metrics']['follows_paragraph'])} %")
    yield _line("Zufall, Mehrheit", f"{per_cent(result['metrics']['chance'])} %, "
                                    f"{per_cent(result['metrics']['majority'])} %")
    played = [row for row in rows if row["procedure"] == AGENTIC]
    if (status := status_of(played)) is not None and result["backend"] != "baseline":
        yield _line("nicht gewertet", status)
    if written := sum(row.get("final_cache_write") or 0 for row in kept):
        yield _line("Cache", f"Warnung: Abschlüsse schrieben {written} Tokens in einen Cache, die niemand liest")
    yield ""
    yield from _table("Gruppe", {LABELS.get(name, name): inside for name, inside in by_bucket(rows).items()})
    yield ""
    yield from _table("Datenbank", by(rows, "database"))
    yield ""
    chance = result["metrics"]["chance"]
    if chance and (told := permutation_line(result, round(1 / chance))) is not None:
        yield _line("Preis der Permutation", told)
    yield _line("Kontamination", contamination_of(result["settings"]))
    yield "Ende der Schritte: " + ", ".join(
        f"{name} {count}" for name, count in sorted(Counter(row["stop_reason"] for row in kept).items()))


def _line(name: str, text: str) -> str:
    return f"{name:<24}{text}"


def _share(rows: Sequence[Row], name: str, repeats: int) -> str:
    """As "12/15 = 80.0 % [54.8, 93.0]"; what was drawn is reckoned, not counted."""
    if not rows:
        return "—"
    if name == "route_ok" and all(row.get("chance") is not None for row in rows):
        return f"{per_cent(share(rows, name))} %, gerechnet"
    k = sum(bool(row[name]) for row in rows)
    shown = f"{k}/{len(rows)} = {per_cent(k / len(rows))} %"
    if repeats > 1:
        return shown
    interval = wilson(k, len(rows))
    return f"{shown} [{per_cent(interval.low)}, {per_cent(interval.high)}]"


def _ways(numbers: Mapping[str, Any]) -> str:
    if numbers["tool_turns"] is None:
        return "—"
    return (f"{numbers['tool_turns']:.2f} je Frage, {numbers['probed']:.2f} Datenbanken sondiert, "
            f"mehr als eine bei {per_cent(numbers['probed_several'])} %")


def _table(head: str, groups: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    yield f"{head:<24}{'Route':>9}{'SQL':>9}{'sondiert':>10}{'Ausfall':>9}"
    for name, rows in groups.items():
        kept = answered(rows)
        probed = sum(len(row["probes"]) for row in kept) / len(kept) if kept else None
        told = [row for row in kept if row["sql_set"] is not None]
        yield (f"{name:<24}{_fraction(kept, 'route_ok'):>9}{_fraction(told, 'sql_set'):>9}"
               f"{'—' if probed is None else f'{probed:.2f}':>10}{len(rows) - len(kept):>9}")


def _fraction(rows: Sequence[Row], name: str) -> str:
    return f"{sum(bool(row[name]) for row in rows)}/{len(rows)}" if rows else "—"
