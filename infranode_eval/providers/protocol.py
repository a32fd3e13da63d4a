"""What a provider is: something that answers chat messages, the same for an endpoint, a baseline and a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from lm_eval_task.records import Reply, Task
from lm_eval_task.tools import Toolset

Messages = Sequence[Mapping[str, Any]]
Tools = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is asked of the sampler. `max_tokens` bounds one reply."""

    max_tokens: int
    temperature: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "max_tokens": self.max_tokens}


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply with what the endpoint said about it.

    message: the chat message as received. usage: the endpoint's token counts as received. latency_s: seconds from
    sending to the last byte of the attempt that succeeded. model: the id that the endpoint names. None where unknown.
    """

    message: Mapping[str, Any]
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    latency_s: float | None = None
    model: str | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Answer:
        return cls(value["message"], value.get("finish_reason"), value.get("usage"), value.get("latency_s"),
                   value.get("model"))

    def to_json(self) -> dict[str, Any]:
        return {"message": self.message, "finish_reason": self.finish_reason, "usage": self.usage,
                "latency_s": self.latency_s, "model": self.model}

    @property
    def reply(self) -> Reply:
        """What the scorer sees of it."""
        return Reply(self.message, self.finish_reason)


class Provider(Protocol):
    """Answers one request; safe to call from many threads at once."""

    deterministic: bool   # the same request always gets the same answer, at no cost
    setup: str | None     # what the results file says about it; None: the sampling says it all

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        """One attempt. tools: the OpenAI list in native mode, None in prompted mode.

        Raise a child of lm_eval_task.errors.ProviderError if no answer was obtained; whoever calls decides on retries.
        """
        ...

    def close(self) -> None:
        """Give up what is in flight and free what is open. Safe to call twice."""
        ...


@runtime_checkable
class TaskReader(Protocol):
    """A provider that must see the task itself (only the oracle is one)."""

    def for_task(self, task: Task) -> Provider: ...


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """What the command line says about a provider. timeout_s: total deadline of one attempt."""

    model: str
    tools: Toolset
    base_url: str | None = None
    api_key: str | None = None
    timeout_s: float = 60.0
