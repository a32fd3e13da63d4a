"""A suite made ready for inspect_ai, and one of its tasks played by a model of inspect's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infranode_eval.inspection.provider import InspectProvider
from infranode_eval.providers.protocol import Sampling
from infranode_eval.runner import Played
from infranode_eval.suites import Setup, Suite, open_suite
from lm_eval_task.errors import ProviderError, UsageError
from lm_eval_task.prompt import MODES
from lm_eval_task.records import Task


@dataclass(frozen=True, slots=True)
class Ready:
    """A suite with everything that its tasks need; tasks by id."""

    suite: Suite
    tasks: Mapping[str, Task]
    setup: Setup

    @property
    def hashes(self) -> dict[str, str]:
        """As a results file has them."""
        return self.suite.hashes(tuple(self.tasks.values()), self.setup.tools, self.setup)


@cache
def ready(suite: str, which: str, mode: str, tasks: str | None = None, tools: str | None = None,
          max_result_chars: int | None = None) -> Ready:
    """which: the set. tasks, tools: whole paths of files of one's own. Raise UsageError or DataError."""
    opened = open_suite(suite)
    if mode not in MODES:
        raise UsageError(f"mode {mode!r} does not exist; expected one of {', '.join(MODES)}")
    for flag, path in (("tasks", tasks), ("tools", tools)):
        if path is not None and not Path(path).is_absolute():
            raise UsageError(f"-T {flag}={path}: inspect loads a task in the folder of its file, so give the whole "
                             f"path: -T {flag}=$PWD/{path}")
    offered = opened.read_tools(tools)
    rows = opened.load(tasks, offered, which)
    own = {} if max_result_chars is None else {"max_result_chars": max_result_chars}
    setup = Setup.of(mode, offered, Sampling(opened.MAX_TOKENS), opened.offering(rows, offered),
                     opened.scene(tasks, offered, own))
    return Ready(opened, {row.task_id: row for row in rows}, setup)


def play(this: Ready, task: Task, repeat: int, asks: Callable[[], InspectProvider]) -> Played:
    """As the runner plays: a failure is a verdict, and a reply that holds nothing is asked for once more.

    asks: makes the provider of one play. To be called in a worker thread of anyio.
    """
    setup, attempts = this.setup.for_task(task.task_id, task.question), 0
    while True:
        provider = asks()
        try:
            transcript = this.suite.play(task, provider, setup)
        except ProviderError as error:
            score = this.suite.failure(task, error.outcome, "no answer was obtained", error.sub)
            return Played(task, repeat, score, None, attempts + provider.asked, f"{type(error).__name__}: {error}")
        score, first = this.suite.score(task, transcript, this.setup), attempts == 0
        attempts += provider.asked
        if not (score.failed and first):
            return Played(task, repeat, score, transcript, attempts)


def cut_short(this: Ready, task: Task, repeat: int) -> Played:
    """A play that inspect ended before its end: no answer was obtained, as with any other failure."""
    return Played(task, repeat, this.suite.failure(task, "infra_error", "inspect ended the sample early", "cut_short"))
