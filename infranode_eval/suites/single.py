"""The main suite: one question, one reply, the calls in it against the gold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.suites import (
    ALL_MODES,
    MANY,
    NOTHING,
    Scene,
    Setup,
    Transcript,
    failure_of,
    play_once,
    usual_hashes,
)
from lm_eval_task import metrics as scorer
from lm_eval_task import tools as toolbox
from lm_eval_task.cases import looks_like_cases
from lm_eval_task.dataset import CHOICES, load_tasks
from lm_eval_task.errors import BenchError, UsageError
from lm_eval_task.prompt import prompt_fingerprint
from lm_eval_task.records import Score, Task
from lm_eval_task.tools import Toolset

MAX_TOKENS = 160
MODE = "prompt"
MODES = ALL_MODES
SETS = CHOICES
OWN_SETS = False
BASELINE = "bm25"
PROGRAMS = NOTHING
TAKES_ARMS = True
STARTER = None
REPLAYS = None
PLAYS_AT_ONCE = MANY
TRANSCRIPTS_BESIDE = TAKES_BLANK = SECOND_PASS = TOOLS_OF_TASKS = False
OWN_ARMS = ()
UNMARKED_MODE = "prompt"
OWN_FLAGS = ()
play = play_once
failure = failure_of


def read_tools(path: str | Path | None = None) -> Toolset:
    """The twelve tools, or those of a file. Raise DataError."""
    return toolbox.read_tools(path)


def load(path: str | Path | None, tools: Toolset, which: str) -> tuple[Task, ...]:
    """The tasks of one set in file order (without a path the project's own). Raise DataError or UsageError."""
    try:
        return load_tasks(tools, which, path)
    except BenchError:
        if path is not None and looks_like_cases(path):
            raise UsageError(f"{path} looks like cases of the test bench: add --suite bench") from None
        raise


def scene(path: str | Path | None, tools: Toolset, own: Mapping[str, Any] = NOTHING) -> Scene:
    """Questions as the prompt module puts them."""
    return Scene()


def offering(tasks: Sequence[Task], tools: Toolset) -> None:
    """Every task sees all tools."""


def score(task: Task, transcript: Transcript, setup: Setup) -> Score:
    """The scorer's verdict on the one reply; under an arm its calls are judged under their real names."""
    reply, offer = transcript.answers[-1].reply, setup.offer_for(task)
    return offer.verdict(task, reply, setup.mode) if offer else scorer.score_reply(task, reply, setup.tools, setup.mode)


def prompt_hash(setup: Setup) -> str:
    return prompt_fingerprint(setup.mode, setup.tools, setup.offer.intro if setup.offer else None)


def hashes(tasks: Sequence[Task], tools: Toolset, setup: Setup) -> dict[str, str]:
    return usual_hashes(sys.modules[__name__], tasks, tools, setup)


def eligible(tasks: Sequence[Task], setup: Setup) -> Sequence[Task]:
    """All of them."""
    return tasks


def aggregate(pairs: Sequence[tuple[Task, Score]]) -> dict[str, float | None]:
    return scorer.aggregate([(task.category, score) for task, score in pairs])


def forecast(tasks: Sequence[Task], setup: Setup, count: Callable[[str], int]) -> None:
    """One request a task: the prompts tell it."""


def headline(metrics: Mapping[str, float | None], strict: bool) -> None:
    """The table of the main suite leads with call_match and ability."""


def summary(result: Mapping[str, Any]) -> None:
    """The usual table."""
