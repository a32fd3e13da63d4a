"""Plays the tasks of a suite against a provider in threads: asks, waits, retries, records; knows neither by name."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from infranode_eval.journal import Entry, Journal, request_key
from infranode_eval.pace import Pace
from infranode_eval.providers.protocol import Adapted, Answer, Messages, Provider, Sampling, TaskReader, Tools
from infranode_eval.suites import Setup, Suite, Transcript
from lm_eval_task.errors import AuthError, ProviderError, RateLimitedError, RefusedRequestError
from lm_eval_task.records import Score, Task, fingerprint

IDENTICAL_REFUSALS = 5   # so many in a row, and the rest would be refused as well
PROBED_ABOVE = 20        # a run that sends more tasks than that asks the first one alone


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard a run tries.

    retries: per request, after failures that may pass. stop_after_errors: failed tasks in a row that end the run.
    backoff_s: first wait before a retry, doubled each time up to 30 s, jittered. max_wait_s: the longest that one
    request waits for rate limits in total.
    """

    concurrency: int = 8
    rpm: float | None = None
    retries: int = 4
    stop_after_errors: int | None = None
    backoff_s: float = 0.5
    max_wait_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class Played:
    """One task after its turn. transcript: None if no answer was obtained; error: why, one line.

    keys: the request key of each answer. attempts: requests sent for it, in this run and in the one resumed.
    """

    task: Task
    repeat: int
    score: Score
    transcript: Transcript | None = None
    attempts: int = 0
    error: str | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    total: int
    done: int
    failed: int


# A key may lack the right to one thing; a missing or wrong one lacks it to all.
_FORBIDDEN = re.compile(rf"{AuthError.__name__}: (?:HTTP 403|.*\(code 403\))")


class Stopped(Exception):
    """The run ends; this task was not answered."""


class Runner:
    """One run. `stop(reason)` ends it early from any thread or signal handler.

    stored: answers of an earlier run by (task_id, repeat); they are used instead of sending.
    """

    def __init__(self, suite: Suite, setup: Setup, provider: Provider, limits: Limits, journal: Journal | None = None,
                 stored: Mapping[tuple[str, int], Sequence[Entry]] | None = None) -> None:
        self.suite, self.setup, self.provider, self.limits, self.journal = suite, setup, provider, limits, journal
        self.stored = stored or {}
        self.pace = Pace(limits.rpm)
        self.stopping = threading.Event()
        self.stop_reason: str | None = None
        self.tools_hash = fingerprint(list(setup.tools_json))
        self._watch = _ErrorWatch(limits.stop_after_errors)
        self._lock = threading.Lock()
        self._played: dict[tuple[str, int], Played] = {}
        self._crash: BaseException | None = None

    def run(self, tasks: Sequence[Task], repeats: int = 1, show: Callable[[Progress], None] | None = None,
            grace_s: float = 2.0) -> list[Played]:
        """Play every task `repeats` times; one result each, in the order of the tasks, also after an early end.

        show: called twice a second. grace_s: how long requests in flight may still finish after a stop.
        """
        units = [(task, repeat) for repeat in range(1, repeats + 1) for task in tasks]
        total = len(units)
        threads: list[threading.Thread] = []
        try:
            probe = self._probe(units)
            if probe is not None:
                units.remove(probe)
                self._start(threads, [probe], 1)
                self._wait(threads, total, show)
                self._judge_probe(probe)
            if not self.stopping.is_set():
                self._start(threads, units, min(self.limits.concurrency, len(units)))
                self._wait(threads, total, show)
        except KeyboardInterrupt:
            self.stop("interrupted")
        self._wind_up(threads, grace_s)
        if self._crash is not None:
            raise self._crash
        with self._lock:
            played = dict(self._played)
        return [played.get((task.task_id, repeat)) or _not_run(task, repeat, self.stop_reason)
                for task in tasks for repeat in range(1, repeats + 1)]

    def _start(self, threads: list[threading.Thread], units: Sequence[tuple[Task, int]], count: int) -> None:
        waiting = iter(units)
        started = [threading.Thread(target=self._work, args=(waiting,), name=f"worker-{i}", daemon=True)
                   for i in range(count)]
        for thread in started:
            thread.start()
            threads.append(thread)

    def _probe(self, units: Sequence[tuple[Task, int]]) -> tuple[Task, int] | None:
        """The first unit that has to be sent, where so many follow that a mistake would be repeated many times."""
        unsent = [unit for unit in units if (unit[0].task_id, unit[1]) not in self.stored]
        return unsent[0] if len(unsent) > PROBED_ABOVE and not self.provider.deterministic else None

    def _judge_probe(self, probe: tuple[Task, int]) -> None:
        """A refusal for good (no such model, no tools there, no right to it) would meet every task."""
        with self._lock:
            played = self._played.get((probe[0].task_id, probe[1]))
        if played is not None and _refused_for_good(played):
            self.stop(f"the first request was refused, so the rest was not sent: {played.error}")

    def stop(self, reason: str) -> None:
        """End the run; the first reason is kept."""
        self.stop_reason = self.stop_reason or reason
        self.stopping.set()

    def _wait(self, threads: Sequence[threading.Thread], total: int, show: Callable[[Progress], None] | None) -> None:
        for thread in threads:
            while thread.is_alive() and not self.stopping.is_set():
                thread.join(0.5)
                if show:
                    show(self._progress(total))

    def _wind_up(self, threads: Sequence[threading.Thread], grace_s: float) -> None:
        """Give requests in flight their grace, then cut them off."""
        try:
            if self.stopping.is_set():
                _join(threads, grace_s)
            self.provider.close()
            _join(threads, 2.0)
        except KeyboardInterrupt:
            self.provider.close()

    def _progress(self, total: int) -> Progress:
        with self._lock:
            return Progress(total, len(self._played), sum(p.score.failed for p in self._played.values()))

    def _work(self, units: Iterator[tuple[Task, int]]) -> None:
        try:
            while not self.stopping.is_set():
                with self._lock:
                    unit = next(units, None)
                if unit is None:
                    return
                self._record(self._play(*unit))
        except Stopped:
            return
        except BaseException as crash:   # a bug, not a failure of the endpoint: hand it to the main thread
            self._crash = crash
            self.stop(f"{type(crash).__name__} in a worker")

    def _record(self, played: Played) -> None:
        with self._lock:
            self._played[played.task.task_id, played.repeat] = played

    def _play(self, task: Task, repeat: int) -> Played:
        """Play from stored answers, else live.

        Answers without a verdict (blank once the thoughts are gone) are asked for once more.
        """
        stored = self.stored.get((task.task_id, repeat), ())
        played = self._play_once(task, repeat, stored)
        if played.transcript is not None and played.score.failed:
            again = self._play_once(task, repeat, ())
            played = replace(again, attempts=played.attempts + again.attempts)
        return played

    def _play_once(self, task: Task, repeat: int, stored: Sequence[Entry]) -> Played:
        provider = self.provider.for_task(task) if isinstance(self.provider, TaskReader) else self.provider
        asker = Asker(self, provider, task.task_id, repeat, stored)
        transcript, problem = None, None
        try:
            transcript = self.suite.play(task, asker, self.setup)
        except ProviderError as error:
            problem = f"{type(error).__name__}: {error}"
            score = Score.failure(error.outcome, "no answer was obtained", error.sub)
        else:
            score = self.suite.score(task, transcript, self.setup)
        played = Played(task, repeat, score, transcript, asker.attempts, problem, tuple(asker.keys))
        if asker.sent:
            self._judge_run(played)
        return played

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

    def reason_to_stop(self, played: Played) -> str | None:
        if not played.score.failed:
            self.in_a_row, self.answered = 0, self.answered + 1
            self.refusals.clear()
            return None
        self.in_a_row += 1
        error = played.error or ""
        self.refusals = [e for e in self.refusals if e == error] + [error] if _refused_for_good(played) else []
        if error.startswith(AuthError.__name__) and not _FORBIDDEN.match(error):
            return error
        if played.score.sub == "unreachable" and not self.answered:
            return error
        if len(self.refusals) >= IDENTICAL_REFUSALS:
            return f"{IDENTICAL_REFUSALS} times in a row: {error}"
        if self.stop_after_errors and self.in_a_row >= self.stop_after_errors:
            return f"{self.in_a_row} failed tasks in a row, the last with {error}"
        return None


def _refused_for_good(played: Played) -> bool:
    """Was it a refusal that has nothing to do with the task? A content filter's has."""
    names = (AuthError.__name__, RefusedRequestError.__name__)
    return (played.error or "").startswith(names) and played.score.sub != "content_filter"


def _join(threads: Sequence[threading.Thread], seconds: float) -> None:
    """Wait for all threads, `seconds` together."""
    until = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def _not_run(task: Task, repeat: int, reason: str | None) -> Played:
    return Played(task, repeat, Score.failure("not_run", "nothing was sent"), error=reason)


class Asker:
    """The provider that a suite plays against: takes stored answers first, else sends, waits, retries and records."""

    setup: str | None = None

    def __init__(self, runner: Runner, provider: Provider, task_id: str, repeat: int, stored: Sequence[Entry]) -> None:
        self.deterministic = provider.deterministic
        self.attempts = 0   # requests, those behind stored answers included
        self.sent = 0       # requests of this run
        self.keys: list[str] = []
        self._runner, self._provider, self._task_id, self._repeat = runner, provider, task_id, repeat
        self._stored = list(stored)

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        """As Provider.ask, over several attempts. Raise Stopped when the run ends meanwhile."""
        key = "" if self._runner.journal is None and not self._stored else self._key(messages, tools, sampling)
        entry = next((e for e in self._stored if e.key == key), None)
        if entry is not None:
            self._stored.remove(entry)
            self.attempts += entry.attempts
        else:
            before = self.attempts
            answer = self._obtained(messages, tools, sampling)
            entry = Entry(self._task_id, self._repeat, key, answer, self.attempts - before)
            if self._runner.journal is not None:
                self._runner.journal.append(entry)
        if key:
            self.keys.append(key)
        return entry.answer

    def close(self) -> None:
        pass

    def _key(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> str:
        runner = self._runner
        known = tools is None or tools is runner.setup.tools_json
        tools_hash = None if tools is None else runner.tools_hash if known else fingerprint(list(tools))
        return request_key("model", messages, tools_hash, sampling.to_json())

    def _obtained(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        runner, limits = self._runner, self._runner.limits
        failures, waited_s = 0, 0.0
        while True:
            if not runner.pace.turn(runner.stopping):
                raise Stopped
            self.attempts += 1
            self.sent += 1
            try:
                return self._provider.ask(messages, tools, sampling)
            except Adapted:
                continue   # sent otherwise now: another attempt, but no retry
            except ProviderError as error:
                if runner.stopping.is_set() and error.retryable:
                    raise Stopped from None
                if isinstance(error, RateLimitedError) and error.retry_after is not None:
                    waited_s += error.retry_after
                    if waited_s > limits.max_wait_s:
                        raise
                    runner.pace.pause(error.retry_after)   # a pause that was asked for is no retry
                    continue
                if not error.retryable or failures >= limits.retries:
                    raise
                wait_s = min(30.0, limits.backoff_s * 2 ** failures) * random.uniform(0.5, 1.5)
                failures += 1
                if isinstance(error, RateLimitedError):
                    runner.pace.pause(wait_s)
                elif runner.stopping.wait(wait_s):
                    raise Stopped from None
