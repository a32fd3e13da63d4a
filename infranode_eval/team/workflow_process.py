"""The host's end of a script's process: a line goes out, a line comes back, and it can be killed in between."""

from __future__ import annotations

import importlib.util
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POLL_S = 0.05           # how often a wait looks for a reason to stop
LONGEST = 64 * 2**20    # bytes of one answer; what a script may queue is far below


class Crashed(Exception):
    """The process ended by itself. by_clock: the kernel ended it for its processor time."""

    def __init__(self, by_clock: bool) -> None:
        super().__init__("the process of the script has ended")
        self.by_clock = by_clock


@dataclass(frozen=True, slots=True)
class Turn:
    """What a script did until it waits or its piece of time is over.

    items: what it queued, in order, as the prelude writes it. more: jobs are left. halt: (kind, text) or None.
    """

    items: tuple[Mapping[str, Any], ...]
    more: bool
    halt: tuple[str, str] | None


def extension_path() -> str | None:
    """The file of the extension `_quickjs`, which both quickjs-ng and quickjs bring; None if neither is installed."""
    spec = importlib.util.find_spec("_quickjs")
    return spec.origin if spec and importlib.util.find_spec("quickjs") else None


class Process:
    """A started process. go_on is called again and again while it works; what that raises ends the wait."""

    def __init__(self, process: subprocess.Popen[bytes], go_on: Callable[[], None]) -> None:
        self._process, self._go_on, self._buffer = process, go_on, b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(process.stdout, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        return self._process.pid

    def turn(self, message: Mapping[str, Any]) -> Turn:
        """Send a message and read its answer. Raise Crashed if there is none."""
        try:
            self._process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._crashed() from None
        answer = json.loads(self._line())
        halt = answer["halt"]
        return Turn(tuple(json.loads(line) for line in answer["out"].split("\n") if line), answer["more"],
                    (halt[0], halt[1]) if halt else None)

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._go_on()
            if not self._selector.select(POLL_S):
                continue
            piece = os.read(self._process.stdout.fileno(), 1 << 20)
            if not piece or len(self._buffer) > LONGEST:
                raise self._crashed()
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _crashed(self) -> Crashed:
        self._process.kill()         # no effect on one that has ended, whose own signal is kept
        return Crashed(self._process.wait() == -getattr(signal, "SIGXCPU", 0))

    def close(self) -> None:
        self._selector.close()
        self._process.kill()
        self._process.stdout.close()
        with suppress(BrokenPipeError):          # what it never read
            self._process.stdin.close()
        self._process.wait()


@contextmanager
def opened(extension: str, go_on: Callable[[], None]) -> Iterator[Process]:
    """A process for one script, which is gone after the block.

    It gets no environment (keys stand there) and a session of its own, so that Ctrl-C reaches the host alone.
    """
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("workflow_engine.py")), extension]
    process = Process(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, cwd="/", env={}, start_new_session=True), go_on)
    try:
        yield process
    finally:
        process.close()
