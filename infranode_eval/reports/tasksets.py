"""The sets of tasks that results refer to by hash, and what a table needs to know about their tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from sys import intern

from infranode_eval.generator.output import meta_path
from infranode_eval.reports.archive import MAIN_SUITE, Run
from infranode_eval.reports.bench import SUITE
from infranode_eval.reports.db_routing_panels import read_panel
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.difficulty import buckets_beside
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.team_rows import SUITE as TEAM
from infranode_eval.suites import open_suite
from infranode_eval.team.scenario import scenarios_fingerprint
from infranode_eval.team.tasks import SETS as TEAM_SETS
from infranode_eval.team.tasks import TeamTask, read_team_tasks
from lm_eval_task.cases import SETS as WORDINGS
from lm_eval_task.cases import SUFFIX, read_cases
from lm_eval_task.dataset import choose, in_use, load_tasks, retirement_of, version_after
from lm_eval_task.errors import BenchError, DataError
from lm_eval_task.records import JUDGED, Call, Task, read_json_lines, tasks_fingerprint
from lm_eval_task.tools import Toolset, data_file

NAMES = ("core", "extended", "full", "robust", "abstain", "all")
PLAYED_NAMES = ("control", "reseed")    # those that only the suite chain has


@dataclass(frozen=True, slots=True, eq=False)
class TaskSet:
    """A named set of tasks with its hash; `tasks` by id, in file order. Each set is equal to itself only.

    buckets: the difficulty of each task of the file by id, as far as it is known.
    version: what the meta file beside it says, and how many core rows were retired by then; None without one.
    suite: which suite asks them. world: hash of the one that they are played in, where they are.
    source: the folder of a panel, or of scenarios.
    """

    name: str
    fingerprint: str
    tasks: Mapping[str, Task]
    version: str | None = None
    buckets: Mapping[str, str] = field(default_factory=dict)
    suite: str = MAIN_SUITE
    world: str | None = None
    source: Path | None = None


def known_sets(tools: Toolset, path: str | Path | None = None) -> tuple[TaskSet, ...]:
    """Every set in a file of tasks (the project's own without a path), equal ones once, under the first name.

    The sets of today come first, then those from before each day on which rows were retired: retired rows stay in the
    file, so that old results keep their tasks. Raise DataError as `load_tasks` does.
    """
    path = data_file("tasks.jsonl") if path is None else path
    buckets = buckets_beside(path)
    found: dict[str, TaskSet] = {}
    for every, version in _versions(load_tasks(tools, "all", path, retired=True), _version_of(Path(path))):
        for name in NAMES:
            try:
                tasks = choose(every, name, path)
            except DataError:
                continue        # the file has no such set
            if all(t.set is None for t in tasks):
                name = "own tasks"
            hash_ = tasks_fingerprint(tasks)
            found.setdefault(hash_, TaskSet(name, hash_, {t.task_id: t for t in tasks}, version, buckets))
    return tuple(found.values())


def case_sets(path: str | Path | None = None, tools: Toolset | None = None) -> tuple[TaskSet, ...]:
    """The sets of a file of bench cases (the project's own without a path): its wordings, as far as it has them.

    Sets of a user's own file are called as its results call them. tools: those of the cases. Raise DataError as
    `read_cases` does.
    """
    own = Path(path).stem if path is not None else None
    found: dict[str, TaskSet] = {}
    for name in WORDINGS:
        try:
            cases = read_cases(path, tools, name)
        except DataError:
            if name == WORDINGS[0]:
                raise
            continue        # the file has no second wording
        tasks, hash_ = {t.task_id: t for t in cases.tasks}, tasks_fingerprint(cases.tasks)
        called = name if own is None else own if name == WORDINGS[0] else f"{own}.{name}"
        found.setdefault(hash_, TaskSet(called, hash_, tasks, cases.version or None, suite=SUITE))
    return tuple(found.values())


def chain_sets(tools: Toolset, path: str | Path | None = None) -> tuple[TaskSet, ...]:
    """The sets of a file of tasks of the suite chain (the project's own without a path), as far as it has them.

    Sets of a user's own file are called as its results call them. Raise DataError as the suite's `load` does.
    """
    suite, own = open_suite(PLAYED), Path(path).stem if path is not None else None
    found: dict[str, TaskSet] = {}
    problem: BenchError | None = None
    for name in suite.SETS:
        try:
            tasks = suite.load(path, tools, name)
        except BenchError as error:
            problem = problem or error
            continue        # the file has no such set
        hash_ = tasks_fingerprint(tasks)
        called = name if own is None else own if name == suite.SETS[0] else f"{own}.{name}"
        found.setdefault(hash_, TaskSet(called, hash_, {t.task_id: t for t in tasks}, suite=PLAYED,
                                        world=_world_of(tasks)))
    if problem is not None and path is not None and not found:
        raise problem
    return tuple(found.values())


def panel_sets(path: str | Path | None = None) -> tuple[TaskSet, ...]:
    """The questions of a panel (a folder, or a file in one; the project's own without a path), without its databases.

    Raise DataError for a panel that was changed; none of the project's own is no error.
    """
    try:
        panel = read_panel(path)
    except DataError:
        if path is not None:
            raise
        return ()
    name = next((task.set for task in panel.tasks.values() if task.set), "core")
    return (TaskSet(name, panel.questions_sha256, panel.tasks, str(panel.manifest.get("panel") or "") or None,
                    suite=ROUTED, source=panel.folder),)


def team_sets(path: str | Path | None = None) -> tuple[TaskSet, ...]:
    """The scenarios of a folder with tests.json (the project's own without a path).

    Raise DataError for scenarios that break the format; of the project's own there are none then.
    """
    try:
        tasks = read_team_tasks(path)
    except BenchError:
        if path is not None:
            raise
        return ()
    name = TEAM_SETS[0] if path is None else Path(path).stem
    return (_scenarios(name, tasks, None if path is None else Path(path)),)


def _scenarios(name: str, tasks: Sequence[TeamTask], source: Path | None) -> TaskSet:
    return TaskSet(name, scenarios_fingerprint(task.scenario for task in tasks), {t.task_id: t for t in tasks},
                   suite=TEAM, source=source)


def holds_scenarios(path: str | Path) -> bool:
    """Is this a folder of scenarios of the suite team?"""
    return (Path(path) / "tests.json").is_file()


@lru_cache(maxsize=64)
def _chosen(known: TaskSet, ids: frozenset[str]) -> TaskSet | None:
    """The set of these scenarios alone, as a run of some of them was asked it; None where one is not in the set."""
    if not ids or not ids < known.tasks.keys():
        return None
    return _scenarios(known.name, [task for key, task in known.tasks.items() if key in ids],   # type: ignore[misc]
                      known.source)


def holds_plays(path: str | Path) -> bool:
    """Is this a file of tasks of the suite chain? Its first row tells; a file that cannot be read is none."""
    try:
        _, row = next(iter(read_json_lines(path)))
    except (DataError, StopIteration):
        return False
    return isinstance(row, dict) and isinstance(row.get("plan"), list) and isinstance(row.get("expect"), dict)


def _world_of(tasks: Sequence[Task]) -> str | None:
    """The hash of the world of the tasks, None where they name none, or several."""
    worlds = {world.get("sha256") for t in tasks if isinstance(world := t.extra.get("world"), dict)}
    return worlds.pop() if len(worlds) == 1 else None


def _versions(every: Sequence[Task], version: str | None) -> Iterator[tuple[Sequence[Task], str | None]]:
    """(the tasks in use, the version) today and before each day of retirement, the latest day first."""
    marks = {t.task_id: mark.date for t in every if (mark := retirement_of(t)) is not None}
    yield in_use(every), version and version_after(version, every)
    for day in sorted(set(marks.values()), reverse=True):
        gone = [t for t in every if marks.get(t.task_id, day) < day]
        yield [t for t in every if marks.get(t.task_id, day) >= day], version and version_after(version, gone)


def _version_of(path: Path) -> str | None:
    """As the meta file says; whatever is wrong with that file, results can be shown without it."""
    try:
        version = json.loads(meta_path(path).read_bytes())["version"]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None
    return version if isinstance(version, str) else None


def set_of(run: Run, sets: Sequence[TaskSet]) -> TaskSet | None:
    """The set a run was asked: by hash; a shortened lm-eval run by its documents and the set's size."""
    tasks_hash = run.hashes.get("tasks")
    for candidate in sets:
        if tasks_hash is not None and tasks_hash == candidate.fingerprint and _same_world(run, candidate):
            return candidate
        if run.suite == candidate.suite == TEAM:
            part = _chosen(candidate, frozenset(row.task_id for row in run.rows))
            if part is not None and part.fingerprint == tasks_hash:
                return part
        if tasks_hash is None and run.tasks and run.task_count == len(candidate.tasks) \
                and all(asks_the_same(task, candidate.tasks.get(key)) for key, task in run.tasks.items()):
            return candidate
    return None


def _same_world(run: Run, candidate: TaskSet) -> bool:
    """The same questions have other answers in another world."""
    told = run.world.get("sha256")
    return told is None or candidate.world is None or told == candidate.world


def asks_the_same(one: Task | None, other: Task | None) -> bool:
    """The same question with the same right answers: a changed gold makes another task."""
    return one is not None and other is not None \
        and (one.question, one.alternatives, one.expect) == (other.question, other.alternatives, other.expect) \
        and all(one.extra.get(key) == other.extra.get(key) for key in JUDGED)


@lru_cache(maxsize=32)
def clusters_of(known: TaskSet) -> Mapping[str, str]:
    """The cluster of each task by id; empty where every task stands alone: in the core set, a user's own, and a bench.

    Where a bench asks its cases in two wordings, both are one cluster. Tasks of the suite chain always have clusters.
    """
    if known.suite == SUITE:
        twice = any(key.endswith(SUFFIX) for key in known.tasks)
        return {key: key.removesuffix(SUFFIX) for key in known.tasks} if twice else {}
    if known.suite in (ROUTED, TEAM):
        return {}
    if known.suite == PLAYED:
        return {key: played_cluster_of(task) for key, task in known.tasks.items()}
    if known.name in ("core", "own tasks"):
        return {}
    return {key: cluster_of(task) for key, task in known.tasks.items()}


def played_cluster_of(task: Task) -> str:
    """Template × key (specification: chain, "Score"): the key, type or tool of the last step, which bears the datum.

    A task that names no template stands alone.
    """
    template = task.extra.get("template")
    if not isinstance(template, str):
        return task.task_id
    call = task.expected[-1] if task.expected else None
    return intern(f"{template} × {_subject(call)}")


def _subject(call: Call | None) -> str:
    return "" if call is None else str(call.arguments.get("resource") or call.arguments.get("type") or call.name)


def cluster_of(task: Task) -> str:
    """Rows of one template move together: key, type or tool × phrasing (specification: scoring, Aggregates).

    Equal names are one text in memory, since a report holds one for each task of each run.
    """
    phrasing = task.extra.get("phrasing")
    if not phrasing:
        base = task.extra.get("base")       # other wordings of one question are one template
        return base if isinstance(base, str) else task.task_id
    return intern(f"{_subject(task.expected[0] if task.expected else None)} × {phrasing}")
