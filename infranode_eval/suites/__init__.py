"""The suites by name, and the values that a suite and the runner share.

A suite is a module with `load`, `play` and `score` (specification: design, "A suite is three functions").
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from infranode_eval.providers.protocol import Answer, Messages, Provider, Sampling, Tools
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import messages, prompt_prefix
from lm_eval_task.records import Score, Task
from lm_eval_task.tools import Toolset

SUITES = ("single",)


@dataclass(frozen=True, slots=True)
class Setup:
    """What is the same for all tasks of a run.

    tools_json: the tools as `tools=` takes them, built once. prefix: all of a prompt but the question, in prompted
    mode, built once as well. shuffle: the seed by which each task gets the tools in an order of its own; None: as they
    stand.
    """

    mode: str
    tools: Toolset
    tools_json: Tools
    sampling: Sampling
    prefix: str = ""
    shuffle: int | None = None

    @classmethod
    def of(cls, mode: str, tools: Toolset, sampling: Sampling, shuffle: int | None = None) -> Setup:
        return cls(mode, tools, tools.to_json(), sampling, prompt_prefix(tools) if mode == "prompt" else "", shuffle)

    def for_task(self, task_id: str) -> Setup:
        """The set-up as this task sees it."""
        if self.shuffle is None:
            return self
        return Setup.of(self.mode, shuffled(self.tools, self.shuffle, task_id), self.sampling)

    def messages(self, question: str) -> list[dict[str, Any]]:
        """As `prompt.messages`, without rendering the tools once more."""
        if self.mode == "prompt":
            return [{"role": "user", "content": self.prefix + question}]
        return messages(self.mode, self.tools, question)


def shuffled(tools: Toolset, seed: int, task_id: str) -> Toolset:
    """The tools in the order of sha256("<seed>|<task_id>|<name of the tool>"): anybody can work it out again."""
    return Toolset.of(sorted(tools.tools, key=lambda tool: sha256(f"{seed}|{task_id}|{tool.name}".encode()).digest()))


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
