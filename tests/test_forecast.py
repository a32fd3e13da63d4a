"""Plays gone through beforehand: every request counted, by hand here."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.forecast import Rehearsal, rehearsed
from infranode_eval.providers.protocol import Answer, Sampling

SAMPLING = Sampling(max_tokens=100)
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}


class Script:
    """Says the given messages one after another."""

    deterministic, setup = True, None

    def __init__(self, *messages: dict[str, Any]) -> None:
        self._messages, self.closed = list(messages), False

    def ask(self, messages: Any, tools: Any, sampling: Sampling) -> Answer:
        return Answer(self._messages.pop(0), "stop")

    def close(self) -> None:
        self.closed = True


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def play(task: tuple[str, ...], provider: Rehearsal) -> None:
    """A request with tools for every word, then one without."""
    told = [{"role": "user", "content": word} for word in task]
    for number in range(1, len(told) + 1):
        provider.ask(told[:number], ["tool"], SAMPLING)
    provider.ask(told, None, SAMPLING)


@pytest.mark.parametrize(("uncached", "cached"), [(1, 12 + 14), (2, 12)])
def test_every_request_of_every_play_is_counted(uncached: int, cached: int) -> None:
    """Two words of two letters, 10 tokens of tools: prompts of 12 and 14, then 4 without tools; replies 1 + 1 + 3."""
    rehearsal = Rehearsal(Script(said("a"), said("b"), said("abc")), len, 10)
    found = rehearsed([(("aa", "bb"), rehearsal)], play, uncached, max_tokens=100)
    assert rehearsal.prompts == [12, 14, 4] and rehearsal.replies == 5
    assert (found.requests, found.input_tokens, found.cached, found.output_tokens) == (3, 30, cached, 5)
    assert found.most_output == 300 and found.context == 14 + 100


def test_calls_count_as_the_json_that_is_sent() -> None:
    rehearsal = Rehearsal(Script(CALL), len, 0)
    rehearsal.ask([{"role": "user", "content": "x"}], ["tool"], SAMPLING)
    assert rehearsal.replies == len('[{"id":"c"}]')


def test_plays_add_up_and_the_longest_prompt_is_that_of_any_play() -> None:
    plays = [(("aa",), Rehearsal(Script(said("a"), said("a")), len, 1)),
             (("bbbbbb",), Rehearsal(Script(said("a"), said("a")), len, 1))]
    found = rehearsed(plays, play, 1, max_tokens=10)
    assert found.requests == 4 and found.context == 7 + 10


def test_closing_closes_what_is_behind() -> None:
    script = Script()
    Rehearsal(script, len, 0).close()
    assert script.closed
