"""What a report is made of: result files found and read, broken ones told and left out, and the tasks they refer to."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from infranode_eval.reports.archive import Run, find_results, is_harness_output, read_json, run_from_json
from infranode_eval.reports.bench import SUITE
from infranode_eval.reports.db_routing_panels import holds_panel
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.harness_output import runs_from_harness
from infranode_eval.reports.items import Look, Sighting, sightings_of
from infranode_eval.reports.tasksets import (
    TaskSet,
    case_sets,
    chain_sets,
    holds_plays,
    holds_scenarios,
    known_sets,
    panel_sets,
    set_of,
    team_sets,
)
from lm_eval_task.errors import DataError
from lm_eval_task.tools import Toolset, data_file, read_tools

RESULTS = "results"
Found = TypeVar("Found")
Say = Callable[[str], None]


def result_files(paths: Sequence[str], needed: bool = True, suite: str | None = None) -> tuple[Path, ...]:
    """The files below `paths`, by default below results/, or below results/SUITE where there is that folder.

    Raise DataError if one is needed and there is none.
    """
    own = Path(RESULTS) / (suite or "")
    paths = paths or ([str(own)] if suite and own.is_dir() else [])
    files = find_results(paths or [RESULTS]) if paths or Path(RESULTS).is_dir() else ()
    if not files and needed:
        raise DataError("no result there; make one with: python3 run_eval.py", ", ".join(paths or [RESULTS]))
    return files


def task_sets(tools: Toolset, paths: Sequence[str] | None, say: Say,
              cases: Sequence[str] = ()) -> tuple[TaskSet, ...]:
    """The known sets of every file; without the project's own tasks.jsonl results are shown all the same.

    cases: files of bench cases for these tools, besides the bench's own; where only they are named, the tools are
    theirs and do not fit tasks.jsonl.
    """
    benches = (*case_sets(), *(known for path in cases for known in case_sets(path, tools)))
    if cases and not paths:
        return benches
    benches = (*benches, *chain_sets(tools), *panel_sets(), *team_sets())
    if not paths and not data_file("tasks.jsonl").is_file():
        say("tasks.jsonl is not there: sets have no name, difficulty and first calls are not known")
        return benches
    return (*(known for path in paths or [None] for known in sets_in(tools, path)), *benches)


def sets_in(tools: Toolset, path: str | None) -> tuple[TaskSet, ...]:
    """The known sets of one file of tasks, of whichever suite; without a path those of the main suite."""
    if path is not None and holds_scenarios(path):
        return team_sets(path)
    if path is not None and holds_panel(path):
        return panel_sets(path)
    return chain_sets(tools, path) if path is not None and holds_plays(path) else known_sets(tools, path)


def hashes_of_cases(cases: Sequence[str], tools: Toolset) -> frozenset[str] | None:
    """The hashes of every wording in these files of bench cases: only runs over them are meant; None without a file."""
    return frozenset(known.fingerprint for path in cases for known in case_sets(path, tools)) if cases else None


def meant(run: Run, hashes: Collection[str] | None) -> bool:
    """Is a run over the cases that were named, if any were?"""
    return hashes is None or run.hashes.get("tasks") in hashes


def read_each(files: Iterable[Path], read: Callable[[Path], list[Found]], say: Say) -> tuple[list[Found], list[str]]:
    """(what `read` finds in every file, one line for each broken file); the latter are also told at once."""
    found: list[Found] = []
    left_out: list[str] = []
    with _without_collector():
        for file in files:
            try:
                found += read(file)
            except DataError as error:
                left_out.append(str(error))
                say(f"left out: {error}")
    return found, left_out


@contextmanager
def _without_collector() -> Iterator[None]:
    """JSON makes millions of values and no circle; looking for circles among them would take a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def runs_of(path: Path, tools: Toolset) -> list[Run]:
    """The runs of one file with their rows. Raise DataError for a broken file."""
    value = read_json(path)
    return runs_from_harness(value, path, tools) if is_harness_output(value) else [run_from_json(value, path, tools)]


def tools_of(run: Run, tools: Toolset) -> Toolset:
    """The tools that a run was offered: the bench's own where it is one over these, else those at hand."""
    if run.suite != SUITE or run.hashes.get("tools") == tools.fingerprint:
        return tools
    own = read_tools(data_file("bench_tools.json"))
    return own if run.hashes.get("tools") == own.fingerprint else tools


def summaries_of(path: Path, tools: Toolset, sets: Sequence[TaskSet]) -> list[Summary]:
    """The runs of one file as numbers; their rows are dropped at once. Raise DataError for a broken file."""
    return [summarise(run, sets, tools) for run in runs_of(path, tools)]


def look_again(tools: Toolset, sets: Sequence[TaskSet]) -> Look:
    """Reads the files of runs once more, since a summary holds no replies. Raises DataError for a file that changed."""
    def look(summaries: Sequence[Summary], ids: Sequence[str]) -> Mapping[str, Sighting]:
        runs = [run for summary in summaries if not summary.run.baseline
                for run in runs_of(Path(summary.run.path), tools) if _is_same(run, summary.run)]
        tasks = ((run, set_of(run, sets)) for run in runs)
        return sightings_of(ids, [(run, known.tasks if known else run.tasks) for run, known in tasks])

    return look


def _is_same(one: Run, other: Run) -> bool:
    return (one.model, one.suite, one.mode, one.set_name) == (other.model, other.suite, other.mode, other.set_name)


def one_run(path: Path, name: str | None, tools: Toolset, sets: Sequence[TaskSet]) -> Run:
    """The only run in a file, or the only one over the set `name`. Raise DataError if there are none or several."""
    runs = [run for run in runs_of(path, tools) if name is None or summarise(run, sets).dataset == name]
    if len(runs) != 1:
        over = f" over the set {name}" if name else ""
        raise DataError(f"holds {len(runs)} runs{over}, expected one{'' if name else '; choose with --set'}", path)
    return runs[0]
