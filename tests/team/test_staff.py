"""Sub-agents and their runs: what an order is, what the manager sees of it, and when."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.providers.protocol import Sampling
from infranode_eval.team.ledger import Ledger
from infranode_eval.team.limits import Limits
from infranode_eval.team.runlog import RunLog
from infranode_eval.team.slots import Slot
from infranode_eval.team.staff import Hire, Run, Staff
from infranode_eval.team.toolbox import Toolbox
from infranode_eval.team.workspace import Scope, ToolError, Workspace
from tests.team.plays import Voice, calls, echo, read, tiny


class Office:
    """A staff with all that it needs. llm: what its one model says."""

    def __init__(self, parent: Path, llm: Any = echo, **limits: int) -> None:
        scenario = tiny(parent)
        (parent / "real").mkdir()
        workspace = Workspace.prepare(scenario.template, parent / "real")
        self.ledger, self.runlog, self.voice = Ledger(), RunLog(), Voice(llm)
        self.ledger.round = "r1"
        hires = {key: Hire(self.voice, Sampling(9), media) for key, media in (("llm", {}), ("vlm", {"image": 2}))}
        self.staff = Staff(workspace, Scope((*scenario.accessible, *scenario.delegable)), hires, Toolbox(
            workspace, self.ledger, None, Slot(None)), self.ledger, self.runlog, Limits(**limits))

    def create(self, name: str = "a", task: str = "", **more: Any) -> str:
        return self.staff.create({"name": name, "model_key": "llm", "tools": ["Read"], "system_prompt": "Sei kurz.",
                                  "accessible_paths": ["/arbeit/akten"]} | more, task)

    def accept(self, prompt: str = "los", **more: Any) -> Run:
        return self.staff.accept({"subagent": "a", "prompt": prompt} | more)

    def work(self, run: Run) -> tuple[str, bool]:
        return self.staff.work(run, threading.Event())


@pytest.mark.parametrize("paths, grants", [
    (["/arbeit/akten"], ["akten"]), (["/arbeit/akten/", "/arbeit/./akten"], ["akten"]),
    (["/arbeit/akten/satzung.txt", "/arbeit/entwurf"], ["akten/satzung.txt", "entwurf"]),
    (["/arbeit/akten/../entwurf"], ["entwurf"]), ([], [])])
def test_grants_are_relative_paths_each_once(tmp_path: Path, paths: list, grants: list) -> None:
    office = Office(tmp_path)
    office.create(accessible_paths=paths)
    assert office.ledger.subagents()[0]["paths"] == grants


def test_the_files_are_counted_at_the_creation(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.create(accessible_paths=["/arbeit/akten", "/arbeit/akten/satzung.txt"])
    assert office.ledger.subagents()[0]["files"] == 2


def test_a_worker_is_told_its_name_tools_paths_and_orders(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.create("a-1")
    run = office.staff.accept({"subagent": "a-1", "prompt": "los"})
    assert office.work(run) == ("LOS", False)
    text = office.voice.requests[0][0]["content"]
    assert all(part in text for part in ("a-1", "Read", "/arbeit/akten", "Sei kurz.")) and "llm" not in text


def test_an_order_shows_when_it_is_delivered(tmp_path: Path) -> None:
    """T21"""
    office = Office(tmp_path, llm=lambda m: calls(read("register/x")) if m[-1]["role"] == "user" else "gelesen")
    office.create()
    run = office.accept()
    before = office.staff.inspect({"subagent": "a"})
    office.work(run)
    assert office.staff.inspect({"subagent": "a"}) == before
    with pytest.raises(ToolError):
        office.accept(session_id="s1")
    office.staff.delivered(run.id)
    after = office.staff.inspect({"subagent": "a"}).text
    assert "Verweigerte Zugriffe: 1" in after and after.endswith("gelesen")
    assert office.accept(session_id="s1").session is run.session
    assert [one["event"] for one in office.runlog.events] == ["start", "end", "start"]


def test_a_cancelled_order_closes_its_session_and_ends_in_the_log(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.create()
    office.accept()
    office.staff.cancelled()
    with pytest.raises(ToolError) as caught:
        office.accept(session_id="s1")
    assert "abgebrochen" in str(caught.value) and "LOS" not in office.staff.inspect({"subagent": "a"}).text
    assert [one["event"] for one in office.runlog.events] == ["start", "end"]


def test_what_a_workflow_does_shows_when_it_is_delivered(tmp_path: Path) -> None:
    """T26"""
    office = Office(tmp_path)
    office.create("b", task="w1")
    with pytest.raises(ToolError):
        office.staff.accept({"subagent": "b", "prompt": "x"})
    with pytest.raises(ToolError):
        office.staff.inspect({"session_id": "w1.1"})
    run = office.staff.accept_from_workflow("w1", 0, "b", "x", threading.Event())
    office.work(run)
    office.staff.ended(run)
    assert office.staff.list().text == "Es gibt noch keine Unteragenten."
    office.staff.delivered("w1")
    assert "Sitzungen w1.1; Aufträge 1" in office.staff.list().text
    assert office.staff.inspect({"session_id": "w1.1"}).text.endswith("X")
    assert office.staff.accept({"subagent": "b", "prompt": "y", "session_id": "w1.1"}).session is run.session


def test_sub_agents_are_listed_in_the_order_in_which_the_manager_heard_of_them(tmp_path: Path) -> None:
    """Not in that of their creation: a slow script must give the same list as a fast one."""
    lists = []
    for number, order in enumerate((["b", "c", "a"], ["b", "a", "c"], ["a", "b", "c"])):
        (tmp_path / str(number)).mkdir()
        office = Office(tmp_path / str(number))
        for name in order:
            office.create(name, task="" if name == "a" else "w1")
        office.staff.delivered("w1")
        lists.append([line.split(" ")[0] for line in office.staff.list().text.splitlines()])
        assert office.staff.names() == ("a", "b", "c")
    assert lists == [["a", "b", "c"]] * 3


def test_a_cancelled_workflow_creates_and_orders_no_more(tmp_path: Path) -> None:
    """Its thread may be on the way to it while the manager's cancels."""
    office, cancelled = Office(tmp_path), threading.Event()
    office.create()
    cancelled.set()
    office.staff.cancelled()
    with pytest.raises(ToolError):
        office.staff.accept_from_workflow("w1", 0, "a", "x", cancelled)
    with pytest.raises(ToolError):
        office.staff.create({"name": "b", "model_key": "llm", "tools": [], "accessible_paths": []}, "w1", cancelled)
    assert office.runlog.events == [] and office.staff.names() == ("a",)
    assert office.ledger.invocations["workflow"] == 0 and len(office.ledger.subagents()) == 1


def test_a_run_that_a_script_left_closes_its_session(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.create()
    office.staff.accept_from_workflow("w1", 0, "a", "x", threading.Event())
    office.staff.delivered("w1")
    with pytest.raises(ToolError):
        office.staff.accept({"subagent": "a", "prompt": "y", "session_id": "w1.1"})


def test_another_workflow_does_not_see_what_one_defines(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.create("b", task="w1")
    with pytest.raises(ToolError):
        office.staff.accept_from_workflow("w2", 0, "b", "x", threading.Event())
    with pytest.raises(ToolError):
        office.create("b")


def test_a_cancelled_run_that_waits_its_turn_asks_nobody(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.create()
    cancelled = threading.Event()
    cancelled.set()
    assert office.staff.work(office.accept(), cancelled) == ("abgebrochen", True) and office.voice.requests == []


def test_keys_are_named_by_what_they_perceive(tmp_path: Path) -> None:
    assert Office(tmp_path).staff.keys_for == {"image": ("vlm",), "audio": (), "video": ()}


def test_sessions_of_workflows_stand_behind_those_of_the_manager_by_number(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.create()
    for number in (10, 1, 0):
        office.staff.accept_from_workflow("w2", number, "a", "x", threading.Event())
    office.accept()
    assert [one["id"] for one in office.staff.sessions()] == ["s1", "w2.1", "w2.2", "w2.11"]
