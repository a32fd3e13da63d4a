"""Plays of a tiny scenario: what the manager and its workers say, and all that can be looked at afterwards."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from infranode_eval.providers.media import media_in
from infranode_eval.providers.protocol import Answer, Messages, Provider, Sampling
from infranode_eval.team.agent import MAIN
from infranode_eval.team.course import Course
from infranode_eval.team.limits import Limits
from infranode_eval.team.play import Play, Stage
from infranode_eval.team.sandbox import Sandbox
from infranode_eval.team.scenario import Check, Round, Scenario, read_scenario
from infranode_eval.team.scoring import TeamScore, score_play
from infranode_eval.team.slots import Slots
from infranode_eval.team.staff import Hire
from infranode_eval.team.tasks import TeamTask
from tests.team.bare_sandbox import BareSandbox
from tests.team.probe import write_probe

Line = Any     # a text, a message, an Answer, an exception to raise, or Until
Said = Callable[[Messages], Line]
NOTICE = re.compile(r'<task-notification task_id="(\w+)" status="(\w+)">(.*?)</task-notification>', re.DOTALL)
USUAL = Limits()
MEDIA = {"main": {}, "llm": {}, "vlm": {"image": 2, "video": 1}, "omni": {"image": 2, "audio": 2, "video": 1}}


# --- what a model says ------------------------------------------------------------------------------------------------
def call(name: str, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """One call; an argument that is no Python name ends in "_" for "-" in front of it (i_ is -i)."""
    return name, {f"-{key[:-1]}" if key.endswith("_") else key: value for key, value in arguments.items()}


def calls(*wanted: tuple[str, Any]) -> dict[str, Any]:
    """A message with native calls; arguments that are a text go out as they are."""
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments if isinstance(
            arguments, str) else json.dumps(arguments, ensure_ascii=False)}}
        for number, (name, arguments) in enumerate(wanted)]}


def create(name: str = "leser", key: str = "llm", tools: Sequence[str] = ("Read",),
           paths: Sequence[str] = ("/arbeit/akten",), prompt: str = "Lies.") -> tuple[str, dict[str, Any]]:
    return call("CreateSubagent", name=name, model_key=key, tools=list(tools), accessible_paths=list(paths),
                system_prompt=prompt)


def run(prompt: str, name: str = "leser", **more: Any) -> tuple[str, dict[str, Any]]:
    return call("RunSubagent", subagent=name, prompt=prompt, **more)


def background(prompt: str, name: str = "leser", **more: Any) -> tuple[str, dict[str, Any]]:
    return run(prompt, name, run_in_background=True, **more)


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return call("Write", file_path=f"/arbeit/{path}", content=content)


def read(path: str) -> tuple[str, dict[str, Any]]:
    return call("Read", file_path=f"/arbeit/{path}")


def used(line: Line, prompt: int, completion: int = 0) -> Answer:
    """A reply with the endpoint's count of tokens."""
    message = {"role": "assistant", "content": line} if isinstance(line, str) else line
    return Answer(message, "stop", {"prompt_tokens": prompt, "completion_tokens": completion})


class Until:
    """Waits for that many notices in all; where they are there already, the next line is said."""

    def __init__(self, notices: int = 1) -> None:
        self.notices = notices


# --- who says it ------------------------------------------------------------------------------------------------------
class Voice:
    """Says its lines in order, or what a function of the messages gives; keeps every request as it was sent."""

    setup: str | None = None

    def __init__(self, script: Iterable[Line] | Said, deterministic: bool = False) -> None:
        self.deterministic = deterministic
        self.requests: list[list[Mapping[str, Any]]] = []
        self.media: list[list[str]] = []
        self.tools: list[Any] = []
        self._script = script if callable(script) else None
        self._lines = iter(()) if callable(script) else iter(script)
        self._waits: Until | None = None
        self._lock = threading.Lock()

    def ask(self, messages: Messages, tools: Any, sampling: Sampling) -> Answer:
        with self._lock:
            self.requests.append(json.loads(json.dumps(list(messages))))
            self.media.append([one["path"] for message in messages for one in media_in(message)])
            self.tools.append(tools)
            line = None if self._script else self._next(messages)
        if self._script:
            line = self._script(messages)
        assert line is not None, f"no line for request {len(self.requests)}: {messages[-1]}"
        if isinstance(line, Exception):
            raise line
        if isinstance(line, str):
            line = {"role": "assistant", "content": line}
        return line if isinstance(line, Answer) else Answer(line, "stop")

    def _next(self, messages: Messages) -> Line | None:
        if isinstance(self._waits, Until):
            if sum(str(m["content"]).count("</task-notification>") for m in messages
                   if m["role"] == "user") < self._waits.notices:
                return "Ich warte."
            self._waits = None
        line = next(self._lines, None)
        if isinstance(line, Until):
            self._waits = line
            return self._next(messages)
        return line

    def close(self) -> None:
        pass


def prompt_in(messages: Messages) -> str:
    """What a worker was told last."""
    return next(str(m["content"]) for m in reversed(messages) if m["role"] == "user" and isinstance(m["content"], str))


def echo(messages: Messages) -> str:
    """A worker that answers with its prompt in capitals."""
    return prompt_in(messages).upper()


def after(seconds: float, say: Said = echo) -> Said:
    """A worker that takes its time."""
    def said(messages: Messages) -> Line:
        time.sleep(seconds)
        return say(messages)
    return said


# --- the scenario -----------------------------------------------------------------------------------------------------
def tiny(parent: Path, rounds: int = 1, **check: Any) -> Scenario:
    """The probe with quick checks: round n is passed by a file ausgabe/rn.txt that holds "gut". check: of Check."""
    scenario = read_scenario(write_probe(parent))
    return replace(scenario, rounds=tuple(Round(
        f"r{n}", f"Aufgabe {n}: schreibe nach ${{workspace}}/ausgabe/r{n}.txt.", (), (), (),
        replace(Check(f"cat ${{workspace}}/ausgabe/r{n}.txt", stdout_contains="gut", timeout_s=5), **check),
        f"r{n} richtig.", f"r{n} falsch.") for n in range(1, rounds + 1)), updates={})


def solve(number: int = 1) -> tuple[str, dict[str, Any]]:
    return write(f"ausgabe/r{number}.txt", "gut")


@dataclass
class Played:
    """A play with all that can be looked at. voices: by role."""

    course: Course
    score: TeamScore
    voices: Mapping[str, Voice]
    threads: int = 0
    stage: Stage | None = field(default=None, repr=False)

    @property
    def row(self) -> dict[str, Any]:
        return dict(self.score.team or {})

    @property
    def requests(self) -> list[list[Mapping[str, Any]]]:
        return self.voices[MAIN].requests

    @property
    def results(self) -> list[str]:
        """What main's calls gave, in order."""
        return [message["content"] for message in self.course.messages if message["role"] == "tool"]

    @property
    def told(self) -> list[str]:
        """What main was told in messages of the user."""
        return [message["content"] for message in self.course.messages
                if message["role"] == "user" and isinstance(message["content"], str)]

    @property
    def notices(self) -> list[str]:
        return [text for text in self.told if "<task-notification" in text]


def stage_for(scenario: Scenario, voices: Mapping[str, Provider], limits: Limits, sandbox: Sandbox | None, slot: Any,
              media: Mapping[str, Mapping[str, int]] = MEDIA, workflow: bool = True) -> Stage:
    hires = {role: Hire(voice, Sampling(100), media.get(role, {})) for role, voice in voices.items()}
    return Stage(scenario, hires.pop(MAIN), hires, sandbox or BareSandbox(), slot, limits, sandbox is not None,
                 workflow)


def play(scenario: Scenario, main: Iterable[Line] | Said, llm: Iterable[Line] | Said = echo,
         vlm: Iterable[Line] | Said = echo, omni: Iterable[Line] | Said = echo, limits: Limits = USUAL,
         sandbox: Sandbox | None = None, deterministic: bool = False, **more: Any) -> Played:
    """Play to the end, and judge it. sandbox: for agents' Bash, which is off without one."""
    voices = {name: Voice(script, deterministic) for name, script in (
        ("main", main), ("llm", llm), ("vlm", vlm), ("omni", omni))}
    before = set(threading.enumerate())
    with Slots().take() as slot:
        stage = stage_for(scenario, voices, limits, sandbox, slot, **more)
        course = Play(stage, threading.Event()).run()
    stored = Course.from_json(json.loads(json.dumps(course.to_json())))
    task = task_of(scenario)
    score = score_play(task, course)
    assert score_play(task, stored) == score, "a stored transcript is judged alike"
    left = [one for one in threading.enumerate() if one not in before]
    return Played(course, score, voices, len(left), stage)


def task_of(scenario: Scenario) -> TeamTask:
    return TeamTask(scenario.scenario_id, scenario.title, (), category=scenario.domain, scenario=scenario)
