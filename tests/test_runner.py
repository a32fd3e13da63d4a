"""The runner: every task exactly once, retries where they help, an early end where they cannot, nothing paid twice."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.journal import Entry, Journal, read_journal, stored_answers
from infranode_eval.providers.baselines import Oracle
from infranode_eval.providers.protocol import Adapted, Answer, Messages, Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.runner import PROBED_ABOVE, Limits, Played, Progress, Runner
from infranode_eval.suites import Setup, single
from lm_eval_task.errors import (
    AuthError,
    ContextOverflowError,
    EmptyReplyError,
    InfraError,
    ProviderError,
    RateLimitedError,
    RefusedRequestError,
)
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools

SETUP = Setup.of("prompt", read_tools(), Sampling(160))
CALL = '{"name": "weather", "arguments": {"slug": "koeln"}}'
FAST = Limits(concurrency=1, backoff_s=0.001)


def tasks(count: int) -> list[Task]:
    return [Task(f"t{i}", f"Wetter in Köln, Frage {i}?", (Call("weather", {"slug": "koeln"}),)) for i in range(count)]


def run(provider: Any, count: int = 3, limits: Limits = FAST, **more: Any) -> tuple[list[Played], Runner]:
    runner = Runner(single, SETUP, provider, limits, **more)
    return runner.run(tasks(count), grace_s=0.5), runner


def outcomes(played: Sequence[Played]) -> list[str]:
    return [p.score.outcome for p in played]


def question(messages: Messages) -> int:
    return int(messages[-1]["content"].rpartition("Frage ")[2].rstrip("?"))


@pytest.mark.parametrize("concurrency", (1, 7, 64))
def test_every_task_is_asked_once_and_rows_keep_the_order(concurrency: int) -> None:
    provider = ScriptedProvider(lambda messages: CALL)
    played, runner = run(provider, 40, Limits(concurrency))
    assert [p.task.task_id for p in played] == [f"t{i}" for i in range(40)]
    assert set(outcomes(played)) == {"ok"} and {p.attempts for p in played} == {1}
    assert Counter(question(m) for m, _, _ in provider.requests) == Counter(range(40))
    assert runner.stop_reason is None


def test_as_many_requests_are_in_flight_as_concurrency_allows() -> None:
    inside, most, lock = 0, 0, threading.Lock()

    class Slow(ScriptedProvider):
        def ask(self, *args: Any) -> Answer:
            nonlocal inside, most
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.02)
            with lock:
                inside -= 1
            return Answer({"content": CALL}, "stop")

    run(Slow([]), 20, Limits(5))
    assert most == 5


def test_repeats_stand_beside_each_other() -> None:
    runner = Runner(single, SETUP, ScriptedProvider(lambda m: CALL), FAST)
    assert [(p.task.task_id, p.repeat) for p in runner.run(tasks(2), 2)] == [("t0", 1), ("t0", 2), ("t1", 1), ("t1", 2)]


def test_the_oracle_sees_each_task() -> None:
    played, _ = run(Oracle(), 5)
    assert outcomes(played) == ["ok"] * 5


RETRIES: list[tuple[Callable[[], ProviderError], int, str, str, str]] = [
    (lambda: InfraError("x"), 3, "infra_error", "InfraError: x", "one attempt and two retries"),
    (lambda: EmptyReplyError("x"), 3, "empty_reply", "EmptyReplyError: x", "a bounded number of times"),
    (lambda: RateLimitedError("x"), 3, "infra_error", "RateLimitedError: x", "without Retry-After it is a retry"),
    (lambda: ContextOverflowError("x"), 1, "context_overflow", "ContextOverflowError: x", "it will not fit later"),
    (lambda: RefusedRequestError("x"), 1, "infra_error", "RefusedRequestError: x", "refused for good"),
    (lambda: AuthError("x"), 1, "auth_error", "AuthError: x", "no second try with the same key"),
]


@pytest.mark.parametrize(("error", "attempts", "outcome", "shown", "reason"), RETRIES, ids=lambda v: None)
def test_what_is_retried(error: Callable[[], ProviderError], attempts: int, outcome: str, shown: str,
                         reason: str) -> None:
    limits = Limits(concurrency=1, retries=2, backoff_s=0.001)
    (row,), _ = run(ScriptedProvider([error() for _ in range(9)]), 1, limits)
    assert (row.attempts, row.score.outcome, row.error) == (attempts, outcome, shown), reason
    assert row.score.call_match is None and row.transcript is None


def test_a_retry_that_helps_leaves_no_trace_but_the_count() -> None:
    (row,), _ = run(ScriptedProvider([InfraError("x"), EmptyReplyError("x"), CALL]), 1)
    assert (row.score.outcome, row.attempts, row.error) == ("ok", 3, None)


def test_asking_otherwise_is_an_attempt_but_no_retry() -> None:
    script = [Adapted("x", status=400), Adapted("y", status=400), CALL]
    (row,), _ = run(ScriptedProvider(script), 1, Limits(1, retries=0))
    assert (row.score.outcome, row.attempts, row.error) == ("ok", 3, None)


# --- the probe before a long run --------------------------------------------------------------------------------------

LONG = PROBED_ABOVE + 1
PROBES: list[tuple[Any, int, int, str]] = [
    (RefusedRequestError("HTTP 404: kein Modell"), LONG, 1, "no such model: nothing more is sent"),
    (AuthError("HTTP 403: darf nicht", status=403), LONG, 1, "no right: nothing more is sent"),
    (RefusedRequestError("gefiltert", sub="content_filter"), LONG, LONG, "the task's own fault"),
    (ContextOverflowError("zu lang"), LONG, LONG, "other tasks are shorter"),
    (InfraError("HTTP 500"), LONG, LONG, "it may pass"),
    (CALL, LONG, LONG, "an answer counts"),
    (RefusedRequestError("HTTP 404: kein Modell"), PROBED_ABOVE, 5, "a short run needs no probe"),
]


@pytest.mark.parametrize(("first", "count", "asked", "reason"), PROBES, ids=[p[3] for p in PROBES])
def test_a_long_run_asks_its_first_task_alone(first: Any, count: int, asked: int, reason: str) -> None:
    always = isinstance(first, RefusedRequestError | AuthError) and first.sub is None
    provider = ScriptedProvider(lambda m: first if always or question(m) == 0 else CALL)
    played, _ = run(provider, count, Limits(1, retries=0))
    assert len(provider.requests) == asked, reason
    assert outcomes(played).count("not_run") == count - asked


def test_nobody_sends_while_the_probe_is_in_flight() -> None:
    order: list[int] = []

    class Slow(ScriptedProvider):
        def ask(self, messages: Messages, *more: Any) -> Answer:
            if question(messages) == 0:
                time.sleep(0.1)
            order.append(question(messages))
            return super().ask(messages, *more)

    run(Slow(lambda m: CALL), LONG, Limits(8))
    assert order[0] == 0 and sorted(order) == list(range(LONG))


def test_a_probe_that_is_still_thinking_keeps_nobody_waiting_and_counts_as_in_flight() -> None:
    done, most, inside, lock = threading.Event(), 0, 0, threading.Lock()

    class Slow(ScriptedProvider):
        def ask(self, messages: Messages, *more: Any) -> Answer:
            nonlocal most, inside
            with lock:
                inside += 1
                most = max(most, inside)
            if question(messages) == 0:
                assert done.wait(10), "the others were answered meanwhile"
            elif question(messages) == LONG - 1:
                done.set()
            time.sleep(0.001)
            with lock:
                inside -= 1
            return super().ask(messages, *more)

    provider = Slow(lambda m: CALL)
    played, _ = run(provider, LONG, Limits(4, probe_s=0.05))
    assert outcomes(played) == ["ok"] * LONG and len(provider.requests) == LONG
    assert most == 4


def test_the_probe_is_the_first_task_that_has_no_answer(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "j.jsonl", {})
    run(ScriptedProvider(lambda m: CALL), 3, journal=journal)
    provider = ScriptedProvider(lambda m: RefusedRequestError("HTTP 404"))
    run(provider, LONG + 3, Limits(8, retries=0), journal=journal, stored=stored_answers(read_journal(journal.path)[1]))
    journal.close()
    assert [question(m) for m, _, _ in provider.requests] == [3]


def test_a_pause_that_was_asked_for_uses_up_no_retry_and_is_kept() -> None:
    started = time.monotonic()
    limited = [RateLimitedError("x", retry_after=0.05) for _ in range(4)]
    (row,), _ = run(ScriptedProvider([*limited, CALL]), 1, Limits(1, retries=0))
    assert (row.score.outcome, row.attempts) == ("ok", 5)
    assert time.monotonic() - started >= 0.2


def test_a_pause_beyond_the_longest_wait_is_a_failure() -> None:
    (row,), _ = run(ScriptedProvider([RateLimitedError("zu lang", retry_after=99)]), 1, Limits(1, max_wait_s=10))
    assert (row.score.outcome, row.error) == ("infra_error", "RateLimitedError: zu lang")


def test_an_endpoint_that_takes_few_at_a_time_gets_few_at_a_time() -> None:
    inside, lock = 0, threading.Lock()

    class Narrow(ScriptedProvider):
        def ask(self, messages: Messages, *more: Any) -> Answer:
            nonlocal inside
            with lock:
                inside += 1
                crowd = inside
            time.sleep(0.002 if crowd > 4 else 0.01)
            with lock:
                inside -= 1
            if crowd > 4:
                raise RateLimitedError("too many at once", retry_after=0.01)
            return super().ask(messages, *more)

    provider = Narrow(lambda m: CALL)
    played, runner = run(provider, 200, Limits(32, retries=0, backoff_s=0.001))
    pacing = runner.pace.to_json()
    assert outcomes(played) == ["ok"] * 200 and len(provider.requests) == 200
    assert pacing["pauses"] >= 2 and pacing["least_concurrency"] <= 8, pacing
    assert pacing["refused"] <= 100, "32 at once for 200 tasks would be refused more often than answered"


def test_during_a_shared_pause_nobody_sends() -> None:
    times: list[float] = []
    lock = threading.Lock()

    def script(messages: Messages) -> Any:
        with lock:
            times.append(time.monotonic())
            return RateLimitedError("x", retry_after=0.3) if len(times) == 1 else CALL

    run(ScriptedProvider(script), 8, Limits(4))
    # What was on its way when the 429 came in is no breach; between that and the end of the pause is silence.
    assert not [t for t in times if 0.1 < t - times[0] < 0.29]


def test_requests_a_minute_hold_over_all_threads() -> None:
    started = time.monotonic()
    run(ScriptedProvider(lambda m: CALL), 10, Limits(4, rpm=1200))
    assert time.monotonic() - started >= 9 * 0.05


def test_a_single_bad_task_does_not_end_the_run() -> None:
    provider = ScriptedProvider(lambda m: RefusedRequestError("nein") if question(m) == 1 else CALL)
    assert outcomes(run(provider, 4)[0]) == ["ok", "infra_error", "ok", "ok"]


STOPS = [
    (lambda n: AuthError("HTTP 401: falsch", status=401), None, 1, "HTTP 401", "the key is wrong for every task"),
    (lambda n: AuthError("HTTP 403: falsch", status=403), None, 5, "5 times in a row", "five identical refusals"),
    (lambda n: RefusedRequestError("HTTP 404"), None, 5, "5 times in a row", "no such model"),
    (lambda n: RefusedRequestError(f"HTTP 400: {n}"), None, 9, None, "refusals that differ may be the tasks' fault"),
    (lambda n: InfraError("weg", sub="unreachable"), None, 1, "weg", "nothing was ever reached"),
    (lambda n: InfraError("HTTP 500"), None, 9, None, "a flaky endpoint is tried to the end"),
    (lambda n: InfraError("HTTP 500"), 3, 3, "3 failed tasks in a row", "--stop-after-errors"),
    (lambda n: CALL if n % 3 == 0 else InfraError("x"), 3, 9, None, "in a row, not in total"),
    (lambda n: CALL if n == 0 else InfraError("weg", sub="unreachable"), None, 9, None, "it was there before"),
]


@pytest.mark.parametrize(("script", "stop_after", "asked", "reason_shown", "reason"), STOPS, ids=lambda v: None)
def test_when_a_run_ends_early(script: Callable[[int], Any], stop_after: int | None, asked: int,
                               reason_shown: str | None, reason: str) -> None:
    provider = ScriptedProvider(lambda m: script(question(m)))
    played, runner = run(provider, 9, Limits(1, retries=0, stop_after_errors=stop_after))
    assert len(provider.requests) == asked, reason
    assert outcomes(played)[asked:] == ["not_run"] * (9 - asked)
    assert (runner.stop_reason is None) == (reason_shown is None), reason
    assert reason_shown is None or reason_shown in runner.stop_reason
    assert all(p.error == runner.stop_reason and p.attempts == 0 for p in played[asked:])


def test_each_answer_is_journaled_with_its_attempts(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "j.jsonl", {"model": "m"})
    run(ScriptedProvider([InfraError("x"), CALL, RefusedRequestError("x"), CALL]), 3, journal=journal)
    _, entries = read_journal(journal.path)
    journal.close()
    assert [(e.task_id, e.attempts, e.answer.message["content"]) for e in entries] == [("t0", 2, CALL), ("t2", 1, CALL)]
    assert len({e.key for e in entries}) == 2


def test_a_resumed_run_sends_only_what_has_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal.open(path, {})
    first = ScriptedProvider(lambda m: InfraError("x") if question(m) in (1, 3) else CALL)
    before, _ = run(first, 5, Limits(1, retries=0), journal=journal)
    stored = stored_answers(read_journal(path)[1])
    second = ScriptedProvider(lambda m: CALL)
    played, _ = run(second, 5, journal=journal, stored=stored)
    journal.close()
    assert [question(m) for m, _, _ in second.requests] == [1, 3]
    assert outcomes(played) == ["ok"] * 5
    assert played[0] == before[0], "an answered row is the same row"
    assert len(read_journal(path)[1]) == 5


def test_answers_to_another_question_are_not_used() -> None:
    stored = {("t0", 1): [Entry("t0", 1, "0" * 64, Answer({"content": CALL}, "stop"))]}
    provider = ScriptedProvider([CALL])
    run(provider, 1, stored=stored)
    assert len(provider.requests) == 1


def test_a_stored_answer_without_verdict_is_asked_anew(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "j.jsonl", {})
    (blank,), _ = run(ScriptedProvider(["<think></think>", " ", CALL]), 1, journal=journal)
    assert (blank.score.outcome, blank.score.call_match, blank.attempts) == ("empty_reply", None, 2), "asked once more"
    stored = stored_answers(read_journal(journal.path)[1])
    (row,), _ = run(ScriptedProvider([CALL]), 1, journal=journal, stored=stored)
    assert row.score.outcome == "ok"
    journal.close()


def test_an_interrupt_keeps_what_was_answered_and_cuts_off_the_rest() -> None:
    class Hanging(ScriptedProvider):
        closed = threading.Event()

        def ask(self, messages: Messages, *more: Any) -> Answer:
            if question(messages) < 3:
                return super().ask(messages, *more)
            self.closed.wait(10)
            raise InfraError("the connection broke")

        def close(self) -> None:
            self.closed.set()

    runner = Runner(single, SETUP, Hanging(lambda m: CALL), Limits(2, backoff_s=0.001))

    def interrupt(progress: Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    started = time.monotonic()
    played = runner.run(tasks(8), show=interrupt, grace_s=0.1)
    assert outcomes(played) == ["ok"] * 3 + ["not_run"] * 5
    assert runner.stop_reason == "interrupted"
    assert time.monotonic() - started < 5


def test_a_bug_in_a_worker_is_raised_not_swallowed() -> None:
    class Broken(ScriptedProvider):
        def ask(self, *args: Any) -> Answer:
            raise ZeroDivisionError("bug")

    with pytest.raises(ZeroDivisionError):
        run(Broken([]), 5, Limits(3))


def test_native_mode_distinguishes_requests_by_their_tools(tmp_path: Path) -> None:
    keys = set()
    for mode in ("prompt", "native"):
        journal = Journal.open(tmp_path / f"{mode}.jsonl", {})
        setup = Setup.of(mode, SETUP.tools, SETUP.sampling)
        Runner(single, setup, ScriptedProvider([json.dumps({"a": 1})]), FAST, journal).run(tasks(1))
        journal.close()
        keys |= {e.key for e in read_journal(journal.path)[1]}
    assert len(keys) == 2
