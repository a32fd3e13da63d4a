"""What goes back to a model: its own message, with ids, names and arguments that its API accepts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infranode_eval.providers import anthropic, gemini, openai_chat, responses
from infranode_eval.providers.echo import UNREADABLE, EchoCall, echo_calls, echo_text, unique_ids

KOELN = {"slug": "koeln"}
CALL = EchoCall("c1", "weather", KOELN)


def chat(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def function(arguments: Any = '{"slug": "koeln"}', name: str = "weather", **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


@pytest.mark.parametrize(("ids", "expected", "why"), [
    (["a", "b"], ["a", "b"], "good ids stay"),
    ([None, "b"], ["call_3_0", "b"], "a missing one is made"),
    (["a", "a", "a"], ["a", "call_3_1", "call_3_2"], "a repeated one cannot be told apart"),
    (["call_3_1", None], ["call_3_1", "call_3_3"], "one that the model uses itself is not made again"),
    ([None, "call_3_0"], ["call_3_2", "call_3_0"], "nor one that it uses further on"),
    (["früher", "b"], ["call_3_0", "b"], "some APIs refuse an id of an earlier reply"),
    ([], [], "no call"),
])
def test_every_call_has_an_id_of_its_own(ids: list[str | None], expected: list[str], why: str) -> None:
    taken = {"früher"}
    assert unique_ids(ids, 3, taken) == expected, why
    assert taken == {"früher", *expected}


@pytest.mark.parametrize(("message", "expected", "why"), [
    (chat(function()), chat(function()), "as it came"),
    (chat(function(), refusal=None, annotations=[], audio=None), chat(function()), "what only a reply may hold"),
    (chat(function(), reasoning_content="Hm."), chat(function(), reasoning_content="Hm."),
     "thoughts beside calls are wanted back by servers that think between calls"),
    (chat(function(KOELN)), chat(function('{"slug": "koeln"}')), "arguments as an object become text"),
    (chat(function('{"slug": "koeln"')), chat(function('{"slug": "koeln"}')), "arguments that are no JSON, as read"),
    (chat(function("")), chat(function('{"slug": "koeln"}')), "empty arguments are no JSON"),
    (chat(function(name="functions.weather")), chat(function()), "a leaked prefix would be refused"),
    (chat(function(index=0, extra_content={"google": {"thought_signature": "x"}})),
     chat(function(extra_content={"google": {"thought_signature": "x"}})), "signatures of a gateway stay"),
    ({"role": "assistant", "content": "", "function_call": {"name": "weather", "arguments": "{}"}},
     chat(function()), "the older spelling becomes an entry"),
    (chat({"type": "function"}, function()), chat(function()), "an entry without a function is no call"),
])
def test_a_chat_message_with_calls(message: dict[str, Any], expected: dict[str, Any], why: str) -> None:
    echo = echo_calls(message, [CALL])
    assert echo == expected, why
    assert openai_chat.piece_of(echo).values == (echo,)


def test_calls_in_two_shapes_at_once_go_back_in_one() -> None:
    block = {"type": "tool_use", "id": "c2", "name": "weather", "input": KOELN}
    echo = echo_calls(chat(function(), content=[{"type": "text", "text": "Hm"}, block]),
                      [CALL, EchoCall("c2", "weather", KOELN)])
    assert echo["content"] == [{"type": "text", "text": "Hm"}]
    assert [call["id"] for call in echo["tool_calls"]] == ["c1", "c2"]


def test_halves_of_surrogate_pairs_do_not_go_back() -> None:
    echo = echo_calls(chat(function('{"slug": "a\ud800"}'), content="b\ud800"), [CALL])
    assert (echo["content"], echo["tool_calls"][0]["function"]["arguments"]) == ("b\ufffd", '{"slug": "a\ufffd"}')
    assert echo_text({}, "c\udfff")["content"] == "c\ufffd"


def test_a_name_that_no_api_accepts_is_made_harmless() -> None:
    echo = echo_calls(chat(function(name="wetter in köln?!"), function(name="")),
                      [EchoCall("a", "wetter in köln?!", {}), EchoCall("b", "", {})])
    assert [c["function"]["name"] for c in echo["tool_calls"]] == ["wetter_in_k_ln__", "unlesbar"]


THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}


def test_anthropic_blocks_go_back_with_signed_thoughts_and_without_blank_text() -> None:
    message = {"role": "assistant", "content": [THINKING, {"type": "text", "text": " "},
                                                {"type": "tool_use", "id": None, "name": "weather", "input": "kaputt"}]}
    echo = echo_calls(message, [CALL])
    assert echo["content"] == [THINKING, {"type": "tool_use", "id": "c1", "name": "weather", "input": KOELN}]
    assert list(anthropic.piece_of(echo).values) == echo["content"]


def test_gemini_parts_keep_their_signatures_and_have_an_id_only_where_the_api_gave_one() -> None:
    signed = {"functionCall": {"name": "weather", "args": KOELN}, "thoughtSignature": "Cp8B"}
    echo = echo_calls({"role": "model", "parts": [signed]}, [EchoCall("call_0_0", "weather", KOELN)])
    assert echo["parts"] == [signed]
    given = {"functionCall": {"name": "weather", "args": KOELN, "id": "f1"}}
    assert echo_calls({"role": "model", "parts": [given]}, [EchoCall("f1", "weather", KOELN)])["parts"] == [given]
    results = [{"role": "tool", "tool_call_id": i, "name": "weather", "content": "{}"} for i in ("call_0_0", "f1")]
    assert [gemini.piece_of(result).values[0]["functionResponse"] for result in results] == [
        {"name": "weather", "response": {}}, {"name": "weather", "response": {}, "id": "f1"}]


def test_response_items_go_back_with_their_reasoning() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA", "summary": []}
    item = {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "weather", "arguments": '{"slug": "koeln"}'}
    echo = echo_calls({"role": "assistant", "output": [reasoning, item]}, [CALL])
    assert list(responses.piece_of(echo).values) == [reasoning, item]


@pytest.mark.parametrize(("message", "text", "expected", "why"), [
    ({"role": "assistant", "content": "<think>a</think>Hallo"}, "Hallo", {"role": "assistant", "content": "Hallo"},
     "closed reasoning does not go back"),
    ({"role": "assistant", "content": "Hallo", "reasoning_content": "a"}, "Hallo",
     {"role": "assistant", "content": "Hallo"}, "nor does an unsigned field of it"),
    ({"role": "assistant", "content": ""}, "", {"role": "assistant", "content": UNREADABLE}, "never empty"),
    ({"role": "assistant", "content": [THINKING]}, "", {"role": "assistant", "content": UNREADABLE}, "never blank"),
    ({"role": "assistant", "content": [THINKING, {"type": "text", "text": "Hallo"}]}, "Hallo",
     {"role": "assistant", "content": [THINKING, {"type": "text", "text": "Hallo"}]}, "signed blocks as they came"),
    ({"role": "model", "parts": [{"text": "Hallo", "thoughtSignature": "x"}]}, "Hallo",
     {"role": "model", "parts": [{"text": "Hallo", "thoughtSignature": "x"}]}, "signed parts as they came"),
    ({"role": "model", "parts": [{"text": "Hallo"}, {"functionCall": "x"}], "tool_calls": [{"id": "a"}]}, "Hallo",
     {"role": "model", "parts": [{"text": "Hallo"}]}, "what would wait for a result stays here"),
    ({"role": "model", "parts": []}, "", {"role": "assistant", "content": UNREADABLE}, "no parts"),
    ({"role": "assistant", "content": None, "tool_calls": [{"function": {"name": 7}}]}, "",
     {"role": "assistant", "content": UNREADABLE}, "an entry that is none would need an answer"),
])
def test_a_message_without_calls(message: dict[str, Any], text: str, expected: dict[str, Any], why: str) -> None:
    assert echo_text(message, text) == expected, why
    assert json.dumps(echo_text(message, text))
