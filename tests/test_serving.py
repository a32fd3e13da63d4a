"""What rows tell about serving: recovered readings, budgets spent on reasoning, the length of prompts."""

from __future__ import annotations

import json

import pytest

from infranode_eval.serving import (
    budget_note,
    cut_in_reasoning,
    cut_repeating,
    least_prompt_tokens,
    lost_prompt,
    prompt_tokens,
    reasoning_tokens,
    was_recovered,
)
from lm_eval_task.metrics import score_reply
from lm_eval_task.records import Call, Reply, Task

TASK = Task("t", "Wie ist das Wetter in Ulm?", (Call("weather", {"slug": "ulm"}),))
RIGHT = '{"name": "weather", "arguments": {"slug": "ulm"}}'
WRONG = RIGHT.replace("ulm", "bonn")


def native(arguments):
    return Reply({"role": "assistant", "content": None, "tool_calls": [
        {"type": "function", "function": {"name": "weather", "arguments": arguments}}]}, "tool_calls")


@pytest.mark.parametrize("reply, mode, recovered, why", [
    (Reply.from_text(RIGHT), "prompt", False, "right and direct"),
    (Reply.from_text(f"<tool_call>{RIGHT}</tool_call>"), "prompt", True, "right, by a special-token format"),
    (Reply.from_text(WRONG), "prompt", False, "wrong and direct"),
    (Reply.from_text(f"Gern:\n```json\n{WRONG}\n```"), "prompt", False, "notes about the form are no recovery"),
    (Reply.from_text(f"<tool_call>{WRONG}</tool_call>"), "prompt", True, "wrong calls are recovered, too"),
    (Reply.from_text(WRONG), "native", True, "text where a native call was due"),
    (native('{"slug": "bonn"}'), "native", False, "native as it should be"),
    (native("{'slug': 'bonn'}"), "native", True, "native arguments that needed a repair"),
    (Reply.from_text("Nein."), "prompt", None, "no call, nothing recovered"),
    (Reply.from_text(WRONG[:-3]), "prompt", None, "not readable"),
    (Reply.from_text(""), "prompt", None, "no answer"),
])
def test_recovered_is_what_the_reading_says(toolset, reply, mode, recovered, why):
    score = score_reply(TASK, reply, toolset, mode)
    assert was_recovered(score, reply, mode, toolset) is recovered, why


def test_without_the_tools_a_wrong_call_with_labels_stays_unknown(toolset):
    reply = Reply.from_text(f"<tool_call>{WRONG}</tool_call>")
    score = score_reply(TASK, reply, toolset, "prompt")
    assert was_recovered(score, reply, "prompt", None) is None
    assert was_recovered(score, None, "prompt", toolset) is None


@pytest.mark.parametrize("message, finish, usage, cut, why", [
    ({"content": "", "reasoning_content": "Hm"}, "length", None, True, "a reasoning field"),
    ({"content": "<think>Hm"}, "length", None, True, "an unclosed block"),
    ({"content": "<think>Hm"}, "stop", None, True, "a block that never closes is cut, whatever the server says"),
    ({"content": "<think>Hm</think>Also"}, "length", None, True, "the budget went into a closed block"),
    ({"content": "Also"}, "length", {"completion_tokens_details": {"reasoning_tokens": 150}}, True, "counted (OpenAI)"),
    ({"content": "Also"}, "MAX_TOKENS", {"thoughtsTokenCount": 150}, True, "counted (Gemini)"),
    ({"content": "Also"}, "length", {"completion_tokens_details": {"reasoning_tokens": 0}}, False, "no reasoning"),
    ({"content": "Also"}, "length", {"completion_tokens_details": None}, False, "details may be null"),
    ({"content": "", "reasoning_content": "Hm"}, "stop", None, False, "not cut: a thought and nothing else"),
    ({"content": RIGHT, "reasoning_content": "Hm"}, "length", None, False, "the call was complete"),
])
def test_a_budget_spent_on_reasoning(toolset, message, finish, usage, cut, why):
    score = score_reply(TASK, Reply(message, finish), toolset, "prompt")
    assert cut_in_reasoning(score, message, usage) is cut, why


@pytest.mark.parametrize("text, finish, repeats, why", [
    ("Die Antwort:" + "\n\nA:" * 30, "length", True, "a short loop"),
    ("Also: " + "Das Wetter in Köln ist schön und morgen auch noch. " * 3, "length", True, "a sentence, three times"),
    ("Also: " + "Das Wetter in Köln ist schön und morgen auch noch. " * 2, "length", False, "twice is no loop"),
    ("Also: " + ("-" * 20 + " gut " + "-" * 20 + " schlecht ") * 3, "length", True, "a loop in the loop"),
    ("a" * 45, "length", True, "one character"),
    ("a" * 44, "length", False, "short texts repeat by chance"),
    (" ".join(map(str, range(100))), "length", False, "alike, but not the same"),
    ("A: " * 50, "stop", False, "not cut"),
    ("", "length", False, "nothing"),
])
def test_a_budget_that_ends_in_a_loop(toolset, text, finish, repeats, why):
    score = score_reply(TASK, Reply.from_text(text, finish), toolset, "prompt")
    assert cut_repeating(score, {"content": text}) is repeats, why


@pytest.mark.parametrize("usage, tokens", [
    ({"prompt_tokens": 9, "completion_tokens": 1}, 9),
    ({"input_tokens": 2, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4}, 9),
    ({"promptTokenCount": 9}, 9),
    ({"prompt_eval_count": 9}, 9),
    ({"prompt_tokens": None, "input_tokens": "x"}, None),
    ({"prompt_tokens": True}, None),
    ({}, None),
    (None, None),
    ([9], None),
])
def test_prompt_tokens_in_the_words_of_every_endpoint(usage, tokens):
    assert prompt_tokens(usage) == tokens
    assert reasoning_tokens(usage) == 0


@pytest.mark.parametrize("mode", ["prompt", "native"])
def test_the_least_prompt_is_below_what_tokenizers_count(toolset, mode):
    """llama.cpp counts 3,436 tokens for a prompted question of SmolLM2; the densest tokenizers need about 2,400."""
    least = least_prompt_tokens(mode, toolset)
    assert 2000 < least < 2600
    assert lost_prompt(mode, toolset, [100, None, least // 2 - 9]) == (least // 2 - 9, least)
    assert lost_prompt(mode, toolset, [100, least // 2 + 9]) is None, "the longest decides"
    assert lost_prompt(mode, toolset, [None, None]) is None


@pytest.mark.parametrize("cut, tokens, note", [
    (1, 160, "1 reply cut inside reasoning: raise --max-tokens (it was 160)"),
    (2, None, "2 replies cut inside reasoning: raise --max-tokens"),
])
def test_the_note_says_how_many_and_what_to_do(cut, tokens, note):
    assert budget_note(cut, tokens) == note


def test_replies_of_any_shape_are_no_error(toolset):
    for message in ({}, {"content": 5}, {"content": [None, {"text": 3}]}, {"reasoning": ["x"]}):
        score = score_reply(TASK, Reply(json.loads(json.dumps(message)), "length"), toolset, "prompt")
        assert not cut_repeating(score, message)
        assert cut_in_reasoning(score, message, {"completion_tokens_details": [1]}) is False
