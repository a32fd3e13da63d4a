"""What the manager is told before and between its rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.team.limits import Limits
from infranode_eval.team.scenario import FileChange, Scenario, fill
from infranode_eval.team.staff import Hire
from infranode_eval.team.wording import listed, say, texts
from infranode_eval.team.workspace import ROOT, Scope, Workspace, reachable
from lm_eval_task.records import fingerprint


def system_message() -> dict[str, Any]:
    return {"role": "system", "content": say("system")}


def environment(scenario: Scenario, workspace: Workspace, pool: Mapping[str, Hire], limits: Limits, bash: bool,
                workflow: bool) -> str:
    """The first reminder: where the manager is, what it may open and grant, whom it may hire."""
    def switched(on: bool) -> str:
        return say("available" if on else "unavailable")

    hires = [f"{key} ({listed(say(f'kind_{kind}') for kind in ('text', *hire.modalities))})"
             for key, hire in pool.items()]
    files = sorted(f"{ROOT}/{relative}" for relative, _ in reachable(workspace, Scope(scenario.delegable)))
    return say("environment", accessible=_paths(scenario.accessible), delegable=_paths(scenario.delegable),
               files="\n".join(files) or say("none"), pool=listed(hires), turns=limits.turns,
               worker_turns=limits.worker_turns, runs=limits.runs, subagents=limits.subagents, bash=switched(bash),
               workflow=switched(workflow))


def _paths(relative: Sequence[str]) -> str:
    return listed(f"{ROOT}/{path}" for path in relative)


def question_of(scenario: Scenario, number: int, passed: bool | None, changes: Sequence[FileChange],
                begin: str | None) -> str:
    """The message that opens a round: feedback on the last one, reminders, the question. passed: None before any."""
    round_ = scenario.rounds[number]
    values = {"workspace": ROOT, "scenario_id": scenario.scenario_id}
    pieces = []
    if passed is not None:
        last = scenario.rounds[number - 1]
        pieces.append(fill(last.feedback_correct if passed else last.feedback_incorrect, values, quote=False))
    if begin is not None:
        pieces.append(say("reminder", text=begin))
    if changes:
        lines = "\n".join(say(change.op, path=f"{ROOT}/{change.dst}") for change in changes)
        pieces.append(say("reminder", text=say("updated", changes=lines)))
    return "\n\n".join([*pieces, fill(round_.question, values, quote=False)])


def opening_fingerprint() -> str:
    """sha256 over the words of the host in the data files: openings, reminders, placeholders, what the manager's own
    tools say.

    Not over what the six basic tools and scripts answer (errors and notes, in the code of each), questions, and what
    agents say to each other (specification: team, section 4).
    """
    return fingerprint(dict(texts()))
