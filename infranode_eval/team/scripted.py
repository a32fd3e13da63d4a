"""The scripted pool: workers without a model, so that routing, grants, sessions and counting run for real.

A worker reads each path of its prompt in one turn, then tells all texts that its session has read, and the facts of
the attachments that it has received. Source: specification, team, section 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infranode_eval.providers.baselines import written
from infranode_eval.providers.media import media_in
from infranode_eval.providers.protocol import Answer, Messages, Sampling, Tools
from infranode_eval.team.golden import facts
from infranode_eval.team.tasks import TeamTask
from infranode_eval.team.wording import texts
from lm_eval_task.records import Call

UNSEEN = "nicht wahrnehmbar"
_PATH = re.compile(r"/arbeit/[\w./+@%~-]*[\w/+@%~-]")
_NUMBER = re.compile(r"^\d+\t", re.MULTILINE)


class Worker:
    """One key of the pool. facts: sha256 of an asset → what is to be perceived in it."""

    deterministic = True
    setup: str | None = "scripted worker: reads the paths of its prompt, tells what it has read and perceived"

    def __init__(self, key: str, known: Mapping[str, str] | None = None) -> None:
        self._key, self._facts = key, known or {}

    def for_task(self, task: TeamTask) -> Worker:
        return Worker(self._key, {sha: fact["text"] for sha, fact in facts(task.scenario.folder).items()})

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        last = messages[-1]
        paths = _paths(last["content"]) if last["role"] == "user" and isinstance(last["content"], str) else []
        readable = any(tool["function"]["name"] == "Read" for tool in tools or ())
        if paths and readable:
            return written([Call("Read", {"file_path": path}) for path in paths], native=True)
        return written("\n\n".join(self._known(messages)) or "Dazu habe ich nichts gelesen.", native=True)

    def close(self) -> None:
        pass

    def _known(self, messages: Messages) -> Iterator[str]:
        """Each text of the session once, in the order of reading; a text that changed stands there twice."""
        seen = {media["path"]: media["sha256"] for message in messages for media in media_in(message)}
        attached, placeholder = texts()["attached"], texts()["placeholder"]
        begins, ends = attached.partition("{")[0], attached.rpartition(")")[2]
        told: set[str] = set()
        for path, text in _read(messages):
            if text.startswith(begins) and text.endswith(ends):
                text = self._facts.get(seen.get(path, ""), UNSEEN)
            elif text.startswith(placeholder.partition("{")[0]):
                text = UNSEEN
            else:
                text = _NUMBER.sub("", text)
            line = f"[{path}]\n{text}"
            if line not in told:
                told.add(line)
                yield line


def _paths(prompt: str) -> list[str]:
    return list(dict.fromkeys(_PATH.findall(prompt)))


def _read(messages: Messages) -> Iterator[tuple[str, str]]:
    """(path, result) of each Read."""
    asked: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            asked[call["id"]] = _argument(call)
        if message["role"] == "tool" and message["tool_call_id"] in asked:
            yield asked[message["tool_call_id"]], message["content"]


def _argument(call: Mapping[str, Any]) -> str:
    import json  # late: only where a worker reads

    return json.loads(call["function"]["arguments"])["file_path"]
