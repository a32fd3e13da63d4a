"""What a run of the suite will take: its plays gone through with the golds, every request counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.budget import Forecast
from infranode_eval.db_routing.policies import Player
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.protocol import Answer, Messages, Provider, Sampling, Tools
from lm_eval_task.records import canonical_json

Playing = Callable[[RoutingTask, Provider], Any]


class _Rehearsal:
    """The oracle, and what it is asked."""

    deterministic = True
    setup: str | None = None

    def __init__(self, task: RoutingTask, count: Callable[[str], int], tools_tokens: int) -> None:
        self._oracle, self._count, self._tools_tokens = Player("oracle", task), count, tools_tokens
        self.prompts: list[int] = []
        self.replies = 0

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        told = messages if isinstance(messages, Conversation) else Conversation(messages)
        sizes = told.made("forecast", lambda message: self._count(_text(message)))
        self.prompts.append(sum(sizes) + (self._tools_tokens if tools is not None else 0))
        answer = self._oracle.ask(messages, tools, sampling)
        self.replies += self._count(_text(answer.message))
        return answer

    def close(self) -> None:
        pass


def _text(message: Mapping[str, Any]) -> str:
    """What a server makes tokens of: the text, and calls as they are sent."""
    calls = message.get("tool_calls")
    return (message.get("content") or "") + (canonical_json(calls) if calls else "")


def forecast_of(tasks: Iterable[RoutingTask], play: Playing, tools_json: Sequence[Mapping[str, Any]],
                count: Callable[[str], int], max_tokens: int) -> Forecast:
    """Requests and tokens of plays that go straight to the right database. count: tokens of a text."""
    tools_tokens = count(canonical_json(list(tools_json)))
    requests = told = cached = replies = longest = 0
    for task in tasks:
        rehearsal = _Rehearsal(task, count, tools_tokens)
        play(task, rehearsal)
        requests += len(rehearsal.prompts)
        told += sum(rehearsal.prompts)
        cached += sum(rehearsal.prompts[:-2])       # the request for the answer has no tools before its messages
        replies += rehearsal.replies
        longest = max(longest, *rehearsal.prompts)
    return Forecast(requests, told, cached, replies, requests * max_tokens, longest + max_tokens)
