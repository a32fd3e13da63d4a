"""The short table of a run, as text."""

from __future__ import annotations

from infranode_eval.fold import result_of
from infranode_eval.providers.protocol import Sampling
from infranode_eval.results import Description
from infranode_eval.runner import Played
from infranode_eval.suites import Transcript
from infranode_eval.summary import per_cent, summary_lines
from lm_eval_task.records import MATCHES, Score, Task

DESCRIPTION = Description("single", "core", "m", "openai", "prompt", None, {}, {"limit": 3})


def row(task_id: str, category: str, score: Score, repeat: int = 1) -> Played:
    transcript = None if score.failed else Transcript((), ())
    return Played(Task(task_id, "?", (), category=category), repeat, score, transcript)


def text(*rows: Played) -> str:
    return "\n".join(summary_lines(result_of(DESCRIPTION, rows, Sampling(160), False)))


RIGHT = row("a", "x", Score("ok", **dict.fromkeys(MATCHES, True)))
WRONG = row("b", "x", Score("no_call", **dict.fromkeys(MATCHES, False)))
FAILED = row("c", "y", Score.failure("infra_error", "weg", "timeout"))


def test_with_failures_both_denominators_are_shown() -> None:
    assert text(RIGHT, WRONG, FAILED) == """\
m (openai, prompt), suite single, set core, first 3 tasks: n 3, scored 2, failed 1

per cent          call_match  tool_match  args_match      parsed     ability
all tasks               33.3        33.3        33.3        33.3        25.0
answered only           50.0        50.0        50.0        50.0        50.0

category                      call_match
x                                    1/2
y                                    —/1

outcomes: no_call 1, ok 1
failures: infra_error (timeout) 1
took: 0 requests"""


def test_without_failures_one_line_is_enough() -> None:
    shown = text(RIGHT)
    assert "answered only" not in shown and "failures" not in shown


def test_a_run_without_any_answer_has_no_numbers_of_its_own() -> None:
    assert f"answered only   {'—':>12}" in text(FAILED)


def test_what_it_took_and_what_to_know_stand_below() -> None:
    result = result_of(DESCRIPTION, [RIGHT], Sampling(160), False)
    result["notes"] = ["1 reply cut inside reasoning"]
    result["totals"] |= {"attempts": 1004, "input_tokens": 3000, "cached_tokens": 2000, "output_tokens": 30,
                         "reasoning_tokens": 20, "latency_p50_s": 0.2, "latency_p95_s": 1.25,
                         "pacing": {"refused": 4, "pauses": 2, "paused_s": 20.4, "least_concurrency": 8},
                         "cost": {"amount": 0.25, "currency": "USD", "source": "list price of 2026-01, unchecked"}}
    assert list(summary_lines(result))[-2:] == [
        "took: 1,004 requests, 3,000 tokens in (2,000 cached), 30 out (20 reasoning), latency p50 0.20 s, p95 1.25 s, "
        "4 refused by rate limits (20 s of pauses), cost 0.2500 USD (list price of 2026-01, unchecked)",
        "note: 1 reply cut inside reasoning"]


def test_a_baseline_took_nothing() -> None:
    assert "took" not in "\n".join(summary_lines(result_of(DESCRIPTION, [RIGHT], Sampling(160), True)))


def test_repeats_do_not_look_like_more_tasks() -> None:
    assert "n 2 (tasks 1, repeats 2), scored 2, failed 0" in text(RIGHT, row("a", "x", WRONG.score, 2))
    assert "n 2, scored 2" in text(RIGHT, WRONG)


def test_per_cent() -> None:
    assert [per_cent(v) for v in (None, 0.0, 1.0, 0.8789)] == ["—", "0.0", "100.0", "87.9"]


def test_a_suite_may_print_numbers_of_its_own() -> None:
    result = result_of(DESCRIPTION, [RIGHT, WRONG], Sampling(160), False)
    lines = list(summary_lines(result, None, lambda given: iter([f"mine {given['counts']['n']}"])))
    assert lines[1:4] == ["", "mine 2", ""] and not any("call_match" in line for line in lines)
    assert "outcomes: no_call 1, ok 1" in lines
