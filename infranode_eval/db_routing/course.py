"""What happened in a play: one turn an API call, with the calls that were executed in it, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.db_routing.asking import OVERFLOW, RESULT, Asked
from infranode_eval.db_routing.tools import Executed
from infranode_eval.providers.protocol import Answer
from lm_eval_task.errors import DataError
from lm_eval_task.shapes import parts_of

TOOL, FINAL = "tool", "final"
STOP_REASONS = ("stopped", "max_turns", "truncated", "blank", "context_overflow", "single_shot")
NATIVE, TEXT = "native", "text"         # how the finalisation shows the tool turns
_REPLYING = ("assistant", "model")


@dataclass(frozen=True, slots=True)
class Turn:
    """One API call. kind: TOOL or FINAL. executed: (id, call), None as id where calls stood in text.

    recovered: the calls were read out of text.
    """

    kind: str
    asked: Asked
    executed: tuple[tuple[str | None, Executed], ...] = ()
    recovered: bool = False

    def to_json(self, number: int, sent_back: Mapping[str, Any] | None, timed: bool) -> dict[str, Any]:
        """One of a transcript's `calls`. sent_back: the message that holds the reply in the transcript's messages."""
        answer, asked = self.asked.answer, self.asked
        said = answer or Answer({})
        value: dict[str, Any] = {
            "kind": self.kind, "turn": number, "request_sha256": asked.request_sha256,
            "finish_reason": said.finish_reason if answer else OVERFLOW, "usage": said.usage,
            "provider": said.served_by, "model_returned": said.model, "attempts": asked.attempts,
            "recovered": self.recovered, "raw_text": parts_of(said.message).text,
            "tool_calls": [one.to_json(call_id, timed) for call_id, one in self.executed]}
        if timed:
            value["latency_s"] = said.latency_s
        more = {"finish_reason_raw": said.finish_reason_raw, "deviations": list(said.deviations),
                "reply": said.message if answer and said.message != sent_back else None,
                "blanks": [blank.to_json() for blank in asked.blanks]}
        return value | {key: inner for key, inner in more.items() if inner}


@dataclass(frozen=True, slots=True)
class Course:
    """A whole play. order: the labels as they were offered. condition, procedure: as the suite's settings say.

    stop_reason: one of STOP_REASONS. history: NATIVE or TEXT; cut: the finalisation showed shortened results.
    refused: (why, request) of requests that were refused and asked for in another way. drawn_from: a program that
    draws says among how many; None for anything else. timed: milliseconds are stored.
    """

    messages: tuple[Mapping[str, Any], ...]
    turns: tuple[Turn, ...]
    order: tuple[str, ...]
    condition: str
    procedure: str
    stop_reason: str
    history: str = NATIVE
    cut: bool = False
    refused: tuple[tuple[str, str], ...] = ()
    drawn_from: int | None = None
    timed: bool = False

    @property
    def calls(self) -> list[dict[str, Any]]:
        """One object an API call."""
        said = iter([message for message in self.messages if message["role"] in _REPLYING])
        return [turn.to_json(number, next(said, None) if turn.asked.answer else None, self.timed)
                for number, turn in enumerate(self.turns, 1)]

    @property
    def final(self) -> Answer | None:
        """The reply to the finalisation; None where the context could not hold it."""
        return self.turns[-1].asked.answer

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All replies in the order in which they came."""
        return tuple(answer for turn in self.turns for answer in (*turn.asked.blanks, turn.asked.answer)
                     if answer is not None)

    def to_json(self) -> dict[str, Any]:
        """The transcript, whose texts stand once, in its messages."""
        told = {"order": list(self.order), "condition": self.condition, "procedure": self.procedure,
                "stop_reason": self.stop_reason, "history": self.history, "results_cut": self.cut}
        more = {"refused": [{"why": why, "request_sha256": sha} for why, sha in self.refused],
                "drawn_from": self.drawn_from}
        return {"messages": list(self.messages),
                "db_routing": {**told, **{k: v for k, v in more.items() if v}, "calls": self.calls}}

    def bodies(self) -> Mapping[str, str]:
        """None: results stand in the messages."""
        return {}


def replying(message: Mapping[str, Any]) -> dict[str, Any]:
    """A reply as a message of the transcript, whatever role it gives itself."""
    return {**message, "role": message.get("role") if message.get("role") in _REPLYING else "assistant"}


def answers_of(transcript: Mapping[str, Any]) -> list[Answer]:
    """The answers of a stored transcript, in the order in which they came. Raise DataError for a broken one."""
    try:
        return [answer for call, reply in replies_in(transcript) for answer in _answers(call, reply)]
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration, RuntimeError) as error:
        raise DataError(f"the transcript cannot be read ({error!r})") from None


def replies_in(transcript: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    """(call, its reply as received) of each API call; None where there was none."""
    said = iter([message for message in transcript["messages"] if message["role"] in _REPLYING])
    for call in transcript["db_routing"]["calls"]:
        if call["finish_reason"] == OVERFLOW:
            yield call, None
        else:
            sent_back = next(said)
            yield call, call.get("reply", sent_back)


def _answers(call: Mapping[str, Any], reply: Mapping[str, Any] | None) -> Iterator[Answer]:
    yield from map(Answer.from_json, call.get("blanks", ()))
    if reply is not None:
        yield Answer(reply, call["finish_reason"], call["usage"], call.get("latency_s"), call["model_returned"],
                     call.get("finish_reason_raw"), tuple(call.get("deviations", ())), call["provider"])


def notes_of(transcript: Mapping[str, Any]) -> dict[str, Any]:
    """What a play has noted beside its answers, by name, so that a resumed one goes the same way."""
    told = transcript["db_routing"]
    refused = {f"{one['why']} {one['request_sha256']}": True for one in told.get("refused", ())}
    sent = {message.get("tool_call_id"): message["content"] for message in transcript["messages"]
            if message["role"] == "tool"}
    return refused | {
        f"{RESULT} {call['request_sha256']}.{place}": {"text": sent[one["id"]], **{
            name: one[name] for name in ("status", "truncated", "rows")}}
        for call in told["calls"] for place, one in enumerate(call["tool_calls"])
        if one.get("volatile") and one["id"] in sent}
