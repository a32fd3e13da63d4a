"""The golds as a provider: what a run of the suite will take is counted over plays that follow them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.budget import Forecast
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.forecast import Count, Rehearsal, rehearsed
from infranode_eval.providers.protocol import Answer, Messages, Provider, Sampling, Tools
from lm_eval_task.records import Call, canonical_json

Playing = Callable[[ChainTask, Provider], Any]


class _Golds:
    """Answers with the golds, one call a turn, then with the answer."""

    deterministic = True
    setup: str | None = None

    def __init__(self, task: ChainTask) -> None:
        self._calls, self._answer = list(task.expected), task.expectation["answer"]
        self._asked = 0

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        number, self._asked = self._asked, self._asked + 1
        message = _called(self._calls[number], tools is not None) if number < len(self._calls) else \
            {"role": "assistant", "content": _final(self._answer)}
        return Answer(message, "stop")

    def close(self) -> None:
        pass


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


def forecast_of(tasks: Iterable[ChainTask], play: Playing, tools_json: Sequence[Mapping[str, Any]], count: Count,
                max_tokens: int) -> Forecast:
    """Requests and tokens of plays that follow the golds. play: as the suite's."""
    tools_tokens = count(canonical_json(list(tools_json)))
    plays = ((task, Rehearsal(_Golds(task), count, tools_tokens)) for task in tasks)
    return rehearsed(plays, play, 1, max_tokens)
