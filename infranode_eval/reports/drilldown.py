"""One task under the lens: the question, what is right, and for each run what came back, how it was read and judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from infranode_eval.harmless import clean
from infranode_eval.reports.archive import Row, Run, counted, is_harness_output, read_json, run_from_json
from infranode_eval.reports.bench import SUITE, setup_of
from infranode_eval.reports.db_routing_plays import RoutedPlay
from infranode_eval.reports.db_routing_plays import play_json as routed_json
from infranode_eval.reports.db_routing_plays import play_lines as routed_lines
from infranode_eval.reports.db_routing_plays import play_of as routed_play
from infranode_eval.reports.db_routing_plays import verdict_lines as route_lines
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.harness_output import replies_from_harness
from infranode_eval.reports.intake import meant
from infranode_eval.reports.playback import play_json, play_lines, verdict_lines
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.replies import Evidence, evidence_of
from infranode_eval.reports.tasksets import TaskSet, set_of
from infranode_eval.reports.team_plays import log_of, managed_json, managed_lines
from infranode_eval.reports.team_rows import SUITE as MANAGED
from infranode_eval.reports.transcripts import Transcript, transcript_of, world_facts
from infranode_eval.team.log import Log
from infranode_eval.team.tasks import TeamTask
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Score, Task
from lm_eval_task.tools import Toolset

_SUGGESTED = 8          # ids in one line
_MATCHES = ("parsed", "tool_match", "args_match", "call_match", "request_match", "datum_match",
            "lenient_call_match")
_OF_REQUESTS = ("args_match", "request_match", "datum_match")     # a bench sends no request: they say nothing


@dataclass(frozen=True, slots=True)
class Case:
    """One row of one run, with what its reply held; task: None where the file and the known sets do not hold it.

    play: of the suite chain, turn by turn; bodies: the results of its calls by their sha256. routed: of db_routing,
    turn by turn; stored: the row as in the file, of that suite. log: what happened, of the suite team.
    """

    run: Run
    row: Row
    evidence: Evidence
    task: Task | None
    play: Transcript | None = None
    bodies: Mapping[str, str] = field(default_factory=dict)
    routed: RoutedPlay | None = None
    stored: Mapping[str, Any] = field(default_factory=dict)
    log: Log | None = None


def cases_of(path: Path, task_id: str, sets: Sequence[TaskSet], tools: Toolset,
             hashes: Collection[str] | None = None) -> tuple[list[Case], set[str]]:
    """(the rows of a task in a file, every task id in it). Raise DataError for a broken file.

    hashes: look only into runs over tasks with one of these; None: into all.
    """
    value = read_json(path)
    if is_harness_output(value):
        found = replies_from_harness(value, path, tools)
        stored = [(run, [{"reply": reply.message} for reply in replies]) for run, replies in found]
    else:
        stored = [(run_from_json(value, path, tools), value["rows"])]
    cases: list[Case] = []
    ids: set[str] = set()
    for run, raw in stored:
        if not meant(run, hashes):
            continue
        known = set_of(run, sets)
        tasks = known.tasks if known else run.tasks
        ids |= {row.task_id for row in run.rows}
        cases += [_case(run, row, seen, tasks.get(task_id), value)
                  for row, seen in zip(run.rows, raw, strict=True) if row.task_id == task_id]
    return cases, ids


def _case(run: Run, row: Row, stored: Mapping[str, Any], task: Task | None,
          value: Mapping[str, Any]) -> Case:
    if run.suite == ROUTED:
        return _routed_case(run, row, stored, task, value)
    if run.suite == MANAGED:
        return _managed_case(run, row, stored, task, value)
    if run.suite != PLAYED:
        return Case(run, row, evidence_of(stored), task)
    bodies = value["bodies"] if isinstance(value.get("bodies"), dict) else {}
    play = transcript_of(stored, bodies, task)
    kept = {one.body for turn in play.turns for one in turn.results} if play else set()
    return Case(run, row, evidence_of(stored), task, play,
                {key: text for key, text in bodies.items() if key in kept and isinstance(text, str)})


def _routed_case(run: Run, row: Row, stored: Mapping[str, Any], task: Task | None, value: Mapping[str, Any]) -> Case:
    """With its transcript; where that file is missing the row is shown all the same, and what is wrong."""
    try:
        return Case(run, row, evidence_of(stored), task, routed=routed_play(value, Path(run.path), row), stored=stored)
    except DataError as error:
        return Case(run, row, replace(evidence_of(stored), error=clean(str(error))), task, stored=stored)


def _managed_case(run: Run, row: Row, stored: Mapping[str, Any], task: Task | None, value: Mapping[str, Any]) -> Case:
    """As _routed_case."""
    try:
        return Case(run, row, evidence_of(stored), task, log=log_of(value, Path(run.path), row))
    except DataError as error:
        return Case(run, row, replace(evidence_of(stored), error=clean(str(error))), task)


def unknown_task(task_id: str, ids: Iterable[str]) -> DataError:
    """The error for an id that no run holds, with ids that begin like it or hold it."""
    ids = sorted(set(ids))
    found = [i for i in ids if i.startswith(task_id)] or [i for i in ids if task_id in i] \
        or [i for i in ids if i.startswith(task_id.partition("-")[0])]
    more = f" and {len(found) - _SUGGESTED} more" if len(found) > _SUGGESTED else ""
    hint = f"; did you mean {', '.join(found[:_SUGGESTED])}{more}?" if found else \
        "; report.py without --task shows the ids that there are"
    return DataError(f"no run holds a task {task_id!r}{hint}")


# --- as text ----------------------------------------------------------------------------------------------------------

def case_lines(cases: Sequence[Case]) -> Iterator[str]:
    """What people read, task by task where golds differ between versions; every line is harmless for a terminal."""
    shown: list[Task | None] = []
    for case in cases:
        if not any(_same(case.task, other) for other in shown):
            shown.append(case.task)
    for number, task in enumerate(shown):
        yield from [""] * bool(number)
        yield from _task_lines(cases[0].row, task)
        for case in cases:
            if _same(case.task, task):
                yield ""
                yield from _case_lines(case)


def _same(one: Task | None, other: Task | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.question, one.alternatives, one.extra.get("expect")) == \
        (other.question, other.alternatives, other.extra.get("expect"))


def _task_lines(row: Row, task: Task | None) -> Iterator[str]:
    kind = (row.category or "no category") + (f", set {task.set}" if task and task.set else "")
    yield clean(f"task      {row.task_id} ({kind})")
    if task is None:
        yield "question  not known: the run's tasks are in no known set; give them with --tasks"
        return
    yield clean(f"question  {task.question}")
    if isinstance(task, TeamTask):
        return
    if "expect" in task.extra:
        for number, call in enumerate(task.expected):
            yield clean(f"{'' if number else 'plan':<9} {call}")
    else:
        yield clean(f"expected  {_calls(task.expected)}")
    for accepted in task.accept:
        yield clean(f"accepted  {_calls(accepted)}")
    for name, text in facts_of(task):
        yield clean(f"{name:<9} {text}")


def facts_of(task: Task) -> Iterator[tuple[str, str]]:
    """What a case of the bench, or a task of the suite chain, says of itself besides its calls, as (name, text)."""
    extra = task.extra
    if "expect" in extra:
        yield from world_facts(task)
    for step, others in enumerate(extra.get("oder") or (), 1):
        for call in others:
            yield "or", f"{_shown(call)} (step {step})"
    if extra.get("nur"):
        yield "offered", ", ".join(map(str, extra["nur"]))
    if extra.get("reihenfolge"):
        yield "order", "as expected"
    if extra.get("menge"):
        yield "sets", ", ".join(map(str, extra["menge"]))
    if extra.get("fehlt"):
        yield "missing", " | ".join(map(str, extra["fehlt"]))
    for key, name in (("prueft", "tests"), ("fallen", "pitfalls")):
        if isinstance(extra.get(key), str):
            yield name, extra[key]


def _shown(call: Any) -> str:
    """A call as the case holds it, read or as JSON."""
    if isinstance(call, dict) and isinstance(call.get("name"), str):
        arguments = call.get("args", call.get("arguments", {}))
        return str(Call(call["name"], arguments if isinstance(arguments, dict) else {}))
    return str(call)


def _calls(calls: Sequence[Call]) -> str:
    return " + ".join(map(str, calls)) or "no call"


def _case_lines(case: Case) -> Iterator[str]:
    run, score, seen = case.run, case.row.score, case.evidence
    harness = "" if run.harness == "run_eval" else f" [{run.harness}]"
    repeat = f", repeat {case.row.repeat}" if case.row.repeat > 1 else ""
    yield clean(f"{run.model}{harness}, mode {run.mode}, set-up {setup_of(run)}{repeat} ({run.path})")
    if seen.error:
        yield from _indented("error", seen.error)
    if case.play is not None:
        yield from map(clean, play_lines(case.play, case.bodies))
        yield from map(clean, verdict_lines(case.row, case.task, case.play))
        yield from [clean(f"  labels    {', '.join(score.labels)}")] * bool(score.labels)
    elif run.suite == ROUTED:
        yield from map(clean, routed_lines(case.routed)) if case.routed else _reply_lines(seen)
        yield from map(clean, route_lines(case.row, case.stored, case.task))
        yield from [clean(f"  labels    {', '.join(score.labels)}")] * bool(score.labels)
    elif run.suite == MANAGED:
        yield from map(clean, managed_lines(case.row, case.log))
        yield from [clean(f"  labels    {', '.join(score.labels)}")] * bool(score.labels)
    else:
        yield from _reply_lines(seen)
        yield clean(f"  read      {_read(score)}" + (f" [{', '.join(score.labels)}]" if score.labels else ""))
    word = "no answer" if score.failed else "right" if score.call_match else "wrong"
    sub = f" ({score.sub})" if score.sub else ""
    yield clean(f"  verdict   {word}: {score.outcome}{sub}, {counted(score.why) or 'no reason stored'}")
    if run.suite in (PLAYED, ROUTED, MANAGED):
        return
    if case.row.details:
        yield clean("  steps     " + _steps(case.row))
    if not score.failed:
        yield "  matches   " + ", ".join(f"{name} {'yes' if getattr(score, name) else 'no'}" for name in _MATCHES
                                          if getattr(score, name) is not None
                                          and (run.suite != SUITE or name not in _OF_REQUESTS))


def _read(score: Score) -> str:
    if score.calls:
        return _calls(score.calls)
    if score.failed:
        return "nothing, there is no reply"
    return "nothing readable" if score.outcome in ("malformed_call", "truncated") else "no call"


def _steps(row: Row) -> str:
    """How a bench case was counted."""
    told, details = [], row.details
    if details.get("steps"):
        told.append(f"{details.get('hits', '?')} of {details['steps']} met")
    told.append(counted(f"{details.get('emitted', 0)} calls"))
    told += [name.replace("_", " ") for name in ("broken", "asked", "asked_right", "claims_done", "first_step_only")
             if details.get(name)]
    told.append(f"by the original's rule {'right' if details.get('streng_match') else 'wrong'}")
    return "; ".join([*told, *(f"form: {note}" for note in details.get("form_notes", ()))])


def _reply_lines(seen: Evidence) -> Iterator[str]:
    for entry in seen.entries:
        yield from _indented("call", entry.shown, entry.left_out)
    if seen.thoughts.shown:
        yield from _indented("thought", seen.thoughts.shown, seen.thoughts.left_out)
    if seen.text.shown or not (seen.entries or seen.thoughts.shown or seen.error):
        yield from _indented("reply", seen.text.shown or "(empty)", seen.text.left_out)
    if seen.finish_reason:
        yield f"  finish    {seen.finish_reason}"


def _indented(name: str, text: str, left_out: int = 0) -> Iterator[str]:
    """The word before the first line, blanks before the others."""
    for number, line in enumerate(text.split("\n")):
        yield clean(f"  {'' if number else name:<9} {line}").rstrip()
    if left_out:
        yield f"  {'':<9} … {left_out:,} more characters"


# --- for programs -----------------------------------------------------------------------------------------------------

def case_json(case: Case) -> Mapping[str, Any]:
    task, score, seen = case.task, case.row.score, case.evidence
    return {"task_id": case.row.task_id, "category": case.row.category, "question": task.question if task else None,
            "expected": [c.to_json() for c in task.expected] if task else None,
            "accept": [[c.to_json() for c in calls] for calls in task.accept] if task else None,
            "model": case.run.model, "path": case.run.path, "harness": case.run.harness, "mode": case.run.mode,
            "setup": setup_of(case.run), "repeat": case.row.repeat,
            "facts": [list(fact) for fact in facts_of(task)] if task else [],
            "reply": {"text": seen.text.shown, "calls": [e.shown for e in seen.entries],
                      "thoughts": seen.thoughts.shown, "finish_reason": seen.finish_reason, "error": seen.error},
            "verdict": {**score.to_json(), **_plain_details(case)},
            **({"play": play_json(case.play, case.bodies)} if case.run.suite == PLAYED else {}),
            **({"play": routed_json(case.routed)} if case.run.suite == ROUTED else {}),
            **({"play": managed_json(case.row, case.log)} if case.run.suite == MANAGED else {})}


def _plain_details(case: Case) -> Mapping[str, Any]:
    """What only a play tells."""
    return case.row.details if case.run.suite in (PLAYED, ROUTED) else {}
