"""The scripted provider plays its lines in order, or by what is asked."""

from __future__ import annotations

import pytest

from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from lm_eval_task.errors import InfraError

ASKED = [{"role": "user", "content": "a"}]
SAMPLING = Sampling(10)


def test_lines_come_in_order_and_requests_are_kept() -> None:
    answer = Answer({"content": "c"}, "length")
    provider = ScriptedProvider(["a", {"content": "b"}, answer, InfraError("x")])
    assert provider.ask(ASKED, None, SAMPLING) == Answer({"role": "assistant", "content": "a"}, "stop")
    assert provider.ask(ASKED, None, SAMPLING) == Answer({"content": "b"}, "stop")
    assert provider.ask(ASKED, None, SAMPLING) is answer
    with pytest.raises(InfraError):
        provider.ask(ASKED, None, SAMPLING)
    with pytest.raises(AssertionError, match="no line for request 5"):
        provider.ask(ASKED, None, SAMPLING)
    assert provider.requests == [(ASKED, None, SAMPLING)] * 5


def test_a_function_answers_by_what_is_asked() -> None:
    provider = ScriptedProvider(lambda messages: messages[-1]["content"] * 2)
    assert provider.ask(ASKED, None, SAMPLING).message["content"] == "aa"
