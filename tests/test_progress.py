"""The progress line: on a terminal one line that is rewritten, elsewhere nothing."""

from __future__ import annotations

import io

import pytest

from infranode_eval.progress import ProgressLine
from infranode_eval.runner import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("progress", "shown"), [
    (Progress(91, 0, 0), "0/91 tasks, 0.0 a second"),
    (Progress(91, 20, 0), "20/91 tasks, 2.0 a second, 36 s left"),
    (Progress(91, 20, 3), "20/91 tasks, 2.0 a second, 3 failed, 36 s left"),
])
def test_a_terminal_sees_count_rate_failures_and_time_left(progress: Progress, shown: str) -> None:
    clock = iter((0.0, 10.0))
    stream = Terminal()
    line = ProgressLine(stream, lambda: next(clock))
    line.show(progress)
    assert stream.getvalue() == f"\r\x1b[K{shown}"
    line.clear()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_the_forecast_follows_the_last_half_minute() -> None:
    times = iter((0.0, 1.0, 31.0, 61.0))
    stream = Terminal()
    line = ProgressLine(stream, lambda: next(times))
    for done in (500, 530, 560):    # 500 answers were in the journal
        line.show(Progress(860, done, 0))
    assert stream.getvalue().endswith("560/860 tasks, 1.0 a second, 300 s left")


def test_anything_else_sees_nothing() -> None:
    stream = io.StringIO()
    line = ProgressLine(stream)
    line.show(Progress(91, 20, 3))
    line.clear()
    assert stream.getvalue() == ""
