"""When requests may start, on a clock that only moves when somebody waits."""

from __future__ import annotations

import random
import threading
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranode_eval.pace import STAGGER_S, WINDOW_S, Pace, Places, Ticket


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


def starts(pace: Pace, clock: Clock, count: int, tokens: float = 0.0) -> list[float]:
    stop, times = Stop(clock), []
    for _ in range(count):
        assert pace.turn(stop, tokens)
        times.append(round(clock.now - 100.0, 6))
    return times


def test_without_a_limit_nobody_waits() -> None:
    clock = Clock()
    assert starts(Pace(clock=clock), clock, 3) == [0.0, 0.0, 0.0]


def test_requests_a_minute_are_evenly_spaced_from_the_first_on() -> None:
    clock = Clock()
    assert starts(Pace(30, clock=clock), clock, 4) == [0.0, 2.0, 4.0, 6.0]


def test_idle_time_is_not_saved_up() -> None:
    clock = Clock()
    pace = Pace(30, clock=clock)
    starts(pace, clock, 1)
    clock.now += 60
    assert starts(pace, clock, 3) == [60.0, 62.0, 64.0]


def most_within_a_minute(times: list[float]) -> int:
    """The most starts in any half-open window of 60 s; it is enough to look at those that begin with a start."""
    return max(sum(t <= other < t + WINDOW_S - 1e-6 for other in times) for t in times)


@settings(max_examples=60, deadline=None)
@given(rpm=st.integers(1, 300), seed=st.integers(0, 2**32), tasks=st.integers(2, 400))
def test_never_more_than_rpm_starts_in_any_minute_whatever_happens_meanwhile(rpm: int, seed: int, tasks: int) -> None:
    """Late wake-ups, idle times, refusals with pauses, failures and their retries: all of them are starts."""
    draw, clock = random.Random(seed), Clock()
    pace = Pace(rpm, clock=clock)

    class Late(Stop):
        def wait(self, timeout: float | None = None) -> bool:
            clock.now += draw.choice((0.0, 0.0, 0.001, 0.3))   # the system wakes nobody on the dot
            return super().wait(timeout)

    stop, times = Late(clock), []
    for _ in range(tasks):
        ticket = pace.turn(stop)
        times.append(clock.now)
        clock.now += draw.choice((0.0, 0.0, 0.2, 5.0))
        fate = draw.random()
        if fate < 0.1:
            pace.refused(ticket, draw.choice((0.0, 1.0, 20.0)))
        elif fate < 0.2:
            pace.failed(ticket)
        else:
            pace.answered(ticket)
    assert most_within_a_minute(times) <= rpm
    assert min(b - a for a, b in pairwise(times)) >= 60 / rpm - 1e-6, "evenly spaced"


def test_the_limit_holds_over_threads_on_the_real_clock() -> None:
    pace, stop, times, lock = Pace(6000), threading.Event(), [], threading.Lock()

    def work() -> None:
        for _ in range(5):
            pace.turn(stop)
            with lock:
                times.append(time.monotonic())

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(times) - min(times) >= 78 * 0.01, "80 starts, at least 10 ms apart"


# --- tokens -----------------------------------------------------------------------------------------------------------

def test_tokens_a_minute_leave_with_the_requests_that_spent_them() -> None:
    clock = Clock()
    assert starts(Pace(tpm=1000, clock=clock), clock, 5, 400) == [0.0, 0.0, 60.0, 60.0, 120.0]


def test_a_request_beyond_the_limit_goes_alone() -> None:
    clock = Clock()
    assert starts(Pace(tpm=1000, clock=clock), clock, 3, 5000) == [0.0, 60.0, 120.0]


def test_estimates_are_corrected_by_what_was_billed() -> None:
    clock = Clock()
    pace, stop = Pace(tpm=1000, clock=clock), Stop(clock)
    pace.answered(pace.turn(stop, 400), 200)   # half of what was estimated: later requests, too
    assert starts(pace, clock, 5, 400) == [0.0, 0.0, 0.0, 0.0, 60.0]


@settings(max_examples=60, deadline=None)
@given(tpm=st.integers(100, 5000), seed=st.integers(0, 2**32))
def test_never_more_than_tpm_tokens_in_any_minute(tpm: int, seed: int) -> None:
    draw, clock = random.Random(seed), Clock()
    pace, stop, spent = Pace(tpm=tpm, clock=clock), Stop(clock), []
    for _ in range(100):
        tokens = draw.randint(1, tpm)
        ticket = pace.turn(stop, tokens)
        spent.append((clock.now, tokens))
        clock.now += draw.choice((0.0, 1.0, 30.0))
        pace.answered(ticket, tokens)
    for begin, _ in spent:
        assert sum(n for t, n in spent if begin <= t < begin + WINDOW_S - 1e-6) <= tpm


# --- the shared pause -------------------------------------------------------------------------------------------------

def refuse(pace: Pace, clock: Clock, *seconds: float) -> None:
    tickets = [pace.turn(Stop(clock)) for _ in seconds]
    for ticket, pause_s in zip(tickets, seconds, strict=True):
        pace.refused(ticket, pause_s)


@pytest.mark.parametrize(("rpm", "expected"), [(None, [5.0, 5.0 + STAGGER_S, 5.0 + 2 * STAGGER_S]),
                                               (60, [6.0, 7.0, 8.0])])
def test_nobody_starts_inside_a_pause_and_then_not_all_at_once(rpm: float | None, expected: list[float]) -> None:
    clock = Clock()
    pace = Pace(rpm, clock=clock)
    refuse(pace, clock, 5, 2)   # a shorter pause does not shorten the longer one
    assert starts(pace, clock, 3) == expected


def test_the_first_answer_after_a_pause_ends_the_caution() -> None:
    clock = Clock()
    pace, stop = Pace(clock=clock), Stop(clock)
    late = pace.turn(stop)
    refuse(pace, clock, 5)
    pace.answered(late)
    assert starts(pace, clock, 2) == [5.0, 5.0 + STAGGER_S], "an answer from before the pause says nothing"
    pace.answered(pace.turn(stop))
    assert starts(pace, clock, 2) == [5.0 + 2 * STAGGER_S] * 2


def test_a_pause_that_comes_while_somebody_waits_holds_him_too() -> None:
    clock = Clock()
    pace = Pace(60, clock=clock)
    first = pace.turn(Stop(clock))

    class Interrupting(Stop):
        def wait(self, timeout: float | None = None) -> bool:
            if clock.now == 100.0:
                pace.refused(first, 10)
            return super().wait(timeout)

    assert pace.turn(Interrupting(clock))
    assert clock.now - 100.0 >= 10.0


def test_refusals_of_requests_under_way_belong_to_one_pause() -> None:
    clock = Clock()
    pace = Pace(concurrency=8, clock=clock)
    refuse(pace, clock, 5, 5, 4)
    assert pace.to_json() == {"refused": 3, "pauses": 1, "paused_s": 5.0, "least_concurrency": 8}
    refuse(pace, clock, 1)
    assert pace.to_json() == {"refused": 4, "pauses": 2, "paused_s": 6.0, "least_concurrency": 4}


def test_a_stop_ends_the_wait() -> None:
    clock = Clock()
    pace, stop = Pace(60, clock=clock), Stop(clock)
    stop.set()
    assert pace.turn(stop) is None


# --- how many at once -------------------------------------------------------------------------------------------------

PAUSES = [
    ([0], [64], "the first pause may be a quota that others used up"),
    ([0, 10, 10, 10], [64, 32, 16, 8], "too many at once, again and again"),
    ([500, 200, 200], [64, 64, 64], "a quota of 200 is used up: fewer at once would only be slower"),
    ([0] + [0] * 9, [64, 32, 16, 8, 4, 2, 1, 1, 1, 1], "one is always allowed"),
]


@pytest.mark.parametrize(("answers", "expected", "reason"), PAUSES, ids=[p[2] for p in PAUSES])
def test_only_pauses_in_quick_succession_halve_the_places(answers: list[int], expected: list[int],
                                                          reason: str) -> None:
    places, seen = Places(64), []
    for count in answers:
        for _ in range(count):
            places.answered()
        places.paused()
        seen.append(places.allowed)
    assert seen == expected, reason
    assert places.least == min(expected)


def test_places_come_back_one_at_a_time_and_never_beyond_the_most() -> None:
    places = Places(8)
    for _ in range(3):
        places.paused()
    assert places.allowed == 2
    seen = []
    for _ in range(100):
        places.answered()
        seen.append(places.allowed)
    assert seen[:10] == [2, 2, 2, 3, 3, 3, 3, 3, 3, 4] and seen[-1] == 8


def test_who_finds_no_place_waits_until_one_is_free() -> None:
    pace, stop = Pace(concurrency=1), threading.Event()
    ticket = pace.turn(stop)
    got: list[Ticket | None] = []
    thread = threading.Thread(target=lambda: got.append(pace.turn(stop)))
    thread.start()
    thread.join(0.05)
    assert not got
    pace.failed(ticket)
    thread.join(5)
    assert got and got[0] is not None
