"""Plays the tasks of a suite against a provider in threads: asks, waits, retries, records; knows neither by name."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from infranode_eval.asker import Asker, Diverged, Stopped
from infranode_eval.journal import Entry, Journal
from infranode_eval.pace import Paces
from infranode_eval.providers.protocol import (
    Provider,
    TaskReader,
    ToolReader,
    Tools,
)
from infranode_eval.suites import Setup, Suite, Transcript
from lm_eval_task.errors import (
    AuthError,
    ProviderError,
    RefusedRequestError,
)
from lm_eval_task.records import Score, Task, fingerprint

IDENTICAL_REFUSALS = 5   # so many in a row, and the rest would be refused as well
BROKEN_BODIES = 8        # so many tasks got the same body that is no answer, and nobody an answer: wrong address
MOST_TOOL_LISTS = 64     # whose hashes are kept; where each task has its own, keeping them would not pay
PROBED_ABOVE = 200       # a run that sends more tasks than that asks the first one alone
PLAY_PROBE_S = 0.1       # a play of several requests keeps the others no longer waiting; a refusal comes at once


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard a run tries.

    rpm, tpm: requests and tokens a minute. retries: per request, after failures that may pass. stop_after_errors:
    failed tasks in a row that end the run. backoff_s: first wait before a retry, doubled each time up to 30 s,
    jittered. max_wait_s: the longest that one request lets itself be put off by rate limits. probe_s: how long the
    first request of a long run keeps the others waiting; a refusal comes at once, a model that thinks takes its time.
    """

    concurrency: int = 8
    rpm: float | None = None
    retries: int = 4
    stop_after_errors: int | None = None
    backoff_s: float = 0.5
    max_wait_s: float = 3600.0
    tpm: float | None = None
    probe_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Played:
    """One task after its turn. transcript: None if no answer was obtained; error: why, one line.

    keys: the request key of each answer. attempts: requests sent for it, in this run and in the one resumed. unused:
    stored answers that a play of several requests did not ask for. obtained: the answers of a play that failed, for the
    next one.
    """

    task: Task
    repeat: int
    score: Score
    transcript: Transcript | None = None
    attempts: int = 0
    error: str | None = None
    keys: tuple[str, ...] = ()
    unused: int = 0
    obtained: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    total: int
    done: int
    failed: int


# A key may lack the right to one thing; a missing or wrong one lacks it to all.
_FORBIDDEN = re.compile(rf"{AuthError.__name__}: (?:HTTP 403|.*\(code 403\))")


# No such model, no money left: the next task would be told the same.
_HOPELESS = re.compile(r"HTTP 402\b|(?:HTTP 404|\(code 404\)): .*\bmodels?\b|credit balance is too low", re.IGNORECASE)
_HOPELESS_SUBS = ("insufficient_quota", "model_not_found")


class Runner:
    """One run. `stop(reason)` ends it early from any thread or signal handler.

    stored: answers of an earlier run by (task_id, repeat); used instead of sending, and let go then. keep: what is to
    stay of a task after its turn, so that a long run does not hold every reply. anew: a play of several requests that
    differs from its stored one starts from its beginning; without it the run ends with Diverged.
    """

    def __init__(self, suite: Suite, setup: Setup, provider: Provider, limits: Limits, journal: Journal | None = None,
                 stored: MutableMapping[tuple[str, int], Sequence[Entry]] | None = None,
                 keep: Callable[[Played], Any] = lambda played: played, anew: bool = False) -> None:
        self.suite, self.setup, self.provider, self.limits, self.journal = suite, setup, provider, limits, journal
        self.stored = {} if stored is None else stored
        self.paces = Paces(limits.rpm, limits.tpm, None if provider.deterministic else limits.concurrency)
        self.pace = self.paces.of(provider)
        self.stopping = threading.Event()
        self.stop_reason: str | None = None
        self._tools_hashes: dict[int, tuple[Tools, str]] = {}
        self._keep = keep
        self._anew = anew
        self._watch = _ErrorWatch(limits.stop_after_errors)
        self._lock = threading.Lock()
        self._tasks: Sequence[Task] = ()
        self._repeats = 1
        self._kept: list[Any] = []
        self._done = self._failed = 0
        self._crash: BaseException | None = None
        self._at_work = 0               # threads
        self._idle = threading.Event()  # none is at work

    def tools_hash(self, tools: Tools) -> str:
        """sha256 over tools as they are sent; worked out once for lists that come again and again."""
        known = self._tools_hashes.get(id(tools))
        if known is None:
            known = tools, fingerprint(list(tools))
            if len(self._tools_hashes) < MOST_TOOL_LISTS:
                self._tools_hashes[id(tools)] = known      # with the list itself, so that its id stays its own
        return known[1]

    def run(self, tasks: Sequence[Task], repeats: int = 1, show: Callable[[Progress], None] | None = None,
            grace_s: float = 2.0) -> list[Any]:
        """Play every task `repeats` times; what `keep` made of each, in the order of the tasks, ended early or not.

        show: called twice a second. grace_s: how long requests in flight may still finish after a stop.
        """
        self._tasks, self._repeats, self._kept = tasks, repeats, [None] * (len(tasks) * repeats)
        threads: list[threading.Thread] = []
        try:
            probe = self._probe()
            if probe is not None:
                self._start(threads, [probe], 1, self._judge_probe)
                longest_s = PLAY_PROBE_S if self.suite.REPLAYS else self.limits.probe_s
                self._wait(threads, show, time.monotonic() + min(longest_s, self.limits.probe_s))
            if not self.stopping.is_set():
                rest = (unit for unit in self._units() if unit != probe)
                self._start(threads, rest, min(self.limits.concurrency, len(self._kept), self.suite.PLAYS_AT_ONCE))
                self._wait(threads, show)
        except KeyboardInterrupt:
            self.stop("interrupted")
        self._wind_up(threads, grace_s)
        if self._crash is not None:
            raise self._crash
        with self._lock:
            kept, self._kept = self._kept, []
        return [self._keep(self._not_run(tasks[i // repeats], i % repeats + 1)) if one is None else one
                for i, one in enumerate(kept)]

    def _not_run(self, task: Task, repeat: int) -> Played:
        return Played(task, repeat, self.suite.failure(task, "not_run", "nothing was sent"), error=self.stop_reason)

    def _units(self) -> Iterator[tuple[int, int]]:
        """(place of the result, repeat) in the order in which they are asked: all tasks once, then all once more."""
        return ((place * self._repeats + repeat - 1, repeat)
                for repeat in range(1, self._repeats + 1) for place in range(len(self._tasks)))

    def _task(self, unit: tuple[int, int]) -> Task:
        return self._tasks[unit[0] // self._repeats]

    def _start(self, threads: list[threading.Thread], units: Iterable[tuple[int, int]], count: int,
               judge: Callable[[Played], None] | None = None) -> None:
        waiting = iter(units)
        with self._lock:
            self._at_work += count
            self._idle.clear()
        for i in range(count):
            thread = threading.Thread(target=self._work, args=(waiting, judge), name=f"worker-{i}", daemon=True)
            thread.start()
            threads.append(thread)

    def _probe(self) -> tuple[int, int] | None:
        """The first unit that has to be sent, where so many follow that a mistake would be repeated many times."""
        if self.provider.deterministic:
            return None
        unsent = (u for u in self._units() if (self._task(u).task_id, u[1]) not in self.stored)
        first = list(islice(unsent, PROBED_ABOVE + 1))
        return first[0] if len(first) > PROBED_ABOVE else None

    def _judge_probe(self, played: Played) -> None:
        """A refusal for good (no such model, no tools there, no right to it) would meet every task."""
        if _refused_for_good(played):
            self.stop(_first_refused(played))

    def stop(self, reason: str) -> None:
        """End the run; the first reason is kept."""
        self.stop_reason = self.stop_reason or reason
        self.stopping.set()

    def _wait(self, threads: Sequence[threading.Thread], show: Callable[[Progress], None] | None,
              until: float = float("inf")) -> None:
        """Without join: a thread whose join was interrupted counts as ended in CPython 3.11, and gets no grace."""
        for thread in threads:
            while thread.is_alive() and not self.stopping.is_set() and (left := until - time.monotonic()) > 0:
                self._idle.wait(min(0.5, left))
                if show:
                    show(Progress(len(self._kept), self._done, self._failed))

    def _wind_up(self, threads: Sequence[threading.Thread], grace_s: float) -> None:
        """Give requests in flight their grace, then cut them off."""
        try:
            if self.stopping.is_set():
                _join(threads, grace_s)
            self.provider.close()
            _join(threads, 2.0)
        except KeyboardInterrupt:
            self.provider.close()

    def _work(self, units: Iterator[tuple[int, int]], judge: Callable[[Played], None] | None) -> None:
        try:
            while not self.stopping.is_set():
                with self._lock:
                    unit = next(units, None)
                if unit is None:
                    return
                played = self._play(self._task(unit), unit[1])
                self._record(unit[0], played)
                if judge:
                    judge(played)
        except Stopped:
            return
        except BaseException as crash:   # a bug, not a failure of the endpoint: hand it to the main thread
            self._crash = crash
            self.stop(f"{type(crash).__name__} in a worker")
        finally:
            with self._lock:
                self._at_work -= 1
                if not self._at_work:
                    self._idle.set()

    def _record(self, place: int, played: Played) -> None:
        if not self._kept:   # this thread outlived its run
            return
        kept = self._keep(played)
        with self._lock:
            if self._kept:
                self._kept[place] = kept
            self._done += 1
            self._failed += played.score.failed

    def _play(self, task: Task, repeat: int) -> Played:
        """Play from stored answers, else live.

        Answers without a verdict (blank once the thoughts are gone) are asked for once more.
        """
        stored = self.stored.pop((task.task_id, repeat), ())
        try:
            played = self._play_once(task, repeat, stored)
        except Diverged:
            if not self._anew:
                raise
            played = self._play_once(task, repeat, [e for e in stored if e.answer is None])
        if played.transcript is None and self.suite.SECOND_PASS and not self.stopping.is_set():
            again = self._play_once(task, repeat, played.obtained)
            played = replace(again, attempts=max(played.attempts, again.attempts))
        if played.transcript is not None and played.score.failed:
            again = self._play_once(task, repeat, ())
            played = replace(again, attempts=played.attempts + again.attempts)
        return played

    def _play_once(self, task: Task, repeat: int, stored: Sequence[Entry]) -> Played:
        setup = self.setup.for_task(task.task_id, task.question)
        asker = Asker(self, self._provider_for(task, setup), task.task_id, repeat, stored)
        transcript, problem = None, None
        try:
            transcript = self.suite.play(task, asker, setup)
        except ProviderError as error:
            problem = f"{type(error).__name__}: {error}"
            score = self.suite.failure(task, error.outcome, "no answer was obtained", error.sub)
        else:
            score = self.suite.score(task, transcript, self.setup)
        book = asker.book
        keys = book.keys if transcript is None or transcript.keys is None else transcript.keys
        played = Played(task, repeat, score, transcript, book.attempts, problem, tuple(keys), book.unused,
                        tuple(book.obtained) if transcript is None else ())
        if book.sent:
            self._judge_run(played)
        return played

    def _provider_for(self, task: Task, setup: Setup) -> Provider:
        """Programs see the task, or the tools, as they are offered; anything else sees what it is asked."""
        if isinstance(self.provider, TaskReader):
            return self.provider.for_task(setup.offer.offered_task(task) if setup.offer else task)
        if setup is not self.setup and isinstance(self.provider, ToolReader):
            return self.provider.for_tools(setup.tools)
        return self.provider

    def _judge_run(self, played: Played) -> None:
        """Does what happened to this task say that the run should end?"""
        with self._lock:
            reason = self._watch.reason_to_stop(played)
        if reason:
            self.stop(reason)


@dataclass(slots=True)
class _ErrorWatch:
    """Failures in a row, in the order in which tasks end."""

    stop_after_errors: int | None
    in_a_row: int = 0
    refusals: list[str] = field(default_factory=list)
    answered: int = 0
    broken: list[str] = field(default_factory=list)

    def reason_to_stop(self, played: Played) -> str | None:
        if not played.score.failed:
            self.in_a_row, self.answered = 0, self.answered + 1
            self.refusals.clear()
            self.broken.clear()
            return None
        self.in_a_row += 1
        error = played.error or ""
        self.refusals = [e for e in self.refusals if e == error] + [error] if _refused_for_good(played) else []
        self.broken = [e for e in self.broken if e == error] + [error] if played.score.sub == "broken_json" else []
        if error.startswith(AuthError.__name__) and not _FORBIDDEN.match(error):
            return message_in(error)
        if not self.answered and (reason := self._of_a_start(played)):
            return reason
        if len(self.refusals) >= IDENTICAL_REFUSALS:
            return f"{IDENTICAL_REFUSALS} times in a row: {message_in(error)}"
        if self.stop_after_errors and self.in_a_row >= self.stop_after_errors:
            return f"{self.in_a_row} failed tasks in a row, the last with {message_in(error)}"
        return None

    def _of_a_start(self, played: Played) -> str | None:
        """The reason where no answer has come yet: nothing speaks for the address, the model and the account."""
        error = message_in(played.error or "")
        if played.score.sub == "unreachable":
            return error
        if _refused_for_good(played) and (played.score.sub in _HOPELESS_SUBS or _HOPELESS.search(error)):
            return _first_refused(played)
        return f"{BROKEN_BODIES} tasks got the same: {error}" if len(self.broken) >= BROKEN_BODIES else None


def _refused_for_good(played: Played) -> bool:
    """Was it a refusal that has nothing to do with the task? A content filter's has."""
    names = (AuthError.__name__, RefusedRequestError.__name__)
    return (played.error or "").startswith(names) and played.score.sub != "content_filter"


def _first_refused(played: Played) -> str:
    return f"the first request was refused, so the rest was not sent: {message_in(played.error or '')}"


def message_in(error: str) -> str:
    """What people are told of a row's error: without the kind in front of it, which is a name of ours."""
    kind, colon, message = error.partition(": ")
    return message if colon and kind.isidentifier() and kind.endswith("Error") else error


def _join(threads: Sequence[threading.Thread], seconds: float) -> None:
    """Wait for all threads, `seconds` together."""
    until = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
