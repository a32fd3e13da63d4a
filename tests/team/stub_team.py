"""Four models of a team on one loopback server, told apart by their keys. They keep nothing between requests."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.stub_endpoint import React, Request, completion
from tests.team import probe
from tests.team.plays import Until, calls

KEYS = {"main": "geheim-haupt-1", "llm": "geheim-text-2", "vlm": "geheim-bild-3", "omni": "geheim-ton-4"}
MODELS = {"main": "modell-haupt", "llm": "modell-text", "vlm": "modell-bild", "omni": "modell-ton"}
MODALITIES = {"main": {"text": True}, "llm": {"text": True}, "vlm": {"text": True, "image": 2},
              "omni": {"text": True, "audio": 2}}
_PATH = re.compile(r"/arbeit/[\w./-]*\w")


def pool(urls: str | Mapping[str, str], **more: Mapping[str, Any] | None) -> dict[str, Any]:
    """A model JSON. urls: of all roles, or by role. more: further fields of a role."""
    return {role: {"provider": "openai", "model_id": MODELS[role], "api_key": KEYS[role],
                   "api_base": urls if isinstance(urls, str) else urls[role], "modalities": MODALITIES[role],
                   **(more.get(role) or {})} for role in KEYS}


def role_of(request: Request) -> str:
    key = request.headers["authorization"].removeprefix("Bearer ")
    return next(role for role, one in KEYS.items() if one == key)


def program(lines: Sequence[Any]) -> Callable[[Sequence[Mapping[str, Any]]], Any]:
    """The line that follows these messages; Until waits for so many notices."""
    def step(place: int, notices: int) -> tuple[Any, int]:
        while isinstance(lines[place], Until):
            if notices < lines[place].notices:
                return "Ich warte.", place
            place += 1
        return lines[place], place + 1

    def line(messages: Sequence[Mapping[str, Any]]) -> Any:
        place = notices = 0
        for message in messages:
            if message["role"] == "assistant":
                _, place = step(place, notices)
            elif message["role"] == "user":
                notices += str(message["content"]).count("</task-notification>")
        return step(place, notices)[0]

    return line


def worker(messages: Sequence[Mapping[str, Any]]) -> Any:
    """Reads the paths of its prompt, then tells what it got."""
    last = messages[-1]
    paths = _PATH.findall(last["content"]) if last["role"] == "user" and isinstance(last["content"], str) else []
    if paths:
        return calls(*(("Read", {"file_path": path}) for path in paths))
    return "\n".join(str(m["content"]) for m in messages if m["role"] == "tool") or "nichts"


def body(line: Any) -> dict[str, Any]:
    if isinstance(line, str):
        return completion(line)
    return completion(None, "tool_calls", tool_calls=line["tool_calls"])


class Team:
    """React to requests. scenarios: a word of the question → the manager's lines. before: called with each request."""

    def __init__(self, scenarios: Mapping[str, Sequence[Any]],
                 before: Callable[[Request, str], React | None] = lambda request, role: None) -> None:
        self._programs = {word: program(lines) for word, lines in scenarios.items()}
        self._before = before
        self._lock = threading.Lock()
        self.sent: list[tuple[str, str]] = []       # role, the whole request

    def __call__(self, request: Request) -> React:
        role, messages = role_of(request), request.body["messages"]
        with self._lock:
            self.sent.append((role, json.dumps(request.body, sort_keys=True)))
        found = self._before(request, role)
        if found is not None:
            return found
        if role != "main":
            return React(body(worker(messages)))
        question = next(m["content"] for m in messages if m["role"] == "user")
        word = next(word for word in self._programs if word in question)
        return React(body(self._programs[word](messages)))

    @property
    def roles(self) -> list[str]:
        return [role for role, _ in self.sent]


def write_two(parent: Path) -> Path:
    """A folder for --tasks with two scenarios, `probe_klein` and `probe_zwei`, whose questions say Erste and Zweite."""
    for name, word in ((probe.SCENARIO_ID, "Erste"), ("probe_zwei", "Zweite")):
        folder = probe.write_probe(parent)
        rounds = [{**row, "question": f"{word}: {row['question']}"} for row in probe.ROUNDS]
        probe.write_json(folder / "rounds.json", rounds)
        probe.write_json(folder / "manifest.json", {**probe.MANIFEST, "scenario_id": name})
        folder.rename(parent / f".{name}")
    for name in (probe.SCENARIO_ID, "probe_zwei"):
        (parent / f".{name}").rename(parent / name)
    probe.write_json(parent / "tests.json", {"name": "probe", "scenarios": [probe.SCENARIO_ID, "probe_zwei"]})
    return parent
