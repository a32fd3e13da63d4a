"""The host's end of a script's process: answers, ends, and what is there without the package."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infranode_eval.team import workflow_engine
from infranode_eval.team.workflow_process import Crashed, extension_path, opened
from tests.needs import need

ROOT = Path(__file__).parents[2]
OPENING = {"op": "open", "prelude": (ROOT / "infranode_eval/data/team/workflow.js").read_text("utf-8"), "args": "null",
           "script": "log('an'); return 1", "slice_s": 1.0, "memory_bytes": 64 * 2**20,
           "limits": {"agents": 4, "lines": 9, "line": 99, "text": 99, "result": 99}}


def test_without_the_package_a_workflow_is_an_error_and_the_engine_none() -> None:
    code = ("import sys, threading; sys.path.insert(0, sys.argv[1])\n"
            "from infranode_eval.team.workflow import Limits, engine, run_script\n"
            "print(ascii((engine(), run_script('return 1', None, None, Limits(), threading.Event()))))")
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(ROOT)], capture_output=True, text=True)
    unavailable = "Finished(text='Workflow ist hier nicht verf\\xfcgbar', error=True, log=())"
    assert done.stdout.strip() == f"(None, {unavailable})", done.stderr


def test_a_turn_gives_what_the_script_queued() -> None:
    need("quickjs")
    with opened(extension_path(), lambda: None) as process:
        turn = process.turn(OPENING)
    assert turn.items == ({"op": "log", "text": "an"}, {"op": "end", "text": "1"})
    assert not turn.more and turn.halt is None


def test_an_extension_that_cannot_be_loaded_is_a_crash() -> None:
    with opened("/nirgends/_quickjs.so", lambda: None) as process, pytest.raises(Crashed) as caught:
        process.turn(OPENING)
    assert not caught.value.by_clock


def test_a_wait_ends_with_what_go_on_raises_and_leaves_no_process() -> None:
    need("quickjs")

    class Enough(Exception):
        pass

    def go_on() -> None:
        if time.monotonic() > end:
            raise Enough

    end = time.monotonic() + 0.3
    with pytest.raises(Enough), opened(extension_path(), go_on) as process:
        identity = process.pid
        process.turn(OPENING | {"script": "while (true) {}", "slice_s": 20.0})
    with pytest.raises(ProcessLookupError):
        os.kill(identity, 0)


def test_the_process_sees_no_variable_of_the_host() -> None:
    need("quickjs")
    os.environ["TEAM_TEST_KEY"] = "geheim"
    try:
        with opened(extension_path(), lambda: None) as process:
            process.turn(OPENING)
            environment = Path(f"/proc/{process.pid}/environ")
            assert not environment.exists() or b"geheim" not in environment.read_bytes()
    finally:
        del os.environ["TEAM_TEST_KEY"]


def test_a_killed_host_takes_its_script_along() -> None:
    """The script's process finds the end of its input between two pieces of jobs."""
    need("quickjs")
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import json\n"
            "from infranode_eval.team.workflow_process import extension_path, opened\n"
            "with opened(extension_path(), lambda: None) as process:\n"
            "    print(process.pid, flush=True)\n"
            "    process.turn(json.loads(sys.argv[2]))\n"
            "    while True: process.turn({'op': 'go'})")
    opening = json.dumps(OPENING | {"script": "while (true) await null"})
    host = subprocess.Popen([sys.executable, "-c", code, str(ROOT), opening], stdout=subprocess.PIPE, text=True)
    script = int(host.stdout.readline())
    time.sleep(0.3)
    os.kill(script, 0)
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    end = time.monotonic() + 3
    while Path(f"/proc/{script}/stat").exists() and time.monotonic() < end:
        if Path(f"/proc/{script}/stat").read_text("ascii").rpartition(")")[2].split()[0] == "Z":
            break                    # ended; whoever inherited it has not asked yet
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{script}/stat").exists()


KINDS = [
    (Exception("InternalError: interrupted\n    at f"), "time", "a slice was too long"),
    (Exception("InternalError: out of memory"), "memory", "told by the engine"),
    (Exception("null\n"), "memory", "no memory even for the error"),
    (MemoryError(), "memory", "Python's"),
    (Exception("SyntaxError: x\n    at <input>:1:1"), "syntax", "the engine's"),
    (SyntaxError("Klammer"), "syntax", "ours"),
    (Exception("Error: InternalError: interrupted"), "other", "a thrown text is no limit"),
    (TypeError("Unknown quickjs tag: -6"), "other", "the wrapper's"),
]


@pytest.mark.parametrize(("error", "kind", "why"), KINDS, ids=[k[2] for k in KINDS])
def test_an_error_of_the_engine_has_a_kind(error: Exception, kind: str, why: str) -> None:
    assert workflow_engine.kind_of(error) == kind
