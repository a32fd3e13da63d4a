"""What a provider is: something that answers chat messages, the same for an endpoint, a baseline and a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from lm_eval_task.errors import RefusedRequestError
from lm_eval_task.records import Reply, Task
from lm_eval_task.tools import Toolset

Messages = Sequence[Mapping[str, Any]]
Tools = Sequence[Mapping[str, Any]]
CACHES = OFF, PREFIX, MOVING = ("off", "prefix", "moving")     # where a request says what a cache is to keep


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is asked of the sampler. `max_tokens` bounds one reply; seed: None leaves it to the endpoint.

    tool_choice: of a single request that differs from the run's, "none" where no call is to follow.
    """

    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None
    tool_choice: str | None = None

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        value |= {} if self.seed is None else {"seed": self.seed}
        return value if self.tool_choice is None else value | {"tool_choice": self.tool_choice}

    def of_repeat(self, repeat: int) -> Sampling:
        """Repeat 1 has the seed itself, repeat 2 the next one: equal seeds would give one reply many times."""
        return self if self.seed is None or repeat == 1 else replace(self, seed=self.seed + repeat - 1)


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply with what the endpoint said about it.

    message: the chat message as received, in the vendor's own shape. finish_reason: in OpenAI's words;
    finish_reason_raw: as received, where that differs. usage: the endpoint's token counts as received. latency_s:
    seconds from sending to the last byte of the attempt that succeeded. model: the id that the endpoint names.
    deviations: what had to be sent otherwise than asked for (adaptation.py). served_by: whom a router asked. None where
    unknown.
    """

    message: Mapping[str, Any]
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    latency_s: float | None = None
    model: str | None = None
    finish_reason_raw: str | None = None
    deviations: tuple[str, ...] = ()
    served_by: str | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Answer:
        return cls(value["message"], value.get("finish_reason"), value.get("usage"), value.get("latency_s"),
                   value.get("model"), value.get("finish_reason_raw"), tuple(value.get("deviations", ())),
                   value.get("served_by"))

    def to_json(self) -> dict[str, Any]:
        value = {"message": self.message, "finish_reason": self.finish_reason, "usage": self.usage,
                 "latency_s": self.latency_s, "model": self.model}
        if self.finish_reason_raw is not None:
            value["finish_reason_raw"] = self.finish_reason_raw
        if self.deviations:
            value["deviations"] = list(self.deviations)
        if self.served_by is not None:
            value["served_by"] = self.served_by
        return value

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


@runtime_checkable
class Recorded(Protocol):
    """A program that hangs on more than its name: its `settings` are recorded with those of the run."""

    settings: Mapping[str, Any]


@runtime_checkable
class Noting(Protocol):
    """A provider that keeps what a play reads elsewhere, so that a resumed play reads the same."""

    def noted(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, a JSON value; in a resumed play what it gave before."""
        ...

    def recalled(self, name: str) -> Any:
        """What an earlier part of this play has noted; None for nothing."""
        ...


@runtime_checkable
class ToolReader(Protocol):
    """A program that sees tools as values: it is handed those of a task where tasks differ in them."""

    def for_tools(self, tools: Toolset) -> Provider: ...


class Adapted(RefusedRequestError):
    """Refused as it was sent; the provider sends it otherwise from now on, so ask again at once. Costs no retry."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A request as it would be sent, every secret masked."""

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@runtime_checkable
class Remote(Protocol):
    """A provider behind a network.

    parallel_switch: its API can be told to make one call at most. takes_seed: its API knows a seed.
    """

    parallel_switch: bool
    takes_seed: bool

    def preview(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Preview: ...


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """What the command line says about a provider.

    timeout_s: total deadline of one attempt. headers: sent with every request. extra_body: merged into every request.
    tool_choice: "auto", "required" or "none", in native mode. parallel: False asks for one call at most where the API
    has a switch for it, None leaves the switch out. environ: the proxy variables of the environment. cache: where
    requests with tools carry markers, PREFIX behind tools and system, MOVING there and at the last message; what has
    no tools is not asked again, so it carries none. own: flags that only the suite takes, for its programs.
    """

    model: str
    tools: Toolset
    base_url: str | None = None
    api_key: str | None = None
    timeout_s: float = 60.0
    headers: tuple[tuple[str, str], ...] = ()
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str = "auto"
    parallel: bool | None = False
    environ: Mapping[str, str] = field(default_factory=dict)
    cache: str = OFF
    own: Mapping[str, Any] = field(default_factory=dict)
