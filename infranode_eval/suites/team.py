"""Managing sub-agents: one model creates, authorises and schedules workers, and a round is decided by a command.

Host, checks and metrics are the package infranode_eval.team; here is how a run plays its scenarios.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infranode_eval.providers.protocol import Provider, ProviderOptions
from infranode_eval.providers.team import Staffed, team_of
from infranode_eval.suites import BY_REQUEST, NOTHING, Scene, Setup, Starter, Transcript
from infranode_eval.team.agent import MAIN
from infranode_eval.team.course import Course, answers_of
from infranode_eval.team.limits import Limits
from infranode_eval.team.metrics import run_values
from infranode_eval.team.opening import opening_fingerprint, system_message
from infranode_eval.team.play import DONE, Play, Stage
from infranode_eval.team.pool import (
    MAX_TOKENS,
    SCRIPTED_POOL,
    Pool,
    check_perceives,
    hire,
    open_roles,
    share_paces,
)
from infranode_eval.team.sandbox import Sandbox, open_sandbox
from infranode_eval.team.scenario import scenarios_fingerprint
from infranode_eval.team.scoring import TeamScore, failure_of, score_play
from infranode_eval.team.script_player import PROGRAMS
from infranode_eval.team.slots import Slots
from infranode_eval.team.tasks import SETS, TeamTask, read_team_tasks
from infranode_eval.team.tools import toolset
from infranode_eval.team.workflow import NO_ENGINE, engine
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.tools import Toolset

if TYPE_CHECKING:
    from infranode_eval.budget import Forecast

MODE = UNMARKED_MODE = "native"
MODES = (MODE,)
OWN_SETS = False
BASELINE = "muster"
TAKES_ARMS = False
OWN_ARMS: tuple[str, ...] = ()
STARTER = Starter("team_starter", "python3 -m infranode_eval.team check -d @FOLDER@, then "
                  "python3 run_eval.py --suite team --tasks @FOLDER@")
REPLAYS = BY_REQUEST
PLAYS_AT_ONCE = 16
TRANSCRIPTS_BESIDE = TAKES_BLANK = True
SECOND_PASS = TOOLS_OF_TASKS = False
OWN_FLAGS = ("pool", "sandbox", "task")
NO_WALL = "sandbox none: checks run without a wall, agents have no Bash, and rounds that need it fail"
failure = failure_of
__all__ = ["MAX_TOKENS", "PROGRAMS", "SETS", "answers_of", "failure"]


def staffed(main: Provider, own: Mapping[str, Any], options: ProviderOptions) -> Provider:
    """The manager's provider with those of its pool beside it. Raise UsageError for a pool that cannot be opened."""
    pool = _pool(own)
    if options.tool_choice == "required":
        raise UsageError("suite team: --tool-choice required lets no round end: an answer without a call ends it")
    if pool.main is not None:
        check_perceives(pool.main, main)
        main.rpm = pool.main.rpm        # type: ignore[attr-defined]
    roles = open_roles(pool, options.tools, options.timeout_s, options.environ)
    share_paces((main, *roles.values()))
    return team_of(main, roles)


def _pool(own: Mapping[str, Any]) -> Pool:
    return own.get("pool") or SCRIPTED_POOL


@cache
def _sandbox(kind: str) -> Sandbox:
    return open_sandbox(kind)


def read_tools(path: str | Path | None) -> Toolset:
    """The eleven tools. Raise UsageError for a file of others, which no host would execute."""
    if path is not None:
        raise UsageError("suite team has its own eleven tools; leave out --tools")
    return toolset()


def load(path: str | Path | None, tools: Toolset, which: str) -> tuple[TeamTask, ...]:
    """The scenarios of a folder with tests.json, without a path the project's own. Raise DataError or UsageError."""
    if which not in SETS:
        raise UsageError(f"suite team has one set, {SETS[0]}; found {which!r}")
    return read_team_tasks(path)


def scene(path: str | Path | None, tools: Toolset, own: Mapping[str, Any] = NOTHING) -> Scene:
    """own: `pool`, `sandbox` ("bwrap", "none") and `task`, ids with commas. Raise UsageError where no sandbox works."""
    pool, sandbox = _pool(own), _sandbox(own.get("sandbox") or "bwrap")
    chosen = tuple(filter(None, map(str.strip, (own.get("task") or "").split(","))))
    read_team_tasks(path, chosen)
    settings = {"pool": pool.to_json(), "sandbox": sandbox.kind, "workflow": engine() or "off",
                "limits": Limits().to_json()}
    missing = (() if sandbox.kind == "bwrap" else (NO_WALL,)) + (() if engine() else (NO_ENGINE,))
    return Scene(_messages, several=True, notes=(*pool.notes, *missing),
                 settings=settings | ({"scenarios": list(chosen)} if chosen else {}))


def _messages(mode: str, tools: Toolset, question: str) -> list[dict[str, Any]]:
    return [system_message(), {"role": "user", "content": question}]


def offering(tasks: Sequence[TeamTask], tools: Toolset) -> None:
    """Every scenario sees all tools."""


def eligible(tasks: Sequence[TeamTask], setup: Setup) -> tuple[TeamTask, ...]:
    """Those that were chosen; all without a choice."""
    chosen = setup.scene.settings.get("scenarios")
    return tuple(task for task in tasks if not chosen or task.task_id in chosen)


def play(task: TeamTask, provider: Provider, setup: Setup) -> Transcript:
    """Play in a fresh workspace. Lets ProviderError through, also that of a sub-agent's model."""
    if not isinstance(provider, Staffed):
        raise UsageError("suite team asks a team: give it a pool")
    cancelled = threading.Event()
    settings = setup.scene.settings
    pool = {key: hire(provider.as_role(key, cancelled), role, setup.sampling)
            for key, role in settings["pool"].items() if role is not None and key != MAIN}
    with Slots().take() as slot:
        stage = Stage(task.scenario, hire(provider, settings["pool"].get(MAIN) or {}, setup.sampling), pool,
                      _sandbox(settings["sandbox"]), slot, Limits(**settings["limits"]),
                      settings["sandbox"] == "bwrap", settings["workflow"] != "off")
        course = Play(stage, cancelled).run()
    return Transcript(course.messages, tuple(one.answer for one in course.replies), course, course.keys)


def score(task: TeamTask, transcript: Transcript, setup: Setup) -> TeamScore:
    """The verdict on the whole play."""
    return score_play(task, transcript.course)


def rescore(task: TeamTask, transcript: Mapping[str, Any]) -> TeamScore:
    """The verdict on a stored transcript. Raise DataError for one that cannot be read."""
    course = Course.from_json(transcript)
    try:
        return score_play(task, course)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"the transcript of {task.task_id} cannot be read ({error!r})") from None


def notes_of(transcript: Mapping[str, Any]) -> dict[str, Any]:
    """A play that is over is kept as it is: a resumed run plays it no more."""
    return {DONE: {"messages": transcript["messages"], "team": transcript["team"]}}


def prompt_hash(setup: Setup) -> str:
    """Over all that the host says to its agents."""
    return opening_fingerprint()


def hashes(tasks: Sequence[TeamTask], tools: Toolset, setup: Setup) -> dict[str, str]:
    return {"tasks": scenarios_fingerprint(task.scenario for task in tasks), "tools": tools.fingerprint,
            "prompt": prompt_hash(setup)}


def aggregate(pairs: Sequence[tuple[TeamTask, TeamScore]]) -> dict[str, float | None]:
    """The metrics over rows; the rounds of a failure count as not passed."""
    return run_values([score.play for _, score in pairs])


def forecast(tasks: Sequence[TeamTask], setup: Setup, count: Callable[[str], int]) -> Forecast | None:
    """Plays of the scripted manager, its requests counted; None where a scenario has no such manager."""
    from infranode_eval.team.forecast import forecast_of  # late: a run needs none

    scripted = replace(setup.scene, settings={**setup.scene.settings, "pool": SCRIPTED_POOL.to_json()})
    setup = replace(setup, scene=scripted)
    return forecast_of(tasks, lambda task, provider: play(task, provider, setup), count, setup.sampling.max_tokens)


def headline(metrics: Mapping[str, float | None], strict: bool) -> dict[str, float | None] | None:
    """The management score leads, the share of passed rounds beside it; there is no stricter rule."""
    return None if strict else {name: metrics.get(name) for name in ("sms", "tcr")}


def summary(result: Mapping[str, Any]) -> Iterator[str]:
    from infranode_eval.team.summary import team_summary  # late: needed once, at the end

    return team_summary(result)


if __name__ == "__main__":
    from infranode_eval.team.__main__ import main as _main

    sys.exit(_main(sys.argv[1:]))
