"""A play of the suite team under the lens: round by round as lines of text, and as values for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.beside import read_transcripts
from infranode_eval.reports.archive import Row
from infranode_eval.reports.team_rows import Managed
from infranode_eval.team.course import Course
from infranode_eval.team.log import Called, Log
from lm_eval_task.errors import DataError


def log_of(value: Mapping[str, Any], path: Path, row: Row) -> Log | None:
    """What happened, from the file beside the result; None for a failure. Raise DataError where it is not there."""
    told = value.get("transcripts")
    if row.score.failed:
        return None
    if not isinstance(told, dict) or not {"file", "sha256"} <= told.keys():
        raise DataError("names no file of transcripts", path)
    transcript = read_transcripts(path, told).get((row.task_id, row.repeat))
    if transcript is None:
        raise DataError(f"has no transcript of {row.task_id}", path)
    try:
        return Log.of(Course.from_json(transcript))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"row {row.task_id}: its transcript is not what the suite writes ({error!r})", path) from None


def managed_lines(row: Row, log: Log | None) -> Iterator[str]:
    """Rounds with their calls, runs and refusals, then the sub-agents; not yet harmless for a terminal."""
    managed: Managed | None = row.details.get("managed")
    if managed is None:
        return
    for one in managed.rounds:
        yield f"  {one.id:<9} {'passed' if one.passed else 'NOT PASSED'}" + (f": {one.why}" if one.why else "")
        if log is not None:
            yield f"  {'':<9} calls: {_counted(log.calls.get(one.id, ())) or 'none'}"
            for run in log.runs_in(one.id):
                seen = f", perceived {len(run.media)}" if run.media else ""
                made = _counted(run.calls) or "no call"
                yield f"  {'':<9} {run.id}: {run.subagent}, session {run.session}: {made}{seen}"
        for refusal in managed.refusals:
            if refusal.round == one.id:
                yield f"  {'':<9} forbidden: {refusal.agent}, {refusal.tool} {refusal.path}"
    for usage in managed.play.subagents:
        idle = ", ".join(sorted(usage.granted - usage.used))
        yield (f"  {'agent':<9} {usage.name} ({usage.model_key}): {', '.join(sorted(usage.used)) or 'no tool used'}"
               f"{f'; not used {idle}' if idle else ''}; {len(usage.touched)} of {usage.files} files")


def _counted(calls: Sequence[Called]) -> str:
    """As "Read ×2, Write"; calls with an error or a refusal are marked."""
    names = Counter(call.name + ("" if call.ok else " (refused or wrong)") for call in calls)
    return ", ".join(name + (f" ×{count}" if count > 1 else "") for name, count in names.items())


def managed_json(row: Row, log: Log | None) -> Any:
    """None for a failure."""
    managed: Managed | None = row.details.get("managed")
    if managed is None:
        return None
    return {"rounds": [{"round": one.id, "passed": one.passed, "why": one.why,
                        "calls": None if log is None else [_call_json(call) for call in log.calls.get(one.id, ())],
                        "runs": None if log is None else [
                            {"run": run.id, "subagent": run.subagent, "session": run.session,
                             "calls": [_call_json(call) for call in run.calls], "media": list(run.media)}
                            for run in log.runs_in(one.id)]} for one in managed.rounds],
            "subagents": [usage.to_json() for usage in managed.play.subagents],
            "refusals": [{"round": one.round, "agent": one.agent, "tool": one.tool, "path": one.path}
                         for one in managed.refusals]}


def _call_json(call: Called) -> dict[str, Any]:
    return {"name": call.name, "arguments": dict(call.arguments), "ok": call.ok}
