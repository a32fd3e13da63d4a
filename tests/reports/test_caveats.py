"""Warnings beside a number: when they come, the likely cause they name, what they advise."""

from __future__ import annotations

import json

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.tasksets import TaskSet
from lm_eval_task.records import Reply, Score, tasks_fingerprint
from tests.reports import chain_runs

SILENT = Reply.from_text("Ich weiß es nicht.")
GARBLED = Reply.from_text('<tool_call>{"name": "weather", "arguments": {</tool_call>')
CUT = Reply.from_text("Ich überlege noch", "length")
LOOP = Reply.from_text("A: " * 80, "length")
THOUGHT_AWAY = Reply({"role": "assistant", "content": "", "reasoning_content": "Köln, also …"}, "length")


@pytest.fixture
def caveats(make_result, demo_tasks, toolset):
    """caveats(replier, usage=…, **header): the lines for a demo run."""
    core = TaskSet("core", tasks_fingerprint(demo_tasks), {t.task_id: t for t in demo_tasks})

    def lines(replier, usage=None, **header):
        value = make_result(replier if callable(replier) else lambda t: replier, **header)
        for row in value["rows"]:
            row["usage"] = usage
        found = summarise(run_from_json(json.loads(json.dumps(value)), "r.json", toolset), [core], toolset)
        return list(found.warnings)

    return lines


@pytest.mark.parametrize("reply, header, start, cause", [
    (SILENT, {}, "only 0.0% of the answered rows could be read (no_call 40)", "compare with --mode native"),
    (SILENT, {"mode": "native"}, "only 0.0% of the answered rows", "the chat template renders no tools"),
    (GARBLED, {}, "only 0.0% of the answered rows could be read (malformed_call 40)", "wrong mode or chat template"),
    (GARBLED, {"mode": "native"}, "only 0.0% of the answered rows", "the server's tool parser or chat template"),
    (CUT, {}, "only 0.0% of the answered rows could be read (truncated 40)", "the token budget, see there"),
    (CUT, {}, "100.0% of the answered rows were cut by the token budget: budget-limited, no rank",
     "the token budget of 160: raise --max-tokens"),
    (LOOP, {}, "100.0% of the answered rows were cut", "40 of the 40 cut replies repeat themselves until"),
    (SILENT, {}, "every row has the outcome no_call", "compare with --mode native"),
    (GARBLED, {}, "every row has the outcome malformed_call", "wrong mode or chat template"),
    (THOUGHT_AWAY, {}, "40 replies cut inside reasoning: raise --max-tokens (it was 160)", "switch reasoning off"),
])
def test_an_odd_number_comes_with_its_likely_cause(caveats, reply, header, start, cause):
    lines = [line for line in caveats(reply, **header) if line.startswith(start)]
    assert len(lines) == 1 and cause in lines[0]


@pytest.mark.parametrize("mode, wrap, cause", [
    ("prompt", "<tool_call>{}</tool_call>", "writes calls in a format of its own, compare with --mode native"),
    ("prompt", "a comma too many", "the JSON has small faults"),
    ("native", "<tool_call>{}</tool_call>", "the server's tool parser: calls arrive as text"),
])
def test_recovered_calls_name_the_rule_and_the_cause(caveats, answer, mode, wrap, cause):
    lines = caveats(lambda t: Reply.from_text(
        wrap.format(answer(t)) if "{}" in wrap else f"{answer(t)[:-1]},}}"), mode=mode)
    line = next(line for line in lines if "recovery rule" in line)
    assert line.startswith("40 of 40 readable calls needed a recovery rule (") and cause in line
    assert any(line.startswith("every row has the outcome ok_recovered") for line in lines)


@pytest.mark.parametrize("outcome, sub, cause", [
    ("auth_error", None, "the key is missing, wrong"),
    ("context_overflow", None, "context is shorter than the prompt"),
    ("infra_error", "timeout", "raise --timeout or lower --concurrency"),
    ("empty_reply", None, "template or tool parser swallows replies"),
    ("not_run", None, "the run ended early"),
])
def test_failures_name_their_cause_and_what_to_do(caveats, answer, outcome, sub, cause):
    lines = caveats(lambda t: Score.failure(outcome, "weg", sub) if t.category == "routing_named"
                    else Reply.from_text(answer(t)))
    assert lines[0].startswith(f"4 of 40 rows are failures without an answer, which strict numbers count as not solved "
                               f"(4 {outcome}, likely cause: ")
    assert cause in lines[0] and lines[0].endswith("run_eval.py --resume asks again")


@pytest.mark.parametrize("mode, usage, expected", [
    ("native", {"prompt_tokens": 120}, "the chat template does not render tools"),
    ("native", {"input_tokens": 30, "cache_read_input_tokens": 90}, "the chat template does not render tools"),
    ("prompt", {"prompt_tokens": 900}, "the server cuts long prompts"),
    ("native", {"input_tokens": 3, "cache_read_input_tokens": 3000}, None),
    ("native", {"prompt_tokens": 2000}, None),
    ("native", {}, None),
    ("native", None, None),
    ("native", {"prompt_tokens": "120"}, None),
])
def test_a_prompt_too_short_for_the_tools_is_said_first(caveats, mode, usage, expected):
    lines = caveats(SILENT, usage, mode=mode)
    if expected is None:
        assert not any("prompt tokens" in line for line in lines)
    else:
        assert lines[0].startswith("the endpoint counted at most") and expected in lines[0]
        assert "likely cause: the tools were not in the prompt" in lines[1]


def test_tools_of_another_run_say_nothing_about_its_prompt(caveats):
    hashes = dict.fromkeys(("tasks", "tools", "prompt"), "0" * 64)
    assert not any("prompt tokens" in line for line in caveats(SILENT, {"prompt_tokens": 5}, hashes=hashes))


@pytest.mark.parametrize("cut, expected", [(1, False), (2, True)], ids=["1 of 80 is 1.25 %", "2 of 80 are 2.5 %"])
def test_up_to_two_per_cent_may_be_truncated(caveats, answer, cut, expected):
    replies = iter([CUT] * cut + [None] * 80)
    lines = caveats(lambda t: next(replies) or Reply.from_text(answer(t)), repeats=2)
    assert any("budget-limited" in line for line in lines) is expected


def test_half_read_is_enough_and_a_fifth_recovered_too(caveats, answer, demo_tasks):
    order = {t.task_id: n for n, t in enumerate(demo_tasks)}
    half = caveats(lambda t: SILENT if order[t.task_id] % 2 else Reply.from_text(answer(t)))
    fifth = caveats(lambda t: Reply.from_text(answer(t) if order[t.task_id] % 5 else
                                              f"<tool_call>{answer(t)}</tool_call>"))
    assert half == fifth == []


def test_a_good_run_has_no_warning_and_a_baseline_may_be_odd(caveats, answer):
    assert caveats(lambda t: SILENT if t.category == "routing_named" else Reply.from_text(answer(t))) == []
    assert caveats(SILENT, backend="baseline", model="never_calls") == []


@pytest.mark.parametrize("header, start", [
    ({"complete": False}, "the run is incomplete: run_eval.py --resume goes on"),
    ({"scorer_version": "0.1"}, "scored by version 0.1, this report's scorer is "),
])
def test_a_run_that_is_not_like_the_others_is_said(caveats, answer, header, start):
    assert caveats(lambda t: Reply.from_text(answer(t)), **header)[0].startswith(start)


@pytest.mark.parametrize("told, said, why", [
    ({}, None, "all is well"),
    ({"calls_made": 0}, "no play holds a call; likely cause: the chat template renders no tools", "native, and silent"),
    ({"outcome": "no_answer", "task_success": False, "answer_match": False, "answer": None, "answer_in_prose": True},
     "39 of 39 plays end without the answer object that the prompt asks for, 39 of them with the right value in prose",
     "the form is not kept"),
    ({"stop_reason": "truncated"}, "100.0% of the answered rows were cut by the token budget", "cut"),
    ({"parsed": False}, "only 0.0% of the answered rows could be read", "garbled"),
])
def test_what_serving_may_have_done_to_plays(told, said, why) -> None:
    change = {key: {**chain_runs.right(one), **told} for key, one in chain_runs.BY_ID.items()}
    warnings = " | ".join(chain_runs.summary(change if told else {}).warnings)
    assert (said or "every row has the outcome ok") in warnings, why
    program = chain_runs.summary(change, backend="baseline", setup="a program").warnings
    assert not [line for line in program if said and said[:30] in line], "a program's habits are no news"
