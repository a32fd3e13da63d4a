"""What a player has received in a play, read from the messages that it gets, never from the world."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from infranode_eval.chain.opening import NO_MORE_CALLS
from infranode_eval.providers.protocol import Messages

HEADER = "Ergebnis von "        # begins the line above each result that stands in a message of the user's


def results_of(messages: Messages) -> tuple[tuple[Any, ...], ...]:
    """The results of each reply with calls, decoded, in their order; None for one that is cut or no JSON.

    In native mode they are tool messages, in prompted mode lines of a user message under headers that name the calls.
    """
    replies: list[tuple[Any, ...]] = []
    results: list[Any] = []
    for message in messages:
        if message["role"] == "assistant":
            replies.append(tuple(results))
            results = []
        elif message["role"] == "tool":
            results.append(_decoded(message["content"]))
        elif message["role"] == "user":
            results += map(_decoded, _below_headers(message))
    return tuple(turn for turn in (*replies, tuple(results)) if turn)


def is_last(messages: Messages) -> bool:
    """Is this the request for the answer, after which no call is executed?"""
    return messages[-1]["content"] == NO_MORE_CALLS


def _below_headers(message: Mapping[str, Any]) -> Iterator[str]:
    lines = message["content"].split("\n")
    if lines[0].startswith(HEADER):
        yield from (below for above, below in zip(lines, lines[1:], strict=False) if above.startswith(HEADER))


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
