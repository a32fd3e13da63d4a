"""Server-sent events: their framing, and chat completions in pieces, as different servers cut them."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.providers.event_stream import completion_of, events_of, values_of
from lm_eval_task.errors import InfraError
from tests.stub_endpoint import chunk, event_stream

FRAMES = [
    (b"data: a\n\ndata: b\n\n", ["a", "b"], "plain"),
    (b"data:a\n\n", ["a"], "without a blank"),
    (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"], "CRLF"),
    (b": ping\n\ndata: a\n\n", ["a"], "a comment keeps the line open"),
    (b"event: x\nid: 1\ndata: a\n\n", ["a"], "other fields"),
    (b"data: a\ndata: b\n\n", ["a\nb"], "several lines are one value"),
    (b"data: a", ["a"], "no blank line at the end"),
    (b"\xef\xbb\xbfdata: a\n\n", ["a"], "a byte order mark"),
    ("data: Köln\n\n".encode(), ["Köln"], "UTF-8"),
    ("data: a\u2028b\n\n".encode(), ["a\u2028b"], "a line separator is no line end here"),
    (b"", [], "nothing"),
]


@pytest.mark.parametrize(("body", "expected", "reason"), FRAMES)
def test_framing(body: bytes, expected: list[str], reason: str) -> None:
    assert list(events_of(body)) == expected, reason


def call(index: int | None, name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [({} if index is None else {"index": index}) | {"function": function} | more]}


def entry(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}} | more


MESSAGES = [
    ([chunk(content="a"), chunk("stop", content="b")], {"content": "ab"}, "text"),
    ([chunk(content=None), chunk("stop", reasoning="x"), chunk(reasoning="y")], {"content": None, "reasoning": "xy"},
     "thoughts alone"),
    ([chunk(**call(0, "f", '{"a"', id="c")), chunk("tool_calls", **call(0, None, ": 1}"))],
     {"content": None, "tool_calls": [entry("f", '{"a": 1}', id="c")]}, "arguments in pieces"),
    ([chunk(**call(0, "f", "{}")), chunk("tool_calls", **call(1, "g", "{}"))],
     {"content": None, "tool_calls": [entry("f", "{}"), entry("g", "{}")]}, "two calls"),
    ([chunk(**call(0, "f", "{")), chunk(**call(1, "g", "{")), chunk("tool_calls", **call(0, None, "}")),
      chunk(**call(1, None, "}"))], {"content": None, "tool_calls": [entry("f", "{}"), entry("g", "{}")]},
     "two calls side by side"),
    ([chunk(**call(None, "f", "{")), chunk(**call(None, None, "}")), chunk("tool_calls", **call(None, "g", "{}"))],
     {"content": None, "tool_calls": [entry("f", "{}"), entry("g", "{}")]}, "without indices"),
    ([chunk(**call(3, "f", "{")), chunk("tool_calls", **call(3, "f", "}"))],
     {"content": None, "tool_calls": [entry("f", "{}")]}, "the name in every piece, an index that starts at 3"),
    ([chunk("tool_calls", **call(0, "f", {"a": 1}))], {"content": None, "tool_calls": [entry("f", {"a": 1})]},
     "arguments as an object"),
    ([chunk(function_call={"name": "f", "arguments": "{"}), chunk("stop", function_call={"arguments": "}"})],
     {"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "legacy"),
    ([{"choices": [{"message": {"role": "assistant", "content": "ganz"}, "finish_reason": "stop"}]}],
     {"content": "ganz"}, "a whole message in one piece"),
    ([chunk(content="a"), {"choices": [{"index": 1, "delta": {"content": "other"}}]}, chunk("stop")],
     {"content": "a"}, "another choice"),
    ([{"choices": []}, {"usage": None}, chunk("stop", content="a")], {"content": "a"}, "pieces without a choice"),
]


@pytest.mark.parametrize(("chunks", "expected", "reason"), MESSAGES, ids=[m[2] for m in MESSAGES])
def test_pieces_add_up(chunks: list[dict[str, Any]], expected: dict[str, Any], reason: str) -> None:
    body = completion_of(*values_of(event_stream(*chunks)))
    assert body["choices"][0]["message"] == {"role": "assistant", **expected}, reason


def test_the_end_is_a_finish_reason_or_done() -> None:
    assert completion_of([chunk("stop", content="a")], False)["choices"][0]["finish_reason"] == "stop"
    assert completion_of([chunk(content="a")], True)["choices"][0]["finish_reason"] is None
    with pytest.raises(InfraError, match="ended before"):
        completion_of([chunk(content="a")], False)


@pytest.mark.parametrize("chunks", [[chunk(content="a"), {"error": {"message": "x"}}],
                                    [{"choices": [{"index": 0, "error": {"message": "x"}}]}]])
def test_an_error_in_the_middle_is_the_bodys(chunks: list[dict[str, Any]]) -> None:
    assert completion_of(chunks, True) == {"error": {"message": "x"}}


def test_what_comes_behind_done_is_not_read() -> None:
    assert values_of(event_stream({"a": 1}) + b"data: kaputt\n\n") == ([{"a": 1}], True)
