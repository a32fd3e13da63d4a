"""One run as the numbers that tables show; pure: a `Run` and its tasks in, a `Summary` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from infranode_eval.reports.ability import policies_of
from infranode_eval.reports.abstention import Abstention, abstention_of
from infranode_eval.reports.archive import UNKNOWN, Row, Run
from infranode_eval.reports.bench import Bench, bench_of, metrics_of
from infranode_eval.reports.caveats import MANY_TRUNCATED, caveats_of
from infranode_eval.reports.chain import Chain, chain_of, counted_rows, in_order, shares_of, with_sets
from infranode_eval.reports.db_routing import Routing, routing_of
from infranode_eval.reports.difficulty import BUCKETS
from infranode_eval.reports.repeats import Steadiness, steadiness_of
from infranode_eval.reports.robustness import Robustness, robustness_of
from infranode_eval.reports.tasksets import TaskSet, clusters_of, set_of
from infranode_eval.reports.team import Team, team_of
from infranode_eval.statistics import DRAWS, SEED, Interval, clustered_proportion, wilson
from lm_eval_task.metrics import POLICIES, aggregate, mean
from lm_eval_task.records import FAILURES, Score, Task
from lm_eval_task.tools import Toolset

POLICY = "not_covered"
PROFILE = ("direct key", "overview", "list_cities", "other key", "other tool", "no call", "unreadable")

# What a row comes to: four things that are not a wrong call stay apart (specification: scoring, Outcomes).
FATES = ("right", "wrong call", "did not call", "could not read", "ran out of tokens", "no answer")


@dataclass(frozen=True, slots=True)
class Count:
    """Solved rows, all rows, answered rows."""

    solved: int
    n: int
    answered: int


@dataclass(frozen=True, slots=True)
class Spread:
    """What an interval is made of: solved and all rows, and each row's cluster and verdict where clusters are drawn."""

    solved: float
    n: int
    clusters: tuple[str, ...] = ()
    verdicts: tuple[bool, ...] = ()

    @property
    def interval(self) -> Interval:
        if not self.clusters:
            return wilson(self.solved, self.n)
        return clustered_proportion(self.clusters, self.verdicts)


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of each task, in the order of the rows: how many of its repeats are solved, and what they weigh.

    clusters: which tasks stand or fall together; empty where every task stands alone. policies: the categories that
    stay out of ability.
    """

    task_ids: tuple[str, ...]
    solved: tuple[int, ...]
    asked: tuple[int, ...]
    categories: tuple[str, ...]
    clusters: tuple[str, ...] = ()
    policies: tuple[str, ...] = POLICIES

    @property
    def shares(self) -> dict[str, float]:
        """The share of its repeats that is solved, by task."""
        return {key: solved / asked for key, solved, asked in zip(self.task_ids, self.solved, self.asked, strict=True)}


@dataclass(frozen=True, slots=True)
class Summary:
    """What tables need of a run. `run` comes without its rows and tasks, so that many summaries stay small.

    dataset: name of the set, known: by its hash, else as the file says, None if it does not. task_count: different
    tasks. repeats: rows per task. strict, answered: metrics over all and over answered rows. spread: what `interval`
    is made of; method: how. categories: in the order of the rows, of chain in its own. difficulty: rows by BUCKETS,
    empty where unknown.
    fates: rows by FATES, and by UNKNOWN where lm-eval's verdict cannot be explained; empty for chain, db_routing, team.
    shares: native, malformed, truncated among the answered rows, recovered among the readable calls. profile: first
    calls in not_covered, None without such tasks or without their gold. tally: None without rows. steadiness: None for
    tasks that were asked once.
    robustness, abstention: of runs over these sets only; bench, chain, routing, team: of these suites only. In chain
    all numbers but the counts of `run` are over the rows outside its control set. version: of the set, None where it is
    not known.
    """

    run: Run
    dataset: str | None
    known: bool
    task_count: int
    repeats: int
    strict: Mapping[str, float | None]
    answered: Mapping[str, float | None]
    spread: Spread | None
    method: str
    categories: Mapping[str, Count]
    difficulty: Mapping[str, Count]
    outcomes: Mapping[str, int]
    fates: Mapping[str, int]
    shares: Mapping[str, float | None]
    profile: Mapping[str, int] | None
    warnings: tuple[str, ...]
    tally: Tally | None = None
    steadiness: Steadiness | None = None
    robustness: Robustness | None = None
    abstention: Abstention | None = None
    bench: Bench | None = None
    chain: Chain | None = None
    routing: Routing | None = None
    team: Team | None = None
    version: str | None = None

    @property
    def interval(self) -> Interval | None:
        """Of `measure`, None without rows; drawn when asked for, since a bootstrap costs more than all the rest."""
        return self.spread.interval if self.spread else None

    @property
    def measure(self) -> str:
        """As of the run."""
        return self.run.measure

    @property
    def macro(self) -> float | None:
        """Unweighted mean over all categories, not_covered included; ability leaves that out."""
        return mean(c.solved / c.n for c in self.categories.values())

    @property
    def budget_limited(self) -> bool:
        return (self.shares.get("truncated") or 0.0) > MANY_TRUNCATED


def summarise(run: Run, sets: Sequence[TaskSet] = (), tools: Toolset | None = None) -> Summary:
    """All numbers of a run.

    sets: the known sets of tasks, for their names, hard tasks, golds and clusters. tools: if they are those of the run,
    the size of its prompt is checked.
    """
    known = set_of(run, sets)
    tasks = known.tasks if known else run.tasks
    ids = {row.task_id for row in run.rows}
    repeats = len({row.repeat for row in run.rows}) or 1
    run = with_sets(run, tasks)
    rows, bench = counted_rows(run), bench_of(run, tasks)
    chain = chain_of(run, clusters_of(known) if known else {})
    routing = routing_of(run)
    team = team_of(run, tasks)
    strict, answered = _metrics(run, bench, chain or routing or team)
    plays = chain is not None or routing is not None or team is not None
    tally, outcomes = _tally(rows, known, run.suite), Counter([row.score.outcome for row in rows])
    spread, method = (None, "") if team else _spread(run, rows, tally, repeats)
    hashes = {**run.hashes, "tasks": known.fingerprint} if known else run.hashes
    dataset = known.name if known else run.set_name
    summary = Summary(
        run=replace(run, rows=(), tasks={}, hashes=hashes),
        dataset=dataset, known=known is not None, task_count=len(ids) or run.n,
        repeats=repeats, strict=strict, answered=answered,
        spread=spread, method=method, categories=in_order(_categories(rows)) if chain else _categories(rows),
        difficulty=_difficulty(run.rows, known),
        outcomes=outcomes, fates={} if plays else _fates(rows, outcomes),
        shares=shares_of(run.rows) if plays else _shares(run.rows, outcomes),
        profile=None if plays else _profile(run.rows, tasks), warnings=(), tally=tally,
        steadiness=steadiness_of(rows) if repeats > 1 else None,
        robustness=robustness_of(run.rows, tasks, _core_ids(sets)) if dataset == "robust" else None,
        abstention=abstention_of(run.rows, tasks) if dataset == "abstain" else None, bench=bench, chain=chain,
        routing=routing, team=team, version=known.version if known else None)
    warnings = (*caveats_of(replace(run, hashes=hashes), summary.shares, tools), *_disagreements(summary, run))
    return replace(summary, warnings=warnings)


Numbers = Mapping[str, "float | None"]


def _metrics(run: Run, bench: Bench | None, played: Chain | Routing | Team | None) -> tuple[Numbers, Numbers]:
    """(over all rows, over the answered ones); as stored for a run without rows."""
    if not run.rows:
        return run.metrics, run.answered
    if isinstance(played, Team):
        return played.strict, played.answered
    if played is not None:
        return played.metrics, played.answered_metrics
    pairs = [(row.category, row.score) for row in run.rows]
    strict = aggregate(pairs)
    answered = _answered(pairs, strict)
    if bench is not None:
        return {**strict, **metrics_of(bench)}, {**answered, **metrics_of(bench, answered=True)}
    return strict, answered


def _answered(pairs: Sequence[tuple[str, Score]], strict: Mapping[str, float | None]) -> Mapping[str, float | None]:
    """The metrics over the answered rows: those over all rows where nothing failed, which most runs are."""
    answered = [pair for pair in pairs if not pair[1].failed]
    return strict if len(answered) == len(pairs) else aggregate(answered)


def _count(rows: Sequence[Row]) -> Count:
    found = [row.score.call_match for row in rows]      # None: no answer
    return Count(found.count(True), len(found), len(found) - found.count(None))


def _difficulty(rows: Sequence[Row], known: TaskSet | None) -> dict[str, Count]:
    """By bucket; a bucket without a row is left out."""
    if known is None or not known.buckets:
        return {}
    inside = {bucket: [row for row in rows if known.buckets.get(row.task_id) == bucket] for bucket in BUCKETS}
    return {bucket: _count(found) for bucket, found in inside.items() if found}


def _core_ids(sets: Sequence[TaskSet]) -> Collection[str]:
    return next((known.tasks.keys() for known in sets if known.name == "core"), ())


def _categories(rows: Sequence[Row]) -> dict[str, Count]:
    by_category: dict[str, list[Row]] = {}
    for row in rows:
        by_category.setdefault(row.category, []).append(row)
    return {category: _count(inside) for category, inside in by_category.items()}


def _tally(rows: Sequence[Row], known: TaskSet | None, suite: str) -> Tally | None:
    if not rows:
        return None
    categories = {row.task_id: row.category for row in rows}
    solved, asked = dict.fromkeys(categories, 0), dict.fromkeys(categories, 0)
    for row in rows:
        asked[row.task_id] += 1
        if row.score.call_match:
            solved[row.task_id] += 1
    names = clusters_of(known) if known else {}
    clusters = tuple([names.get(key, key) for key in solved]) if names else ()
    return Tally(tuple(solved), tuple(solved.values()), tuple(asked.values()), tuple(categories.values()), clusters,
                 policies_of(suite))


def _spread(run: Run, rows: Sequence[Row], tally: Tally | None, repeats: int) -> tuple[Spread | None, str]:
    """Wilson for tasks asked once; beyond the core set rows come from templates, so clusters are drawn."""
    solved = [bool(row.score.call_match) for row in rows]
    if not solved:
        value = run.metrics.get("call_match")
        return (Spread(value * run.n, run.n), "Wilson") if value is not None and run.n else (None, "")
    by_task = dict(zip(tally.task_ids, tally.clusters, strict=True)) if tally and tally.clusters else {}
    if repeats == 1 and not by_task:
        return Spread(sum(solved), len(solved)), "Wilson"
    clusters = tuple([by_task.get(row.task_id, row.task_id) for row in rows])
    return (Spread(sum(solved), len(solved), clusters, tuple(solved)),
            f"cluster bootstrap ({DRAWS:,} draws, seed {SEED})")


_FATES = {"ok": "right", "ok_recovered": "right", "abstain_ok": "right", "no_call": "did not call",
          "malformed_call": "could not read", "truncated": "ran out of tokens"}


def _fates(rows: Sequence[Row], outcomes: Mapping[str, int]) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for outcome, count in outcomes.items():
        found["no answer" if outcome in FAILURES else _FATES.get(outcome, "wrong call")] += count
    if UNKNOWN in outcomes:     # lm-eval's verdict tells whether it was right, and nothing more
        right = sum(bool(row.score.call_match) for row in rows if row.score.outcome == UNKNOWN)
        found.update({"right": right, UNKNOWN: outcomes[UNKNOWN] - right, "wrong call": -outcomes[UNKNOWN]})
    return {name: found[name] for name in (*FATES, UNKNOWN)}


def _shares(rows: Sequence[Row], outcomes: Mapping[str, int]) -> dict[str, float | None]:
    answered = sum(count for outcome, count in outcomes.items() if outcome not in FAILURES)
    if UNKNOWN in outcomes or not answered:
        return dict.fromkeys(("native", "recovered", "malformed", "truncated"))
    native = sum([row.native and row.score.call_match is not None for row in rows])
    return {
        "native": native / answered,
        "recovered": mean([row.recovered for row in rows if row.recovered is not None]),
        "malformed": outcomes.get("malformed_call", 0) / answered,
        "truncated": outcomes.get("truncated", 0) / answered,
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


# --- stored numbers ---------------------------------------------------------------------------------------------------

def _disagreements(summary: Summary, run: Run) -> list[str]:
    """Stored numbers that the rows do not give; the tables show what the rows give."""
    if not run.rows:
        return []
    wrong = sorted(name for name, value in run.metrics.items() if name in summary.strict
                   and not _close(value, summary.strict[name]))
    return [f"stored {', '.join(wrong)} differ from what the rows give; shown is what the rows give"] if wrong else []


def _close(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else abs(one - other) < 1e-6
