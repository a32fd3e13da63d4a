"""The traps of a sandbox, each as a test, as root and as an ordinary user."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infranode_eval.team import process, programs, room, sandbox
from infranode_eval.team.sandbox import Bubblewrap, Mount, Outcome, Sandbox, Slots, open_sandbox
from lm_eval_task.errors import UsageError, WorldNotReadyError
from tests.needs import need_program
from tests.team.both_users import IS_ROOT, ORDINARY_UID, Place, a_place, for_both_users

ROOT = Path(__file__).parents[2]
OURS = f"25{os.getpid()}"           # seconds behind the point, by which this run's sleepers are found among others
# A process in a session of its own, whose parent is gone.
DAEMON = 'python3 -c "import os; os.fork() or (os.setsid(), os.execlp(\'sleep\', \'sleep\', \'{}\'))"'


@pytest.fixture(scope="module")
def box() -> Sandbox:
    need_program("bwrap", shutil.which("bwrap"))
    return open_sandbox()


def run(box: Sandbox, place: Place, command: str, timeout_s: float = 5, *, grants: tuple[str, ...] = ("akten",),
        writable: bool = True, **more: object) -> Outcome:
    mounts = [Mount(place.real / grant, f"/arbeit/{grant}", writable) for grant in grants]
    return box.run(command, mounts, timeout_s, slot=place.slot, **more)  # type: ignore[arg-type]


def alive(mark: str) -> list[int]:
    """The processes of this machine that have a text in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def gone(mark: str, within_s: float = 2) -> bool:
    end = time.monotonic() + within_s
    while alive(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


# --- what a command sees ----------------------------------------------------------------------------------------------

SEEN = [
    ("cat akten/x", 0, "offen\n", "a grant, from /arbeit"),
    ("pwd", 0, "/arbeit\n", "the working folder"),
    ("ls /arbeit", 0, "akten\n", "what was not granted does not exist"),
    ("cat /arbeit/geheim/x", 1, "cat: /arbeit/geheim/x: No such file or directory\n", "not even by its path"),
    ("cat /arbeit/akten/../geheim/x", 1, "cat: /arbeit/akten/../geheim/x: No such file or directory\n", "or beside"),
    ("ls /", 0, "arbeit\nbin\ndev\nlib\nlib64\nproc\ntmp\nusr\n", "no /etc, /home, /root, /sys"),
    ("echo neu > akten/y && cat akten/y", 0, "neu\n", "a grant is writable"),
    ("echo q > /arbeit/q", 1, "bash: line 1: /arbeit/q: Read-only file system\n", "no file that vanishes silently"),
    ("echo q > /q", 1, "bash: line 1: /q: Read-only file system\n", "nor anywhere else"),
    ("echo q > /dev/q", 1, "bash: line 1: /dev/q: Read-only file system\n", "nor in memory without a limit"),
    ("echo q > /usr/bin/cat", 1, "bash: line 1: /usr/bin/cat: Read-only file system\n", "programs are read-only"),
    ("echo q > /tmp/q && cat /tmp/q", 0, "q\n", "an empty /tmp is there"),
    ("ls /tmp", 0, "", "and empty again in the next call"),
    ("cat", 0, "", "stdin is /dev/null"),
    ("id -u; uname -n", 0, "1000\narbeit\n", "neither slot nor machine shows: the same text in every run"),
    ("exit 3", 3, "", "the status is the command's own"),
    ("kill -TERM $$", 143, "", "a signal is 128 + its number"),
    ("cat <(echo a) && echo b >&2", 0, "a\nb\n", "process substitution works; errors are merged"),
    ("python3 -c 'import sys; print(sys.prefix)'", 0, "/usr\n", "the shown interpreter, wherever it came from"),
    ("python3 -I -c 'import json, sqlite3, hashlib, decimal, ctypes, lzma, bz2, ssl'", 0, "", "its whole library"),
    ("printf 'a\\xffb'", 0, "a�b", "bytes that are no text"),
]


@pytest.mark.parametrize(("command", "status", "output", "why"), SEEN, ids=[row[3] for row in SEEN])
@for_both_users
def test_a_command_sees(box: Sandbox, command: str, status: int, output: str, why: str) -> None:
    with a_place() as place:
        ended = run(box, place, command)
        assert (ended.exit, ended.output) == (status, output), why


@for_both_users
def test_only_the_listed_programs_are_there(box: Sandbox) -> None:
    with a_place() as place:
        ended = run(box, place, "ls /usr/bin /usr/local /usr/sbin /usr/share /usr/games 2>/dev/null")
    names = set(ended.output.split()) - {"/usr/bin:"}
    assert names <= set(programs.PROGRAMS), "whatever else this machine has"
    assert {"bash", "cat", "grep", "sed", "awk", "python3"} <= names


@for_both_users
def test_python_has_its_standard_library_and_nothing_else(box: Sandbox) -> None:
    code = "import importlib.util as u; print([n for n in ('pip', 'numpy', 'PIL', 'pytest') if u.find_spec(n)])"
    with a_place() as place:
        assert run(box, place, f'python3 -c "{code}"').output == "[]\n"


@for_both_users
def test_nothing_of_the_hosts_environment_is_readable(box: Sandbox) -> None:
    os.environ["GEHEIMER_SCHLUESSEL"] = "sk-123456"
    try:
        with a_place() as place:
            said = run(box, place, "env; cat /proc/*/environ | tr '\\0' '\\n'").output
    finally:
        del os.environ["GEHEIMER_SCHLUESSEL"]
    assert "PATH=/usr/bin" in said
    assert "sk-123456" not in said and "GEHEIMER" not in said


@for_both_users
def test_no_real_path_is_shown(box: Sandbox) -> None:
    """/proc/self/mountinfo tells what was mounted, and the outer command line would tell it, too."""
    with a_place() as place:
        said = run(box, place, "cat /proc/self/mountinfo /proc/mounts; cat /proc/*/cmdline; ls -l /proc/1/fd").output
        assert "/arbeit/akten" in said
        assert place.top.name not in said


def test_a_path_is_scrubbed_where_its_file_system_begins_below_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: os.fspath(path) == "/tmp")
    mounts = [Mount(Path("/tmp/team-1/arbeit/akten"), "/arbeit/akten", True)]
    text = "1 2 8:0 /team-1/arbeit/akten /arbeit/akten rw\n/tmp/team-1/arbeit/akten/x"
    assert sandbox._scrubbed(text, mounts) == "1 2 8:0 /arbeit/akten /arbeit/akten rw\n/arbeit/akten/x"


@for_both_users
def test_stdout_and_stderr_can_be_told_apart(box: Sandbox) -> None:
    with a_place() as place:
        ended = run(box, place, "echo aus; echo fehl >&2", merge=False)
        assert (ended.output, ended.errors) == ("aus\n", "fehl\n")


@for_both_users
def test_a_round_check_sees_the_workspace_read_only_and_its_scripts(box: Sandbox) -> None:
    with a_place() as place:
        for folder in ("pruefung", "lauf"):
            (place.top / folder).mkdir()
        (place.top / "pruefung" / "check.py").write_text("print(open('/arbeit/akten/x').read() == 'offen\\n')")
        (place.top / "lauf" / "runs.jsonl").write_text("{}\n")
        mounts = [Mount(place.real, "/arbeit", False), Mount(place.top / "pruefung", "/pruefung", False),
                  Mount(place.top / "lauf", "/lauf", False)]
        command = ("python3 -I /pruefung/check.py; cat /lauf/runs.jsonl geheim/x; echo a > akten/x; echo a > /lauf/b; "
                   "echo a > /pruefung/check.py")
        ended = box.run(command, mounts, 5, slot=place.slot, merge=False)
        assert ended.output == "True\n{}\nGEHEIMNIS\n"
        assert ended.errors.count("Read-only file system") == 3


# --- grants that are not there, or not what they seem -----------------------------------------------------------------

@for_both_users
def test_a_grant_that_does_not_exist_is_left_out(box: Sandbox) -> None:
    with a_place() as place:
        ended = run(box, place, "ls", grants=("akten", "gibtsnicht", "akten/x/y"))
        assert (ended.exit, ended.output) == (0, "akten\n")
        assert not (place.real / "gibtsnicht").exists(), "and nothing is created for it"


@for_both_users
def test_a_grant_below_another_one_is_mounted_once(box: Sandbox) -> None:
    with a_place() as place:
        assert run(box, place, "ls akten; cat akten/x", grants=("akten", "akten/x")).output == "x\noffen\n"


@for_both_users
def test_a_single_file_can_be_granted(box: Sandbox) -> None:
    with a_place() as place:
        (place.real / "akten" / "y").write_text("anderes\n")
        assert run(box, place, "ls akten; cat akten/x", grants=("akten/x",)).output == "x\noffen\n"


@pytest.mark.parametrize("target", ["geheim", "../arbeit/geheim", "/etc"])
@for_both_users
def test_a_grant_that_became_a_link_is_left_out(box: Sandbox, target: str) -> None:
    with a_place() as place:
        shutil.rmtree(place.real / "akten")
        (place.real / "akten").symlink_to(target)
        assert run(box, place, "ls /arbeit").output == ""


@for_both_users
def test_a_grant_behind_a_linked_folder_is_left_out(box: Sandbox) -> None:
    with a_place() as place:
        (place.real / "verweis").symlink_to("geheim")
        assert run(box, place, "ls -R /arbeit", grants=("verweis/x",)).output == "/arbeit:\n"


@for_both_users
def test_a_grant_that_is_swapped_while_the_wall_is_built_is_never_shown(box: Sandbox) -> None:
    """Another agent's command, with a grant of the folder above, may put a link there at any moment."""
    with a_place() as place:
        (place.real / "akten" / "teil").mkdir()
        (place.real / "akten" / "verweis").symlink_to("../geheim")
        place.own()
        stop = threading.Event()

        def swap() -> None:
            teil, verweis, weg = (place.real / "akten" / name for name in ("teil", "verweis", "weg"))
            while not stop.is_set():
                for one, other in ((teil, weg), (verweis, teil), (teil, verweis), (weg, teil)):
                    os.rename(one, other)
                    time.sleep(0.004 * (other == teil))

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            for _ in range(12):
                try:
                    said = run(box, place, "cat akten/teil/x", grants=("akten/teil",)).output
                except WorldNotReadyError:
                    continue
                assert "GEHEIMNIS" not in said
        finally:
            stop.set()
            swapper.join(2)


@for_both_users
def test_a_wall_that_shows_something_else_than_was_looked_at_does_not_open(box: Sandbox) -> None:
    with a_place() as place:
        mount = Mount(place.real / "akten", "/arbeit/akten", True)
        child = box._start("echo GELAUFEN", [mount], 5, place.slot, True)  # type: ignore[attr-defined]
        assert sandbox._opened(child, "1 2\n", None) != ""
        assert "GELAUFEN" not in process.collect(child, 1, 100).output


@for_both_users
def test_a_sandbox_that_cannot_be_set_up_is_no_result_of_the_command(box: Sandbox) -> None:
    with a_place() as place:
        fehlt = Mount(place.top / "fehlt", "/pruefung", False)
        with pytest.raises(WorldNotReadyError, match="could not be set up"):
            box.run("echo GELAUFEN", [fehlt], 5, slot=place.slot)
        zu = place.top / "zu"
        (zu / "innen").mkdir(parents=True)
        os.chmod(zu, 0o000 if place.slot.uid is None else 0o700)
        try:
            with pytest.raises(WorldNotReadyError):
                box.run("echo GELAUFEN", [Mount(zu / "innen", "/arbeit/innen", True)], 5, slot=place.slot)
        finally:
            os.chmod(zu, 0o755)


# --- ends -------------------------------------------------------------------------------------------------------------

@for_both_users
def test_a_timeout_ends_the_command_and_all_that_it_started(box: Sandbox) -> None:
    with a_place() as place:
        began = time.monotonic()
        ended = run(box, place, f"{DAEMON.format('97.' + OURS)}; sleep 97.{OURS} & sleep 97.{OURS}", 0.5)
        assert ended == Outcome(None, "", timed_out=True)
        assert time.monotonic() - began < 1.5
        assert gone(f"97.{OURS}")


@for_both_users
def test_what_a_command_leaves_running_ends_with_it(box: Sandbox) -> None:
    with a_place() as place:
        ended = run(box, place, f"{DAEMON.format('98.' + OURS)}; sleep 98.{OURS} & disown; echo fertig")
        assert (ended.exit, ended.output) == (0, "fertig\n")
        assert gone(f"98.{OURS}")


@for_both_users
def test_endless_output_is_cut_and_ends_soon(box: Sandbox) -> None:
    with a_place() as place:
        began = time.monotonic()
        ended = run(box, place, "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done")
        assert time.monotonic() - began < 1
        assert (ended.exit, ended.cut, len(ended.output)) == (None, True, 30_000)


CAPS = [("printf aaaaa", 5, "aaaaa", False), ("printf aaaaaa", 5, "aaaaa", True), ("printf ääääää", 5, "äääää", True),
        ("printf äääää", 5, "äääää", False), ("printf x", 0, "", True), ("true", 0, "", False)]


@pytest.mark.parametrize(("command", "cap", "output", "cut"), CAPS)
def test_the_cap_counts_characters(box: Sandbox, command: str, cap: int, output: str, cut: bool) -> None:
    with a_place() as place:
        ended = run(box, place, command, cap=cap)
        assert (ended.output, ended.cut) == (output, cut)


@for_both_users
def test_endless_errors_are_cut_as_well(box: Sandbox) -> None:
    with a_place() as place:
        ended = run(box, place, "while :; do echo aaaaaaaaaaaaaaaaaa >&2; done", merge=False)
        assert (ended.exit, ended.cut, ended.output, len(ended.errors)) == (None, True, "", 30_000)


@for_both_users
def test_a_cancelled_command_ends_soon(box: Sandbox) -> None:
    with a_place() as place:
        cancel = threading.Event()
        threading.Timer(0.3, cancel.set).start()
        began = time.monotonic()
        ended = run(box, place, f"sleep 99.{OURS}", 10, cancel=cancel)
        assert (ended.exit, ended.stopped, ended.timed_out) == (None, "cancelled", False)
        assert time.monotonic() - began < 1
        assert gone(f"99.{OURS}")


@for_both_users
def test_a_command_outlives_the_thread_that_asked_for_it(box: Sandbox) -> None:
    """--die-with-parent follows a thread: one that never ends starts all commands."""
    with a_place() as place:
        children: list[subprocess.Popen[bytes]] = []

        def begin() -> None:
            children.append(box._start("sleep 0.3; echo da", [], 5, place.slot, True))  # type: ignore[attr-defined]

        asking = threading.Thread(target=begin)
        asking.start()
        asking.join()
        time.sleep(0.1)
        assert sandbox._opened(children[0], "", None) == ""
        ended = process.collect(children[0], 5, 100)
        assert (ended.exit, ended.output) == (0, "da\n")


def test_a_killed_host_leaves_nothing_running(box: Sandbox) -> None:
    code = ("from infranode_eval.team.sandbox import Slots, open_sandbox\n"
            f"with Slots().take() as slot:\n open_sandbox().run('sleep 96.{OURS}', [], 60, slot=slot)\n")
    host = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        end = time.monotonic() + 10
        while not alive(f"sleep\x0096.{OURS}") and time.monotonic() < end:
            time.sleep(0.05)
        assert alive(f"sleep\x0096.{OURS}"), "the command runs"
    finally:
        host.send_signal(signal.SIGKILL)
        host.wait(5)
    assert gone(f"sleep\x0096.{OURS}")


# --- limits -----------------------------------------------------------------------------------------------------------

@for_both_users
def test_processes_are_limited(box: Sandbox) -> None:
    with a_place() as place:
        ended = run(box, place, "for i in $(seq 100); do sleep 0.4 & done; wait; echo ENDE", 3)
        assert "Resource temporarily unavailable" in ended.output


def test_sandboxes_of_different_slots_do_not_share_the_limit(box: Sandbox) -> None:
    """With one uid for all three there would be 60 processes for all of them."""
    ends: list[Outcome] = []

    def begin() -> None:
        with a_place() as place:
            ends.append(run(box, place, "for i in $(seq 40); do sleep 0.6 & done; wait; echo alle", 5))

    threads = [threading.Thread(target=begin) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not IS_ROOT:
        pytest.skip("an ordinary user has one uid for all sandboxes")
    assert [end.output for end in ends] == ["alle\n"] * 3


@pytest.mark.skipif(not IS_ROOT, reason="uids are for root")
def test_each_slot_has_a_uid_that_nobody_else_has() -> None:
    slots = Slots()
    with slots.take() as one, Slots().take() as two:
        assert one.uid is not None and two.uid is not None and one.uid >= 61_001 and one.uid != two.uid
        first = one.uid
    with slots.take() as again:
        assert again.uid == first, "it is given back"


@pytest.mark.skipif(not IS_ROOT, reason="only root can forget it")
def test_root_runs_nothing_without_a_uid(box: Sandbox) -> None:
    from infranode_eval.team.slots import Slot

    with pytest.raises(WorldNotReadyError):
        box.run("id", [], 1, slot=Slot(None))


@for_both_users
def test_memory_of_one_process_is_limited(box: Sandbox) -> None:
    with a_place() as place:
        assert "MemoryError" in run(box, place, "python3 -c 'x = bytearray(2 * 10**9)'").output


@for_both_users
def test_memory_of_all_processes_is_limited(box: Sandbox) -> None:
    code = "import time; x = bytearray(120_000_000); time.sleep(9)"
    before, room.MEMORY = room.MEMORY, 300_000_000
    try:
        with a_place() as place:
            ended = run(box, place, f"for i in 1 2 3 4; do python3 -c '{code}' & done; wait", 5)
    finally:
        room.MEMORY = before
    assert (ended.exit, ended.stopped) == (None, "memory")


@for_both_users
def test_a_file_is_limited(box: Sandbox) -> None:
    with a_place() as place:
        run(box, place, "head -c 30000000 /dev/zero > akten/gross")
        assert (place.real / "akten" / "gross").stat().st_size == 20_000_000


@for_both_users
def test_all_files_are_limited(box: Sandbox) -> None:
    before, room.WRITTEN = room.WRITTEN, 40_000_000
    try:
        with a_place() as place:
            ended = run(box, place, "for i in $(seq 999); do head -c 9000000 /dev/zero > akten/$i; sleep 0.02; done", 5)
    finally:
        room.WRITTEN = before
    assert (ended.exit, ended.stopped) == (None, "disk")


@for_both_users
def test_tmp_is_limited(box: Sandbox) -> None:
    with a_place() as place:
        ended = run(box, place, "for i in 1 2 3; do head -c 19000000 /dev/zero > /tmp/$i || echo voll; done")
        assert "No space left on device" in ended.output


@for_both_users
def test_a_call_takes_well_below_a_second(box: Sandbox) -> None:
    with a_place() as place:
        def took() -> float:
            began = time.perf_counter()
            run(box, place, "cat akten/x")
            return time.perf_counter() - began

        assert min(took() for _ in range(5)) < 0.2, "20-30 ms on an idle machine"


def test_limits_are_never_above_the_hosts_own(box: Sandbox) -> None:
    """A batch system may have set lower ones, which nobody but root could raise again."""
    code = "from infranode_eval.team.sandbox import open_sandbox\nprint(open_sandbox().kind)"
    opened = subprocess.run(["prlimit", "--fsize=9000000", "--nofile=200", "--as=1200000000", "--nproc=90",
                             sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert opened.stdout == "bwrap\n", opened.stderr


def test_an_interpreter_elsewhere_is_shown_below_usr(box: Sandbox) -> None:
    """pyenv and uv put Python into somebody's home, which a sandbox must not tell."""
    with a_place() as place:
        home = place.top / "heim"
        home.mkdir()
        shutil.copy(shutil.which("cat", path="/usr/bin:/bin") or "", home / "katze")
        shown = {**programs.found_programs(), "true": str(home / "katze")}
        other = Bubblewrap(shown)
        mount = Mount(place.real / "akten", "/arbeit/akten", True)
        ended = other.run("/usr/bin/true akten/x; cat /proc/self/mountinfo", [mount], 5, slot=place.slot)
        assert ended.output.startswith("offen\n")
        assert "/usr/bin/true /usr/bin/true" in ended.output and place.top.name not in ended.output


# --- opening ----------------------------------------------------------------------------------------------------------

@for_both_users
def test_it_opens_after_a_trial(box: Sandbox) -> None:
    sandbox._tried.cache_clear()
    assert open_sandbox().missing(["python3", "cat", "tesseract", "perl"]) == ("tesseract", "perl")


def test_without_bwrap_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox._tried.cache_clear()
    try:
        with pytest.raises(UsageError, match=r"bubblewrap does not work here \(bwrap and prlimit.* not found\): "
                                             r"apt-get install bubblewrap; or --sandbox none, which leaves Bash out"):
            open_sandbox()
    finally:
        sandbox._tried.cache_clear()


def test_a_bwrap_that_fails_the_trial_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_place() as place:
        false = place.top / "bwrap"
        false.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
        false.chmod(0o755)
        monkeypatch.setenv("PATH", f"{place.top}:{os.environ['PATH']}")
        sandbox._tried.cache_clear()
        try:
            with pytest.raises(UsageError, match="No permissions to create a new namespace.*: allow user namespaces"):
                open_sandbox()
        finally:
            sandbox._tried.cache_clear()


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="bwrap or none"):
        open_sandbox("docker")


def test_a_sandbox_without_python_says_so() -> None:
    need_program("bwrap", shutil.which("bwrap"))
    shown = programs.found_programs()
    del shown["python3"]
    bare = Bubblewrap(shown)
    bare.probe()
    assert bare.missing(["python3"]) == ("python3",)


# --- without a wall ---------------------------------------------------------------------------------------------------

@pytest.fixture
def bare(box: Sandbox) -> Iterator[Sandbox]:
    yield open_sandbox("none")


@for_both_users
def test_without_a_wall_commands_name_real_paths(bare: Sandbox) -> None:
    with a_place() as place:
        mounts = [Mount(place.real, "/arbeit", False)]
        ended = bare.run(f"pwd; cat {place.real}/akten/x; exit 4", mounts, 5, slot=place.slot)
        assert (ended.exit, ended.output) == (4, "/arbeit\noffen\n"), "what is shown is the virtual path again"
        assert bare.run("sleep 9", mounts, 0.3, slot=place.slot).timed_out
        assert bare.run("while :; do echo aaaaaaaaaaaaaaaaaa; done", mounts, 5, slot=place.slot).cut
        assert bare.run("echo ok", [], 5, slot=place.slot).output == "ok\n"
        assert bare.missing(["cat", "gibtsnichtprogramm"]) == ("gibtsnichtprogramm",)


@for_both_users
def test_without_a_wall_limits_hold_and_a_daemon_does_not_hold_the_answer(bare: Sandbox) -> None:
    with a_place() as place:
        mounts = [Mount(place.real, "/arbeit", False)]
        assert "MemoryError" in bare.run("/usr/bin/env python3 -c 'x = bytearray(2 * 10**9)'", mounts, 5,
                                         slot=place.slot).output
        began = time.monotonic()
        assert bare.run(f"sleep 95.{OURS} & cat; echo da", mounts, 5, slot=place.slot).output == "da\n"
        assert time.monotonic() - began < 1
        assert gone(f"95.{OURS}")


def test_an_ordinary_user_may_make_namespaces_here(box: Sandbox) -> None:
    """Says so where the other half of these tests has no meaning."""
    if not IS_ROOT:
        pytest.skip("the tests run as an ordinary user already")
    made = subprocess.run(["setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups", "bwrap",
                           "--ro-bind", "/", "/", "--unshare-user", "true"], capture_output=True, text=True, timeout=5)
    assert made.returncode == 0, made.stderr
