"""One run as the numbers that tables show; pure: a `Run` and its tasks in, a `Summary` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from infranode_eval.archive import UNKNOWN, Row, Run
from infranode_eval.statistics import DRAWS, SEED, Interval, cluster_bootstrap, wilson
from infranode_eval.tasksets import TaskSet, cluster_of, is_hard, set_of
from lm_eval_task.metrics import SCORER_VERSION, aggregate, mean
from lm_eval_task.records import Task

POLICY = "not_covered"
PROFILE = ("direct key", "overview", "list_cities", "other key", "other tool", "no call", "unreadable")

FEW_PARSED, MANY_RECOVERED, MANY_TRUNCATED = 0.5, 0.2, 0.02   # specification: scoring, Aggregates


@dataclass(frozen=True, slots=True)
class Count:
    """Solved rows, all rows, answered rows."""

    solved: int
    n: int
    answered: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What tables need of a run. `run` comes without its rows and tasks, so that many summaries stay small.

    dataset: name of the set, known: by its hash, else as the file says, None if it does not. task_count: different
    tasks. repeats: rows per task. strict, answered: metrics over all and over answered rows. interval: of call_match,
    None without rows; method: how it was found. categories: in the order of the rows. hard: None where it is not known
    which tasks are. shares: native, recovered, malformed, truncated among the answered rows. profile: first calls in
    not_covered, None without such tasks or without their gold.
    """

    run: Run
    dataset: str | None
    known: bool
    task_count: int
    repeats: int
    strict: Mapping[str, float | None]
    answered: Mapping[str, float | None]
    interval: Interval | None
    method: str
    categories: Mapping[str, Count]
    hard: Count | None
    outcomes: Mapping[str, int]
    shares: Mapping[str, float | None]
    profile: Mapping[str, int] | None
    warnings: tuple[str, ...]

    @property
    def macro(self) -> float | None:
        """Unweighted mean over all categories, not_covered included; ability leaves that out."""
        return mean(c.solved / c.n for c in self.categories.values())

    @property
    def budget_limited(self) -> bool:
        return (self.shares.get("truncated") or 0.0) > MANY_TRUNCATED


def summarise(run: Run, sets: Sequence[TaskSet] = ()) -> Summary:
    """All numbers of a run. sets: the known sets of tasks, for their names, hard tasks, golds and clusters."""
    known = set_of(run, sets)
    tasks = known.tasks if known else run.tasks
    ids = {row.task_id for row in run.rows}
    repeats = len({row.repeat for row in run.rows}) or 1
    pairs = [(row.category, row.score) for row in run.rows]
    interval, method = _interval(run, known, repeats)
    hashes = {**run.hashes, "tasks": known.fingerprint} if known else run.hashes
    summary = Summary(
        run=replace(run, rows=(), tasks={}, hashes=hashes),
        dataset=known.name if known else run.set_name, known=known is not None, task_count=len(ids) or run.n,
        repeats=repeats, strict=aggregate(pairs) if pairs else run.metrics,
        answered=aggregate([p for p in pairs if not p[1].failed]) if pairs else run.answered,
        interval=interval, method=method, categories=_categories(run.rows),
        hard=_count([r for r in run.rows if is_hard(tasks[r.task_id])]) if ids and ids <= tasks.keys() else None,
        outcomes=Counter(row.score.outcome for row in run.rows), shares=_shares(run.rows),
        profile=_profile(run.rows, tasks), warnings=())
    return replace(summary, warnings=tuple(_warnings(summary, run)))


def _count(rows: Sequence[Row]) -> Count:
    return Count(sum(bool(r.score.call_match) for r in rows), len(rows), sum(not r.score.failed for r in rows))


def _categories(rows: Sequence[Row]) -> dict[str, Count]:
    by_category: dict[str, list[Row]] = {}
    for row in rows:
        by_category.setdefault(row.category, []).append(row)
    return {category: _count(inside) for category, inside in by_category.items()}


def _interval(run: Run, known: TaskSet | None, repeats: int) -> tuple[Interval | None, str]:
    """Wilson for tasks asked once; beyond the core set rows come from templates, so clusters are drawn."""
    solved = [bool(row.score.call_match) for row in run.rows]
    if not solved:
        value = run.metrics.get("call_match")
        return (wilson(value * run.n, run.n), "Wilson") if value is not None and run.n else (None, "")
    templates = known.tasks if known and known.name not in ("core", "own tasks") else {}
    if repeats == 1 and not templates:
        return wilson(sum(solved), len(solved)), "Wilson"
    clusters = [cluster_of(templates[row.task_id]) if row.task_id in templates else row.task_id for row in run.rows]
    return (cluster_bootstrap(zip(clusters, map(float, solved), strict=True)),
            f"cluster bootstrap ({DRAWS:,} draws, seed {SEED})")


def _shares(rows: Sequence[Row]) -> dict[str, float | None]:
    answered = [row for row in rows if not row.score.failed]
    if any(row.score.outcome == UNKNOWN for row in answered):
        return dict.fromkeys(("native", "recovered", "malformed", "truncated"))
    return {
        "native": mean(row.native for row in answered),
        "recovered": mean(row.score.outcome == "ok_recovered" for row in answered),
        "malformed": mean(row.score.outcome == "malformed_call" for row in answered),
        "truncated": mean(row.score.outcome == "truncated" for row in answered),
    }


# --- not_covered ------------------------------------------------------------------------------------------------------

def _profile(rows: Sequence[Row], tasks: Mapping[str, Task]) -> dict[str, int] | None:
    inside = [row for row in rows if row.category == POLICY]
    if not inside or any(row.score.outcome == UNKNOWN for row in inside) \
            or not all(row.task_id in tasks and tasks[row.task_id].expected for row in inside):
        return None
    found = Counter(first_call(row, tasks[row.task_id]) for row in inside if not row.score.failed)
    return {name: found[name] for name in PROFILE}


def first_call(row: Row, task: Task) -> str:
    """What an answer did first about a datum that the city does not have: one of PROFILE. The slug does not matter."""
    if row.score.outcome in ("malformed_call", "truncated"):
        return "unreadable"
    if not row.score.calls:
        return "no call"
    call = row.score.calls[0]
    keys = [a[0].arguments.get("resource") for a in task.alternatives if a and a[0].name == call.name]
    if keys and call.arguments.get("resource") in keys:
        return "direct key"
    return {"get_city_overview": "overview", "list_cities": "list_cities",
            "get_city_resource": "other key"}.get(call.name, "other tool")


# --- warnings ---------------------------------------------------------------------------------------------------------

def _warnings(summary: Summary, run: Run) -> list[str]:
    """What a reader must know before reading the numbers; a baseline is a program, so its habits are no news."""
    found = list(run.notes)
    if run.failed:
        found.append(f"{run.failed} of {run.n} rows are failures without an answer: strict numbers count them as not "
                     "solved" + ("" if run.harness.startswith("lm-eval") else ", run_eval.py --resume asks again"))
    elif not run.complete:
        found.append("the run is incomplete")
    if run.scorer_version != SCORER_VERSION:
        found.append(f"scored by version {run.scorer_version}, this report's scorer is {SCORER_VERSION}")
    found += _disagreements(summary, run)
    if not run.baseline:
        found += _serving(summary)
    return found


def _serving(summary: Summary) -> list[str]:
    found = []
    parsed, shares = summary.answered.get("parsed"), summary.shares
    blame = "the server's or template's settings, not the model, are the likely cause"
    if parsed is not None and parsed < FEW_PARSED:
        found.append(f"only {parsed:.1%} of the answered rows could be read: {blame}")
    if (shares["recovered"] or 0.0) > MANY_RECOVERED:
        found.append(f"{shares['recovered']:.1%} of the answered rows needed a recovery rule: {blame}")
    if summary.budget_limited:
        found.append(f"{shares['truncated']:.1%} of the answered rows were cut by the token budget: budget-limited, "
                     "no rank")
    if len(summary.outcomes) == 1 and UNKNOWN not in summary.outcomes and summary.run.n > 1:
        outcome = next(iter(summary.outcomes))
        found.append(f"every row has the outcome {outcome}: look at some replies before believing the number")
    return found


def _disagreements(summary: Summary, run: Run) -> list[str]:
    """Stored numbers that the rows do not give; the tables show what the rows give."""
    if not run.rows:
        return []
    wrong = sorted(name for name, value in run.metrics.items() if name in summary.strict
                   and not _close(value, summary.strict[name]))
    return [f"stored {', '.join(wrong)} differ from what the rows give; shown is what the rows give"] if wrong else []


def _close(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else abs(one - other) < 1e-6
