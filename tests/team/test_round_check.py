"""The command of a round in the sandboxes that there are."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from infranode_eval.team.round_check import Site, decide, found_in
from infranode_eval.team.sandbox import Sandbox, open_sandbox
from infranode_eval.team.scenario import Check, Scenario, read_scenario
from infranode_eval.team.slots import Slots
from infranode_eval.team.workspace import Workspace
from lm_eval_task.errors import WorldNotReadyError
from tests.needs import need_program
from tests.team.probe import WORKSPACE, write_probe


@pytest.fixture
def room() -> Iterator[Path]:
    """A folder with a blank in its name that a sandbox's user may enter; pytest's own is closed to it."""
    with tempfile.TemporaryDirectory(prefix="team test ") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(params=["bwrap", "none"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param == "bwrap":
        need_program("bubblewrap", shutil.which("bwrap"))
    return open_sandbox(request.param)


Verdict = tuple["int | None", str, bool, bool]      # exit code, stdout, timed out, passed


def decided(scenario: Scenario, check: Check, room: Path, sandbox: Sandbox, runs: str = "") -> Verdict:
    with Slots().take() as slot:
        workspace = Workspace.prepare(scenario.template, room / "arbeit", slot.uid)
        Workspace.prepare(scenario.scripts, room / "checks", slot.uid)
        (room / "notes").mkdir()
        found = decide(scenario, check, workspace.real, runs, Site(sandbox, slot, room / "checks", room / "notes"))
    return found.exit_code, found.stdout, found.timed_out, found.passed


DECIDED = [
    (Check("cat ${workspace}/akten/verteiler.txt"), (0, WORKSPACE["akten/verteiler.txt"], False, True), "hidden files"),
    (Check("ls ${scripts}"), (0, "check.py\nsoll.json\n", False, True), "the scripts"),
    (Check("cat ${runs}", stdout_contains="r1"), (0, '{"round": "r1"}\n', False, True), "the run log"),
    (Check("echo ${scenario_id}; echo x >&2; exit 3", 3), (3, "probe_klein\n", False, True), "stderr is no output"),
    (Check("exit 1"), (1, "", False, False), "another exit code"),
    (Check("sleep 3", timeout_s=0.3), (None, "", True, False), "too long"),
]


@pytest.mark.parametrize(("check", "expected", "why"), DECIDED)
def test_a_check_is_run_with_its_placeholders(tmp_path: Path, room: Path, sandbox: Sandbox, check: Check,
                                              expected: Verdict, why: str) -> None:
    scenario = read_scenario(write_probe(tmp_path))
    assert decided(scenario, check, room, sandbox, '{"round": "r1"}\n') == expected, why


@pytest.mark.parametrize(("pattern", "text", "found", "why"), [
    (r"^Frist \d+$", "OK\nFrist 14", False, "without (?m) ^ is the beginning of all"),
    (r"(?m)^Frist \d+$", "OK\nFrist 14", True, "a line"),
    ("ü€😀", "x" * 29_990 + "ü€😀", True, "a long text, any letters"),
    (r"(a+)+c", "a" * 40, False, "it would take years"), ("[[a]", "[", True, "Python warns of it")])
def test_a_pattern_is_looked_for_within_its_time(pattern: str, text: str, found: bool, why: str) -> None:
    assert found_in(text, pattern) is found, why


def test_a_search_that_fails_is_no_verdict() -> None:
    """A pattern that is none stands for whatever else ends the program: no memory to start, a broken Python."""
    with pytest.raises(WorldNotReadyError, match="exit 1"):
        found_in("x", "(")


BEHIND_THE_WALL = [
    (Check("echo x > ${workspace}/akten/x; echo x > ${scripts}/x; echo x > ${runs}; ls ${workspace}/akten"),
     "satzung.txt\nverteiler.txt\n", "a check changes nothing"),
    (Check("cat ${before}", before="ls; ls akten checks; cat ${workspace}/entwurf/vorlage.txt"),
     "aufgaben\nausgabe\nentwurf\nls: cannot access 'akten': No such file or directory\n"
     "ls: cannot access 'checks': No such file or directory\nSehr geehrte Damen und Herren,\n",
     "before sees what main does"),
    (Check("ls ${workspace}/ausgabe; cat ${before}", before="echo 1 > ${workspace}/ausgabe/bericht"),
     "bericht\n", "before may write where main may"),
    (Check("wc -c < ${before}", before="head -c 90000 /dev/zero | tr '\\0' a"), "90000\n", "a long output comes"),
    (Check("wc -c < ${before}", before="head -c 300000 /dev/zero | tr '\\0' a"), "100000\n", "and is cut"),
]


@pytest.mark.parametrize(("check", "stdout", "why"), BEHIND_THE_WALL, ids=[row[2] for row in BEHIND_THE_WALL])
def test_the_wall_holds_for_checks(tmp_path: Path, room: Path, check: Check, stdout: str, why: str) -> None:
    need_program("bubblewrap", shutil.which("bwrap"))
    scenario = read_scenario(write_probe(tmp_path))
    assert decided(scenario, check, room, open_sandbox())[1] == stdout, why


def test_what_an_agent_left_does_not_break_the_log(tmp_path: Path, room: Path) -> None:
    scenario = read_scenario(write_probe(tmp_path))
    lone = '{"round": "r1", "subagent": "\udc80"}\n'
    assert decided(scenario, Check("cat ${runs}"), room, open_sandbox("none"), lone)[1] == lone.replace("\udc80", "?")
