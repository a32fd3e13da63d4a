"""One worker process, as the process that asks sees it: it starts, answers a line with a line, and is ended.

Source: specification, db_routing, section 6: `-I -S`, a process group of its own, no descriptor, no environment.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_task.errors import WorldNotReadyError

_ROOT = Path(__file__).resolve().parents[2]     # the folder that holds the package
_CODE = ("import sys; sys.path.append(sys.argv[1]); "
         "from infranode_eval.db_routing.worker import main; main(*sys.argv[2:])")
_START_S = 30.0
_CHUNK = 2**20


class WorkerDiedError(Exception):
    """The process ended before it answered. `code` is its exit status, negative for a signal; `asked`: was the
    request sent as a whole."""

    def __init__(self, code: int | None, asked: bool) -> None:
        super().__init__(code)
        self.code, self.asked = code, asked


class WorkerProcess:
    """A started worker. Not for two threads at once.

    python: the interpreter. options: for the worker. Raise WorldNotReadyError if it does not start.
    """

    def __init__(self, python: str = sys.executable, options: Sequence[str] = ()) -> None:
        self.command = [python, "-I", "-S", "-B", "-c", _CODE, str(_ROOT), *options]
        try:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
                env={}, cwd=os.sep, close_fds=True, start_new_session=True)
        except OSError as error:
            raise WorldNotReadyError(f"no process for SQL can be started: {error}") from error
        self.asked, self._rest = 0, b""
        try:
            os.set_blocking(self._process.stdin.fileno(), False)
            os.set_blocking(self._process.stdout.fileno(), False)
            self.hello = json.loads(self._line(time.monotonic() + _START_S))
        except (WorkerDiedError, TimeoutError) as error:
            self.end()
            raise WorldNotReadyError(f"the process for SQL does not start: {self._complaint()}") from error
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer, within `seconds`. Raise TimeoutError or WorkerDiedError; then only `end` is left."""
        self.asked += 1
        end = time.monotonic() + seconds
        self._send(json.dumps(request).encode("ascii") + b"\n", end)
        return json.loads(self._line(end))

    def kill(self) -> None:
        """Kill the process and wait until it is gone; from any thread. Who is asking gets a WorkerDiedError."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Kill the process and close its pipes; only where nobody is asking. Twice does no harm."""
        self.kill()
        self._process.stdin.close()
        self._process.stdout.close()

    def _send(self, data: bytes, end: float) -> None:
        pipe = self._process.stdin.fileno()
        while data:
            if not _ready(pipe, select.POLLOUT, end):
                raise TimeoutError
            try:
                data = data[os.write(pipe, data):]
            except (BrokenPipeError, ConnectionResetError):
                raise WorkerDiedError(self._process.wait(), asked=False) from None

    def _line(self, end: float) -> bytes:
        chunks = [self._rest]
        while b"\n" not in chunks[-1]:
            if not _ready(self._process.stdout.fileno(), select.POLLIN, end):
                raise TimeoutError
            chunk = os.read(self._process.stdout.fileno(), _CHUNK)
            if not chunk:
                raise WorkerDiedError(self._process.wait(), asked=True)
            chunks.append(chunk)
        line, _, self._rest = b"".join(chunks).partition(b"\n")
        return line

    def _complaint(self) -> str:
        """The last line that a second try writes to stderr."""
        try:
            done = subprocess.run(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, env={}, cwd=os.sep, timeout=_START_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {done.returncode}"


def _ready(pipe: int, what: int, end: float) -> bool:
    """Wait for a pipe; at least one look, so that an answer that is there after the time (a sleeping laptop) counts."""
    poll = select.poll()
    poll.register(pipe, what)
    return bool(poll.poll(max(0.0, end - time.monotonic()) * 1000))
