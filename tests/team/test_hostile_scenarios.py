"""Hostile scenarios: what `check` refuses in one line, and what it lets through, which must run to its end.

A table of faults that once got through or ended in a traceback, then random mutations of the probe and of
recht_satzung (seeded; INFRANODE_HOSTILE=full tries many more). After each: no temporary folder, no process is left.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.team import process
from infranode_eval.team.check_command import all_findings
from infranode_eval.team.course import Course
from infranode_eval.team.golden import golden_files
from infranode_eval.team.limits import Limits
from infranode_eval.team.play import Play
from infranode_eval.team.removal import remove
from infranode_eval.team.round_check import MATCH_S, found_in
from infranode_eval.team.sandbox import Sandbox, open_sandbox
from infranode_eval.team.scenario import Scenario, read_scenario, shipped_folder
from infranode_eval.team.scoring import TeamScore, score_play
from infranode_eval.team.slots import Slots
from lm_eval_task.errors import BenchError, DataError, ProviderError, UsageError
from tests.needs import need, need_program
from tests.team.both_users import for_both_users
from tests.team.plays import Voice, call, calls, stage_for, task_of
from tests.team.probe import write, write_json, write_probe

FULL = os.environ.get("INFRANODE_HOSTILE") == "full"
PROBES, SHIPPED = (400, 60) if FULL else (14, 1)        # random mutations of either
LIMIT_S = 60.0                                          # of one check, or of one play
Break = Callable[[Path], None]


@pytest.fixture(scope="module")
def box() -> Sandbox:
    need_program("bubblewrap", shutil.which("bwrap"))
    return open_sandbox()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that a sandbox's user may pass. What check and play leave behind, on disk or running, fails."""
    children, before = set(process.descendants(os.getpid())), tempfile.tempdir
    top = Path(tempfile.mkdtemp(prefix="hostile-"))
    own = top / "tmp"
    for folder in (top, own):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    tempfile.tempdir = str(own)
    try:
        yield top
        assert not list(own.iterdir()), "a temporary folder is left"
        assert set(process.descendants(os.getpid())) <= children, "a process is left"
    finally:
        tempfile.tempdir = before
        parent = os.open(top.parent, os.O_RDONLY)
        remove(parent, top.name)
        os.close(parent)


# --- breaking ---------------------------------------------------------------------------------------------------------
def edited(name: str, change: Callable[[Any], Any]) -> Break:
    def broken(folder: Path) -> None:
        value = json.loads((folder / name).read_text("utf-8"))
        change(value)
        write_json(folder / name, value)
    return broken


def manifest(**values: Any) -> Break:
    return edited("manifest.json", lambda m: m.update(values))


def change(number: int, **values: Any) -> Break:
    return edited("manifest.json", lambda m: m["updates"]["u1"]["files"][number].update(values))


def first(**values: Any) -> Break:
    return edited("rounds.json", lambda r: r[0].update(values))


def evaluated(behind: str = "", **values: Any) -> Break:
    """behind: what follows the command of the first round."""
    def changed(rounds: Any) -> None:
        rounds[0]["eval"].update(values)
        rounds[0]["eval"]["command"] += behind
    return edited("rounds.json", changed)


def sparse(name: str, size: int = 60 * 2 ** 30) -> Break:
    def broken(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.truncate(size)
    return broken


def nested(name: str, folders: int) -> Break:
    def broken(folder: Path) -> None:
        here = os.open(folder / "workspace/akten", os.O_RDONLY)
        for _ in range(folders):
            os.mkdir(name, dir_fd=here)
            inner = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        os.close(here)
    return broken


def many(folder: Path) -> None:
    for number in range(6_000):
        (folder / f"workspace/akten/{number}").touch()


def pipe(name: str) -> Break:
    def broken(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    return broken


def modes(mode: int, *names: str) -> Break:
    def broken(folder: Path) -> None:
        for name in names:
            (folder / name).chmod(mode)
    return broken


# --- the rule: refused in one line each, or played to the end ---------------------------------------------------------
def checked(folder: Path, sandbox: Sandbox) -> list[str]:
    """The errors; none of the findings takes two lines."""
    started = time.monotonic()
    found = all_findings(folder, sandbox)
    assert time.monotonic() - started < LIMIT_S
    for finding in (*found.errors, *found.warnings):
        assert str(finding).isprintable() and len(str(finding)) < 3_000, finding
    return [str(finding) for finding in found.errors]


def gold(scenario: Scenario) -> Iterator[Any]:
    """A manager that writes the golden answers."""
    for round_ in scenario.rounds:
        yield calls(*[call("Write", file_path=f"/arbeit/{path}", content=file.read_bytes().decode("utf-8", "replace"))
                      for path, file in golden_files(scenario.folder, round_.id).items()])
        yield "fertig"


def played(folder: Path, sandbox: Sandbox) -> tuple[Course, TeamScore]:
    scenario = read_scenario(folder)
    started = time.monotonic()
    with Slots().take() as slot:
        voices = {"main": Voice(gold(scenario)), "llm": Voice(lambda messages: "ja")}
        course = Play(stage_for(scenario, voices, Limits(), sandbox, slot), threading.Event()).run()
    assert time.monotonic() - started < LIMIT_S
    score = score_play(task_of(scenario), course)
    stored = Course.from_json(json.loads(json.dumps(course.to_json())))
    assert score_play(task_of(scenario), stored) == score == score_play(task_of(scenario), course)
    return course, score


REFUSED: list[tuple[str, Break, str]] = [
    ("a name that no file system takes", change(0, src="updates/" + "x" * 300), "at most 64 names"),
    ("a target that no file system takes", change(1, dst="x" * 300), "at most 64 names"),
    ("a target with a path that is too long", change(1, dst="/".join(["x" * 100] * 60)), "at most 64 names"),
    ("a target that lies too deep", change(1, dst="/".join("x" * 900)), "at most 64 names"),
    ("a workspace with a long name", manifest(workspace_template="x" * 300), "at most 64 names"),
    ("checks with a long name", manifest(scripts="x" * 300), "at most 64 names"),
    ("rounds with a long name", manifest(rounds="x" * 300), "at most 64 names"),
    ("a script with a long name", evaluated(" ${scripts}/" + "x" * 300), "expected a file of the scripts folder"),
    ("a decoy with a long name", edited("golden/r1.wrong1/why.json", lambda w: w.update({"from": "x" * 300})),
     "at most 64 names"),
    ("a long id", first(id="r" * 300), "a name of at most 64 characters"),
    ("a command that no process takes", evaluated(" # " + "x" * 200_000), "a command of at most 30000 characters"),
    ("a before that no process takes", evaluated(before="true " + "x" * 200_000), "at most 30000 characters"),
    ("a question that names the checks", first(question="Siehe ${scripts}"), "a placeholder that has a value here"),
    ("a feedback that names the log", first(feedback={"correct": "${runs}", "incorrect": "x"}),
     "a placeholder that has a value here"),
    ("a file of 60 GB", sparse("workspace/akten/gross.bin"), "at most 20000000 bytes"),
    ("an answer of 60 GB", sparse("golden/r1/ausgabe/gross.bin"), "at most 20000000 bytes"),
    ("a script of 60 GB", sparse("checks/gross"), "at most 20000000 bytes"),
    ("an update of 60 GB", sparse("updates/u1/hinweis.txt"), "at most 20000000 bytes"),
    ("facts of 60 GB", sparse("golden/facts.json"), "at most 20000000"),
    ("rounds of 60 GB", sparse("rounds.json"), "at most 20000000"),
    ("rounds that never end", lambda f: ((f / "rounds.json").unlink(), os.symlink("/dev/zero", f / "rounds.json")),
     "is no regular file"),
    ("6,000 files", many, "holds more than 5000 files and folders"),
    ("1,500 folders in each other", nested("d", 1_500), "at most 64 names"),
    ("a path longer than any call takes", nested("d" * 100, 300), "at most 64 names"),
    ("a line end in an answer's name", lambda f: write(f / "golden/r1/ausgabe/a\nb", "x"), "on one line"),
    ("a line end in a link's name", lambda f: os.symlink("x", f / "golden/r1/a\nb"), "no regular file"),
    ("no UTF-8 in an answer's name", lambda f: open(os.fsencode(f / "golden/r1") + b"/\xff", "w").close(), "UTF-8"),
    ("a pipe for facts", pipe("golden/facts.json"), "no regular file"),
    ("a pipe for rounds", pipe("rounds.json"), "no regular file"),
    ("a pipe for an update", pipe("updates/u1/hinweis.txt"), "neither file nor folder"),
    ("a pipe for the run log", pipe("golden/runs.jsonl"), "no regular file"),
    ("a pattern as long as a book", evaluated(stdout_matches="a" * 5_000), "at most 1000 characters"),
    ("a pattern without end", evaluated(" && echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", stdout_matches="(a+)+c"),
     "no hit of stdout_matches within 2 s"),
    ("a check that hangs", evaluated(command="sleep 1000", timeout_s=0.3), "found timeout"),
    ("a check that is deaf", evaluated(command="exec >&- 2>&-; sleep 1000", timeout_s=0.3), "found timeout"),
    ("a check that writes gigabytes", evaluated(command="cat /dev/zero", timeout_s=5), "found an end by force"),
    ("a check that kills all", evaluated(command="kill -9 -1; kill -9 $$"), "found exit 137"),
    ("a before that takes all away", evaluated(before="rm -rf /arbeit/*/*; mkfifo ausgabe/r1.json", timeout_s=3),
     "expected the check to pass"),
]


@pytest.mark.parametrize(("broken", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_in_one_line(place: Path, box: Sandbox, broken: Break, message: str) -> None:
    folder = write_probe(place)
    broken(folder)
    errors = checked(folder, box)
    assert any(message in line for line in errors), errors


PLAYED: list[tuple[str, Break]] = [
    ("as it is", lambda f: None),
    ("checks that only their owner reads", modes(0o600, "checks/check.py", "checks/soll.json")),
    ("a folder of checks that only its owner enters", modes(0o700, "checks")),
    ("OK behind 15,000 other characters", evaluated(command="python3 -I -c 'print(\"x\" * 15000)'; python3 -I "
        "${scripts}/check.py r1 ${workspace}/ausgabe/r1.json ${scripts}/soll.json")),
    ("a pattern at the end of a long output", evaluated(" && python3 -I -c 'print(\"x\" * 15000); print(\"ENDE\")'",
                                                        stdout_matches=r"ENDE\n\Z", stdout_contains=None)),
    ("a pattern that Python warns of", evaluated(stdout_matches="[[a]*OK")),
    ("a pattern that backtracks a while", evaluated(" && echo aaaaaaaaaaaaaaaaab", stdout_matches="(a+)+c|OK")),
    ("output that is no text", evaluated("; printf '\\xff\\xed\\xa0\\x80\\x00'")),
    ("a check that leaves a process", evaluated(behind=" && (setsid sleep 1000 &)")),
    ("a fork bomb before", evaluated(before=":(){ :|:& };:", timeout_s=3)),
    ("a before that locks everything", evaluated(before="mkdir -p aufgaben/hinweis.txt/x/y; chmod -R 0 aufgaben")),
    ("a before that nests 1,500 folders", evaluated(
        before="cd ausgabe; python3 -c 'import os; [(os.mkdir(str(9)), os.chdir(str(9))) for _ in range(1500)]'")),
    ("a link to itself", lambda f: os.symlink("l", f / "workspace/akten/l")),
    ("signs that turn a terminal", lambda f: write(f / "workspace/akten/a\x9b\u202e\u2028", "x")),
    ("an answer in the place of a folder", lambda f: write(f / "golden/r1/akten", "x")),
    ("an answer below a file", lambda f: write(f / "golden/r1/akten/satzung.txt/x", "x")),
    ("a great version", manifest(version=10 ** 4_200)),
    ("moves of no tool", lambda f: write_json(f / "golden/play.json", [
        {"round": "r1", "answers": [{"calls": [{"name": "Nix", "arguments": {}}]}, {"text": "?"}]},
        {"round": "r2", "answers": [{"calls": [{"name": "Read", "arguments": {"file_path": [5]}}]}]}])),
]


@pytest.mark.parametrize("broken", [row[1] for row in PLAYED], ids=[row[0] for row in PLAYED])
def test_what_passes_runs(place: Path, box: Sandbox, broken: Break) -> None:
    folder = write_probe(place)
    broken(folder)
    assert checked(folder, box) == []
    course, score = played(folder, box)
    assert score.outcome == "solved", score.why
    told = [m["content"] for m in course.messages if m["role"] == "user" and m["content"].startswith("Die Prüfung")]
    assert len(told) == 1 and told[0].startswith("Die Prüfung von r1 war erfolgreich."), "told as it is scored"


def test_a_narrow_umask_closes_nothing_to_the_sandbox(place: Path, box: Sandbox) -> None:
    folder = write_probe(place)
    evaluated(" && cat ${runs}")(folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = os.umask(0o077)
    try:
        assert checked(folder, box) == []
        assert played(folder, box)[1].outcome == "solved"
    finally:
        os.umask(before)


def test_a_script_that_does_not_find_what_it_parses_is_told(place: Path, box: Sandbox) -> None:
    """The shipped manager is written for the shipped files."""
    need("quickjs")
    folder = place / "recht_satzung"
    shutil.copytree(shipped_folder() / "recht_satzung", folder)
    (folder / "workspace/aufgaben/vorgang.txt").write_text("leer\n", "utf-8")
    found = all_findings(folder, box)
    assert not found.errors
    assert any("no golden run: the manager's script lost its way in round" in str(one) for one in found.warnings)


def test_feedback_names_folders_as_agents_know_them(place: Path, box: Sandbox) -> None:
    folder = write_probe(place)
    first(feedback={"correct": "gut: ${workspace}/ausgabe", "incorrect": "x"})(folder)
    assert checked(folder, box) == []
    assert any("gut: /arbeit/ausgabe" in str(m["content"]) for m in played(folder, box)[0].messages)


@for_both_users
def test_what_cannot_be_read_is_told() -> None:
    for name, message in (("workspace/akten/satzung.txt", 'workspace: found "akten/satzung.txt", expected a file'),
                          ("golden/r1", 'golden: found "r1", expected a folder'),
                          ("checks", "checks: cannot be read, expected a folder"),
                          ("rounds.json", "rounds.json: cannot be read (Permission denied), expected a JSON file")):
        with tempfile.TemporaryDirectory(prefix="closed-") as top:
            folder = write_probe(Path(top))
            (folder / name).chmod(0)
            errors = [str(finding) for finding in all_findings(folder, open_sandbox("none")).errors]
            (folder / name).chmod(0o755)
        assert errors == [] if os.geteuid() == 0 else errors[0].startswith(f"probe_klein/{message}"), (name, errors)


# --- stdout_matches ---------------------------------------------------------------------------------------------------
CATASTROPHE = ("(a+)+c", "a" * 40 + "b")


def test_a_pattern_without_end_stops_no_other_thread() -> None:
    ticks, over = [0.0], threading.Event()

    def tick() -> None:
        last = time.monotonic()
        while not over.wait(0.01):
            now = time.monotonic()
            ticks[0], last = max(ticks[0], now - last), now

    watcher = threading.Thread(target=tick)
    watcher.start()
    started = time.monotonic()
    assert found_in(CATASTROPHE[1], CATASTROPHE[0]) is False
    over.set()
    watcher.join()
    assert time.monotonic() - started < MATCH_S + 8 and ticks[0] < 1.5, ticks


def test_no_pattern_is_searched_for_when_a_play_is_scored(place: Path, box: Sandbox) -> None:
    folder = write_probe(place)
    course, score = played(folder, box)
    scenario = read_scenario(folder)
    rows = [{**row, "stdout": CATASTROPHE[1], "matched": row["id"] == "r1"} for row in course.told["rounds"]]
    slow = replace(scenario, rounds=tuple(replace(one, check=replace(
        one.check, stdout_contains=None, stdout_matches=CATASTROPHE[0])) for one in scenario.rounds))
    started = time.monotonic()
    again = score_play(task_of(slow), replace(course, told={**course.told, "rounds": rows}))
    assert time.monotonic() - started < 1 and score.outcome == "solved"
    assert [row["passed"] for row in (again.team or {})["rounds"]] == [True, False]


# --- at random --------------------------------------------------------------------------------------------------------
JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10 ** 30, "", " ", "x", "../x", "/etc/passwd", ".", "a/../b", "akten", "aufgaben",
    "ausgabe", "x" * 300, "ä\u202e", "\x7f", [], {}, ["akten"], ["akten", "akten"], [None], {"x": 1}, "${workspace}",
    "${x}", "${runs}", "r1", "r2", "u1", "C2", "C8:r1", "(a+)+$", "[", "true", "false", "exit 3", "sleep 60",
    "cat /dev/zero", "kill -9 -1", "rm -rf / 2>/dev/null; echo OK",
    ":(){ :|:& };:", "echo OK > ${workspace}/ausgabe/r1.json",
    "python3 -c 'x = [0] * 10**10'", "'", "\\", "$(", 0.05, 120, 121)
NAMES: tuple[bytes, ...] = (b"neu", b"a b", b"-rf", b"*", b"\xff\xfe", b"a\nb", b"\xe2\x80\xae", b"n" * 250, b"$(id)",
                            b"'", "größe".encode(), b".versteckt", b"why.json", b"r9", b"r1.wrong9")


def mutated(folder: Path, seed: int) -> list[str]:
    """One to three changes; what they were."""
    chance, done = random.Random(seed), []
    for _ in range(chance.choice((1, 1, 2, 3))):
        try:
            done.append(chance.choice((_json, _json, _json, _file, _file, _text))(folder, chance))
        except (OSError, ValueError, IndexError) as error:      # an earlier change is in the way
            done.append(f"nothing ({error})")
    return done


def _json(folder: Path, chance: random.Random) -> str:
    """A value, or a key, somewhere in a JSON file."""
    path = chance.choice([folder / "manifest.json", folder / "rounds.json", folder / "rounds.json",
                          *sorted((folder / "golden").rglob("*.json"))])
    value = json.loads(path.read_text("utf-8"))
    spots: list[tuple[Any, Any]] = []

    def collect(here: Any) -> None:
        for key in (here if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()):
            spots.append((here, key))
            collect(here[key])

    collect(value)
    holder, key = chance.choice(spots)
    new, form = chance.choice(JUNK), chance.random()
    if form < 0.15:
        del holder[key]
    elif form < 0.25 and isinstance(holder, dict):
        holder[chance.choice(("x", "timeout_s", "before", "stdout_matches", "decoys"))] = new
    elif form < 0.35 and isinstance(holder, list):
        holder.append(holder[key])
    else:
        holder[key] = new
    write_json(path, value)
    return f"{path.relative_to(folder)}: {key!r} {form:.2f} {new!r}"


def _file(folder: Path, chance: random.Random) -> str:
    """A file or folder that goes, moves, or becomes something else."""
    path = chance.choice([path for path in sorted(folder.rglob("*")) if path.is_dir() or not path.is_symlink()])
    target = chance.choice(("/etc/passwd", "..", ".", "../..", "akten", path.name, "../akten/satzung.txt", "nirgends"))
    form = chance.choice(("gone", "link", "pipe", "folder", "huge", "closed", "sparse", "moved", "beside", "deep"))
    if form == "beside":
        os.close(os.open(os.fsencode(path.parent) + b"/" + chance.choice(NAMES), os.O_CREAT | os.O_WRONLY))
        return f"{path.relative_to(folder)}: beside"
    if form == "closed":
        path.chmod(chance.choice((0, 0o111, 0o600, 0o4755)))
    elif form == "moved":
        path.rename(folder / "workspace" / "verschoben")
    elif path.is_dir() and form != "deep":
        shutil.rmtree(path)
    elif path.is_file():
        path.unlink()
    if form == "link":
        os.symlink(target, path)
    elif form == "pipe":
        os.mkfifo(path)
    elif form == "folder":
        path.mkdir()
    elif form == "huge":
        path.write_bytes(b"x" * 300_000)
    elif form == "sparse":
        with path.open("wb") as file:
            file.truncate(chance.choice((2 ** 20, 2 ** 33)))
    elif form == "deep":
        (path / "/".join("d" * chance.choice((10, 63, 70)))).mkdir(parents=True)
    return f"{path.relative_to(folder)}: {form} {target}"


def _text(folder: Path, chance: random.Random) -> str:
    """A hundred bytes, or half of it, or a sign in it."""
    path = chance.choice([path for path in sorted(folder.rglob("*")) if path.is_file()])
    data, form = path.read_bytes(), chance.randrange(4)
    at = chance.randrange(len(data) + 1)
    path.write_bytes((chance.randbytes(100), data[:at], data[:at] + chance.choice((b"\0", b"\xff", b"[", b'"', b"\n"))
                      + data[at:], b"[" * 5_000)[form])
    return f"{path.relative_to(folder)}: text {form} at {at}"


def refused_or_played(folder: Path, box: Sandbox) -> str:
    """What became of it. Whatever is raised is a DataError of one line, or the failure of a check's sandbox."""
    errors = checked(folder, box)
    if errors:
        return "refused"
    try:
        course, score = played(folder, box)
    except BenchError as error:
        assert not isinstance(error, DataError | UsageError | ProviderError), f"passes check and does not run: {error}"
        raise
    assert len(course.told["rounds"]) == len(read_scenario(folder).rounds)
    return score.outcome


@pytest.mark.parametrize("seed", range(PROBES))
def test_a_random_probe_is_refused_or_runs(place: Path, box: Sandbox, seed: int) -> None:
    folder = write_probe(place)
    done = mutated(folder, seed)
    try:
        _quick(folder)
        refused_or_played(folder, box)
    except BaseException:
        print(f"seed {seed}: {done}")
        raise


@pytest.mark.parametrize("seed", range(SHIPPED))
def test_a_random_recht_satzung_is_refused_or_runs(place: Path, box: Sandbox, seed: int) -> None:
    folder = place / "recht_satzung"
    shutil.copytree(shipped_folder() / "recht_satzung", folder)
    done = mutated(folder, 10_000 + seed)
    try:
        _quick(folder)
        refused_or_played(folder, box)
    except BaseException:
        print(f"seed {seed}: {done}")
        raise


def _quick(folder: Path) -> None:
    """Commands that hang do so for half a second."""
    path = folder / "rounds.json"
    if path.is_file() and not path.is_symlink() and path.stat().st_size < 10 ** 6:
        text = path.read_bytes()
        path.write_bytes(re.sub(rb'"timeout_s": (20|120)\b', b'"timeout_s": 2.5', text))
