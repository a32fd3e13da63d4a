"""The manager's turns: what is noted of its notices, and how a resumed play is led by that."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.team.limits import Limits
from infranode_eval.team.play import Play
from infranode_eval.team.slots import Slots
from tests.team.plays import (
    NOTICE,
    Until,
    Voice,
    after,
    background,
    calls,
    create,
    echo,
    prompt_in,
    solve,
    stage_for,
    tiny,
)


class Noting(Voice):
    """A manager whose notes are kept, and those of an earlier play given again."""

    def __init__(self, script: Any, notes: dict[str, Any] | None = None) -> None:
        super().__init__(script)
        self.notes: dict[str, Any] = dict(notes or {})
        self.known = set(self.notes)

    def noted(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self.notes:
            self.notes[name] = make()
        return self.notes[name]

    def recalled(self, name: str) -> Any:
        return self.notes.get(name)

    def delivered(self) -> dict[str, Any]:
        return {name: ids for name, ids in self.notes.items() if name.startswith("delivered")}


def led(parent: Path, main: Noting, llm: Any = echo) -> list[list[tuple[str, str, str]]]:
    """The notices of each message that held any."""
    with Slots().take() as slot:
        stage = stage_for(tiny(parent), {"main": main, "llm": Voice(llm)}, Limits(), None, slot)
        course = Play(stage, threading.Event()).run()
    found = [NOTICE.findall(message["content"]) for message in course.messages
             if message["role"] == "user" and isinstance(message["content"], str)]
    return [one for one in found if one]


TWO = [calls(create(), background("a"), background("b")), Until(2), calls(solve()), "Fertig."]


def by_turns(slow: str) -> Callable[..., Any]:
    return lambda messages: after(0.3 if prompt_in(messages) == slow else 0.0)(messages)


def test_what_is_delivered_before_each_request_is_noted(tmp_path: Path) -> None:
    main = Noting(TWO)
    told = led(tmp_path, main, by_turns("a"))
    assert [[task for task, _, _ in one] for one in told] == [["r2"], ["r1"]]
    assert [ids for ids in main.delivered().values() if ids] == [["r2"], ["r1"]]


@pytest.mark.parametrize("slow", ["a", "b"])
def test_a_resumed_play_gets_its_notices_as_they_were_noted_whoever_is_faster_now(tmp_path: Path, slow: str) -> None:
    """T37"""
    notes = {"delivered 1": [], "delivered 2": ["r2"], "delivered 3": ["r1"]}
    main = Noting(TWO, notes)
    told = led(tmp_path, main, by_turns(slow))
    assert [[task for task, _, _ in one] for one in told] == [["r2"], ["r1"]]
    assert main.delivered() == notes


def test_notes_of_another_history_do_not_leave_a_waiting_manager_without_a_notice(tmp_path: Path) -> None:
    main = Noting(TWO, {"delivered 1": [], "delivered 2": ["b9"], "delivered 3": []})
    told = led(tmp_path, main, after(0.1))
    assert sorted(task for one in told for task, _, _ in one) == ["r1", "r2"]
    assert all(request[-1]["role"] != "assistant" for request in main.requests), "it is never asked with nothing new"


def test_without_anything_under_way_nothing_is_noted(tmp_path: Path) -> None:
    main = Noting([calls(solve()), "Fertig."])
    assert led(tmp_path, main) == [] and main.delivered() == {}
