"""Managers without a model: a script a scenario, played in seven manners, or the moves that a user wrote down.

A program is a pure function of the manager's messages: its script is a generator that is fed anew from the history, so
that a resumed play goes on. Source: specification, team, section 7.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from infranode_eval.providers.baselines import written
from infranode_eval.providers.protocol import Answer, Messages, ProviderOptions, Sampling, Tools
from infranode_eval.team.golden import golden_files
from infranode_eval.team.manner import MANNERS, WAIT, RoundScript, Script, Turn, Wait, alone, manner
from infranode_eval.team.moves import read_moves
from infranode_eval.team.scenario import Scenario
from infranode_eval.team.tasks import TeamTask
from lm_eval_task.errors import RefusedRequestError, UsageError

DONE, WAITING = "Die Aufgabe ist erledigt.", "Ich warte auf die laufenden Aufträge."
_ASIDE = re.compile(r"<(task-notification|system-reminder)\b.*?</\1>\s*", re.DOTALL)     # beside a question
_NOTICE = re.compile(r'<task-notification task_id="(\w+)" status="(\w+)">(.*?)</task-notification>', re.DOTALL)
Action = Turn | Wait | None         # None: the round is over


class Desk:
    """What a script finds: the question of its round, and notes that live through the scenario."""

    def __init__(self) -> None:
        self.question = ""
        self.notes: dict[str, Any] = {}


class Manager:
    """A manner as provider. Keeps nothing between requests: the same messages get the same reply."""

    deterministic = True

    def __init__(self, name: str, scripts: Callable[[], Sequence[RoundScript]] | None = None) -> None:
        self._name, self._scripts = name, scripts
        self.setup: str | None = f"scripted manager {name}; proves the plumbing only"

    def for_task(self, task: TeamTask) -> Manager:
        return Manager(self._name, partial(scripts_of, self._name, task.scenario))

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        if self._scripts is None:
            raise UsageError("a program of the suite team plays scenarios, it answers no questions")
        action = _Replay(self._scripts()).action(messages)
        if action is None or isinstance(action, Wait):
            return written(WAITING if action else DONE, native=True)
        return written(action, native=True)

    def close(self) -> None:
        pass


def scripts_of(name: str, scenario: Scenario) -> Sequence[RoundScript]:
    """The scripts of a manner for a scenario; for one without a script the moves in its golden/play.json.

    Raise UsageError where there is neither, or where moves cannot be played in this manner.
    """
    def gold(round_id: str) -> Mapping[str, str]:
        return {path: file.read_text("utf-8") for path, file in golden_files(scenario.folder, round_id).items()}

    found = manner(name, gold)
    if found.alone:
        return alone(found, [round_.id for round_ in scenario.rounds])
    module = f"infranode_eval.team.managers.{scenario.scenario_id}"
    if find_spec(module) is not None:
        return import_module(module).rounds(found)
    moves = read_moves(scenario)
    if moves is None:
        raise UsageError(f"scenario {scenario.scenario_id} has no scripted manager; write its moves into "
                         "golden/play.json, or name a model with --model and --base-url")
    if name != "muster":
        raise UsageError(f"scenario {scenario.scenario_id} has moves only (golden/play.json): --model muster or allein")
    return moves


class _Replay:
    """Scripts that are led through a history."""

    def __init__(self, scripts: Sequence[RoundScript]) -> None:
        self._scripts, self._round = scripts, 0
        self._desk = Desk()
        self._script: Script | None = None
        self._action: Action = None
        self._results: list[str] = []
        self._notices: dict[str, str] = {}

    def action(self, messages: Messages) -> Action:
        """What is to be done after these messages."""
        for message in messages:
            if message["role"] == "tool":
                self._take_result(message["content"])
            elif message["role"] == "user" and isinstance(message["content"], str):
                self._take_text(message["content"])
        return self._action

    def _take_text(self, text: str) -> None:
        """A question, notices, or a reminder; a question comes only where no round is under way.

        A script that ends while something runs in the background is told of it, too, which begins no round.
        """
        self._notices |= {task: found for task, _, found in _NOTICE.findall(text)}
        if self._script is None:
            self._notices.clear()
        if self._script is None and self._round < len(self._scripts) and _ASIDE.sub("", text):
            self._desk.question = text
            self._script = self._scripts[self._round](self._desk)
            self._round += 1
            self._advance(None)
        elif isinstance(self._action, Wait):
            self._go_on()

    def _take_result(self, text: str) -> None:
        self._results.append(text)
        if isinstance(self._action, tuple) and len(self._results) == len(self._action):
            results, self._results = tuple(self._results), []
            self._advance(results)
            self._go_on()

    def _go_on(self) -> None:
        while isinstance(self._action, Wait) and self._notices:
            notices, self._notices = self._notices, {}
            self._advance(notices)

    def _advance(self, value: Any) -> None:
        assert self._script is not None, "a round is under way"
        try:
            action = self._script.send(value)
        except StopIteration:
            self._script, self._action = None, None
            return
        except Exception as error:      # a script is written for the files of its scenario, and these may be others
            told = " ".join(f"{type(error).__name__} {error}".split())
            raise RefusedRequestError(f"the manager's script lost its way in round {self._round}: {told}") from error
        self._action = action if action is WAIT else tuple(action)


PROGRAMS: Mapping[str, Callable[[ProviderOptions], Manager]] = {
    name: lambda options, name=name: Manager(name) for name in MANNERS}     # type: ignore[misc]


