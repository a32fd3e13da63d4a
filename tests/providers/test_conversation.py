"""A conversation: what is made of a message is made once, and its hash is that of the whole list."""

from __future__ import annotations

import random

import pytest

from infranode_eval.journal import request_key
from infranode_eval.providers.conversation import Conversation

MESSAGES = [{"role": "system", "content": "Du bist …"}, {"role": "user", "content": "Köln \ud800?"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]},
            {"role": "tool", "tool_call_id": "a", "content": "{}"}]
SAMPLING = {"temperature": 0.0, "max_tokens": 1024}


def test_each_message_is_made_once_however_often_all_are_asked_for() -> None:
    told = Conversation(MESSAGES[:2])
    seen: list[object] = []
    for message in MESSAGES[2:]:
        told.made("text", lambda m: seen.append(m) or m["role"])
        told.append(message)
    assert told.made("text", lambda m: seen.append(m) or m["role"]) == ["system", "user", "assistant", "tool"]
    assert seen == MESSAGES


def test_two_kinds_do_not_mix() -> None:
    told = Conversation(MESSAGES[:1])
    assert (told.made("role", lambda m: m["role"]), told.made("length", len)) == (["system"], [2])


def test_it_reads_like_the_list() -> None:
    told = Conversation(MESSAGES)
    assert list(told) == MESSAGES and len(told) == 4 and told[-1] == MESSAGES[-1] and told[1:3] == MESSAGES[1:3]


@pytest.mark.parametrize("count", range(len(MESSAGES) + 1))
def test_the_request_key_is_that_of_a_plain_list(count: int) -> None:
    """Journals of both kinds must understand each other."""
    plain = MESSAGES[:count]
    assert request_key("model", Conversation(plain), "t", SAMPLING) == request_key("model", plain, "t", SAMPLING)


def test_the_key_grows_with_the_messages_and_can_be_asked_for_again() -> None:
    rng = random.Random(1)
    told, plain = Conversation(), []
    for number in range(40):
        message = {"role": rng.choice(("user", "assistant")), "content": "x" * rng.randrange(50), "n": number}
        told.append(message)
        plain.append(message)
        for _ in range(rng.randrange(1, 3)):
            tools = rng.choice((None, "abc"))
            assert request_key("model", told, tools, SAMPLING) == request_key("model", plain, tools, SAMPLING)
