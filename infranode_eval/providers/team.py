"""A provider with others beside it, by role: whoever plays with several asks each under its own name."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from infranode_eval.providers.protocol import (
    Answer,
    Messages,
    Preview,
    Provider,
    Remote,
    Sampling,
    TaskReader,
    Tools,
)
from lm_eval_task.records import Task


@runtime_checkable
class Staffed(Protocol):
    """A provider whose roles can be asked."""

    def as_role(self, name: str, cancelled: threading.Event) -> Provider:
        """The provider of a role. cancelled: set where no more answers are needed. Raise KeyError for no role."""
        ...


class Told(Protocol):
    """An answer and the key of its request; None and "" where there is none."""

    key: str
    answer: Answer | None


@runtime_checkable
class Keyed(Protocol):
    """A provider that tells under which key it stores a request, and whether its run ends."""

    stopped: bool

    def asked(self, messages: Messages, tools: Tools | None, sampling: Sampling, session: str = "") -> Told:
        """As Provider.ask. session: which of several conversations of a role asks; answers are stored for it alone."""
        ...

    def settle(self) -> None:
        """The play is over as it was stored: all its answers count as used."""
        ...


class Team:
    """main answers for the whole; `roles` are the others. Deterministic only if all of them are."""

    def __init__(self, main: Provider, roles: Mapping[str, Provider]) -> None:
        self.main, self.roles = main, dict(roles)
        self.deterministic = main.deterministic and all(role.deterministic for role in self.roles.values())
        self.setup = main.setup
        self.results_need_tools = getattr(main, "results_need_tools", False)
        self.address = getattr(main, "address", None)
        self.rpm = getattr(main, "rpm", None)

    def as_role(self, name: str, cancelled: threading.Event) -> Provider:
        return self.roles[name]

    def for_task(self, task: Task) -> Team:
        """With every program among them looking at the task."""
        def of(provider: Provider) -> Provider:
            return provider.for_task(task) if isinstance(provider, TaskReader) else provider

        return type(self)(of(self.main), {name: of(role) for name, role in self.roles.items()})

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        return self.main.ask(messages, tools, sampling)

    def close(self) -> None:
        for provider in (self.main, *self.roles.values()):
            provider.close()


class RemoteTeam(Team):
    """A team whose main provider is behind a network."""

    def __init__(self, main: Any, roles: Mapping[str, Provider]) -> None:
        super().__init__(main, roles)
        self.parallel_switch, self.takes_seed = main.parallel_switch, main.takes_seed

    def preview(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Preview:
        return self.main.preview(messages, tools, sampling)  # type: ignore[attr-defined]


def team_of(main: Provider, roles: Mapping[str, Provider]) -> Team:
    """The team of a main provider, remote if that is."""
    return RemoteTeam(main, roles) if isinstance(main, Remote) else Team(main, roles)
