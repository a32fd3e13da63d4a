"""The tool Bash: arguments, refusals, and what an agent reads of how its command ended."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from infranode_eval.team.agent import Agent
from infranode_eval.team.bash import bash, execute, prepare, said
from infranode_eval.team.sandbox import Outcome, Sandbox, open_sandbox
from infranode_eval.team.workspace import Forbidden, Scope, ToolError, Workspace
from lm_eval_task.errors import WorldNotReadyError
from tests.needs import need_program
from tests.team.both_users import Place, a_place

MAIN = Agent("main", "main", Scope(("akten",)), tools=("Bash",))
WORKER = Agent("leser", "llm", Scope(("akten",)), tools=("Bash",))


@pytest.fixture(scope="module")
def box() -> Sandbox:
    need_program("bwrap", shutil.which("bwrap"))
    return open_sandbox()


@pytest.fixture
def place() -> Iterator[Place]:
    with a_place() as made:
        yield made


class Asked:
    """A sandbox that keeps what it was asked for. kind, and an error to raise, as given."""

    def __init__(self, kind: str = "bwrap", error: Exception | None = None) -> None:
        self.kind, self.error = kind, error
        self.seen: list[tuple[Any, ...]] = []

    def run(self, command: str, mounts: Any, timeout_s: float, **more: Any) -> Outcome:
        if self.error:
            raise self.error
        self.seen.append((command, tuple((mount.virtual, mount.writable) for mount in mounts), timeout_s))
        return Outcome(0, "da\n")


def asked(place: Place, arguments: Any, agent: Agent = MAIN, box: Any = None) -> str:
    return bash(agent, Workspace(place.real), arguments, box if box is not None else Asked(), place.slot).text


def test_a_command_runs_with_the_agents_grants(place: Place) -> None:
    box = Asked()
    agent = Agent("a", "llm", Scope(("akten", "ausgabe/r1.json")))
    assert asked(place, {"command": "ls"}, agent, box) == "da"
    assert box.seen == [("ls", (("/arbeit/akten", True), ("/arbeit/ausgabe/r1.json", True)), 10.0)]


@pytest.mark.parametrize(("given", "used"), [(1, 1.0), (0.5, 0.5), (60, 60.0), (None, 10.0), (5.0, 5.0)])
def test_a_timeout_in_seconds(place: Place, given: Any, used: float) -> None:
    box = Asked()
    asked(place, {"command": "ls", "timeout": given}, box=box)
    assert box.seen[0][2] == used


HUGE = 10 ** 400
WRONG: list[tuple[Any, str]] = [
    ({}, "command fehlt"),
    ({"command": None}, "command fehlt"),
    ({"command": ""}, "command darf nicht leer sein"),
    ({"command": 7}, "command muss ein Text sein"),
    ({"command": ["ls"]}, "command muss ein Text sein"),
    ({"command": "a\0b"}, "NUL"),
    ({"command": "\ud800"}, "Ersatzzeichenpaar"),
    ({"command": "x" * 30_001}, "länger als 30000 Zeichen"),
    ({"command": "ä" * 10_000_000}, "länger als 30000 Zeichen"),
    ({"command": "ls", "timeout": 61}, "höchstens 60"),
    ({"command": "ls", "timeout": 0}, "über 0"),
    ({"command": "ls", "timeout": -1}, "über 0"),
    ({"command": "ls", "timeout": True}, "timeout muss eine Zahl sein"),
    ({"command": "ls", "timeout": "10"}, "timeout muss eine Zahl sein"),
    ({"command": "ls", "timeout": float("nan")}, "über 0"),
    ({"command": "ls", "timeout": float("inf")}, "höchstens 60"),
    ({"command": "ls", "timeout": HUGE}, "höchstens 60"),
    ({"command": "ls", "run_in_background": 1}, "run_in_background muss true oder false sein"),
    ({"command": "ls", "run_in_background": "ja"}, "run_in_background muss true oder false sein"),
    ({"command": "ls", "cwd": "/"}, '"cwd" gibt es nicht'),
    ({7: 8}, "gibt es nicht"),
    ([], "JSON-Objekt"),
    ("ls", "JSON-Objekt"),
    (None, "JSON-Objekt"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_told_and_count_nothing(place: Place, arguments: Any, words: str) -> None:
    box = Asked()
    with pytest.raises(ToolError) as raised:
        asked(place, arguments, box=box)
    assert str(raised.value).startswith("Fehler: ") and words in str(raised.value)
    assert not isinstance(raised.value, Forbidden) and not box.seen


def test_only_main_may_run_in_the_background(place: Place) -> None:
    arguments = {"command": "ls", "timeout": 20, "run_in_background": True}
    prepared = prepare(MAIN, Workspace(place.real), arguments, Asked())
    assert (prepared.command, prepared.timeout_s, prepared.background) == ("ls", 20.0, True)
    with pytest.raises(ToolError, match="steht nur der Leitung zu"):
        prepare(WORKER, Workspace(place.real), arguments, Asked())


@pytest.mark.parametrize("box", [None, Asked("none")], ids=["no sandbox", "no wall"])
def test_without_a_wall_bash_is_not_there(place: Place, box: Any) -> None:
    with pytest.raises(ToolError, match="nicht verfügbar"):
        bash(MAIN, Workspace(place.real), {"command": "ls"}, box, place.slot)


def test_a_hidden_path_refuses_the_whole_command_once(place: Place) -> None:
    box = Asked()
    with pytest.raises(Forbidden) as raised:
        asked(place, {"command": "touch akten/da; cat geheim/x /etc/passwd"}, box=box)
    assert str(raised.value).startswith("verboten: geheim/x ") and raised.value.path == "geheim/x"
    assert not box.seen, "nothing of it ran"


def test_a_sandbox_that_does_not_start_is_an_error_of_the_call(place: Place) -> None:
    with pytest.raises(ToolError, match="gerade nicht starten") as raised:
        asked(place, {"command": "ls"}, box=Asked(error=WorldNotReadyError("/tmp/real/path")))
    assert "/tmp" not in str(raised.value)


ENDS = [
    (Outcome(0, "a\nb\n"), "a\nb"),
    (Outcome(0, ""), "(keine Ausgabe)"),
    (Outcome(2, "fehlt\n"), "fehlt\n[Exit-Status 2]"),
    (Outcome(1, ""), "[Exit-Status 1]"),
    (Outcome(None, "halb", timed_out=True), "halb\n[Zeitgrenze: nach 2,5 s beendet]"),
    (Outcome(None, "x", cut=True), "x\n[beendet: mehr als 30000 Zeichen Ausgabe]"),
    (Outcome(None, "", stopped="cancelled"), "[abgebrochen]"),
    (Outcome(None, "", stopped="memory"), "[beendet: zu viel Arbeitsspeicher belegt]"),
    (Outcome(None, "", stopped="disk"), "[beendet: zu viel auf die Platte geschrieben]"),
]


@pytest.mark.parametrize(("outcome", "text"), ENDS, ids=[text for _, text in ENDS])
def test_how_a_command_ended_is_told(outcome: Outcome, text: str) -> None:
    assert said(outcome, 2.5) == text


# --- in the real sandbox ----------------------------------------------------------------------------------------------

def test_a_file_that_a_command_wrote_is_there_for_the_other_tools(place: Place, box: Sandbox) -> None:
    assert asked(place, {"command": "cat akten/x; echo neu > akten/y"}, box=box) == "offen"
    assert (place.real / "akten" / "y").read_text() == "neu\n"


@pytest.mark.parametrize(("command", "text"), [
    ("sleep 9", "[Zeitgrenze: nach 0,5 s beendet]"),
    ("echo x > x", "bash: line 1: x: Read-only file system\n[Exit-Status 1]"),
    ("f=geheim; cat $f/x", "cat: geheim/x: No such file or directory\n[Exit-Status 1]"),
    ("echo 'unfertig", "[Exit-Status 2]"),
    ("ls geheim", "ls: cannot access 'geheim': No such file or directory\n[Exit-Status 2]"),
])
def test_what_the_agent_reads(place: Place, box: Sandbox, command: str, text: str) -> None:
    read = asked(place, {"command": command, "timeout": 0.5 if "sleep" in command else 5}, box=box)
    assert read.endswith(text)


def test_a_background_command_is_cancelled_from_another_thread(place: Place, box: Sandbox) -> None:
    cancel, workspace = threading.Event(), Workspace(place.real)
    prepared = prepare(MAIN, workspace, {"command": "sleep 9", "run_in_background": True, "timeout": 20}, box)
    results: list[str] = []
    thread = threading.Thread(target=lambda: results.append(
        execute(prepared, MAIN, workspace, box, place.slot, cancel).text))
    thread.start()
    cancel.set()
    thread.join(2)
    assert results == ["[abgebrochen]"]


def test_nothing_runs_after_a_cancel(place: Place, box: Sandbox) -> None:
    cancel = threading.Event()
    cancel.set()
    result = bash(WORKER, Workspace(place.real), {"command": "touch akten/da"}, box, place.slot, cancel)
    assert result.text == "[abgebrochen]" and not (place.real / "akten" / "da").exists()
