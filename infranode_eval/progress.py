"""One line on a terminal that says how far a run is; silent anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from infranode_eval.runner import Progress

_CLEAR = "\r\x1b[K"


class ProgressLine:
    """Rewrites one line of `stream`; does nothing unless that is a terminal. clock: seconds, monotonic."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream.isatty() else None
        self._clock = clock
        self._started = clock()

    def show(self, progress: Progress) -> None:
        if self._stream is None:
            return
        seconds = max(1e-6, self._clock() - self._started)
        rate = progress.done / seconds
        left = f", {(progress.total - progress.done) / rate:.0f} s left" if rate else ""
        failed = f", {progress.failed} failed" if progress.failed else ""
        self._stream.write(f"{_CLEAR}{progress.done}/{progress.total} tasks, {rate:.1f} a second{failed}{left}")
        self._stream.flush()

    def clear(self) -> None:
        """Give the line back."""
        if self._stream is not None:
            self._stream.write(_CLEAR)
            self._stream.flush()
