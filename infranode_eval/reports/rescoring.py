"""Stored replies judged again by the current reader and scorer, beside the verdicts that stand in their file.

Pure: the content of a file in, the differences and the new content out. Writing is report.py's part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from infranode_eval.arms import offering_of
from infranode_eval.arms.offer import Offering
from infranode_eval.beside import read_transcripts
from infranode_eval.db_routing.rescan import changed_in
from infranode_eval.fold import notes_of
from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.reports.archive import DETAILS, MAIN_SUITE, UNKNOWN, Run, reply_of, run_from_json, short_hash
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.db_routing_rows import verdict_of as route_of
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.plays import verdict_of
from infranode_eval.reports.tasksets import TaskSet, set_of
from infranode_eval.reports.team_rows import SUITE as MANAGED
from infranode_eval.reports.team_rows import verdict_of as managed_verdict
from infranode_eval.results import storable
from infranode_eval.suites import MAIN, SUITES, Scene, Setup, Suite, Transcript, open_suite
from infranode_eval.tables import Column, Section, Table, percent
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.metrics import SCORER_VERSION
from lm_eval_task.prompt import MODES
from lm_eval_task.records import FAILURES, MATCHES, Score, Task
from lm_eval_task.tools import Toolset

Numbers = Mapping[str, "float | None"]
_MATCHES = frozenset(MATCHES)           # rows of older scorers lack some


def _always(run: Run) -> tuple[str, str]:
    """The numbers that are shown whether they moved or not."""
    return ("sms", "tcr") if run.suite == MANAGED else ("ability", run.measure)


@dataclass(frozen=True, slots=True)
class Change:
    """A row whose verdict differs. moved: solved now (1), as before (0) or no longer (-1)."""

    task_id: str
    repeat: int
    before: str
    after: str
    moved: int
    why: str


@dataclass(frozen=True, slots=True)
class Rescoring:
    """One run judged again.

    reworded: rows in which only reason, labels, calls or counts differ. before, after: metrics over all rows; answered:
    both over the answered ones. versions: of the scorer, before and after. result: the new content of the file, None
    if nothing in it is to change, or if it is lm-eval's, which is never written. read_otherwise: plays of db_routing
    with a turn that is read otherwise now.
    """

    run: Run
    changes: tuple[Change, ...]
    reworded: int
    before: Numbers
    after: Numbers
    answered: tuple[Numbers, Numbers]
    versions: tuple[str, str]
    result: Mapping[str, Any] | None = None
    read_otherwise: int = 0


def rescore(value: Any, path: str | Path, sets: Sequence[TaskSet], tools: Toolset) -> Rescoring:
    """A result of run_eval.py, judged again.

    A row without a reply stays the failure that it is. Raise DataError for a broken file, and for one whose tasks or
    tools are not these.
    """
    run = run_from_json(value, path)
    suite, tools = _suite_of(run, tools if run.suite != ROUTED else _tools_of_panel(run, sets))
    tasks = _tasks_of(run, sets, tools)
    if run.suite == ROUTED:
        tasks = _tasks_of_panel(run, sets, suite, tools)
    rows, judged, scores = _AGAIN.get(run.suite, _judged_again)(value, run, suite, tasks, tools)
    changes = _changes(run, scores)
    reworded = sum(one != other for one, other in zip(value["rows"], rows, strict=True)) - len(changes)
    pairs = [(replace(tasks[row.task_id], category=row.category), score)
             for row, score in zip(run.rows, judged, strict=True)]
    after, answered = suite.aggregate(pairs), suite.aggregate([p for p in pairs if not p[1].failed])
    touched = bool(changes) or reworded > 0 or value.get("scorer_version") != SCORER_VERSION
    return Rescoring(run, changes, reworded, run.metrics, after, (run.answered, dict.fromkeys(after) | answered),
                     (run.scorer_version, SCORER_VERSION),
                     _new_content(value, run, rows, scores, after, answered, suite) if touched else None,
                     _read_otherwise(value, run) if run.suite == ROUTED else 0)


Judged = tuple[list[Mapping[str, Any]], list[Any], list[Score]]     # (rows, verdicts as the suite makes them, as read)


def _judged_again(value: Mapping[str, Any], run: Run, suite: Suite, tasks: Mapping[str, Task],
                  tools: Toolset) -> Judged:
    """Single replies."""
    offering = _offering(run, tools)
    stored = [_with_details(old.score, row) for row, old in zip(value["rows"], run.rows, strict=True)]
    scores = [_score(run, row, old, tasks[row["task_id"]], suite, tools, offering)
              for row, old in zip(value["rows"], stored, strict=True)]
    rows = [row if new is old and row.keys() >= _MATCHES else _new_row(row, new)
            for row, old, new in zip(value["rows"], stored, scores, strict=True)]
    return rows, scores, scores


def _played_again(value: Mapping[str, Any], run: Run, suite: Suite, tasks: Mapping[str, Task],
                  tools: Toolset) -> Judged:
    """Plays of the suite chain, from their transcripts; one that ended in a failure stays it."""
    bodies = value["bodies"] if isinstance(value.get("bodies"), dict) else {}

    def judge(task: Task, row: Mapping[str, Any]) -> Any:
        if not isinstance(row.get("transcript"), dict):
            return None
        return suite.rescore(task, row, bodies, tools, run.mode)      # type: ignore[attr-defined]

    rows, judged = _plays_again(value, run, suite, tasks, judge)
    return rows, judged, [verdict_of(row) for row in rows]


def _from_beside(value: Mapping[str, Any], run: Run, suite: Suite, tasks: Mapping[str, Task],
                 tools: Toolset) -> Judged:
    """Plays of the suites db_routing and team, from the file beside the result; one that failed stays a failure."""
    verdict = route_of if run.suite == ROUTED else managed_verdict
    stored = _transcripts(value, run)

    def judge(task: Task, row: Mapping[str, Any]) -> Any:
        transcript = stored.get((row["task_id"], row.get("repeat") or 1))
        return None if transcript is None else suite.rescore(task, transcript)      # type: ignore[attr-defined]

    rows, judged = _plays_again(value, run, suite, tasks, judge)
    return rows, judged, [verdict(row) for row in rows]


def _plays_again(value: Mapping[str, Any], run: Run, suite: Suite, tasks: Mapping[str, Task],
                 judge: Callable[[Task, Mapping[str, Any]], Any]) -> tuple[list[Mapping[str, Any]], list[Any]]:
    """(rows, verdicts). judge: the verdict on a play, None where its transcript is missing."""
    rows, judged = [], []
    for row in value["rows"]:
        task = tasks[row["task_id"]]
        if row["outcome"] in FAILURES:
            judged.append(suite.failure(task, row["outcome"], row.get("why") or "", row.get("sub")))
            rows.append(row)
            continue
        try:
            verdict = judge(task, row)
        except DataError as error:
            raise DataError(f"row {task.task_id}: {error}", run.path) from None
        if verdict is None:
            raise DataError(f"row {task.task_id} has a verdict but no transcript to judge", run.path)
        judged.append(verdict)
        told = storable(verdict.to_json())
        rows.append(row if all(row.get(name) == new for name, new in told.items()) else {**row, **told})
    return rows, judged


def _transcripts(value: Mapping[str, Any], run: Run) -> Mapping[tuple[str, int], Mapping[str, Any]]:
    told = value.get("transcripts")
    if not isinstance(told, dict) or not {"file", "sha256"} <= told.keys():
        raise DataError("names no file of transcripts, so no play can be judged again", run.path)
    return read_transcripts(Path(run.path), told)


def _read_otherwise(value: Mapping[str, Any], run: Run) -> int:
    """Plays with a turn whose text holds other calls for the reader of today: judged as they were played."""
    return sum(any(True for _ in changed_in(stored)) for stored in _transcripts(value, run).values())


_AGAIN = {PLAYED: _played_again, ROUTED: _from_beside, MANAGED: _from_beside}


def _tools_of_panel(run: Run, sets: Sequence[TaskSet]) -> Toolset:
    """The tools of the run's panel. Raise DataError where that is not known."""
    known = set_of(run, sets)
    if known is None or known.source is None:
        raise DataError(f"was asked over another panel (hash {short_hash(run.hashes.get('panel'))}); give its folder "
                        "with --tasks", run.path)
    return open_suite(ROUTED).read_tools(known.source)


def _tasks_of_panel(run: Run, sets: Sequence[TaskSet], suite: Suite, tools: Toolset) -> Mapping[str, Task]:
    """The questions with their databases, every hash checked. Raise DataError for another panel."""
    known = set_of(run, sets)
    tasks = suite.load(known.source if known else None, tools, suite.SETS[0])
    found = {task.task_id: task for task in tasks}
    panel = tasks[0].panel.sha256      # type: ignore[attr-defined]
    if run.hashes.get("panel") != panel:
        raise DataError(f"was asked over another panel (hash {short_hash(run.hashes.get('panel'))}, this one has "
                        f"{short_hash(panel)}); give its folder with --tasks", run.path)
    return found


def _with_details(score: Score, row: Mapping[str, Any]) -> Score:
    """The stored verdict with what its suite counted beside it, as it stands in the row."""
    details = {name: row[name] for name in DETAILS if name in row}
    return replace(score, details=details) if details else score


def _suite_of(run: Run, tools: Toolset) -> tuple[Suite, Toolset]:
    """The suite of the run and its tools: another suite than the main one has its own where the given ones do not fit.

    Raise DataError for a run that is no matter of single replies.
    """
    name = _module_of(run)
    if name not in SUITES or run.mode not in MODES:
        raise DataError(f"is a run of suite {run.suite} in mode {run.mode}; --rescore judges single replies of mode "
                        f"{' or '.join(MODES)}", run.path)
    suite = open_suite(name)
    given = name == MAIN or run.hashes.get("tools") == tools.fingerprint
    return suite, tools if given else suite.read_tools(None)


def _module_of(run: Run) -> str:
    return MAIN if run.suite == MAIN_SUITE else run.suite


def _tasks_of(run: Run, sets: Sequence[TaskSet], tools: Toolset) -> Mapping[str, Task]:
    """The tasks by id; raise DataError unless they and the tools are those of the run."""
    if run.hashes.get("tools") != tools.fingerprint:
        raise DataError(f"was asked with other tools (hash {short_hash(run.hashes.get('tools'))}, these have "
                        f"{short_hash(tools.fingerprint)}); give its tools with --tools", run.path)
    known = set_of(run, sets)
    if known is None:
        raise DataError(f"was asked other tasks (hash {short_hash(run.hashes.get('tasks'))}, these sets have "
                        f"{', '.join(short_hash(s.fingerprint) for s in sets) or 'none'}); give its tasks with --tasks",
                        run.path)
    missing = [row.task_id for row in run.rows if row.task_id not in known.tasks]
    if missing:
        raise DataError(f"row {missing[0]} has no task in the set {known.name}", run.path)
    return known.tasks


def _offering(run: Run, tools: Toolset) -> Offering | None:
    """What a run under an arm was offered, worked out again; None for the tools as they stand."""
    try:
        return offering_of(run.settings, tools)
    except UsageError as error:
        raise DataError(f"was made under an arm that cannot be worked out again ({error})", run.path) from None


def _score(run: Run, row: Mapping[str, Any], old: Score, task: Task, suite: Suite, tools: Toolset,
           offering: Offering | None) -> Score:
    """The new verdict, or the very old one where nothing was answered or nothing differs."""
    reply = reply_of(row)
    if reply is None and not old.failed:
        raise DataError(f"row {task.task_id} has a verdict but no reply to judge", run.path)
    if reply is None:
        return old
    if offering is not None:
        new = offering.for_task(task.task_id, task.question).verdict(task, reply, run.mode)
    else:
        answer = Answer(reply.message, reply.finish_reason)
        new = suite.score(task, Transcript((), (answer,)), _setup_of(run, tools))
    stored = storable(new.to_json())
    same = all(row.get(key) == found for key, found in stored.items())
    return old if same or (new.failed and old.failed) else new


def _setup_of(run: Run, tools: Toolset) -> Setup:
    """As much of the run's set-up as a verdict hangs on."""
    return Setup(run.mode, tools, (), Sampling(1), scene=Scene(zone=run.settings.get("zone")))


def _new_row(row: Mapping[str, Any], score: Score) -> dict[str, Any]:
    """The row with another verdict; whether one call at most was kept to follows from the calls that were read."""
    told = storable(score.to_json())
    new = {**{key: value for key, value in row.items() if key in told or key not in DETAILS}, **told}
    if "parallel_obeyed" in row:
        new["parallel_obeyed"] = None if score.calls is None else len(score.calls) <= 1
    return new


def _changes(run: Run, scores: Iterable[Score]) -> tuple[Change, ...]:
    return tuple(Change(row.task_id, row.repeat, *_verdicts(row.score, new), _moved(row.score, new), new.why)
                 for row, new in zip(run.rows, scores, strict=True) if _verdict(row.score) != _verdict(new))


def _verdict(score: Score) -> tuple[Any, ...]:
    return score.outcome, score.sub, *(getattr(score, name) for name in MATCHES)


def _verdicts(old: Score, new: Score) -> tuple[str, str]:
    """(before, after) as outcome/sub; the numbers that differ where that is the same."""
    if (old.outcome, old.sub) != (new.outcome, new.sub) and old.outcome != UNKNOWN:
        return _named(old), _named(new)
    differing = _differing(old, new)
    return tuple(f"{_named(score)}: {', '.join(_flag(name, score) for name in differing)}"
                 for score in (old, new))   # type: ignore[return-value]


def _differing(old: Score, new: Score) -> list[str]:
    """The matches that differ; lm-eval keeps only some of a bench case."""
    return [name for name in MATCHES if getattr(old, name) not in (None, bool(getattr(new, name)))]


def _named(score: Score) -> str:
    return f"{score.outcome}/{score.sub}" if score.sub else score.outcome


def _flag(name: str, score: Score) -> str:
    return name if getattr(score, name) else f"no {name}"


def _moved(old: Score, new: Score) -> int:
    return bool(new.call_match) - bool(old.call_match)


def _new_content(value: Mapping[str, Any], run: Run, rows: Sequence[Mapping[str, Any]], scores: Sequence[Score],
                 after: Numbers, answered: Numbers, suite: Suite) -> dict[str, Any]:
    """The file with new verdicts and numbers; every other key stays, and where it stands."""
    failed = sum(score.failed for score in scores)
    earlier = value.get("rescored_from")
    history = [*(earlier if isinstance(earlier, list) else ()),
               {"scorer_version": run.scorer_version, **{name: run.metrics.get(name) for name in _always(run)}}]
    changed = {
        "complete": not failed, "scorer_version": SCORER_VERSION, "rescored_from": history,
        "counts": {**value["counts"], "n": len(rows), "scored": len(rows) - failed, "failed": failed},
        "metrics": {**value["metrics"], **after},
        "answered": {**value["answered"], **dict.fromkeys(after), **answered}, "rows": list(rows)}
    headline = suite.headline(after, next(iter(value.get("headline") or {}), None) == "streng")
    if headline is not None:
        changed["headline"] = headline
    notes = notes_of(scores, rows, run.settings)
    if notes or "notes" in value:
        changed["notes"] = notes
    content = {key: changed.pop(key, old) for key, old in value.items() if key != "rescored_from"}
    return content | changed


def rescore_samples(run: Run, pairs: Sequence[tuple[Score, Score]]) -> Rescoring:
    """lm-eval's run, whose file stays as it is: (stored verdict, this scorer's verdict) of each row."""
    suite = open_suite(_module_of(run))
    changes = tuple(Change(row.task_id, row.repeat, *_verdicts(old, new), _moved(old, new), new.why)
                    for row, (old, new) in zip(run.rows, pairs, strict=True) if _differing(old, new))
    reworded = sum(old.details != new.details for old, new in pairs if not _differing(old, new) and old is not new)
    tasks = [replace(run.tasks[row.task_id], category=row.category) for row in run.rows]
    judged = [(task, new) for task, (_, new) in zip(tasks, pairs, strict=True)]
    stored = [(task, old) for task, (old, new) in zip(tasks, pairs, strict=True) if not new.failed]
    return Rescoring(run, changes, reworded, run.metrics, suite.aggregate(judged),
                     (suite.aggregate(stored), suite.aggregate([p for p in judged if not p[1].failed])),
                     (run.scorer_version, SCORER_VERSION))


# --- what people read -------------------------------------------------------------------------------------------------

def rescoring_sections(rescorings: Sequence[Rescoring], write: bool) -> list[Section]:
    """One section per run that differs, then the runs that do not. write: was what can be written, written?"""
    differing = [r for r in rescorings if r.changes or r.reworded or r.result is not None]
    same = tuple(f"{r.run.path}: {r.run.model}, {len(r.run.rows)} rows, "
                 f"{r.run.measure} {percent(r.after[r.run.measure])}, "
                 f"scorer {r.versions[1]}" for r in rescorings if r not in differing)
    return [*(_section(r, write) for r in differing), *([Section("Nothing changed", notes=same)] if same else [])]


def _section(rescoring: Rescoring, write: bool) -> Section:
    run, (old, new) = rescoring.run, rescoring.versions
    gained, lost = (sum(c.moved == way for c in rescoring.changes) for way in (1, -1))
    notes = (
        f"{run.model}, mode {run.mode}, scorer {old} → {new}: {len(rescoring.changes)} of {len(run.rows)} rows changed "
        f"verdict ({gained} gained {run.measure}, {lost} lost it)"
        + (f", {rescoring.reworded} only their reason, labels, calls or counts" if rescoring.reworded else ""),
        f"{run.measure} {_direction(rescoring.before.get(run.measure), rescoring.after.get(run.measure))}",
        *([f"{rescoring.read_otherwise} plays hold a turn that is read otherwise now; what the model would then have "
           "been shown nobody knows, so they are judged as they were played"] if rescoring.read_otherwise else []),
        _fate_of_file(rescoring, write))
    tables = [_change_table(rescoring.changes, run.measure)] if rescoring.changes else []
    return Section(run.path, (*tables, _metric_table(rescoring)), notes)


def _direction(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return f"{percent(before)} → {percent(after)}"
    way = "stays" if abs(after - before) < 1e-9 else "up" if after > before else "down"
    return f"{percent(before)} → {percent(after)} ({way}{'' if way == 'stays' else f' {percent(abs(after - before))}'})"


def _fate_of_file(rescoring: Rescoring, write: bool) -> str:
    if rescoring.result is None:
        return "lm-eval's output is never written"
    return "written" if write else "not written; --write does"


def _change_table(changes: Sequence[Change], measure: str) -> Table:
    """Rows that are solved now, or no longer, first."""
    repeats = any(c.repeat > 1 for c in changes)
    columns = (Column("task_id"), *([Column("repeat", right=True)] if repeats else []), Column(measure),
               Column("before"), Column("after"), Column("why"))
    words = {1: "gained", 0: "same", -1: "lost"}
    rows = tuple((c.task_id, *([str(c.repeat)] if repeats else []), words[c.moved], c.before, c.after, c.why)
                 for c in sorted(changes, key=lambda c: -abs(c.moved)))
    return Table("Verdicts that changed", columns, rows)


def _metric_table(rescoring: Rescoring) -> Table:
    """The two that are always shown, and every other number that moved; over all rows and over the answered ones."""
    before, after = rescoring.answered
    rows = tuple(
        (name, percent(rescoring.before.get(name)), percent(rescoring.after[name]), percent(before.get(name)),
         percent(after.get(name)))
        for name in rescoring.after if name in _always(rescoring.run)
        or _differ(rescoring.before, rescoring.after, name) or _differ(before, after, name))
    return Table("Numbers, per cent", (Column("metric"), *(Column(h, right=True) for h in (
        "all rows, before", "after", "answered, before", "after"))), rows)


def _differ(before: Numbers, after: Numbers, name: str) -> bool:
    one, other = before.get(name), after.get(name)
    return name in before and (one is None or other is None or abs(one - other) > 1e-9) and one is not other
