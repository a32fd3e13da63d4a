"""Two runs over the same tasks, compared task by task: what flipped, and whether that is more than chance.

Pure. Strict: a failure is not solved. Which test is used where: specification, scoring, Aggregates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from infranode_eval.reports.archive import Row, Run, short_hash
from infranode_eval.reports.bench import FEW_CLUSTERS, SUITE, setup_of
from infranode_eval.reports.chain import with_sets, world_name
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.plays import CONTROL
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.tasksets import TaskSet, asks_the_same, clusters_of, set_of
from infranode_eval.reports.tiers import paired_p
from infranode_eval.statistics import (
    Interval,
    PairedTest,
    Pairs,
    cluster_bootstrap,
    exact_is_shown,
    mcnemar,
    mcnemar_exact,
    paired_difference,
    smallest_detectable_difference,
)
from lm_eval_task.errors import DataError
from lm_eval_task.records import Task

LEVEL = 0.05
DISCORDANT = (0.12, 0.25)   # shares of tasks that only one of two runs solves: similar runs, unlike runs


@dataclass(frozen=True, slots=True)
class Flip:
    """A task that one run solves more often than the other. change: share of repeats, second minus first, -1 to 1.

    tests: what the task is there for, in its author's words; empty where they are not known.
    """

    task_id: str
    category: str
    change: float
    first: Row
    second: Row
    tests: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """The tasks of a category: how many, and how many each run solves (a part of a task where repeats differ)."""

    n: int
    first: float
    second: float
    gained: int
    lost: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """`second` beside `first`; differences are second minus first.

    n: common tasks. answered: those that both runs answered, and what each solves of them. gained, lost: flips.
    difference: of call_match, `method` says how its interval was made. corrected, exact: McNemar's test, None with
    repeats. p: of the test that decides, named in `test`. detectable: the smallest difference that such pairs show with
    80 % power, None if none is; discordant: the share of tasks that it is for. notes: what else a reader must know.
    interval_holds: the interval and the test that decides say the same; else only the test is shown. streng: of a
    bench, both runs lead with the original's rule, and every number is by that. control: of the suite chain, the
    control twins, which stand in no other number; None without any.
    """

    first: Run
    second: Run
    n: int
    whole: Part
    answered: Part
    parts: Mapping[str, Part]
    flips: tuple[Flip, ...]
    difference: Interval
    method: str
    corrected: PairedTest | None
    exact: float | None
    p: float
    test: str
    detectable: float | None
    discordant: float
    notes: tuple[str, ...]
    interval_holds: bool = True
    streng: bool = False
    control: Part | None = None

    @property
    def measure(self) -> str:
        """What is compared, under its name in results files."""
        if self.first.suite in (PLAYED, ROUTED):
            return self.first.measure
        return "call_match" if self.first.suite != SUITE else "streng" if self.streng else "auftraege_gelungen"

    @property
    def unit(self) -> str:
        return unit_of(self.first)

    @property
    def gained(self) -> list[Flip]:
        return [f for f in self.flips if f.change > 0]

    @property
    def lost(self) -> list[Flip]:
        return [f for f in self.flips if f.change < 0]


@dataclass(frozen=True, slots=True)
class Paired:
    """What a paired comparison says, second minus first; fields as in `Comparison`."""

    difference: Interval
    method: str
    corrected: PairedTest | None
    exact: float | None
    p: float
    test: str


def paired(first: Sequence[float], second: Sequence[float], clusters: Sequence[str], *, templates: bool,
           repeated: bool, unit: str = "task") -> Paired:
    """Two runs over the same tasks. first, second: the share of its repeats that is solved, by task, 0–1.

    clusters: which tasks stand or fall together; templates: some of them do. repeated: tasks were asked more than once.
    """
    pairs = Pairs.of([share == 1 for share in second], [share == 1 for share in first])
    corrected = mcnemar(pairs.first_only, pairs.second_only)
    exact = mcnemar_exact(pairs.first_only, pairs.second_only)
    if repeated or templates:
        differences = [b - a for a, b in zip(first, second, strict=True)]
        return Paired(_clustered(differences, clusters, first), "cluster bootstrap", None if repeated else corrected,
                      None if repeated else exact, paired_p(second, first, [1.0] * len(first), clusters),
                      "paired test by clusters" if templates else f"paired test by {unit}s")
    small = exact_is_shown(pairs.first_only, pairs.second_only)
    return Paired(paired_difference(pairs), "Newcombe", corrected, exact, exact if small else corrected.p,
                  "McNemar, exact" if small else "McNemar, continuity-corrected")


def compare(first: Run, second: Run, sets: Sequence[TaskSet] = (), common: bool = False) -> Comparison:
    """Compare two runs. common: over the tasks that both sets hold with the same question, where the sets differ.

    Raise DataError if the runs cannot be paired: other mode, tools or tasks, or no rows.
    """
    first, second = (with_sets(_named(run, sets), tasks.tasks if (tasks := set_of(run, sets)) else run.tasks)
                     for run in (first, second))
    ids, twins = _without_twins(first, _paired_ids(first, second, sets, common))
    known = set_of(first, sets) or set_of(second, sets)
    streng = all(run.suite == SUITE and run.headline[:1] == ("streng",) for run in (first, second))
    one, other = (_rows(run, ids, streng) for run in (first, second))
    control = _part(twins, *(_rows(run, twins) for run in (first, second))) if twins else None
    flips = _flips(one, other, known.tasks if known else {})
    categories = {key: rows[0].category for key, rows in one.items()}
    templates = clusters_of(known) if known else {}
    repeated = any(len(rows) > 1 for rows in (*one.values(), *other.values()))
    answered = [key for key in ids if not any(r.score.failed for r in (*one[key], *other[key]))]
    clusters = [templates.get(key, key) for key in ids]
    verdict = paired([_share(one[key]) for key in ids], [_share(other[key]) for key in ids], clusters,
                     templates=bool(templates), repeated=repeated, unit=unit_of(first))
    discordant = len(flips) / len(ids)
    parts = {category: _part([key for key in ids if categories[key] == category], one, other)
             for category in dict.fromkeys(categories.values())}
    return Comparison(
        first, second, len(ids), _part(ids, one, other), _part(answered, one, other), parts, flips,
        verdict.difference, verdict.method, verdict.corrected, verdict.exact, verdict.p, verdict.test,
        smallest_detectable_difference(len(ids), discordant), discordant,
        (*_notes(first, second, len(ids), bool(templates), len(twins)),
         *_rows_note(first, one, other, len(set(clusters)))),
        _holds(verdict, len(set(clusters)), first.suite == SUITE), streng, control)


def _without_twins(run: Run, ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the tasks to compare, the control twins), the latter only in the suite chain; twins alone are compared."""
    twins = {row.task_id for row in run.rows if run.suite == PLAYED and row.details.get("set") == CONTROL}
    counted = [key for key in ids if key not in twins]
    return (counted, [key for key in ids if key in twins]) if counted else (list(ids), [])


def unit_of(run: Run) -> str:
    return "case" if run.suite == SUITE else "task"


def _holds(verdict: Paired, clusters: int, few: bool) -> bool:
    """May the interval stand beside the test that decides? few: the tasks are few, whatever the method.

    Drawn from few clusters an interval is too short, and one that excludes 0 beside p > 0.05 says two things at once.
    """
    drawn = verdict.method == "cluster bootstrap"
    if drawn and clusters < FEW_CLUSTERS:
        return False
    apart = not verdict.difference.low <= 0 <= verdict.difference.high
    return not (drawn or few) or apart == (verdict.p < LEVEL)


def _rows_note(run: Run, one: Mapping[str, Sequence[Row]], other: Mapping[str, Sequence[Row]],
               clusters: int) -> tuple[str, ...]:
    """What a case of a bench counts as where it has several rows."""
    counts = [sum(map(len, rows.values())) for rows in (one, other)]
    if run.suite != SUITE or counts == [clusters, clusters]:
        return ()
    rows = f"in each run {counts[0]}" if counts[0] == counts[1] else f"{counts[0]} and {counts[1]}"
    repeated = "; a case counts as the share of its repeats that succeed" if max(counts) > len(one) else ""
    return (f"{rows} rows of {clusters} cases{repeated}",)


def _named(run: Run, sets: Sequence[TaskSet]) -> Run:
    """The run with the hash of its tasks, which a shortened run of lm-eval cannot tell itself."""
    known = set_of(run, sets)
    return replace(run, hashes={**run.hashes, "tasks": known.fingerprint}) if known else run


def _clustered(differences: Sequence[float], clusters: Sequence[str], first: Sequence[float]) -> Interval:
    """The mean difference; runs that solve the very same are as far apart as their clusters let us know."""
    if any(differences):
        return cluster_bootstrap(zip(clusters, differences, strict=True))
    count = len(set(clusters))
    solved = round(count * sum(first) / len(first))
    return paired_difference(Pairs(solved, 0, 0, count - solved))


def _rows(run: Run, ids: Sequence[str], streng: bool = False) -> dict[str, list[Row]]:
    """By task. streng: solved is what the original's rule says."""
    found: dict[str, list[Row]] = {key: [] for key in ids}
    for row in run.rows:
        if row.task_id in found:
            found[row.task_id].append(_by_streng(row) if streng else row)
    return found


def _by_streng(row: Row) -> Row:
    if row.score.failed:
        return row
    return replace(row, score=replace(row.score, call_match=bool(row.details.get("streng_match"))))


def _share(rows: Sequence[Row]) -> float:
    return sum(bool(row.score.call_match) for row in rows) / len(rows)


def _part(ids: Sequence[str], one: Mapping[str, Sequence[Row]], other: Mapping[str, Sequence[Row]]) -> Part:
    shares = [(_share(one[key]), _share(other[key])) for key in ids]
    return Part(len(ids), sum(a for a, _ in shares), sum(b for _, b in shares),
                sum(b > a for a, b in shares), sum(b < a for a, b in shares))


def _flips(one: Mapping[str, Sequence[Row]], other: Mapping[str, Sequence[Row]],
           tasks: Mapping[str, Task]) -> tuple[Flip, ...]:
    """In the order of the tasks; with repeats the rows shown are the first of each run that tell the difference."""
    found = []
    for key, rows in one.items():
        change = _share(other[key]) - _share(rows)
        if change:
            found.append(Flip(key, rows[0].category, change, _example(rows, change < 0),
                              _example(other[key], change > 0), aim_of(tasks.get(key))))
    return tuple(found)


def aim_of(task: Task | None) -> str:
    """What a case tests, as its author wrote it; empty for other tasks."""
    aim = task.extra.get("prueft") if task else None
    return aim if isinstance(aim, str) else ""


def _example(rows: Sequence[Row], solved: bool) -> Row:
    return next((row for row in rows if bool(row.score.call_match) is solved), rows[0])


# --- may they be paired? ----------------------------------------------------------------------------------------------

def differing(first: Run, second: Run, names: Sequence[str] = ("tasks", "tools", "mode", "suite")) -> list[str]:
    """What keeps two runs from being compared, in words: "mode prompt / native"."""
    values = [{"tasks": short_hash(run.hashes.get("tasks")), "tools": short_hash(run.hashes.get("tools")),
               "prompt": short_hash(run.hashes.get("prompt")), "mode": run.mode, "suite": run.suite,
               "set-up": setup_of(run), "arm": run.arm or "none", "scorer version": run.scorer_version,
               "world": world_name(run.world) or "none", "panel": short_hash(run.hashes.get("panel")),
               "procedure": str(run.settings.get("procedure", "any")),
               "length of tool results": str(run.settings.get("max_result_chars", "any"))}
              for run in (first, second)]
    return [f"{name}{' hash' if name in ('tasks', 'tools', 'prompt') else ''} {values[0][name]} / {values[1][name]}"
            for name in names if values[0][name] != values[1][name]]


def _paired_ids(first: Run, second: Run, sets: Sequence[TaskSet], common: bool) -> list[str]:
    """The ids of the tasks to pair, in the order of the first run."""
    pair = f"{first.path} and {second.path}"
    for run in (first, second):
        if not run.rows:
            raise DataError("holds numbers only, no rows to pair (lm_eval: --log_samples)", run.path)
    differ = differing(first, second, (*(() if common else ("tasks",)), "tools", "mode", "suite", "world", "panel",
                                      "procedure"))
    if differ:
        only_tasks = len(differ) == 1 and differ[0].startswith("tasks")
        hint = "; --common compares the tasks that both hold" if only_tasks else ""
        raise DataError(f"{pair} cannot be compared, they differ in {', '.join(differ)}{hint}")
    theirs = {row.task_id for row in second.rows}
    ids = [key for key in dict.fromkeys(row.task_id for row in first.rows) if key in theirs]
    if common and differing(first, second, ("tasks",)):
        questions = [tasks_of(run, sets) for run in (first, second)]
        ids = [key for key in ids if asks_the_same(questions[0].get(key), questions[1].get(key))]
    if not ids:
        raise DataError(f"{pair} have no task in common")
    return ids


def tasks_of(run: Run, sets: Sequence[TaskSet]) -> Mapping[str, Task]:
    """The tasks that a run was asked. Raise DataError where they are not known."""
    known = set_of(run, sets)
    tasks = known.tasks if known else run.tasks
    if not tasks:
        raise DataError(f"its tasks (hash {short_hash(run.hashes.get('tasks'))}) are not known, so questions cannot be "
                        "compared; give them with --tasks FILE, once for each version", run.path)
    return tasks


def _notes(first: Run, second: Run, n: int, clustered: bool, twins: int) -> tuple[str, ...]:
    found = [f"they also differ in {', '.join(differ)}: the difference may come from that"
             for differ in [differing(first, second, ("set-up", "prompt", "arm", "length of tool results"))] if differ]
    found += [f"judged by other rules, {differ[0]}: judge both again with report.py --rescore before believing it"
              for differ in [differing(first, second, ("scorer version",))] if differ]
    unit = unit_of(first)
    for run in (first, second):
        tasks = len({row.task_id for row in run.rows})
        if tasks > n + twins:
            found.append(f"{run.path}: {tasks - n - twins} of its {tasks} {unit}s are left out, the other run does not "
                         "hold them")
        if run.failed:
            found.append(f"{run.path}: {run.failed} of {run.n} rows are failures without an answer, counted as not "
                         "solved")
    if clustered:
        made = "the two wordings of a case" if first.suite == SUITE else "tasks made from one template"
        found.append(f"{made} stand or fall together: McNemar's test takes them for independent "
                     "and finds too much, so the test by clusters decides")
    return tuple(found)


# --- in plain words ---------------------------------------------------------------------------------------------------

def sentence(found: Comparison, names: tuple[str, str]) -> str:
    """What the comparison says, for people who do not read p values."""
    first, second = found.whole.first, found.whole.second
    scores = f"({_number(second)} against {_number(first)} of {found.n})"
    p = f"{p_text(found.p)}, {found.test}"
    if not found.flips:
        return f"{names[1]} and {names[0]} solve the same {found.unit}s {scores}."
    if abs(second - first) < 1e-9:
        return (f"{names[1]} and {names[0]} solve equally many {found.unit}s {scores}, but not the same ones: "
                f"{len(found.gained)} gained, {len(found.lost)} lost.")
    more = abs(second - first)
    words = "more" if second > first else "fewer"
    judged = "that is more than chance" if found.p < LEVEL else \
        f"with {found.n} {found.unit}s that is not more than chance"
    tasks = found.unit if _number(more) == "1" else f"{found.unit}s"
    return f"{names[1]} solves {_number(more)} {tasks} {words} than {names[0]} {scores}; {judged} ({p})."


def p_text(p: float) -> str:
    """A p value as people write it."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.3g}"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value - round(value)) < 1e-9 else f"{value:.1f}"
