"""Counts requests as the API does: 300 a minute and 6,000 an hour, in fixed windows, with counters of their own for
/compare and /sources."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

PER_MINUTE = 300
PER_HOUR = 6_000


@dataclass(frozen=True, slots=True)
class Reading:
    """A counter after a request: `retry_after` in whole seconds, `reset` in epoch seconds."""

    allowed: bool
    limit: int
    remaining: int
    reset: float
    retry_after: int

    def headers(self) -> dict[str, str]:
        """The headers that every counted answer carries, 200 included; one window only, the one that decides."""
        return {"ratelimit-limit": str(self.limit), "ratelimit-remaining": str(self.remaining),
                "ratelimit-reset": str(self.reset), "retry-after": str(self.retry_after)}


def unthrottled(now: float) -> Reading:
    """The reading of a client that has asked nothing yet."""
    return Reading(True, PER_MINUTE, PER_MINUTE - 1, now + 60, 60)


class Throttle:
    """The windows of one client. `clock` gives epoch seconds; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float], per_minute: int = PER_MINUTE, per_hour: int = PER_HOUR) -> None:
        self._clock = clock
        self._limits = ((60, per_minute), (3600, per_hour))
        self._windows: dict[tuple[str, int], tuple[float, int]] = {}
        self._lock = threading.Lock()

    def count(self, scope: str) -> Reading:
        """Count a request against the windows of `scope`; a refused request uses nothing up in the longer window."""
        with self._lock:
            now = self._clock()
            readings = []
            for seconds, limit in self._limits:
                reading = self._one(scope, seconds, limit, now)
                if not reading.allowed:
                    return reading
                readings.append(reading)
            return readings[0]

    def _one(self, scope: str, seconds: int, limit: int, now: float) -> Reading:
        started, used = self._windows.get((scope, seconds), (now, 0))
        if now >= started + seconds:
            started, used = now, 0
        allowed = used < limit
        used += allowed
        self._windows[scope, seconds] = (started, used)
        left = started + seconds - now
        return Reading(allowed, limit, limit - used, started + seconds, max(1, math.ceil(left)))
