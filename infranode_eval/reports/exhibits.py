"""A result file as a page shows it: the run's numbers, and what each row's verdict rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from infranode_eval.beside import read_transcripts
from infranode_eval.budget import Price
from infranode_eval.reports.archive import Run, is_harness_output, read_json, run_from_json
from infranode_eval.reports.effort import Effort, effort_of, price_named
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.harness_output import replies_from_harness
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.replies import Evidence, evidence_of
from infranode_eval.reports.tasksets import TaskSet, set_of
from infranode_eval.reports.team_page import Texts, course_values
from infranode_eval.reports.team_rows import SUITE as TEAM
from infranode_eval.reports.transcripts import Transcript, transcript_of
from lm_eval_task.errors import DataError
from lm_eval_task.records import Task
from lm_eval_task.tools import Toolset


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One run. evidence: one for each row, in their order, None where the file holds no replies.

    tasks: the tasks by id, as far as they are known. plays: of the suite chain, one for each row, None where it holds
    no transcript; bodies: the results of their calls by sha256. courses: plays of the suite team as the page takes
    them, their long texts in bodies.
    """

    summary: Summary
    run: Run
    effort: Effort
    evidence: tuple[Evidence, ...] | None = None
    tasks: Mapping[str, Task] = field(default_factory=dict)
    plays: tuple[Transcript | None, ...] = ()
    bodies: Mapping[str, str] = field(default_factory=dict)
    courses: tuple[Mapping[str, Any] | None, ...] = ()


def exhibits_of(path: Path, tools: Toolset, sets: Sequence[TaskSet], prices: Mapping[str, Price]) -> list[Exhibit]:
    """The runs of one file. Raise DataError for a broken one."""
    value = read_json(path)
    if is_harness_output(value):
        return [_exhibit(run, sets, tools, Effort(), tuple(evidence_of({"reply": r.message}) for r in replies) or None)
                for run, replies in replies_from_harness(value, path, tools)]
    run = run_from_json(value, path, tools)
    effort = effort_of(value["rows"], price_named(prices, run.model))
    if run.suite == TEAM:
        return [_with_courses(run, value, sets, tools, effort)]
    found = _exhibit(run, sets, tools, effort, tuple(map(evidence_of, value["rows"])))
    return [_with_plays(found, value) if run.suite == PLAYED else found]


def _exhibit(run: Run, sets: Sequence[TaskSet], tools: Toolset, effort: Effort,
             evidence: tuple[Evidence, ...] | None = None) -> Exhibit:
    known = set_of(run, sets)
    return Exhibit(summarise(run, sets, tools), run, effort, evidence, known.tasks if known else run.tasks)


def _with_plays(exhibit: Exhibit, value: Mapping[str, Any]) -> Exhibit:
    """With the transcripts of a file of the suite chain, and the results that they refer to."""
    bodies = value.get("bodies")
    bodies = {key: text for key, text in bodies.items() if isinstance(text, str)} if isinstance(bodies, dict) else {}
    plays = tuple(transcript_of(row, bodies, exhibit.tasks.get(row["task_id"])) for row in value["rows"])
    return replace(exhibit, plays=plays, bodies=bodies)


def _with_courses(run: Run, value: Mapping[str, Any], sets: Sequence[TaskSet], tools: Toolset,
                  effort: Effort) -> Exhibit:
    """With the transcripts beside a file of the suite team; without them the run says so."""
    told, stored = value.get("transcripts"), {}
    try:
        if not isinstance(told, dict) or not {"file", "sha256"} <= told.keys():
            raise DataError("names no file of transcripts", run.path)
        stored = read_transcripts(Path(run.path), told)
    except DataError as error:
        run = replace(run, notes=(*run.notes, f"no transcripts are shown: {error}"))
    texts = Texts()
    courses = tuple([course_values(stored.get((row.task_id, row.repeat)), texts) for row in run.rows])
    found = _exhibit(run, sets, tools, effort, tuple(map(evidence_of, value["rows"])))
    return replace(found, courses=courses, bodies=texts.bodies)


def without_rows(exhibit: Exhibit) -> Exhibit:
    """The numbers only: thousands of runs fit into memory, their rows do not."""
    return replace(exhibit, run=replace(exhibit.run, rows=()), evidence=None, plays=(), bodies={}, courses=())


def best_files(exhibits: Iterable[Exhibit], most: int) -> set[str]:
    """The files of the `most` runs with the highest ability."""
    return {e.run.path for e in ordered(e for e in exhibits if e.summary.tally)[:most]}


def ordered(exhibits: Iterable[Exhibit]) -> list[Exhibit]:
    """By ability, the best first; then by name and path, so that equal input gives equal pages."""
    def key(exhibit: Exhibit) -> tuple[float, str, str]:
        ability = exhibit.summary.strict.get("ability")
        return -(ability if ability is not None else -1.0), exhibit.run.model, exhibit.run.path
    return sorted(exhibits, key=key)
