"""Stored transcripts gone through again: does the reader of today find the calls, and the scorer the verdict, of then?

A turn that is read otherwise now would have been answered otherwise, and what the model would then have seen nobody
knows: such plays are marked, not judged as if they had been played so. Source: specification, db_routing, requirement
62.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.db_routing.course import TOOL, answers_of, replies_in
from infranode_eval.db_routing.scoring import score_play
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.db_routing.tools import toolset
from infranode_eval.db_routing.world import World
from lm_eval_task.parse import calls_from_message
from lm_eval_task.records import Call, Score, canonical_json
from lm_eval_task.shapes import parts_of
from lm_eval_task.tools import Toolset


@dataclass(frozen=True, slots=True)
class Changed:
    """One tool turn that is read otherwise now. before, now: calls as name(arguments)."""

    task_id: str
    repeat: int
    turn: int
    before: tuple[str, ...]
    now: tuple[str, ...]


def changed_in(transcript: Mapping[str, Any]) -> Iterator[Changed]:
    """The turns of one stored transcript whose text is read otherwise now; native calls stay what they were."""
    told = transcript["db_routing"]
    tools = toolset(told["order"])
    native = any(message["role"] == "system" for message in transcript["messages"])
    for call, reply in replies_in(transcript):
        entries = () if reply is None else parts_of(reply).entries
        if call["kind"] != TOOL or reply is None or any(entry.name is not None for entry in entries):
            continue
        before = [_shown(one["alias"], one["arguments"]) for one in call["tool_calls"]]
        now = [_shown(one.name, one.arguments) for one in _read(reply, call["finish_reason"], tools, native)]
        if before != now:
            yield Changed(transcript["task_id"], transcript["repeat"], call["turn"], tuple(before), tuple(now))


def rescored(task: RoutingTask, transcript: Mapping[str, Any], world: World) -> Score:
    """The verdict on a stored transcript. Raise DataError for one that cannot be read."""
    answers = answers_of(transcript)
    *_, (_, reply) = replies_in(transcript)
    return score_play(task, None if reply is None else answers[-1], transcript["db_routing"], world)


def _read(reply: Mapping[str, Any], finish_reason: str | None, tools: Toolset, native: bool) -> Sequence[Call]:
    reading = calls_from_message(reply, tools, "native" if native else "prompt", finish_reason, several=True)
    return [call for call in reading.calls or () if call.name in tools]


def _shown(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name}({canonical_json(dict(arguments))})"
