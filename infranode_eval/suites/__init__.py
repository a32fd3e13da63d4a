"""The suites by name, and the values that a suite and the runner share.

A suite is a module with `load`, `play` and `score` (specification: design, "A suite is three functions").
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from infranode_eval.arms.offer import Offer, Offering
from infranode_eval.providers.protocol import Answer, Messages, Provider, Sampling, Tools
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import messages, prompt_prefix
from lm_eval_task.records import Score, Task
from lm_eval_task.tools import Toolset

SUITES = ("single",)


@dataclass(frozen=True, slots=True)
class Setup:
    """What is the same for all tasks of a run, or for one task of it.

    tools: those that are offered. tools_json: the same as `tools=` takes them, built once. prefix: all of a prompt but
    the question, in prompted mode, built once as well. offering: the arm of the run; offer: what it offers here. None:
    the tools as they stand.
    """

    mode: str
    tools: Toolset
    tools_json: Tools
    sampling: Sampling
    prefix: str = ""
    offering: Offering | None = None
    offer: Offer | None = None

    @classmethod
    def of(cls, mode: str, tools: Toolset, sampling: Sampling, offering: Offering | None = None) -> Setup:
        return cls._offered(mode, tools, sampling, offering, offering.whole if offering else None)

    @classmethod
    def _offered(cls, mode: str, tools: Toolset, sampling: Sampling, offering: Offering | None,
                 offer: Offer | None) -> Setup:
        tools, intro = (offer.tools, offer.intro) if offer else (tools, None)
        prefix = prompt_prefix(tools, intro) if mode == "prompt" else ""
        return cls(mode, tools, tools.to_json(), sampling, prefix, offering, offer)

    def for_task(self, task_id: str, question: str = "") -> Setup:
        """The set-up as this task sees it."""
        if self.offering is None or self.offering.choose is None:
            return self
        offer = self.offering.for_task(task_id, question)
        return Setup._offered(self.mode, offer.tools, self.sampling, None, offer)

    def offer_for(self, task: Task) -> Offer | None:
        """What an arm offers for a task, without rendering it; None for the tools as they stand."""
        return self.offering.for_task(task.task_id, task.question) if self.offering else self.offer

    def messages(self, question: str) -> list[dict[str, Any]]:
        """As `prompt.messages`, without rendering the tools once more."""
        if self.mode == "prompt":
            return [{"role": "user", "content": self.prefix + question}]
        return messages(self.mode, self.tools, question, self.offer.intro if self.offer else None)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said about one task: all messages in the OpenAI chat shape, and the answers among them in order."""

    messages: Messages
    answers: tuple[Answer, ...]


class Suite(Protocol):
    """The shape of a suite module."""

    MAX_TOKENS: int   # default of --max-tokens
    MODE: str         # default of --mode

    def load(self, path: str | Path | None, tools: Toolset, which: str) -> tuple[Task, ...]:
        """The tasks of a set, validated. Raise DataError or UsageError."""
        ...

    def play(self, task: Task, provider: Provider, setup: Setup) -> Transcript:
        """Ask until the task is over. The same replies give the same requests. Lets ProviderError through."""
        ...

    def score(self, task: Task, transcript: Transcript, setup: Setup) -> Score:
        """The verdict; pure."""
        ...

    def prompt_hash(self, setup: Setup) -> str:
        """sha256 over what a model is told besides the question."""
        ...


def open_suite(name: str) -> Suite:
    """Raise UsageError for an unknown suite."""
    if name not in SUITES:
        raise UsageError(f"suite {name!r} does not exist; expected one of {', '.join(SUITES)}")
    return import_module(f"{__name__}.{name}")
