"""When the next request to an endpoint may start: its limits a minute, the pause that all share, how many at once."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

WINDOW_S = 60.0
STAGGER_S = 0.02     # between starts after a pause, until the first answer shows that it is over
_LOOK_S = 0.5        # how often somebody who waits for a free place looks whether the run has ended


@dataclass(eq=False, slots=True)
class Ticket:
    """The right to send one request. started: seconds on the clock. tokens: estimated, then as billed."""

    started: float
    tokens: float = 0.0


class Pace:
    """One endpoint's clock, shared by all threads: each takes a turn, sends, and says how it ended.

    rpm: starts a minute, evenly spaced. tpm: tokens a minute. concurrency: requests in flight; None: unlimited.
    clock: monotonic seconds.
    """

    def __init__(self, rpm: float | None = None, tpm: float | None = None, concurrency: int | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._gap_s = WINDOW_S / rpm if rpm else 0.0
        self._tokens = TokenWindow(tpm) if tpm else None
        self._places = Places(concurrency) if concurrency else None
        self._clock = clock
        self._door = threading.Lock()   # one waits at the door, the others behind him: nobody else need wake up
        self._lock = threading.Lock()
        self._freed = threading.Event()
        self._last_start = self._pause_began = self._paused_until = float("-inf")
        self._cautious = False
        self._refused = self._pauses = 0
        self.paused_s = 0.0      # in all, as asked for
        self.answered_at = float("-inf")

    def turn(self, stop: threading.Event | Either, tokens: float = 0.0) -> Ticket | None:
        """Wait for permission to send one request of so many tokens; None if `stop` was set meanwhile."""
        with self._door:
            while not stop.is_set():
                with self._lock:
                    now = self._clock()
                    wait_s = self._wait_s(now, tokens)
                    if wait_s <= 0:
                        return self._start(now, tokens)
                    self._freed.clear()
                if wait_s == float("inf"):
                    self._freed.wait(_LOOK_S)
                else:
                    stop.wait(wait_s)
        return None

    def _wait_s(self, now: float, tokens: float) -> float:
        """Counted from the last real start, not from when it was due: so N + 1 starts never fall into 60 s."""
        if self._places and self._places.full:
            return float("inf")
        gap_s = max(self._gap_s, STAGGER_S) if self._cautious else self._gap_s
        waits = self._last_start + gap_s - now if gap_s else 0.0
        waits = max(waits, self._paused_until - now)
        return max(waits, self._tokens.wait_s(now, tokens)) if self._tokens else waits

    def _start(self, now: float, tokens: float) -> Ticket:
        self._last_start = now
        if self._places:
            self._places.in_flight += 1
        return self._tokens.spend(now, tokens) if self._tokens else Ticket(now)

    def answered(self, ticket: Ticket, tokens: int | None = None) -> None:
        """The request was answered. tokens: those that were billed, None if unknown."""
        with self._lock:
            self.answered_at = self._clock()
            if ticket.started >= self._paused_until:
                self._cautious = False
            if self._places:
                self._places.answered()
            if self._tokens and tokens is not None:
                self._tokens.correct(ticket, tokens)
            self._leave()

    def failed(self, ticket: Ticket) -> None:
        """The request ended without an answer, for a reason that has nothing to do with limits."""
        with self._lock:
            self._leave()

    def refused(self, ticket: Ticket, seconds: float) -> None:
        """The endpoint has asked to wait: nobody starts a request within the next `seconds`.

        A request that was under way when the pause began belongs to the same pause.
        """
        with self._lock:
            now = self._clock()
            self._refused += 1
            if ticket.started > self._pause_began:
                self._pauses += 1
                self._pause_began = now
                if self._places:
                    self._places.paused()
            until = max(self._paused_until, now + seconds)
            self.paused_s += until - max(self._paused_until, now)
            self._paused_until, self._cautious = until, True
            self._leave()

    def _leave(self) -> None:
        if self._places:
            self._places.in_flight -= 1
            self._freed.set()

    def to_json(self) -> dict[str, Any]:
        """What the limits of the endpoint did to the run; least_concurrency: null where none was set."""
        with self._lock:
            return {"refused": self._refused, "pauses": self._pauses, "paused_s": round(self.paused_s, 3),
                    "least_concurrency": self._places.least if self._places else None}


class Paces:
    """The pace of each endpoint of a run: those who share an address share slots, limits and pauses, nobody else.

    rpm, tpm, concurrency: of each endpoint, as in Pace; a provider may bring an `rpm` of its own.
    """

    def __init__(self, rpm: float | None, tpm: float | None, concurrency: int | None) -> None:
        self._limits = rpm, tpm, concurrency
        self._by_address: dict[Any, Pace] = {}
        self._lock = threading.Lock()

    def of(self, provider: Any) -> Pace:
        """The pace of a provider's endpoint; all that name no `address` are one."""
        address = getattr(provider, "address", None)
        found = self._by_address.get(address)
        if found is None:
            rpm, tpm, concurrency = self._limits
            with self._lock:
                found = self._by_address.setdefault(address, Pace(getattr(provider, "rpm", None) or rpm, tpm,
                                                                  concurrency))
        return found

    @property
    def paused_s(self) -> float:
        """Seconds that everybody waited for some endpoint, summed."""
        return sum(pace.paused_s for pace in tuple(self._by_address.values()))


class Either:
    """Two events as one that is waited for: a run that ends, or a play that needs no more answers."""

    def __init__(self, run: threading.Event, play: threading.Event) -> None:
        self._run, self._play = run, play

    def is_set(self) -> bool:
        return self._run.is_set() or self._play.is_set()

    def wait(self, timeout: float) -> bool:
        """Waits for the play's, and looks after the run's twice a second."""
        until = time.monotonic() + timeout
        while not self.is_set() and (left := until - time.monotonic()) > 0:
            self._play.wait(min(left, _LOOK_S))
        return self.is_set()


class Places:
    """How many requests may be in flight: half as many after repeated pauses, then one more at a time.

    A pause after fewer than two answers a place says that there are too many at once; one that comes later says that
    a quota was used up, which fewer at once would not help.
    """

    def __init__(self, most: int) -> None:
        self.most = self.allowed = self.least = most
        self.in_flight = 0
        self._answers = 2 * most    # since the last pause or rise; the first pause is no repeated one

    @property
    def full(self) -> bool:
        return self.in_flight >= self.allowed

    def paused(self) -> None:
        if self._answers < 2 * self.allowed:
            self.allowed = max(1, self.allowed // 2)
            self.least = min(self.least, self.allowed)
        self._answers = 0

    def answered(self) -> None:
        self._answers += 1
        if self.allowed < self.most and self._answers >= 2 * self.allowed:
            self.allowed += 1
            self._answers = 0


class TokenWindow:
    """Tokens of the requests that started within the last minute, at most `tpm`.

    Estimates become what was billed once that is known, and later ones are scaled by how far the earlier were off. A
    request that is larger than the limit goes alone.
    """

    def __init__(self, tpm: float) -> None:
        self._tpm = tpm
        self._tickets: deque[Ticket] = deque()
        self._sum = 0.0
        self._estimated = self._billed = 0.0

    def wait_s(self, now: float, tokens: float) -> float:
        while self._tickets and self._tickets[0].started + WINDOW_S <= now:
            self._sum -= self._tickets.popleft().tokens
        excess = self._sum + tokens * self._scale - self._tpm
        wait_s = 0.0
        for ticket in self._tickets:   # the oldest leave first
            if excess <= 0:
                break
            excess -= ticket.tokens
            wait_s = ticket.started + WINDOW_S - now
        return wait_s

    @property
    def _scale(self) -> float:
        return self._billed / self._estimated if self._estimated else 1.0

    def spend(self, now: float, tokens: float) -> Ticket:
        ticket = Ticket(now, tokens * self._scale)
        self._tickets.append(ticket)
        self._sum += ticket.tokens
        return ticket

    def correct(self, ticket: Ticket, billed: float) -> None:
        self._estimated += ticket.tokens / self._scale
        self._billed += billed
        if self._tickets and ticket.started >= self._tickets[0].started:
            self._sum += billed - ticket.tokens
        ticket.tokens = billed
