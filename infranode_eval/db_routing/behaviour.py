"""What a model did on the way to its declaration: probes, switches, turns.

Pure. A probe is a call that reached a database: an error of its SQL counts, an unknown tool, invalid arguments and a
call over the limit do not. Source: specification, db_routing, 30 and 45 to 50.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lm_eval_task.records import FAILURES

Row = Mapping[str, Any]
STATUSES = ("ok", "error", "invalid", "over_limit", "unknown_tool")
REACHING = frozenset(("ok", "error"))      # statuses of calls that a database has answered
ENOUGH_ROWS = 20                           # fewer answered rows decide nothing about a run
EXCLUDED = "excluded_no_tool_calls"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One play. probes: distinct databases in the order in which they were reached first.

    first_probe: the only database of the first probing turn; None without a probe, and where that turn reached several.
    declared_unprobed: None without a declaration. tool_calls: all that were read; over_limit: those of them beyond the
    limit of a turn. parallel_obeyed: no turn held more than one call. recovered_calls: those read out of text.
    schema_truncated, rows_truncated: results that were cut.
    """

    probes: tuple[str, ...]
    first_probe: str | None
    switched: bool
    declared_unprobed: bool | None
    tool_turns: int
    tool_calls: int
    api_calls: int
    over_limit: int
    parallel_obeyed: bool
    recovered_calls: int
    schema_truncated: int
    rows_truncated: int

    def to_json(self) -> dict[str, Any]:
        """Its keys of a result row."""
        return {**asdict(self), "probes": list(self.probes)}


def is_probe(call: Mapping[str, Any]) -> bool:
    """Did a call of a transcript reach a database?"""
    return bool(call["reached"])


def behaviour_of(calls: Sequence[Mapping[str, Any]], aliases: Mapping[str, str], declared: str | None) -> Behaviour:
    """Read the `calls` of a transcript (one object an API call; specification, section 1).

    aliases: alias → database. declared: the database that was declared. Databases are named, aliases are not.
    """
    turns = [call for call in calls if call["kind"] == "tool"]
    made = [one for turn in turns for one in turn["tool_calls"]]
    touched = [turn for turn in (_touched(turn, aliases) for turn in turns) if turn]
    probes = tuple(dict.fromkeys(database for turn in touched for database in turn))
    cut = [one["action"] == "execute_query" for one in made if one.get("truncated")]
    return Behaviour(
        probes, touched[0][0] if touched and len(touched[0]) == 1 else None, len(probes) > 1,
        None if declared is None else declared not in probes, len(turns), len(made), len(calls),
        sum(one["status"] == "over_limit" for one in made), all(len(turn["tool_calls"]) < 2 for turn in turns),
        sum(len(turn["tool_calls"]) for turn in turns if turn.get("recovered")), cut.count(False), cut.count(True))


def _touched(turn: Mapping[str, Any], aliases: Mapping[str, str]) -> list[str]:
    """The distinct databases that one turn reached, in its order."""
    return list(dict.fromkeys(aliases[one["alias"]] for one in turn["tool_calls"] if is_probe(one)))


# --- over the rows of a run -------------------------------------------------------------------------------------------

def answered(rows: Iterable[Row]) -> list[Row]:
    """Rows that are no failure: the denominator of everything here."""
    return [row for row in rows if row["outcome"] not in FAILURES]


@dataclass(frozen=True, slots=True)
class FirstProbe:
    """Rows whose first probing turn reached one database only. same: declared as first probed."""

    n: int
    same: int
    first_right: int
    declared_right: int


def first_probe(rows: Iterable[Row]) -> FirstProbe:
    """The first probe beside the declaration, on its own n."""
    clear = [row for row in answered(rows) if row["first_probe"] is not None]
    return FirstProbe(len(clear), sum(row["declared"] == row["first_probe"] for row in clear),
                      sum(row["first_probe"] == row["database"] for row in clear),
                      sum(row["declared"] == row["database"] for row in clear))


def first_probe_right(rows: Iterable[Row]) -> tuple[int, int]:
    """(right, n) of the older metric: the first probe decides, over all answered rows; no probe is wrong."""
    kept = answered(rows)
    return sum(_first_is_right(row) for row in kept), len(kept)


def _first_is_right(row: Row) -> bool:
    return bool(row["probes"]) and row["probes"][0] == row["database"]


@dataclass(frozen=True, slots=True)
class Touched:
    """How many distinct databases were probed a row, on average, and in how many of n rows more than one."""

    n: int
    mean: float
    several: int


def touched_by_bucket(rows: Iterable[Row]) -> dict[str, Touched]:
    """By bucket, in the order of their first row. A row without a probe counts as 0."""
    by_bucket: dict[str, list[int]] = {}
    for row in answered(rows):
        by_bucket.setdefault(row["bucket"], []).append(len(row["probes"]))
    return {bucket: Touched(len(counts), sum(counts) / len(counts), sum(count > 1 for count in counts))
            for bucket, counts in by_bucket.items()}


@dataclass(frozen=True, slots=True)
class Switching:
    """Rows that probed two databases or more: was the first probe right, and was the declaration?

    stayed: both. lost: the first only. gained: the declaration only. missed: neither; between: those of `missed` that
    probed the right database on the way and declared another one, or none.
    """

    stayed: int
    lost: int
    gained: int
    missed: int
    between: int = 0

    @property
    def n(self) -> int:
        return self.stayed + self.lost + self.gained + self.missed

    @property
    def net(self) -> int:
        """Rows that switching has put right, less those it has spoilt."""
        return self.gained - self.lost

    @property
    def ratio(self) -> float | None:
        """Gained for each lost; None where nothing was lost."""
        return self.gained / self.lost if self.lost else None


def switching(rows: Iterable[Row]) -> Switching:
    """The switching matrix, by declared route; no declaration counts as not right."""
    switched = [row for row in answered(rows) if row["switched"]]
    cells = [(_first_is_right(row), row["declared"] == row["database"]) for row in switched]
    between = sum(row["database"] in row["probes"] for row, cell in zip(switched, cells, strict=True)
                  if cell == (False, False))
    return Switching(cells.count((True, True)), cells.count((True, False)), cells.count((False, True)),
                     cells.count((False, False)), between)


def declared_unprobed(rows: Iterable[Row]) -> tuple[int, int]:
    """(unprobed, n) of the answered rows that declare a database."""
    kept = [row["declared_unprobed"] for row in answered(rows) if row["declared_unprobed"] is not None]
    return sum(kept), len(kept)


def mean_tool_turns(rows: Iterable[Row]) -> float | None:
    """Over answered rows; None without one."""
    turns = [row["tool_turns"] for row in answered(rows)]
    return sum(turns) / len(turns) if turns else None


def status_of(rows: Iterable[Row]) -> str | None:
    """EXCLUDED for a run without a single tool call, also after recovery; None for any other, and for a short one."""
    kept = answered(rows)
    return EXCLUDED if len(kept) >= ENOUGH_ROWS and not any(row["tool_calls"] for row in kept) else None
