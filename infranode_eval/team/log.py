"""The transcript of a play, read as what happened: the manager's calls by round, runs of sub-agents with theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.team.course import REPLYING, Course
from lm_eval_task.shapes import parts_of


@dataclass(frozen=True, slots=True)
class Called:
    """A call that returned. ok: without error or refusal; said: which, where it was not."""

    name: str
    arguments: Mapping[str, Any]
    ok: bool
    said: str = ""


@dataclass(frozen=True, slots=True)
class RunOf:
    """One run. number: of its session, from 0. media: sha256 of what it perceived."""

    id: str
    subagent: str
    session: str
    round: str
    number: int
    calls: tuple[Called, ...]
    media: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Log:
    """calls: the manager's, by round. runs: in the order in which they started."""

    calls: Mapping[str, tuple[Called, ...]]
    runs: tuple[RunOf, ...]
    events: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, course: Course) -> Log:
        """Raise KeyError or TypeError for a transcript of another form."""
        starts = [row["first"] for row in course.told["rounds"] if row.get("first") is not None]
        ids = [row["id"] for row in course.told["rounds"] if row.get("first") is not None]
        ends = [*starts[1:], len(course.messages)]
        calls = {name: tuple(calls_in(course.messages[start:end]))
                 for name, start, end in zip(ids, starts, ends, strict=True)}
        return cls(calls, tuple(_runs(course)), tuple(course.told["events"]))

    def runs_in(self, round_id: str) -> list[RunOf]:
        return [run for run in self.runs if run.round == round_id]

    def most_at_once(self, round_id: str) -> int:
        """How many runs of a round overlapped, by the logical clock."""
        now = most = 0
        for event in self.events:
            if event["round"] == round_id:
                now += 1 if event["event"] == "start" else -1
                most = max(most, now)
        return most

    @property
    def all_calls(self) -> list[Called]:
        """Of the manager and of all sub-agents."""
        return [one for calls in self.calls.values() for one in calls] + [one for run in self.runs for one in run.calls]


def calls_in(messages: Sequence[Mapping[str, Any]]) -> Iterator[Called]:
    """The native calls of a stretch of a conversation that have a result in it."""
    results = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    for message in messages:
        for entry in parts_of(message).entries if message["role"] in REPLYING else ():
            if entry.name is not None and entry.id in results:
                text = results[entry.id]
                ok = not text.startswith(("Fehler: ", "verboten: "))
                yield Called(entry.name, _object(entry.arguments), ok, "" if ok else text)


def _object(arguments: Any) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {}
    return arguments if isinstance(arguments, dict) else {}


def _runs(course: Course) -> Iterator[RunOf]:
    parts = {session["id"]: list(stretches(session["messages"])) for session in course.told["sessions"]}
    numbers: dict[str, int] = {}
    for event in course.told["events"]:
        if event["event"] != "start":
            continue
        session = event["session"]
        number = numbers[session] = numbers.get(session, -1) + 1
        here = parts.get(session, [])
        messages = here[number] if number < len(here) else []
        media = [part["sha256"] for message in messages if isinstance(message.get("content"), list)
                 for part in message["content"] if isinstance(part, dict) and part.get("type") == "media"]
        yield RunOf(event["run"], event["subagent"], session, event["round"], number, tuple(calls_in(messages)),
                    tuple(media))


def stretches(messages: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """What belongs to each run of a session: it begins with its prompt, a text of the user."""
    current: list[Mapping[str, Any]] | None = None
    for message in messages:
        if message["role"] == "user" and isinstance(message["content"], str):
            if current is not None:
                yield current
            current = []
        if current is not None:
            current.append(message)
    if current is not None:
        yield current
