"""What a run of the suite will take: its plays gone through with their golds, every request counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.budget import Forecast
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.protocol import Answer, Messages, Provider, Sampling, Tools
from lm_eval_task.records import Call, canonical_json

Playing = Callable[[ChainTask, Provider], Any]


class _Rehearsal:
    """Answers with the golds, one call a turn, and counts what it is asked."""

    deterministic = True
    setup: str | None = None

    def __init__(self, task: ChainTask, count: Callable[[str], int], tools_tokens: int) -> None:
        self._calls, self._count, self._tools_tokens = list(task.expected), count, tools_tokens
        self._answer = task.expectation["answer"]
        self.prompts: list[int] = []
        self.replies = 0

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        told = messages if isinstance(messages, Conversation) else Conversation(messages)
        sizes = told.made("forecast", lambda message: self._count(_text(message)))
        self.prompts.append(sum(sizes) + (self._tools_tokens if tools is not None else 0))
        number = len(self.prompts) - 1
        message = _called(self._calls[number], tools is not None) if number < len(self._calls) else \
            {"role": "assistant", "content": _final(self._answer)}
        self.replies += self._count(_text(message))
        return Answer(message, "stop")

    def close(self) -> None:
        pass


def _text(message: Mapping[str, Any]) -> str:
    """What a server makes tokens of: the text, and calls as they are sent."""
    calls = message.get("tool_calls")
    return (message.get("content") or "") + (canonical_json(calls) if calls else "")


def _called(call: Call, native: bool) -> dict[str, Any]:
    if not native:
        return {"role": "assistant", "content": json.dumps(call.to_json(), ensure_ascii=False)}
    function = {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "call_0", "type": "function",
                                                                  "function": function}]}


def _final(answer: Mapping[str, Any]) -> str:
    reason = answer["reasons"][0] if answer["type"] == "none" else None
    return canonical_json({"antwort": answer["value"], "einheit": answer.get("unit"), "grund": reason,
                           "alternative": None, "quelle": None})


def forecast_of(tasks: Iterable[ChainTask], play: Playing, tools_json: Sequence[Mapping[str, Any]],
                count: Callable[[str], int], max_tokens: int) -> Forecast:
    """Requests and tokens of plays that follow the golds. count: tokens of a text. play: as the suite's."""
    tools_tokens = count(canonical_json(list(tools_json)))
    requests = told = cached = replies = longest = 0
    for task in tasks:
        rehearsal = _Rehearsal(task, count, tools_tokens)
        play(task, rehearsal)
        requests += len(rehearsal.prompts)
        told += sum(rehearsal.prompts)
        cached += sum(rehearsal.prompts[:-1])
        replies += rehearsal.replies
        longest = max(longest, rehearsal.prompts[-1])
    return Forecast(requests, told, cached, replies, requests * max_tokens, longest + max_tokens)
