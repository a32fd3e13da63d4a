"""Plays of the small panel's questions against a script: what the model says, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from infranode_eval.db_routing.course import Course
from infranode_eval.db_routing.policies import Player
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.db_routing.tools import toolset
from infranode_eval.providers.protocol import Answer, Messages, Provider, Sampling
from infranode_eval.providers.scripted import Line, ScriptedProvider
from infranode_eval.suites import Setup, db_routing
from lm_eval_task.records import Score


def setup_for(task: RoutingTask, mode: str = "native", condition: str | None = None) -> Setup:
    tools = toolset(sorted(task.panel.aliases))
    own = {} if condition is None else {"condition": condition}
    return Setup.of(mode, tools, Sampling(1024), None, db_routing.scene(None, tools, own))


class Played(NamedTuple):
    """A play with all that can be looked at."""

    course: Course
    score: Score
    requests: list[tuple[list[Mapping[str, Any]], Any, Sampling]]

    @property
    def row(self) -> dict[str, Any]:
        return self.score.to_json()

    @property
    def calls(self) -> list[dict[str, Any]]:
        return self.course.calls

    @property
    def statuses(self) -> list[str]:
        return [one["status"] for call in self.calls for one in call["tool_calls"]]

    @property
    def results(self) -> list[str]:
        """What was sent back in messages of their own."""
        return [message["content"] for message in self.course.messages if message["role"] == "tool"]


class Witness:
    """Passes requests on, and keeps a copy of what each of them held."""

    setup: str | None = None

    def __init__(self, provider: Provider, results_need_tools: bool = False) -> None:
        self._provider, self.results_need_tools = provider, results_need_tools
        self.deterministic = provider.deterministic
        self.requests: list[tuple[list[Mapping[str, Any]], Any, Sampling]] = []

    def ask(self, messages: Messages, tools: Any, sampling: Sampling) -> Answer:
        self.requests.append((json.loads(json.dumps(list(messages))), tools, sampling))
        return self._provider.ask(messages, tools, sampling)

    def close(self) -> None:
        pass


def played(task: RoutingTask, script: Iterable[Line] | Callable[[Messages], Line], mode: str = "native",
           condition: str | None = None, results_need_tools: bool = False) -> Played:
    """Play a question against a script, and judge it."""
    return _played(task, ScriptedProvider(script), mode, condition, results_need_tools)


def by_policy(task: RoutingTask, name: str, mode: str = "native", condition: str | None = None) -> Played:
    return by_player(task, Player(name), mode, condition)


def by_player(task: RoutingTask, player: Player, mode: str = "native", condition: str | None = None) -> Played:
    return _played(task, player.for_task(task), mode, condition, False)


def _played(task: RoutingTask, provider: Provider, mode: str, condition: str | None, need: bool) -> Played:
    setup, witness = setup_for(task, mode, condition), Witness(provider, need)
    transcript = db_routing.play(task, witness, setup)
    score = db_routing.score(task, transcript, setup)
    stored = json.loads(json.dumps(transcript.course.to_json()))
    assert db_routing.rescore(task, stored) == score, "a stored transcript is judged alike"
    assert db_routing.answers_of(stored) == list(transcript.answers), "and holds every reply as it came"
    return Played(transcript.course, score, witness.requests)


def entry(name: Any, arguments: Any, call_id: Any = None) -> dict[str, Any]:
    """A native call entry as OpenAI writes it; arguments as JSON text, unless they are a text already."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    found = {"type": "function", "function": {"name": name, "arguments": text}}
    return found if call_id is None else {"id": call_id, **found}


def native(*entries: Any, content: Any = None) -> dict[str, Any]:
    """A message with native calls."""
    return {"role": "assistant", "content": content, "tool_calls": list(entries)}


def schema(alias: str, call_id: str = "c1") -> dict[str, Any]:
    """A message with one call of get_schema."""
    return native(entry(alias, {"action": "get_schema"}, call_id))


def said(alias: Any, sql: Any = None) -> str:
    """An answer object."""
    return json.dumps({"selected_database": alias, "sql": sql}, ensure_ascii=False)


def cut(message: Any) -> Answer:
    """A reply that the token budget ended."""
    return Answer(message if isinstance(message, dict) else {"role": "assistant", "content": message}, "length")


def check_protocol(messages: Iterable[Mapping[str, Any]]) -> None:
    """Whatever was said, an API takes these messages: no empty one, every call answered once and at once."""
    waiting: list[str] = []
    seen: set[str] = set()
    last = ""
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0) and message["content"]
        else:
            assert not waiting, f"no result for {waiting}"
            assert message.get("content") or message.get("tool_calls"), message
            assert (last, message["role"]) != ("user", "user"), "some APIs want roles to alternate"
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            assert not seen.intersection(waiting)
            seen.update(waiting)
        last = message["role"]
    assert not waiting
    json.dumps(list(messages), ensure_ascii=False).encode()
