"""A stored row as the events of inspect_ai's transcript: each request with its reply, each call with its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from inspect_ai.event import ErrorEvent, Event, ModelEvent, ScoreEvent, ToolEvent
from inspect_ai.log import EvalError
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    GenerateConfig,
    ModelOutput,
)
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolInfo

from infranode_eval.inspection.messages import usage_of
from infranode_eval.providers.token_usage import normal_usage

STOP = {"stop": "stop", "length": "max_tokens", "tool_calls": "tool_calls", "content_filter": "content_filter"}


def output_of(message: ChatMessageAssistant | None, model: str, told: Mapping[str, Any]) -> ModelOutput:
    """A reply as inspect keeps it. told: "finish_reason", "usage" in the names of a row, "latency_s"."""
    choices = [ChatCompletionChoice(message=message, stop_reason=STOP.get(told.get("finish_reason"), "unknown"))] \
        if message else []
    return ModelOutput(model=model, choices=choices, usage=usage_of(told.get("usage")), time=told.get("latency_s"))


def events_of(messages: Sequence[ChatMessage], row: Mapping[str, Any], model: str, tools: Sequence[ToolInfo],
              began: datetime, mark: str) -> list[Event]:
    """What happened until the verdict, as late as the replies took together. mark: makes the events' ids."""
    clock, events, told = 0.0, [], _told(row)
    results = {m.tool_call_id: m for m in messages if isinstance(m, ChatMessageTool)}
    for number, message in enumerate(messages):
        if not isinstance(message, ChatMessageAssistant):
            continue
        output, at = output_of(message, model, next(told, {})), began + timedelta(seconds=clock)
        clock += output.time or 0.0
        done = began + timedelta(seconds=clock)
        events.append(ModelEvent(model=model, input=list(messages[:number]), tools=list(tools), tool_choice="auto",
                                 config=GenerateConfig(), output=output, timestamp=at, completed=done,
                                 working_start=clock - (output.time or 0.0), working_time=output.time or 0.0))
        events += [ToolEvent(id=call.id, function=call.function, arguments=call.arguments, result=result.text,
                             message_id=result.id, timestamp=done, completed=done, working_start=clock,
                             working_time=0.0)
                   for call in message.tool_calls or () if (result := results.get(call.id))]
    return [event.model_copy(update={"uuid": f"{mark}-{number}"}) for number, event in enumerate(events)]


def verdict_event(score: Score, target: str | list[str], error: EvalError | None, began: datetime,
                  seconds: float | None, mark: str) -> list[Event]:
    """The end of a transcript: the error of a failure, then the verdict."""
    at = {"timestamp": began + timedelta(seconds=seconds or 0.0), "working_start": seconds or 0.0}
    ended = [ErrorEvent(error=error, uuid=f"{mark}-error", **at)] if error else []
    return [*ended, ScoreEvent(score=score, target=target, uuid=f"{mark}-score", **at)]


def _told(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What each reply told about itself; a blank one that was asked for once more is left out."""
    transcript = row.get("transcript")
    if not isinstance(transcript, Mapping):
        return iter([row])
    return iter([{**turn, "usage": normal_usage(turn.get("usage"))} for turn in transcript["turns"]
                 if turn["kind"] != "blank"])
