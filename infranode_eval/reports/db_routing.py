"""What a run of the suite db_routing comes to: routes, SQL, and how the model went there; pure.

Formulas: `infranode_eval.db_routing` (metrics, behaviour, corridor, costs). A share is told over the answered rows,
the worst case, in which every failure is wrong, beside it. Source: specification, db_routing, section 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from infranode_eval.db_routing import behaviour
from infranode_eval.db_routing.behaviour import FirstProbe, Switching, Touched
from infranode_eval.db_routing.buckets import BUCKETS, by_database
from infranode_eval.db_routing.corridor import Corridor, corridor
from infranode_eval.db_routing.costs import Rates, Tokens, reported
from infranode_eval.db_routing.metrics import by, by_bucket, hardest, metrics_of
from infranode_eval.reports.archive import Run
from infranode_eval.reports.db_routing_rows import AGENTIC, SUITE
from infranode_eval.stability import Drift, Given, Standing, drift_between, drift_by_bucket, largest_drift
from infranode_eval.statistics import PooledRatio, Stratum, risk_ratio

ALL = "all"
KINDS = ("sql_set", "sql_strict")
ADAPTED = 0.5           # from more recovered calls on, what is measured is the model with the adapter
NO_SHARES = ("tool_turns", "tool_calls", "api_calls", "probed", "schema_truncated", "rows_truncated", "gap_hard",
             "gap_prose", "gap_sql")        # metrics that need not lie from 0 to 1
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Route:
    """Right rows among the answered ones, of all that were asked; right is a fraction where answers were drawn."""

    right: float
    answered: int
    asked: int

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Route:
        kept = behaviour.answered(rows)
        drawn = [row["chance"] for row in kept if "chance" in row]
        right = sum(drawn) if drawn and len(drawn) == len(kept) else sum(row["route_ok"] is True for row in kept)
        return cls(right, len(kept), len(rows))

    @property
    def of_answered(self) -> float | None:
        return self.right / self.answered if self.answered else None

    @property
    def worst_case(self) -> float | None:
        return self.right / self.asked if self.asked else None

    def standing(self, name: str) -> Standing:
        """For the swaps; only for routes that were counted."""
        return Standing(name, int(self.right), self.answered, self.asked)


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of the rows that tell them; billed: what providers say, None unless they say so for every row.

    written: into a cache; they are among the uncached ones.
    """

    rows: int
    asked: int
    uncached: int
    read: int
    output: int
    billed: float | None
    written: int = 0

    def prices(self, rates: Rates) -> tuple[float, float]:
        """(list price, as if nothing were cached; estimate with the cache's price)."""
        tokens = Tokens(self.uncached - self.written, self.written, self.read, self.output)
        return tokens.list_price(rates), tokens.price(rates)


@dataclass(frozen=True, slots=True)
class Routing:
    """A run of the suite.

    condition, procedure: as its settings say. panel: hash. limit: its --limit, None for a whole panel. hard: the bucket
    that leads, None where the questions are not graded or none is hard. metrics, answered_metrics: as the results file
    has them. routes: all rows under ALL, then by bucket; databases, clusters: by name. hard_of: questions of the hard
    bucket by database and by cluster. sql: (task, sql_set, sql_strict) of the answered rows whose gold ran; faulty:
    tasks with a faulty gold, None without an audit. switching, first, first_right, touched, turns, unprobed, recovered:
    see `behaviour`; the last three as (k, n). errors: why rows declare nothing. prose: answered rows whose declaration
    or prose is right. cut: answered rows with a cut schema, with cut results. upstreams, histories: whom calls were
    answered by, and how finalisations showed the turns, in rows. status: why the run is not ranked. follows: rows that
    follow the paragraph, (k, n). majority: the database with the most questions and how many, in all and in the hard
    bucket. ratio: hard beside the other questions within databases, None without both verdicts. given: the answer to
    each (task, repeat). buckets: task → bucket. drifts: of each two repeats, by bucket and ALL. wasted: tokens that
    finalisations wrote into a cache, which nothing reads.
    """

    condition: str
    procedure: str
    panel: str | None
    limit: int | None
    offered: int
    hard: str | None
    metrics: Mapping[str, float | None]
    answered_metrics: Mapping[str, float | None]
    routes: Mapping[str, Route]
    databases: Mapping[str, Route]
    clusters: Mapping[str, Route]
    hard_of: tuple[Mapping[str, int], Mapping[str, int]]
    sql: tuple[tuple[str, bool, bool], ...]
    switching: Switching
    first: FirstProbe
    first_right: tuple[int, int]
    touched: Mapping[str, Touched]
    turns: float | None
    unprobed: tuple[int, int]
    recovered: tuple[int, int]
    errors: Mapping[str, int]
    prose: int
    stops: Mapping[str, int]
    cut: tuple[int, int]
    upstreams: Mapping[str, int]
    histories: Mapping[str, int]
    status: str | None
    follows: tuple[int, int] | None
    majority: Mapping[str, tuple[str, int]]
    ratio: PooledRatio | None
    given: Mapping[tuple[str, int], Given]
    buckets: Mapping[str, str]
    drifts: Mapping[str, tuple[Drift, ...]]
    spent: Spent | None
    drawn: bool = False
    wasted: int = 0
    faulty: frozenset[str] | None = None

    @property
    def votes(self) -> bool:
        """Do the buckets know of votes?"""
        return any(bucket in BUCKETS for bucket in self.buckets.values())

    @property
    def leading(self) -> Route:
        """The route of the bucket that leads."""
        return self.routes[self.hard or ALL]

    @property
    def recovered_share(self) -> float | None:
        return self.recovered[0] / self.recovered[1] if self.recovered[1] else None

    @property
    def adapted(self) -> bool:
        """Is it the model with an adapter that is measured?"""
        return (self.recovered_share or 0.0) > ADAPTED

    def corridor(self, kind: str) -> Corridor:
        """Of sql_set or sql_strict."""
        place = 1 + KINDS.index(kind)
        return corridor(((row[0], row[place]) for row in self.sql), self.faulty)

    @property
    def drift(self) -> Fraction | None:
        """The largest that repeats show in the bucket that leads; None where nothing was repeated."""
        return largest_drift(self.drifts.get(self.hard or ALL, ()))


def routing_of(run: Run) -> Routing | None:
    """None for a run of another suite, or without rows."""
    if run.suite != SUITE or not run.rows:
        return None
    rows = [row.details for row in run.rows]
    kept = behaviour.answered(rows)
    hard = found if (found := hardest(rows)) in {row["bucket"] for row in rows} else None
    agentic = [row for row in kept if row["procedure"] == AGENTIC]
    offered = offered_to(run)
    return Routing(
        *_how(run, kept), run.hashes.get("panel"), _limit(run), offered, hard,
        metrics_of(rows, offered), metrics_of(kept, offered) if kept else {},
        {ALL: Route.of(rows), **{name: Route.of(of) for name, of in by_bucket(rows).items()}},
        {name: Route.of(of) for name, of in by(rows, "database").items()},
        {name: Route.of(of) for name, of in by(rows, "cluster").items()},
        _hard_of([row for row in rows if row["bucket"] == hard]),
        tuple((row["task_id"], row["sql_set"], bool(row["sql_strict"])) for row in kept if row["sql_set"] is not None),
        behaviour.switching(agentic), behaviour.first_probe(agentic), behaviour.first_probe_right(agentic),
        behaviour.touched_by_bucket(agentic), behaviour.mean_tool_turns(agentic), behaviour.declared_unprobed(agentic),
        (sum(row["recovered_calls"] for row in kept), sum(row["tool_calls"] for row in kept)),
        Counter(row["declaration_error"] for row in kept if row["declaration_error"]),
        sum(bool(row["lenient_call_match"]) for row in kept), Counter(row["stop_reason"] for row in kept),
        (sum(bool(row["schema_truncated"]) for row in kept), sum(bool(row["rows_truncated"]) for row in kept)),
        Counter(name for row in kept for name in row["upstreams"]),
        Counter(row["history"] for row in kept if row["history"]),
        behaviour.status_of(agentic) if not run.baseline else None, _follows(kept), _majority(rows, hard),
        _ratio(kept, hard), *_given(run), _drifts(run), _spent(rows), any("chance" in row for row in kept),
        sum(row.get("final_cache_write") or 0 for row in kept))


def offered_to(run: Run) -> int:
    """Databases that each question was offered, as the stored worth of chance tells; 1 where it tells nothing."""
    chance = run.metrics.get("chance")
    return max(1, round(1 / chance)) if chance else 1


def _how(run: Run, rows: Sequence[Row]) -> tuple[str, str]:
    """(condition, procedure), as the settings say, else as the first row does."""
    row = rows[0] if rows else {}
    return (str(run.settings.get("condition") or row.get("condition") or "anonymised"),
            str(run.settings.get("procedure") or row.get("procedure") or AGENTIC))


def _limit(run: Run) -> int | None:
    """As --limit or --per-category was given."""
    found = [run.settings.get(name) for name in ("limit", "per_category")]
    return next((n for n in found if isinstance(n, int) and not isinstance(n, bool)), None)


def _hard_of(rows: Sequence[Row]) -> tuple[dict[str, int], dict[str, int]]:
    ids = {row["task_id"]: row for row in rows}
    return (by_database(row["database"] for row in ids.values()),
            by_database(row["cluster"] or "isolated" for row in ids.values()))


def _follows(rows: Sequence[Row]) -> tuple[int, int] | None:
    told = [row["follows_paragraph"] for row in rows if "follows_paragraph" in row]
    return (sum(told), len(told)) if told else None


def _majority(rows: Sequence[Row], hard: str | None) -> dict[str, tuple[str, int]]:
    """ALL and the hard bucket → (database, its questions)."""
    tasks = {row["task_id"]: row for row in rows}.values()
    parts = {ALL: by_database(row["database"] for row in tasks)}
    if hard:
        parts[hard] = by_database(row["database"] for row in tasks if row["bucket"] == hard)
    return {name: next(iter(counts.items())) for name, counts in parts.items() if counts}


def _ratio(rows: Sequence[Row], hard: str | None) -> PooledRatio | None:
    """Share of right routes among hard questions over that among the others, within databases.

    None where every answer is right, or none: the halves added to empty cells would show a ratio that nothing made.
    """
    if len({bool(row["route_ok"]) for row in rows}) < 2:
        return None
    strata = []
    for name, inside in by(rows, "database").items():
        sides = [[row for row in inside if (row["bucket"] == hard) is is_hard] for is_hard in (True, False)]
        counts = [n for side in sides for n in (sum(row["route_ok"] for row in side), len(side))]
        strata.append(Stratum(name, *counts))
    return risk_ratio(strata)


def _given(run: Run) -> tuple[dict[tuple[str, int], Given], dict[str, str]]:
    """(answers of the answered rows, the bucket of each task)."""
    given = {(row.task_id, row.repeat): Given(row.details["declared"], bool(row.score.call_match))
             for row in run.rows if not row.score.failed}
    return given, {row.task_id: row.details["bucket"] for row in run.rows}


def _drifts(run: Run) -> dict[str, tuple[Drift, ...]]:
    """Every two repeats of a run, over the questions that both answered."""
    repeats: dict[int, dict[str, Given]] = {}
    buckets = {}
    for row in run.rows:
        if not row.score.failed:
            repeats.setdefault(row.repeat, {})[row.task_id] = Given(row.details["declared"],
                                                                    bool(row.score.call_match))
            buckets[row.task_id] = row.details["bucket"]
    found: dict[str, list[Drift]] = {}
    for one, other in combinations([repeats[number] for number in sorted(repeats)], 2):
        for name, drift in {ALL: drift_between(one, other), **drift_by_bucket(buckets, one, other)}.items():
            found.setdefault(name, []).append(drift)
    return {name: tuple(drifts) for name, drifts in found.items()}


def _spent(rows: Iterable[Row]) -> Spent | None:
    rows = list(rows)
    told = [row["tokens"] for row in rows if "tokens" in row]
    if not told:
        return None
    read = [min(cached or 0, spent) for spent, _, cached in told]
    bills = [reported({"cost": row["billed"]}) for row in rows if "billed" in row]
    billed = [bill for bill in bills if bill is not None]
    return Spent(len(told), len(rows), sum(spent for spent, _, _ in told) - sum(read), sum(read),
                 sum(received for _, received, _ in told), sum(billed) if len(billed) == len(rows) else None,
                 sum(row.get("cache_write") or 0 for row in rows if "tokens" in row))
