"""When the next request to an endpoint may start: requests a minute, and the pause that all of its users share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pace:
    """One endpoint's clock, shared by all threads.

    rpm: starts a minute, evenly spaced; None: unlimited. clock: monotonic seconds.
    """

    def __init__(self, rpm: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._gap_s = 60.0 / rpm if rpm else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._next_start = float("-inf")
        self._paused_until = float("-inf")

    def turn(self, stop: threading.Event) -> bool:
        """Wait for permission to send one request; False if `stop` was set meanwhile."""
        starts_at = self._reserve()
        while not stop.is_set():
            with self._lock:
                wait = max(starts_at, self._paused_until) - self._clock()
                if wait <= 0:
                    return True
                if self._gap_s and starts_at < self._paused_until:   # a pause came: queue again behind it, spaced
                    starts_at = self._reserve_locked()
                    continue
            stop.wait(wait)
        return False

    def pause(self, seconds: float) -> None:
        """Nobody starts a request within the next `seconds`."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def _reserve(self) -> float:
        with self._lock:
            return self._reserve_locked()

    def _reserve_locked(self) -> float:
        starts_at = max(self._clock(), self._next_start, self._paused_until if self._gap_s else float("-inf"))
        self._next_start = starts_at + self._gap_s
        return starts_at
