"""The main suite: one question, one reply, the calls in it against the gold."""

from __future__ import annotations

from pathlib import Path

from infranode_eval.providers.protocol import Provider
from infranode_eval.suites import Setup, Transcript
from lm_eval_task.dataset import load_tasks
from lm_eval_task.metrics import score_reply
from lm_eval_task.prompt import prompt_fingerprint
from lm_eval_task.records import Score, Task
from lm_eval_task.tools import Toolset

MAX_TOKENS = 160
MODE = "prompt"


def load(path: str | Path | None, tools: Toolset, which: str) -> tuple[Task, ...]:
    """The tasks of one set in file order (without a path the project's own). Raise DataError or UsageError."""
    return load_tasks(tools, which, path)


def play(task: Task, provider: Provider, setup: Setup) -> Transcript:
    """One request. Raises what the provider raises."""
    asked = setup.messages(task.question)
    answer = provider.ask(asked, setup.tools_json if setup.mode == "native" else None, setup.sampling)
    return Transcript((*asked, answer.message), (answer,))


def score(task: Task, transcript: Transcript, setup: Setup) -> Score:
    """The scorer's verdict on the one reply; under an arm its calls are judged under their real names."""
    reply, offer = transcript.answers[-1].reply, setup.offer_for(task)
    return offer.verdict(task, reply, setup.mode) if offer else score_reply(task, reply, setup.tools, setup.mode)


def prompt_hash(setup: Setup) -> str:
    return prompt_fingerprint(setup.mode, setup.tools, setup.offer.intro if setup.offer else None)
