"""Routing a question to one of several databases whose names are hidden: the model probes, then declares one.

Panel, loop and verdict are the package infranode_eval.db_routing; here is how a run plays them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infranode_eval.db_routing import arms
from infranode_eval.db_routing.asking import Asking
from infranode_eval.db_routing.bird import Bird, bird_panel
from infranode_eval.db_routing.bird_hardness import CHAR
from infranode_eval.db_routing.buckets import BUCKETS
from infranode_eval.db_routing.course import answers_of, notes_of
from infranode_eval.db_routing.embeddings import DEFAULT
from infranode_eval.db_routing.jury import VOTES, jury_of
from infranode_eval.db_routing.loop import Play
from infranode_eval.db_routing.metrics import metrics_of
from infranode_eval.db_routing.opening import catalogue_of, fingerprint_of, opening, single_shot
from infranode_eval.db_routing.panel import Panel
from infranode_eval.db_routing.policies import PROGRAMS
from infranode_eval.db_routing.rescan import rescored
from infranode_eval.db_routing.scoring import AGENTIC, failure_of, score_play
from infranode_eval.db_routing.tasks import (
    SETS,
    RoutingTask,
    aliases_in,
    questions_fingerprint,
    read_routing_tasks,
    tasks_of,
)
from infranode_eval.db_routing.tools import Toolbox, in_order, order_of, toolset
from infranode_eval.db_routing.world import World
from infranode_eval.providers.protocol import OFF, Provider
from infranode_eval.suites import ALL_MODES, IN_ORDER, MANY, NOTHING, Scene, Setup, Transcript
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Score, fingerprint
from lm_eval_task.tools import Toolset

if TYPE_CHECKING:
    from infranode_eval.budget import Forecast

MAX_TOKENS = 1024
MODE = UNMARKED_MODE = "native"
MODES = ALL_MODES
OWN_SETS = False
BASELINE = "bm25"
TAKES_ARMS = False
OWN_ARMS = tuple(arms.CONDITIONS)       # --arm of this suite; each is put without tools, in one request
STARTER = None
REPLAYS = IN_ORDER
PLAYS_AT_ONCE = MANY
TRANSCRIPTS_BESIDE = True
TAKES_BLANK = SECOND_PASS = TOOLS_OF_TASKS = True
OWN_FLAGS = ("condition", "bird", "descriptions", "signal", "embedding_model", "cache")
failure = failure_of
__all__ = ["PROGRAMS", "SETS", "answers_of", "failure", "notes_of"]

_WORLDS: dict[tuple[Path, ...], World] = {}
_OPENING = threading.Lock()


def source(path: Path | None, own: Mapping[str, Any], folder: Path) -> Path | Bird | None:
    """What is asked: the folder of a panel, or with `bird` and `descriptions` one in BIRD's layout.

    folder: of the results, which keeps the counts of neighbours. Raise UsageError for flags that do not fit together.
    """
    if own.get("bird") is None:
        for flag in ("descriptions", "signal"):
            if own.get(flag) is not None:
                raise UsageError(f"--{flag} goes with --bird DIR")
        return path
    if own.get("descriptions") is None:
        raise UsageError("--bird DIR needs --descriptions FILE, a JSON object: database to its paragraph")
    if path is not None:
        raise UsageError("--bird and --tasks both say what is asked: leave one out")
    return Bird(own["bird"], own["descriptions"], own.get("signal") or CHAR, folder,
                own.get("embedding_model", DEFAULT))


def read_tools(path: str | Path | Bird | None) -> Toolset:
    """The tools of a panel (a folder, or a file in it; None: the project's own), by alias. Raise DataError."""
    return toolset(bird_panel(path).panel.aliases if isinstance(path, Bird) else aliases_in(path))


def load(path: str | Path | Bird | None, tools: Toolset, which: str) -> tuple[RoutingTask, ...]:
    """The questions in the order of a run. path: as `source` gives it, None: the project's own panel.

    Raise DataError, naming expected, found and the file, for a panel that was changed; UsageError for other tools.
    """
    tasks = _bird_tasks(path) if isinstance(path, Bird) else read_routing_tasks(path, which)
    aliases = tasks[0].panel.aliases
    if set(tools.by_name) != set(aliases):
        raise UsageError(f"the tools are not those of the panel: {len(tools.tools)} given, {len(aliases)} databases; "
                         "give --tools the same folder as --tasks")
    return tasks


def _bird_tasks(bird: Bird) -> tuple[RoutingTask, ...]:
    panel = bird_panel(bird).panel
    return tasks_of(panel, bird.folder, jury_of(panel, bird.beside / VOTES).votes)


def scene(path: str | Path | Bird | None, tools: Toolset, own: Mapping[str, Any] = NOTHING) -> Scene:
    """own: `condition`, one of OWN_ARMS, puts each question in one request without tools; `cache` sets markers.

    Raise UsageError for markers in requests without tools, which are not asked again.
    """
    condition, marks = own.get("condition"), own.get("cache") or OFF
    if condition is not None and marks != OFF:
        raise UsageError(f"--cache {marks} goes with tools, which --arm {condition} leaves out")
    settings = {"condition": arms.BASE if condition is None else arms.checked(condition),
                "procedure": AGENTIC if condition is None else "single_shot", "cache": marks}
    if not isinstance(path, Bird):
        return Scene(_messages, several=True, settings=settings)
    read = bird_panel(path)
    return Scene(_messages, several=True, notes=tuple(read.notes), settings=settings | {"bird": read.facts})


def _messages(mode: str, tools: Toolset, question: str) -> list[dict[str, Any]]:
    """The opening without the catalogue, which is another for each question."""
    return opening(mode, tools, catalogue_of(()), question)


def offering(tasks: Sequence[RoutingTask], tools: Toolset) -> None:
    """Every question sees all tools; their order belongs to the play."""


def eligible(tasks: Sequence[RoutingTask], setup: Setup) -> tuple[RoutingTask, ...]:
    """The questions that the condition of a run can be put to."""
    return arms.eligible(tasks, setup.scene.settings["condition"])


def play(task: RoutingTask, provider: Provider, setup: Setup) -> Transcript:
    """Lets ProviderError through; raise WorldNotReadyError where a database gives no answer."""
    asking = Asking(provider, setup.sampling)
    if setup.scene.settings["procedure"] != AGENTIC:
        course = arms.ask_once(task, setup.scene.settings["condition"], asking)
        return Transcript(course.messages, course.answers, course)
    aliases = task.panel.aliases
    order = order_of(task.panel.seed, task.task_id, aliases)
    tools = in_order(setup.tools, order)
    first = opening(setup.mode, tools, arms.anonymised(task).catalogue, task.question)
    toolbox = Toolbox(world_of(task.panel), {alias: aliases[alias] for alias in order})
    course = Play(asking, tools, tools.to_json() if setup.mode == "native" else None, first, toolbox).run()
    return Transcript(course.messages, course.answers, course)


def world_of(panel: Panel) -> World:
    """The databases of a panel, opened once in a process."""
    files = {name: database.path for name, database in panel.databases.items()}
    with _OPENING:
        key = tuple(files.values())
        if key not in _WORLDS:
            _WORLDS[key] = World(files)
        return _WORLDS[key]


def score(task: RoutingTask, transcript: Transcript, setup: Setup) -> Score:
    """The verdict on the whole play; the final SQL runs once more, and so gives the same again."""
    course = transcript.course
    return score_play(task, course.final, course.to_json()["db_routing"], world_of(task.panel))


def rescore(task: RoutingTask, transcript: Mapping[str, Any]) -> Score:
    """The verdict on a stored transcript. Raise DataError for one that cannot be read."""
    return rescored(task, transcript, world_of(task.panel))


def prompt_hash(setup: Setup) -> str:
    """Over rules and finalisation; under an arm over its message."""
    if setup.scene.settings["procedure"] == AGENTIC:
        return fingerprint_of(setup.mode, setup.tools)
    shown = single_shot("{catalogue}", "{question}", len(setup.tools.tools))
    return fingerprint([setup.scene.settings["condition"], shown])


def hashes(tasks: Sequence[RoutingTask], tools: Toolset, setup: Setup) -> dict[str, str]:
    """What makes two runs of this suite comparable, by name."""
    known = {"tasks": questions_fingerprint(tuple(tasks)), "tools": tools.fingerprint, "prompt": prompt_hash(setup),
             "panel": tasks[0].panel.sha256}
    if tasks[0].bucket in BUCKETS:      # a jury has voted, and its votes stand in no manifest
        known["jury"] = fingerprint(sorted([task.task_id, task.bucket] for task in tasks))
    return known


def aggregate(pairs: Sequence[tuple[RoutingTask, Score]]) -> dict[str, float | None]:
    """The metrics over rows; a failure counts as not right."""
    databases = len(pairs[0][0].panel.databases) if pairs else 1
    return metrics_of([{"task_id": task.task_id, **score.to_json()} for task, score in pairs], databases)


def forecast(tasks: Sequence[RoutingTask], setup: Setup, count: Callable[[str], int]) -> Forecast:
    """Plays that go straight to the right database, every request counted."""
    from infranode_eval.db_routing.forecast import forecast_of  # late: a run needs none

    return forecast_of(tasks, lambda task, provider: play(task, provider, setup), setup.tools_json, count,
                       setup.sampling.max_tokens)


def headline(metrics: Mapping[str, float | None], strict: bool) -> dict[str, float | None] | None:
    """The share of right routes in the hardest bucket leads, that over all beside it; there is no stricter rule."""
    if strict:
        return None
    hard = next((name for name in ("route_hard_strict", "route_neighbour_hard") if name in metrics), None)
    return {**({hard: metrics[hard]} if hard else {}), "route_ok": metrics.get("route_ok")}


def summary(result: Mapping[str, Any]) -> Iterator[str]:
    from infranode_eval.db_routing.summary import routing_summary  # late: needed once, at the end

    return routing_summary(result)
