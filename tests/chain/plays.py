"""Plays of sample tasks against a script: what the model says, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from infranode_eval.chain.course import Course
from infranode_eval.chain.scoring import PlayScore
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.providers.protocol import Answer, Messages, Sampling
from infranode_eval.providers.scripted import Line, ScriptedProvider
from infranode_eval.suites import Setup, chain
from lm_eval_task.tools import read_tools

TOOLS = read_tools()


def setup(mode: str = "native", **own: Any) -> Setup:
    return Setup.of(mode, TOOLS, Sampling(1024), None, chain.scene(None, TOOLS, own))


class Played(NamedTuple):
    """A play with all that can be looked at."""

    course: Course
    score: PlayScore
    provider: ScriptedProvider
    messages: Messages

    @property
    def kinds(self) -> list[str]:
        return [turn.kind for turn in self.course.turns]

    @property
    def requests(self) -> list[str | None]:
        return [one.request for turn in self.course.turns for one in turn.executed]

    @property
    def codes(self) -> list[str | None]:
        """The error code of each result, None for one of the world."""
        found = [json.loads(one.text) for turn in self.course.turns for one in turn.executed]
        return [body["error"]["code"] if "error" in body else None for body in found]


def played(task: ChainTask, script: Iterable[Line] | Callable[[Messages], Line], mode: str = "native",
           **own: Any) -> Played:
    """Play a task against a script, and judge it. own: flags of the suite."""
    scene, provider = setup(mode, **own), ScriptedProvider(script)
    transcript = chain.play(task, provider, scene)
    assert transcript.course is not None
    return Played(transcript.course, chain.score(task, transcript, scene), provider, transcript.messages)


def entry(name: Any, arguments: Any, call_id: Any = None, **more: Any) -> dict[str, Any]:
    """A native call entry as OpenAI writes it; arguments as JSON text, unless they are a text already."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    found = {"type": "function", "function": {"name": name, "arguments": text}, **more}
    return found if call_id is None else {"id": call_id, **found}


def native(*entries: Any, content: Any = None, **more: Any) -> dict[str, Any]:
    """A message with native calls."""
    return {"role": "assistant", "content": content, "tool_calls": list(entries), **more}


def resource(slug: Any, key: Any) -> tuple[str, dict[str, Any]]:
    return "get_city_resource", {"slug": slug, "resource": key}


def text_call(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as text."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def said(value: Any, **more: Any) -> str:
    """An answer object."""
    return json.dumps({"antwort": value, **more}, ensure_ascii=False)


def cut(text: str) -> Answer:
    """A reply that the token budget ended."""
    return Answer({"role": "assistant", "content": text}, "length")


def check_protocol(messages: Messages) -> None:
    """Whatever was said, an API takes these messages: no empty one, every call answered once and at once."""
    waiting: list[tuple[str, str]] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            expected = waiting.pop(0)
            assert (message["tool_call_id"], message["name"]) == expected
            assert message["content"]
            continue
        assert not waiting, f"no result for {waiting}"
        assert message.get("content") or message.get("tool_calls") or message.get("parts"), message
        waiting = list(_ids(message))
        assert not seen.intersection(call_id for call_id, _ in waiting)
        seen.update(call_id for call_id, _ in waiting)
    assert not waiting
    json.dumps(list(messages), ensure_ascii=False).encode()


def _ids(message: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    return [(call["id"], call["function"]["name"]) for call in message.get("tool_calls") or ()]
