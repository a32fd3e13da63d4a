"""What happened in a play: its turns, the calls that were executed in them, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from infranode_eval.chain.worlds import Response
from infranode_eval.providers.protocol import Answer
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call

CALLS, UNREADABLE, ANSWER, SILENT, FINAL, BLANK, TRUNCATED = (
    "calls", "unreadable", "answer", "silent", "final", "blank", "truncated")
KINDS = (CALLS, UNREADABLE, ANSWER, SILENT, FINAL, BLANK, TRUNCATED)
STOP_REASONS = ("answered", "answered_late", "no_answer", "max_turns", "truncated")


@dataclass(frozen=True)
class Executed:
    """One call with its result. text: the whole result, before it is cut for the model.

    call_id: under which the result was sent back; None where calls stood in text. request: of the world, without
    /api/v1; None where the tool layer answered itself. status: HTTP. call: None for an entry that could not be read.
    """

    call: Call | None
    text: str
    call_id: str | None = None
    request: str | None = None
    status: int | None = None
    given: Response | None = field(default=None, compare=False, repr=False)     # saves reading `text` once more

    @cached_property
    def sha256(self) -> str:
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def response(self) -> Response | None:
        """As the world gave it, long lists cut; None where the tool layer answered itself."""
        if self.given is not None or self.request is None or self.status is None:
            return self.given
        return Response(self.request, self.status, json.loads(self.text), self.text)

    def to_json(self) -> dict[str, Any]:
        return {"call": None if self.call is None else self.call.to_json(), "id": self.call_id,
                "request": self.request, "status": self.status, "body": self.sha256}

    @classmethod
    def from_json(cls, value: Mapping[str, Any], bodies: Mapping[str, str]) -> Executed:
        """Raise DataError for a body that is not among `bodies`, or that no world can have given."""
        if value["body"] not in bodies:
            raise DataError(f'"bodies" lacks the result {value["body"][:12]}… of a call')
        call = None if value["call"] is None else Call.from_json(value["call"])
        one = cls(call, bodies[value["body"]], value["id"], value["request"], value["status"])
        try:
            readable = one.response is None or isinstance(one.response.body, dict)
        except (ValueError, RecursionError):
            readable = False
        if not readable:
            raise DataError(f'"bodies": {value["body"][:12]}… is no answer of the world')
        return one


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply and what came of it. kind: one of KINDS; a blank reply was asked for once more."""

    kind: str
    answer: Answer
    executed: tuple[Executed, ...] = ()

    def to_json(self) -> dict[str, Any]:
        said = self.answer.to_json()
        return {"kind": self.kind, "reply": said.pop("message"), **said,
                "executed": [one.to_json() for one in self.executed]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any], bodies: Mapping[str, str]) -> Turn:
        answer = Answer.from_json({**value, "message": value["reply"]})
        return cls(value["kind"], answer, tuple(Executed.from_json(one, bodies) for one in value["executed"]))


@dataclass(frozen=True, slots=True)
class Course:
    """A whole play. stop_reason: one of STOP_REASONS.

    expect: what is right, where that was found out during the play (a live world); else None, the task says it.
    world: the answers of a live world that the gold needed, by request: (status, text).
    """

    turns: tuple[Turn, ...]
    stop_reason: str
    expect: Mapping[str, Any] | None = None
    world: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def responses(self) -> list[list[Response]]:
        """What the world answered, turn by turn."""
        return [[one.response for one in turn.executed if one.response is not None] for turn in self.turns]

    @property
    def calls(self) -> list[Call]:
        """All readable calls in order."""
        return [one.call for turn in self.turns for one in turn.executed if one.call is not None]

    def to_json(self) -> dict[str, Any]:
        """The transcript of a results row; results stand under their sha256."""
        value: dict[str, Any] = {"turns": [turn.to_json() for turn in self.turns], "stop_reason": self.stop_reason}
        if self.expect is not None:
            value["expect"] = self.expect
        if self.world:
            value["world"] = {request: [status, _key(text)] for request, (status, text) in self.world.items()}
        return value

    def bodies(self) -> dict[str, str]:
        """sha256 → text of every result."""
        found = {one.sha256: one.text for turn in self.turns for one in turn.executed}
        return found | {_key(text): text for _, text in self.world.values()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any], bodies: Mapping[str, str]) -> Course:
        """Raise DataError for a transcript that cannot be read."""
        try:
            turns = tuple(Turn.from_json(turn, bodies) for turn in value["turns"])
            world = {request: (status, bodies[key]) for request, (status, key) in value.get("world", {}).items()}
            return cls(turns, value["stop_reason"], value.get("expect"), world)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"the transcript cannot be read ({error!r})") from None


def _key(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def answers_of(transcript: Mapping[str, Any]) -> Sequence[Answer]:
    """The answers of a stored transcript, in the order in which they came."""
    return [Answer.from_json({**turn, "message": turn["reply"]}) for turn in transcript["turns"]]
