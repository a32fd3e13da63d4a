"""When requests may start, on a clock that only moves when somebody waits."""

from __future__ import annotations

import threading

import pytest

from infranode_eval.pace import Pace


class Clock:
    """Time for one thread: waiting on it lets it pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Stop(threading.Event):
    """A stop signal whose waiting moves the clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        self.clock.now += timeout or 0.0
        return self.is_set()


def starts(pace: Pace, clock: Clock, count: int) -> list[float]:
    stop, times = Stop(clock), []
    for _ in range(count):
        assert pace.turn(stop)
        times.append(round(clock.now - 100.0, 6))
    return times


def test_without_a_limit_nobody_waits() -> None:
    clock = Clock()
    assert starts(Pace(None, clock), clock, 3) == [0.0, 0.0, 0.0]


def test_requests_a_minute_are_evenly_spaced_from_the_first_on() -> None:
    clock = Clock()
    assert starts(Pace(30, clock), clock, 4) == [0.0, 2.0, 4.0, 6.0]


def test_idle_time_is_not_saved_up() -> None:
    clock = Clock()
    pace = Pace(30, clock)
    starts(pace, clock, 1)
    clock.now += 60
    assert starts(pace, clock, 3) == [60.0, 62.0, 64.0]


@pytest.mark.parametrize(("rpm", "expected"), [(None, [5.0, 5.0, 5.0]), (60, [5.0, 6.0, 7.0])])
def test_nobody_starts_inside_a_pause(rpm: float | None, expected: list[float]) -> None:
    clock = Clock()
    pace = Pace(rpm, clock)
    pace.pause(5)
    pace.pause(2)   # a shorter pause does not shorten the longer one
    assert starts(pace, clock, 3) == expected


def test_a_pause_that_comes_while_somebody_waits_holds_him_too() -> None:
    clock = Clock()
    pace = Pace(60, clock)
    starts(pace, clock, 1)

    class Interrupting(Stop):
        def wait(self, timeout: float | None = None) -> bool:
            if clock.now == 100.0:
                pace.pause(10)
            return super().wait(timeout)

    assert pace.turn(Interrupting(clock))
    assert clock.now - 100.0 >= 10.0


def test_a_stop_ends_the_wait() -> None:
    clock = Clock()
    pace, stop = Pace(60, clock), Stop(clock)
    stop.set()
    assert pace.turn(stop) is False
