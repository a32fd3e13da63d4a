"""What a run of the suite chain comes to: success, how it was reached, what went wrong on the way, and the twins; pure.

Formulas: `infranode_eval.chain.metrics`. Rows of the control set count in nothing but their own number and the pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from infranode_eval.chain.metrics import (
    CONTROL,
    Count,
    by_category,
    core,
    count_of,
    counts_of,
    metrics_of,
    scored,
    twins,
)
from infranode_eval.chain.tasks import CATEGORIES
from infranode_eval.reports.archive import Row, Run
from infranode_eval.reports.paired import Paired, pair
from infranode_eval.reports.plays import STOPS, SUITE
from infranode_eval.reports.repeats import Steadiness, steadiness_of
from lm_eval_task.records import Task

OFFERED = "wrong_turn"      # the category in which an error is offered
CALL_RATIOS = ("call_ratio", "call_ratio_success")     # no shares


@dataclass(frozen=True, slots=True)
class Profile:
    """Answered rows of wrong_turn: took the offered error or saw it coming, and solved the task or did not."""

    clean_solved: int
    clean_lost: int
    error_solved: int
    error_lost: int


@dataclass(frozen=True, slots=True)
class Twins:
    """Rows of a category beside their twins, which have a plain value; paired: the row minus its twin."""

    category: str
    solved: float
    twins_solved: float
    paired: Paired


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A slip by its name: how many wrong answers equal what it gives, and in which tasks."""

    name: str
    rows: int
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took: tokens in and out together, money; each None where nobody told. currency: None where unnamed."""

    tokens: int | None
    amount: float | None
    currency: str | None


@dataclass(frozen=True, slots=True)
class Chain:
    """A run of the suite. Everything but control, twins, successes is over the rows outside the control set.

    rows: how many those are, answered: of which were answered. counts: shares and ratios by their names in results
    files; over_answered: the same without failures; categories: the same for each. metrics, answered_metrics: as the
    results file has them. control: task_success of the control rows, by category. failed: rows without an answer, by
    category and control included. stops: plays by how they ended. successes: solved rows, control included. steadiness:
    by category, empty where each task was played once.
    """

    rows: int
    answered: int
    counts: Mapping[str, Count]
    over_answered: Mapping[str, Count]
    categories: Mapping[str, Mapping[str, Count]]
    metrics: Mapping[str, float | None]
    answered_metrics: Mapping[str, float | None]
    control: Mapping[str, Count]
    failed: Mapping[str, int]
    stops: Mapping[str, int]
    profile: Profile | None
    twins: tuple[Twins, ...]
    near: tuple[NearMiss, ...]
    turns: float | None
    extra_reads: int
    repeated_calls: int
    successes: int
    steadiness: Mapping[str, Steadiness]
    cost: Cost | None = None

    @property
    def control_success(self) -> Count:
        """Over all categories."""
        return Count(sum(c.k for c in self.control.values()), sum(c.n for c in self.control.values()))


def counted_rows(run: Run) -> tuple[Row, ...]:
    """The rows that a run's numbers are over: without the twins of the control set, unless there is nothing else."""
    if run.suite != SUITE:
        return run.rows
    return tuple([row for row in run.rows if row.details.get("set") != CONTROL]) or run.rows


def with_sets(run: Run, tasks: Mapping[str, Task]) -> Run:
    """The run with the set and the twin of each row, which a failed row does not tell: its task does."""
    if run.suite != SUITE:
        return run
    return replace(run, rows=tuple([replace(row, details={**_of_task(tasks.get(row.task_id)), **row.details})
                                    if row.score.failed else row for row in run.rows]))


def _of_task(task: Task | None) -> dict[str, Any]:
    if task is None:
        return {}
    told = {"set": task.set, "pair": task.extra.get("pair"), "needed": len(task.expected)}
    return {name: value for name, value in told.items() if value is not None}


def chain_of(run: Run, clusters: Mapping[str, str]) -> Chain | None:
    """None for a run of another suite, or without rows. clusters: which tasks stand or fall together, where known."""
    if run.suite != SUITE or not run.rows:
        return None
    rows = [_counted(row) for row in run.rows]
    inside, answered = core(rows), [row for row in rows if scored(row)]
    control = by_category(row for row in rows if row.get("set") == CONTROL)
    turns = [row["turns"] for row in core(answered) if "turns" in row]
    steady = {name: found for name, of in _rows_by_category(run.rows).items()
              if (found := steadiness_of(of)) is not None}
    return Chain(
        len(inside), len(core(answered)), counts_of(inside), counts_of(core(answered)),
        {name: counts_of(of) for name, of in in_order(by_category(inside)).items()},
        metrics_of(rows), metrics_of(answered),
        {name: count_of(of, "task_success") for name, of in in_order(control).items()},
        Counter(row["category"] for row in rows if not scored(row)), _stops(inside), _profile(inside),
        tuple(_twins(rows, clusters)), _near(inside),
        sum(turns) / len(turns) if turns else None, _sum(inside, "extra_reads"), _sum(inside, "repeated_calls"),
        sum(bool(row.get("task_success")) for row in rows), steady, cost_of(run.totals))


def _counted(row: Row) -> dict[str, Any]:
    return {**row.details, "task_id": row.task_id, "category": row.category, "repeat": row.repeat}


def in_order(found: Mapping[str, Any]) -> dict[str, Any]:
    """By category, the specification's in its order, then others."""
    return {name: found[name] for name in (*CATEGORIES, *found) if name in found}


def _rows_by_category(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.details.get("set") != CONTROL:
            found.setdefault(row.category, []).append(row)
    return in_order(found)


def _stops(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    found = Counter(row.get("stop_reason", "failure") for row in rows)
    return {name: found[name] for name in (*STOPS, *sorted(found.keys() - set(STOPS))) if found[name]}


def _profile(rows: Iterable[Mapping[str, Any]]) -> Profile | None:
    inside = [(bool(row.get("error_results")), row["task_success"]) for row in rows
              if row["category"] == OFFERED and scored(row)]
    counts = [inside.count((error, solved)) for error in (False, True) for solved in (True, False)]
    return Profile(*counts) if inside else None


def _near(rows: Iterable[Mapping[str, Any]]) -> tuple[NearMiss, ...]:
    """The most frequent first."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.get("near_miss"):
            found.setdefault(row["near_miss"], []).append(row["task_id"])
    return tuple(NearMiss(name, len(ids), tuple(dict.fromkeys(ids)))
                 for name, ids in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def _sum(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(row.get(name) or 0 for row in rows)


def _twins(rows: Sequence[Mapping[str, Any]], clusters: Mapping[str, str]) -> Iterable[Twins]:
    """One for each category with twins; strict, a task counts as the share of its repeats that succeed."""
    pairs = twins(rows)
    for category in in_order(dict.fromkeys(row["category"] for row, _ in pairs)):
        first: dict[str, list[bool]] = {}
        second: dict[str, list[bool]] = {}
        for row, twin in pairs:
            if row["category"] == category:
                first.setdefault(row["task_id"], []).append(bool(twin.get("task_success")))
                second.setdefault(row["task_id"], []).append(bool(row.get("task_success")))
        plain, hard = ([sum(v) / len(v) for v in shares.values()] for shares in (first, second))
        found = pair(plain, hard, [clusters.get(key, key) for key in first], max(map(len, first.values())))
        yield Twins(category, sum(hard), sum(plain), found)


def cost_of(totals: Mapping[str, Any]) -> Cost | None:
    """As stored in the file; None where it tells neither."""
    counts = [totals.get(name) for name in ("input_tokens", "output_tokens")]
    tokens = sum(counts) if all(isinstance(n, int) for n in counts) else None      # type: ignore[arg-type]
    cost = totals.get("cost")
    amount = cost.get("amount") if isinstance(cost, dict) else None
    amount = float(amount) if isinstance(amount, (int, float)) else None
    currency = cost.get("currency") if isinstance(cost, dict) and isinstance(cost.get("currency"), str) else None
    return Cost(tokens, amount, currency) if tokens is not None or amount is not None else None


def shares_of(rows: Sequence[Row]) -> dict[str, float | None]:
    """What caveats are told by: how replies arrived, over the answered rows."""
    answered = [row for row in rows if not row.score.failed]
    if not answered:
        return dict.fromkeys(("native", "recovered", "malformed", "truncated"))
    return {"native": sum(row.native for row in answered) / len(answered), "recovered": None,
            "malformed": sum(row.score.parsed is False for row in answered) / len(answered),
            "truncated": sum(row.details.get("stop_reason") == "truncated" for row in answered) / len(answered)}


def world_name(world: Mapping[str, Any]) -> str:
    """As "snapshot s1 3fa9c0d1e2b4"; empty without a world."""
    hash_ = world.get("sha256")
    parts = [world.get("kind"), world.get("name"), hash_[:12] if isinstance(hash_, str) else None]
    return " ".join(part for part in parts if isinstance(part, str))

