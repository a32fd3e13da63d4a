"""What a run of plays will take: they are gone through with a provider that knows the way, every request counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from infranode_eval.budget import Forecast
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.protocol import Answer, Messages, Provider, Sampling, Tools
from lm_eval_task.records import canonical_json

Count = Callable[[str], int]      # the tokens of a text
T = TypeVar("T")


class Rehearsal:
    """A provider that counts what it is asked and what the provider behind it answers, in tokens.

    prompts: one number a request, the tools included where they were offered. replies: all answers together.
    """

    deterministic = True
    setup: str | None = None

    def __init__(self, provider: Provider, count: Count, tools_tokens: int) -> None:
        self._provider, self._count, self._tools_tokens = provider, count, tools_tokens
        self.prompts: list[int] = []
        self.replies = 0

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        told = messages if isinstance(messages, Conversation) else Conversation(messages)
        sizes = told.made("forecast", lambda message: self._count(_text(message)))
        self.prompts.append(sum(sizes) + (self._tools_tokens if tools is not None else 0))
        answer = self._provider.ask(messages, tools, sampling)
        self.replies += self._count(_text(answer.message))
        return answer

    def close(self) -> None:
        self._provider.close()


def _text(message: Mapping[str, Any]) -> str:
    """What a server makes tokens of: the text, and calls as they are sent."""
    calls = message.get("tool_calls")
    return (message.get("content") or "") + (canonical_json(calls) if calls else "")


def rehearsed(plays: Iterable[tuple[T, Rehearsal]], play: Callable[[T, Provider], Any], uncached: int,
              max_tokens: int) -> Forecast:
    """Every task played with its rehearsal. uncached: how many of a play's last prompts begin no later one."""
    requests = told = cached = replies = longest = 0
    for task, rehearsal in plays:
        play(task, rehearsal)
        requests += len(rehearsal.prompts)
        told += sum(rehearsal.prompts)
        cached += sum(rehearsal.prompts[:-uncached])
        replies += rehearsal.replies
        longest = max(longest, *rehearsal.prompts)
    return Forecast(requests, told, cached, replies, requests * max_tokens, longest + max_tokens)
