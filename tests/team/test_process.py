"""A child process: what it wrote last is read, whenever it ends."""

from __future__ import annotations

import os
import sys

import pytest

from infranode_eval.team import process


class Late:
    """A child that writes and ends in the moment between a look at its pipe and the question whether it has ended.

    Other processes hold its pipe as well, so that the pipe itself never ends.
    """

    stdin = stderr = None
    pid = 2 ** 22 + 1       # nobody's

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        self.stdout = os.fdopen(reading, "rb", buffering=0)
        self.returncode: int | None = None
        self._asked = 0

    def poll(self) -> int | None:
        self._asked += 1
        if self._asked == 2:
            os.write(self._writing, b"OK\n")
            self.returncode = 0
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        return self.returncode


@pytest.mark.parametrize(("argv", "error"), [
    (["/no/such/program"], FileNotFoundError), (["a\0b"], ValueError), ([None], TypeError)])
def test_a_child_that_cannot_be_started_is_told_and_the_next_one_starts(argv: list, error: type) -> None:
    """The last row had ended the thread that starts children, and everybody waited for ever."""
    with pytest.raises(error):
        process.start(argv, {})
    assert process.collect(process.start(["true"], {"PATH": "/usr/bin:/bin"}), 5, 10).exit == 0


def test_what_is_written_in_the_last_moment_is_not_lost() -> None:
    """A check that printed OK and ended with 0 was judged as silent, once in some hundred plays on a busy machine."""
    ended = process.collect(Late(), 5, 100)      # type: ignore[arg-type]
    assert (ended.exit, ended.output, ended.reason) == (0, "OK\n", None)


@pytest.mark.parametrize(("code", "output"), [
    ("print('OK')", "OK\n"),
    ("import time; time.sleep(0.06); print('OK')", "OK\n"),
    ("import os; os.write(1, b'A' * 70000)", "A" * 70_000)])
def test_a_child_is_read_to_its_end(code: str, output: str) -> None:
    child = process.start([sys.executable, "-I", "-S", "-c", code], {})
    ended = process.collect(child, 10, 100_000)
    assert (ended.exit, ended.output, ended.reason) == (0, output, None)


def test_somebody_who_outlives_the_child_keeps_nobody_waiting() -> None:
    """A grandchild holds the pipe for a minute; the child itself ends at once."""
    sleeper = "[sys.executable, '-I', '-S', '-c', 'import time; time.sleep(60)']"
    code = (f"import subprocess, sys; subprocess.Popen({sleeper})"
            "; print('OK', flush=True)")
    child = process.start([sys.executable, "-I", "-S", "-c", code], {})
    ended = process.collect(child, 10, 100)
    assert (ended.exit, ended.output, ended.reason) == (0, "OK\n", None)
