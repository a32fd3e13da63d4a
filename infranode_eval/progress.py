"""One line on a terminal that says how far a run is; silent anywhere else."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TextIO

from infranode_eval.runner import Progress

_CLEAR = "\r\x1b[K"
_RATE_OVER_S = 30.0


class ProgressLine:
    """Rewrites one line of `stream`; does nothing unless that is a terminal. clock: seconds, monotonic.

    Rate and time left are those of the last half minute: a pause, or the answers that a resumed run takes from its
    journal at once, do not shape the forecast for long.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream.isatty() else None
        self._clock = clock
        self._seen = deque([(clock(), 0)])   # (when, done)

    def show(self, progress: Progress) -> None:
        if self._stream is None:
            return
        now = self._clock()
        while len(self._seen) > 1 and self._seen[1][0] <= now - _RATE_OVER_S:
            self._seen.popleft()
        since, before = self._seen[0]
        rate = (progress.done - before) / max(1e-6, now - since)
        self._seen.append((now, progress.done))
        left = f", {(progress.total - progress.done) / rate:.0f} s left" if rate else ""
        failed = f", {progress.failed} failed" if progress.failed else ""
        self._stream.write(f"{_CLEAR}{progress.done}/{progress.total} tasks, {rate:.1f} a second{failed}{left}")
        self._stream.flush()

    def clear(self) -> None:
        """Give the line back."""
        if self._stream is not None:
            self._stream.write(_CLEAR)
            self._stream.flush()
