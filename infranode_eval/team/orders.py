"""The calls of a scripted manager: files of its own, answers, sub-agents and their orders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from infranode_eval.team.account import found
from infranode_eval.team.manner import Manner
from infranode_eval.team.workspace import ROOT
from lm_eval_task.records import Call


def read(path: str) -> Call:
    return Call("Read", {"file_path": path})


def edit(path: str, old: str, new: str) -> Call:
    return Call("Edit", {"file_path": path, "old_string": old, "new_string": new})


def write_answer(round_id: str, answer: Mapping[str, Any]) -> tuple[Call]:
    """The turn that writes a round's answer."""
    text = json.dumps(answer, ensure_ascii=False, indent=1) + "\n"
    return (Call("Write", {"file_path": f"{ROOT}/ausgabe/{round_id}.json", "content": text}),)


def create(manner: Manner, name: str, modality: str, *paths: str, system_prompt: str) -> Call:
    """A sub-agent that reads these paths, with the rights that the manner gives."""
    return Call("CreateSubagent", {"name": name, "model_key": manner.key(modality), "tools": manner.tools("Read"),
                                   "accessible_paths": manner.paths(*paths), "system_prompt": system_prompt})


def run(name: str, prompt: str, **more: Any) -> Call:
    """An order; more: session_id, run_in_background."""
    return Call("RunSubagent", {"subagent": name, "prompt": prompt, **more})


def session_in(result: str) -> str:
    """The session that the result of a run names, "" where none is."""
    session = found(r"session_id: (\S+)", [result])
    return session[1] if session else ""


def place(index: str, wanted: str) -> str:
    """The path whose line `path – what it is` in an index holds the wanted words; ROOT where there is none."""
    line = next((line for line in index.splitlines() if wanted in line and " – " in line), None)
    return f"{ROOT}/{line.partition(' – ')[0].strip()}" if line else ROOT
