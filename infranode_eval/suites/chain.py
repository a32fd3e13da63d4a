"""Several steps, really executed: the model calls tools, gets real answers, and ends with one of its own.

Tasks, loop and verdict are the package infranode_eval.chain; here is how a run plays them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from infranode_eval.chain.course import Course, answers_of
from infranode_eval.chain.live import NotedWorld, StrictWorld, expectation_now
from infranode_eval.chain.metrics import metrics_of
from infranode_eval.chain.opening import Opening
from infranode_eval.chain.play import Play
from infranode_eval.chain.policies import PROGRAMS
from infranode_eval.chain.scoring import PlayScore, failure_of, score_play
from infranode_eval.chain.tasks import SETS, ChainTask, read_chain_tasks
from infranode_eval.chain.toolbox import MAX_RESULT_CHARS, Toolbox
from infranode_eval.chain.worlds import Session, World, open_world
from infranode_eval.providers.protocol import Noting, Provider
from infranode_eval.suites import ALL_MODES, IN_ORDER, MANY, NOTHING, Scene, Setup, Transcript, usual_hashes
from lm_eval_task import tools as toolbox
from lm_eval_task.records import canonical_json
from lm_eval_task.tools import Toolset

if TYPE_CHECKING:
    from infranode_eval.budget import Forecast

MAX_TOKENS = 1024
MODE = "native"
MODES = ALL_MODES
OWN_SETS = True
BASELINE = "one_call_then_guess"
TAKES_ARMS = False
STARTER = None
REPLAYS = IN_ORDER
PLAYS_AT_ONCE = MANY
TRANSCRIPTS_BESIDE = TAKES_BLANK = SECOND_PASS = TOOLS_OF_TASKS = False
OWN_ARMS = ()
UNMARKED_MODE = "prompt"
OWN_FLAGS = ("max_result_chars",)
read_tools = toolbox.read_tools
failure = failure_of
__all__ = ["PROGRAMS", "SETS", "answers_of", "failure", "read_tools"]


@cache
def _opening() -> Opening:
    return Opening()


def load(path: str | Path | None, tools: Toolset, which: str) -> tuple[ChainTask, ...]:
    """The tasks of a set in file order (without a path the project's own), their worlds found to be the right ones.

    Raise DataError, also for another world than the tasks were made in, or UsageError.
    """
    tasks = read_chain_tasks(path, tools, which)
    for world in {canonical_json(task.world): task.world for task in tasks}.values():
        if world.get("kind") != "live":
            open_world(world)
    return tasks


def scene(path: str | Path | None, tools: Toolset, own: Mapping[str, Any] = NOTHING) -> Scene:
    """The opening of a play. own: `max_result_chars`, how much of a result the model sees; by default all it needs."""
    return Scene(_opening().messages, several=True,
                 settings={"max_result_chars": own.get("max_result_chars") or MAX_RESULT_CHARS})


def offering(tasks: Sequence[ChainTask], tools: Toolset) -> None:
    """Every task sees all tools."""


def play(task: ChainTask, provider: Provider, setup: Setup) -> Transcript:
    """Play in the world that the task names. Lets ProviderError through; raise DataError for another world."""
    world, clock = _world_of(task, provider)
    session = Session(world, task.faults)
    expect = expectation_now(task, session) if isinstance(world, NotedWorld) else None
    opening = _opening().messages(setup.mode, setup.tools, task.question, clock)
    one = Play(task, provider, setup.tools, setup.tools_json if setup.mode == "native" else None, setup.sampling,
               opening, Toolbox(session, setup.tools), setup.scene.settings["max_result_chars"])
    course = one.run()
    if isinstance(world, NotedWorld):
        course = replace(course, expect=expect, world=dict(world.read))
    return Transcript(tuple(one.messages), tuple(turn.answer for turn in course.turns), course)


def _world_of(task: ChainTask, provider: Provider) -> tuple[World, str | None]:
    """The world, and its local time where it is not the snapshot's."""
    world = open_world(task.world)
    if world.kind == "live":
        noted = provider.noted if isinstance(provider, Noting) else lambda name, make: make()
        return NotedWorld(world, noted), noted("clock", _now)
    return (StrictWorld(world) if world.kind == "recording" else world), task.world.get("clock")


def _now() -> str:
    """Local time in Germany, to the minute."""
    return datetime.now(ZoneInfo("Europe/Berlin")).replace(tzinfo=None).isoformat(timespec="minutes")


def score(task: ChainTask, transcript: Transcript, setup: Setup) -> PlayScore:
    """The verdict on the whole play."""
    return score_play(task, transcript.course, setup.tools, setup.mode)


def rescore(task: ChainTask, row: Mapping[str, Any], bodies: Mapping[str, str], tools: Toolset,
            mode: str) -> PlayScore:
    """The verdict on a stored row with a transcript. Raise DataError for one that cannot be read."""
    return score_play(task, Course.from_json(row["transcript"], bodies), tools, mode)


def notes_of(transcript: Mapping[str, Any]) -> dict[str, Any]:
    """What a play in the live API read, so that a resumed run reads no more of it."""
    return {}


def prompt_hash(setup: Setup) -> str:
    """Over the opening of a play and the sentence that ends one."""
    return _opening().fingerprint(setup.mode, setup.tools)


def hashes(tasks: Sequence[ChainTask], tools: Toolset, setup: Setup) -> dict[str, str]:
    return usual_hashes(sys.modules[__name__], tasks, tools, setup)


def eligible(tasks: Sequence[ChainTask], setup: Setup) -> Sequence[ChainTask]:
    """All of them."""
    return tasks


def aggregate(pairs: Sequence[tuple[ChainTask, PlayScore]]) -> dict[str, float | None]:
    """The metrics over rows; a failure counts as not solved."""
    return metrics_of([{"task_id": task.task_id, "category": task.category, "repeat": 1, **score.to_json()}
                       for task, score in pairs])


def forecast(tasks: Sequence[ChainTask], setup: Setup, count: Callable[[str], int]) -> Forecast:
    """Plays that follow the golds, every request counted."""
    from infranode_eval.chain.forecast import forecast_of  # late: a run needs none

    return forecast_of(tasks, lambda task, provider: play(task, provider, setup), setup.tools_json, count,
                       setup.sampling.max_tokens)


def headline(metrics: Mapping[str, float | None], strict: bool) -> dict[str, float | None] | None:
    """task_success leads, ability beside it; there is no stricter rule."""
    return None if strict else {name: metrics.get(name) for name in ("task_success", "ability")}


def summary(result: Mapping[str, Any]) -> Iterator[str]:
    from infranode_eval.chain.summary import chain_summary  # late: needed once, at the end

    return chain_summary(result)
