"""Replies made to hurt: no exception, no quadratic time, in text, in reasoning and in native arguments."""

import json
import random
import time

import pytest

from lm_eval_task.metrics import score_reply
from lm_eval_task.records import FAILURES, Call, Reply, Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
TASK = Task("t", "Wie ist das Wetter in Köln?", (Call("weather", {"slug": "koeln"}),),
            extra={"datum": ["weather.temperature_c"]})
SIZE = 100_000          # characters
LIMIT_S = 1.0           # a reading takes 5 to 50 ms; quadratic ones took 5 to 60 s on texts of this size

HEADS = {               # name: (what stands once, what is repeated, what ends it)
    "harmony, then no message": ("<|channel|>analysis<|message|>x<|end|>", "a", ""),
    "harmony pairs": ("", "<|channel|>analysis<|message|>x<|end|>", ""),
    "harmony messages": ("", "<|message|>", ""), "harmony channels": ("", "<|channel|>", ""),
    "escaped quotes": ("", '\\"', ""), "open objects": ("", '{"', ""), "nested objects": ("", '{"a":', ""),
    "nested lists": ("", "[", ""), "nested and closed": ("", "[", "]" * 50_000), "names": ("", '{"name', ""),
    "single quotes": ("", "{'", ""), "escapes in single quotes": ("{'a':'", "\\'", ""),
    "fences": ("", "```", ""), "a fence of blanks": ("```", " ", "x"), "blanks": ("", " ", ""),
    "blanks inside": ("x", " ", "x"), "tabs and newlines": ("", "\t\n", ""), "a bracket and blanks": ("[", " ", "w"),
    "brackets": ("", "[ ", "{"), "objects in a row": ("", '{"name":"weather","arguments":{"slug":"koeln"}} ', ""),
    "thoughts": ("", "<think>", ""), "ends of thoughts": ("", "</think>", ""),
    "thoughts in JSON": ('{"a":"', "<think>", '"}'), "a thought over tags": ("<think>", "[TOOL_CALLS] {", ""),
    "JSON with thoughts": ("", '<tool_call>{"a":"<think>"} ', "</think>"),
    "actions": ("", "Action: weather\n", ""), "foreign actions": ("", "Action: x\n", ""),
    "an action of blanks": ("Action: ", " ", ""), "tool calls": ("", '<tool_call>{"name":"weather","arguments":{}}'
                                                                     "</tool_call>", ""),
    "closers in a value": ("<tool_call><function=weather><parameter=slug>", "</parameter>x", ""),
    "closers in a pair": ("<tool_call>weather<arg_key>slug</arg_key><arg_value>", "</arg_value>x", ""),
    "digits": ('{"name":"weather","arguments":{"slug":', "9", "}}"), "Mistral and blanks": ("[TOOL_CALLS]a", " ", "x"),
    "Kimi and blanks": ("<|tool_call_begin|>functions.a", " ", "<|tool_call_argument_begin|>"),
    "an open Python string": ('[weather(slug="', "a", ""), "DeepSeek": ("", "<｜tool▁call▁begin｜>function", ""),
    "invokes": ("", '<invoke name="', ""), "Gemma": ("", "<|tool_call>call:", ""),
    "Gemma, nested": ("<|tool_call>call:weather{a:", "{a:", ""), "MiniMax": ("", "]<]minimax[>[", ""),
    "end tokens": ("", "<|eot_id|> ", "x"), "requests": ("", "bitte ", ""),
    "JSON and openers": ("", '{"a":"<tool_call>"} ', ""),
    "NUL": ("", "\0", ""), "lone surrogates": ("", "\ud800", ""), "bidi marks": ("", "\u202e", ""),
    "terminal escapes": ("", "\x1b[2J", ""), "NaN": ("", "[NaN]", ""),
}


def text_of(name, size=SIZE):
    once, repeated, end = HEADS[name]
    return once + repeated * ((size - len(once) - len(end)) // len(repeated)) + end


def messages_of(text):
    arguments = {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "weather", "arguments": text}}]}
    return {"text": {"role": "assistant", "content": text}, "arguments": arguments,
            "reasoning": {"role": "assistant", "content": "", "reasoning_content": text}}


@pytest.mark.parametrize("name", HEADS)
def test_repetition_costs_linear_time(name):
    for place, message in messages_of(text_of(name)).items():
        for mode in ("prompt", "native"):
            start = time.thread_time()      # of this thread: others that a test left behind are not the reader's
            score = score_reply(TASK, Reply(message, "stop"), TOOLS, mode)
            assert time.thread_time() - start < LIMIT_S, (place, mode)
            assert not score.call_match or name == "objects in a row", (place, mode)


@pytest.mark.parametrize("name", ["nested objects", "escaped quotes", "blanks inside", "tool calls", "thoughts"])
def test_ten_megabytes(name):
    start = time.process_time()
    score_reply(TASK, Reply.from_text(text_of(name, 10_000_000)), TOOLS)
    assert time.process_time() - start < 30


PIECES = (
    '{"name": "weather", "arguments": {"slug": "koeln"}}', '<tool_call>', '</tool_call>', '[TOOL_CALLS]', '[ARGS]',
    '<think>', '</think>', '```json', '```', '{', '}', '[', ']', '"', "'", '\\', ',', ':', 'name', 'arguments',
    'weather', 'koeln', 'null', 'True', '1e999', '-0', '<function=', '<parameter=', '<|channel|>', '<|message|>',
    'to=functions.', '<｜DSML｜invoke name="', '<invoke name="', 'call:', '<|"|>', 'Action: weather\n',
    'Action Input: ', '\n', ' ', 'ä', '\x00', '\ud83d', '\u202e', '\x1b[31m', '(', ')', '=', '<arg_key>',
    '</arg_key>', '<arg_value>',
)


def test_random_pieces_never_raise_and_every_verdict_is_consistent():
    draw = random.Random(4711)
    for _ in range(6_000):
        text = "".join(draw.choice(PIECES) for _ in range(draw.randint(0, 40)))
        message = draw.choice(list(messages_of(text).values()))
        finish = draw.choice(("stop", "length", None, "tool_calls", "content_filter", "MALFORMED_FUNCTION_CALL", 7))
        score = score_reply(TASK, Reply(message, finish), TOOLS, draw.choice(("prompt", "native")))
        if score.failed:
            assert score.outcome in FAILURES
        else:
            assert (score.outcome in ("ok", "ok_recovered")) == score.call_match
            assert not score.call_match or (score.tool_match and score.args_match and score.parsed)
            assert score.call_match <= score.request_match and score.call_match <= score.lenient_call_match
            assert score.request_match <= score.datum_match


@pytest.mark.parametrize("value", ["\ud83d", "koeln,\ud83d", "koeln\udfff", "\x00", "%", "ＫＯＥＬＮ", "\u212aoeln",
                                   ["koeln"], {"a": 1}, 5, None, True, "koeln" * 10_000])
def test_arguments_of_any_kind_never_raise(value):
    calls = [{"name": "get_city_resource", "arguments": {"slug": value, "resource": "weather"}},
             {"name": "get_city_overview", "arguments": {"slug": value}},
             {"name": "compare", "arguments": {"resource": "weather", "cities": value}},
             {"name": "compare", "arguments": {"resource": value, "cities": "koeln"}},
             {"name": "get_city_resource", "arguments": {"slug": "koeln", "resource": value}}]
    for call in calls:
        for message in ({"role": "assistant", "content": json.dumps(call)},
                        {"role": "assistant", "tool_calls": [{"type": "function", "function": call}]}):
            score = score_reply(TASK, Reply(message, "stop"), TOOLS, "native" if "tool_calls" in message else "prompt")
            assert not score.request_match and not score.datum_match, call


FIELDS = ("role", "content", "tool_calls", "function_call", "parts", "output", "refusal", "reasoning",
          "reasoning_content", "thinking", "reasoning_details")


def test_random_bytes_and_shapes_never_raise():
    draw = random.Random(815)
    values = [None, 0, 1.5, True, "x", [], {}, [None], {"name": None}, {"function": {}}, {"type": "tool_use"}, ["x"],
              {"text": 5}]
    for _ in range(3_000):
        message = {key: draw.choice(values) if draw.random() < .7 else draw.randbytes(20).decode("latin-1")
                   for key in draw.sample(FIELDS, 4)}
        score_reply(TASK, Reply(message, "stop"), TOOLS, draw.choice(("prompt", "native")))
