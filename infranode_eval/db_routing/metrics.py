"""What the rows of a run come to: every number of a results file, over all rows or over those that were answered.

Pure. A failure counts as not right wherever a share of all questions is told; how a model went about it is told of
answered rows. Source: specification, db_routing, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from infranode_eval.db_routing.behaviour import (
    answered,
    declared_unprobed,
    first_probe,
    first_probe_right,
    mean_tool_turns,
    switching,
)
from infranode_eval.db_routing.buckets import BUCKETS, NEIGHBOUR_BUCKETS, UNGRADED
from infranode_eval.db_routing.naive import chance, majority

Row = Mapping[str, Any]
Value = float | None
ISOLATED = "isolated"


class Count(NamedTuple):
    """k of n; value None where n is 0."""

    k: float
    n: float

    @property
    def value(self) -> Value:
        return self.k / self.n if self.n else None


def metrics_of(rows: Iterable[Row], databases: int) -> dict[str, Value]:
    """The numbers under their names in a results file; None where no row tells. databases: offered to each question."""
    rows = list(rows)
    hard = hardest(rows)
    route = share(rows, "route_ok")
    numbers: dict[str, Value] = {
        "route_ok": route, "ability": share(_in(rows, "bucket", hard), "route_ok") if hard else None,
        "call_match": route, "tool_match": route, "request_match": route, "args_match": _sql(rows, "sql_set"),
        "parsed": share(rows, "parsed"), "lenient_call_match": share(rows, "lenient_call_match"),
        **{f"route_{name}": share(inside, "route_ok") for name, inside in by_bucket(rows).items()
           if name != UNGRADED},
        **{f"route_cluster_{name}": share(inside, "route_ok") for name, inside in by(rows, "cluster").items()},
        **{f"route_database_{name}": share(inside, "route_ok") for name, inside in by(rows, "database").items()},
        **{f"sql_{kind}": _sql(rows, f"sql_{kind}") for kind in ("set", "strict")},
        "sql_set_given_route": _sql([row for row in answered(rows) if row["route_ok"] is True], "sql_set"),
        **_gaps(rows, hard), **_ways(answered(rows)), **_naive(rows, databases, hard)}
    if any("follows_paragraph" in row for row in rows):
        numbers["follows_paragraph"] = share(rows, "follows_paragraph")
    return numbers


def by(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    """By the value under a name, sorted by it; a database without a cluster is isolated."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[name] or ISOLATED, []).append(row)
    return dict(sorted(found.items()))


def by_bucket(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """By bucket, the hardest last."""
    found = by(rows, "bucket")
    known = [name for name in (*NEIGHBOUR_BUCKETS, *BUCKETS) if name in found]
    return {name: found[name] for name in (*known, *(name for name in found if name not in known))}


def hardest(rows: Iterable[Row]) -> str | None:
    """The bucket that leads: hard_strict where a jury has voted, else neighbour_hard; None without a graded row."""
    found = {row["bucket"] for row in rows} - {UNGRADED}
    if not found:
        return None
    return BUCKETS[-1] if found & set(BUCKETS) else NEIGHBOUR_BUCKETS[-1]


def _in(rows: Iterable[Row], name: str, value: Any) -> list[Row]:
    return [row for row in rows if row[name] == value]


def share(rows: Sequence[Row], name: str) -> Value:
    """Of rows where it holds; a drawn answer counts as much as it is worth on average."""
    if not rows:
        return None
    drawn = [row["chance"] for row in rows if row.get("chance") is not None and name in _WORTH]
    if len(drawn) == len(rows):
        return math.fsum(drawn) / len(drawn)
    return sum(bool(row.get(name)) for row in rows) / len(rows)


_WORTH = ("route_ok", "lenient_call_match")


def _sql(rows: Sequence[Row], name: str) -> Value:
    """Over rows whose gold ran, and failures; None where no answered row has a verdict (arms ask for no SQL)."""
    told = [row for row in answered(rows) if row[name] is not None]
    failed = len(rows) - len(answered(rows))
    return sum(bool(row[name]) for row in told) / (len(told) + failed) if told else None


def _gaps(rows: Sequence[Row], hard: str | None) -> dict[str, Value]:
    """Differences in shares: easy to hard, declared to what prose names, route to SQL."""
    free = [row for row in rows if row["bucket"] != hard]
    return {"gap_hard": _minus(share(free, "route_ok"), share(_in(rows, "bucket", hard), "route_ok")),
            "gap_prose": _minus(share(rows, "lenient_call_match"), share(rows, "route_ok")),
            "gap_sql": _minus(share(rows, "route_ok"), _sql(rows, "sql_set"))}


def _minus(left: Value, right: Value) -> Value:
    return None if left is None or right is None else left - right


def _ways(rows: Sequence[Row]) -> dict[str, Value]:
    """How models went about it, over answered rows."""
    first, cells, unprobed = first_probe(rows), switching(rows), Count(*declared_unprobed(rows))
    calls = sum(row["tool_calls"] for row in rows)
    n = len(rows)
    return {
        "tool_turns": mean_tool_turns(rows), "tool_calls": _mean(rows, "tool_calls"),
        "api_calls": _mean(rows, "api_calls"),
        "probed": Count(sum(len(row["probes"]) for row in rows), n).value,
        "probed_several": Count(sum(len(row["probes"]) > 1 for row in rows), n).value,
        "probed_none": Count(sum(not row["probes"] for row in rows), n).value,
        "first_probe_acc": Count(*first_probe_right(rows)).value,
        "first_probe_kept": Count(first.same, first.n).value,
        "first_probe_share": Count(first.n, n).value,
        "switched": Count(cells.n, n).value, "switched_gained": Count(cells.gained, cells.n).value,
        "switched_lost": Count(cells.lost, cells.n).value,
        "declared_unprobed": unprobed.value,
        "recovered_share": Count(sum(row["recovered_calls"] for row in rows), calls).value,
        "over_limit_share": Count(sum(row["over_limit"] for row in rows), calls).value,
        "parallel_obeyed": Count(sum(bool(row["parallel_obeyed"]) for row in rows), n).value,
        "schema_truncated": _mean(rows, "schema_truncated"), "rows_truncated": _mean(rows, "rows_truncated"),
        **{f"stopped_{reason}": Count(sum(row["stop_reason"] == reason for row in rows), n).value
           for reason in ("max_turns", "truncated", "blank", "context_overflow")}}


def _mean(rows: Sequence[Row], name: str) -> Value:
    return sum(row[name] for row in rows) / len(rows) if rows else None


def _naive(rows: Sequence[Row], databases: int, hard: str | None) -> dict[str, Value]:
    """What answers without thought are worth on these very questions."""
    inside = _in(rows, "bucket", hard)
    return {"chance": float(chance(databases)) if rows else None,
            "majority": _largest(rows), "majority_hard": _largest(inside)}


def _largest(rows: Sequence[Row]) -> Value:
    return majority(row["database"] for row in rows)[1] / len(rows) if rows else None
