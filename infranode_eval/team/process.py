"""One child process: started by a thread that never ends, read in pieces, and killed with all that it has started.

Source: specification, team, 5.1. `bwrap --die-with-parent` follows the thread that started it, so that no thread of a
play may start one; what a child writes without end must not be held; and a threaded process may not use preexec_fn.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import queue
import select
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_PIECE = 65_536
_LOOK_S = 0.05              # how late a cancelled child may end
_CHECK_S = 0.1              # how often a `check` looks at a running child


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended. exit: its status (negative: the signal), None if it was killed from here.

    reason: None where it ended by itself, else "timeout", "cut" (more than `cap` characters came), "cancelled", or what
    the check said. output and errors: at most `cap` characters each; errors is "" where both streams are one.
    """

    exit: int | None
    output: str
    errors: str
    reason: str | None


class _Starter:
    """The thread that starts every child of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders: queue.SimpleQueue[tuple[Sequence[str], dict[str, Any], queue.SimpleQueue[Any]]] | None = None
        self._pid = 0

    def start(self, argv: Sequence[str], options: dict[str, Any]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._orders is None or self._pid != os.getpid():      # a fork copies the object and not the thread
                self._orders, self._pid = queue.SimpleQueue(), os.getpid()
                threading.Thread(target=self._serve, args=(self._orders,), name="starter", daemon=True).start()
            orders = self._orders
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        orders.put((argv, options, answer))
        started = answer.get()
        if isinstance(started, BaseException):
            raise started
        return started

    @staticmethod
    def _serve(orders: queue.SimpleQueue[Any]) -> None:
        while True:
            argv, options, answer = orders.get()
            try:
                answer.put(subprocess.Popen(argv, **options))
            except BaseException as error:      # whoever asked raises it; a thread that died would let all others wait
                answer.put(error)


_STARTER = _Starter()


def start(argv: Sequence[str], env: Mapping[str, str], *, merge: bool = True, talk: bool = False,
          cwd: str | None = None, pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """A child in a session of its own, with these variables only; stdin is /dev/null unless it is talked to.

    merge: stderr goes where stdout goes. Raise OSError or ValueError if it cannot be started.
    """
    process = _STARTER.start(argv, {
        "env": dict(env), "cwd": cwd, "start_new_session": True, "pass_fds": tuple(pass_fds), "bufsize": 0,
        "stdin": subprocess.PIPE if talk else subprocess.DEVNULL, "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT if merge else subprocess.PIPE})
    # Where memory runs out, a child goes before its host.
    with contextlib.suppress(OSError), open(f"/proc/{process.pid}/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")
    return process


def collect(process: subprocess.Popen[bytes], limit_s: float, cap: int, cancel: threading.Event | None = None,
            check: Callable[[], str | None] | None = None) -> Ended:
    """Read a child to its end, and kill all of it whatever the reason. limit_s: seconds from now; cap: characters.

    check: looked at every tenth of a second after the first one; what it returns, if anything, ends the child.
    """
    texts = [_Text(cap), _Text(cap)]
    try:
        reason = _read(process, texts, _Watch(time.monotonic() + limit_s, cancel, check))
    finally:
        kill(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    return Ended(process.returncode if reason is None else None, texts[0].text, texts[1].text, reason)


class _Text:
    """The first `cap` characters of a stream of UTF-8; other bytes become U+FFFD."""

    def __init__(self, cap: int) -> None:
        self._cap, self._length = cap, 0
        self._pieces: list[str] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> bool:
        """Take a piece (b"" at the end) and say whether there was too much."""
        piece = self._decoder.decode(data, final=not data)
        self._pieces.append(piece[:self._cap - self._length])
        self._length += len(self._pieces[-1])
        return len(piece) > len(self._pieces[-1])

    @property
    def text(self) -> str:
        return "".join(self._pieces)


class _Watch:
    """Why a running child has to be ended, looked at between two pieces."""

    def __init__(self, deadline: float, cancel: threading.Event | None, check: Callable[[], str | None] | None) -> None:
        self._deadline, self._cancel, self._check = deadline, cancel, check
        self._next = time.monotonic() + _CHECK_S

    def pause(self) -> float:
        return max(0.0, min(_LOOK_S, self._deadline - time.monotonic()))

    def reason(self) -> str | None:
        now = time.monotonic()
        if now >= self._deadline:
            return "timeout"
        if self._cancel is not None and self._cancel.is_set():
            return "cancelled"
        if self._check is not None and now >= self._next:
            self._next = now + _CHECK_S
            return self._check()
        return None


def _read(process: subprocess.Popen[bytes], texts: list[_Text], watch: _Watch) -> str | None:
    with selectors.DefaultSelector() as selector:
        for stream, text in zip((process.stdout, process.stderr), texts, strict=True):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, text)
        while selector.get_map():
            reason = watch.reason()
            if reason:
                return reason
            ended = process.poll() is not None      # asked before: what it wrote last is there to be read then
            ready = selector.select(watch.pause())
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                if key.data.feed(piece):
                    return "cut"
                if not piece:
                    selector.unregister(key.fileobj)
            if not ready and ended:     # somebody that outlived the child holds its pipe
                return None
    while process.poll() is None:
        reason = watch.reason()
        if reason:
            return reason
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(watch.pause())
    return None


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a child, its group and all that descends from it. A child that has ended is left as it is."""
    if process.poll() is None:
        for pid in descendants(process.pid):        # first: one that is just being made does not follow its parent yet
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)


@contextlib.contextmanager
def whole(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """At the end of the block, nothing of the process space that the child has opened is left.

    A sandbox reports its command's end while what the command left behind still runs. The first process of a process
    space ends after all others in it; where the system cannot watch it (Linux before 5.3), this waits for nothing.
    """
    first = _watched(descendants(process.pid)[:1])
    try:
        yield
    finally:
        if first is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(first, signal.SIGKILL)
            readable(first, 2)
            os.close(first)


def readable(descriptor: int, limit_s: float) -> bool:
    """Wait until there is something to read, or an end, and say whether there is."""
    poll = select.poll()            # select() takes no descriptor above 1,023
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(limit_s * 1_000))


def _watched(pids: list[int]) -> int | None:
    """A descriptor of the process, which stays its own even when its number is given away."""
    if not pids or not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pids[0])
    except OSError:
        return None


def descendants(pid: int) -> list[int]:
    """The processes below one, nearest first; [] where the system does not tell."""
    found: list[int] = []
    todo = [pid]
    while todo:
        here = todo.pop(0)
        try:
            for thread in os.listdir(f"/proc/{here}/task"):
                with open(f"/proc/{here}/task/{thread}/children", encoding="ascii") as children:
                    todo.extend(new := [int(child) for child in children.read().split()])
                    found.extend(new)
        except (OSError, ValueError):
            continue
    return found


def memory(pid: int) -> int:
    """Bytes of memory that a process and all below it hold for themselves."""
    total = 0
    for each in (pid, *descendants(pid)):
        try:
            with open(f"/proc/{each}/statm", encoding="ascii") as sizes:
                parts = sizes.read().split()
        except OSError:
            continue
        if len(parts) > 2:
            total += max(0, int(parts[1]) - int(parts[2]))
    return total * os.sysconf("SC_PAGE_SIZE")
