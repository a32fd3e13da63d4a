"""A watchdog over sockets: a request ends at its deadline, however slowly its bytes drip."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class Guarded:
    """One socket under watch. `fired`: the watchdog has shut it down."""

    __slots__ = ("deadline", "fired", "sock", "watchdog")

    def __init__(self, watchdog: Watchdog, sock: socket.socket, deadline: float) -> None:
        self.watchdog, self.sock, self.deadline, self.fired = watchdog, sock, deadline, False

    def __enter__(self) -> Guarded:
        return self

    def __exit__(self, *exc: object) -> None:
        self.watchdog.release(self)


class Watchdog:
    """Shuts sockets down at their deadline, from one thread that starts with the first guard.

    Python's socket timeout counts from byte to byte, so a peer that sends one byte a second never meets it.
    """

    def __init__(self) -> None:
        self._watched: set[Guarded] = set()
        self._changed = threading.Condition()
        self._wakes_at = float("inf")
        self._thread: threading.Thread | None = None

    def over(self, sock: socket.socket, deadline: float) -> Guarded:
        """Watch `sock` until `deadline` (time.monotonic) or the end of the `with` block."""
        guarded = Guarded(self, sock, deadline)
        with self._changed:
            self._watched.add(guarded)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="deadlines", daemon=True)
                self._thread.start()
            if deadline < self._wakes_at:
                self._changed.notify()
        return guarded

    def release(self, guarded: Guarded) -> None:
        with self._changed:
            self._watched.discard(guarded)

    def abort(self) -> None:
        """Shut down every socket under watch, now."""
        with self._changed:
            for guarded in self._watched:
                _shut_down(guarded)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for guarded in [g for g in self._watched if g.deadline <= now]:
                    _shut_down(guarded)
                    self._watched.discard(guarded)
                # A released guard does not wake the thread: it wakes at the oldest deadline it knew and looks again.
                self._wakes_at = min((g.deadline for g in self._watched), default=float("inf"))
                self._changed.wait(None if self._wakes_at == float("inf") else max(0.0, self._wakes_at - now))


def _shut_down(guarded: Guarded) -> None:
    guarded.fired = True
    with contextlib.suppress(OSError):
        # Not sock.shutdown(): an SSL socket would drop its state under the feet of the thread that reads from it.
        socket.socket.shutdown(guarded.sock, socket.SHUT_RDWR)
