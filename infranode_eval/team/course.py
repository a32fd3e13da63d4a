"""What happened in a play of a scenario: the transcript that a verdict is made of, as JSON and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.providers.protocol import Answer
from infranode_eval.team.manager import Replied
from lm_eval_task.errors import DataError

REPLYING = ("assistant", "model")        # the role of a reply: of most APIs, of gemini


@dataclass(frozen=True, slots=True)
class Course:
    """A whole play. messages: the manager's. replies: its replies as received. told: what stands under "team".

    told: {"sessions", "events", "workflows", "rounds", "subagents", "refusals", "invocations", "usage", "labels",
    "estimated", "replayed", "live"} (specification: team, section 4).
    """

    messages: tuple[Mapping[str, Any], ...]
    replies: tuple[Replied, ...]
    told: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """A reply stands in the messages as it went back, and here once more only where it came otherwise."""
        said = iter([message for message in self.messages if message.get("role") in REPLYING])
        return {"messages": list(self.messages),
                "team": {**self.told, "replies": [_reply_json(one, next(said, None)) for one in self.replies]}}

    def bodies(self) -> Mapping[str, str]:
        """None: results stand in the messages."""
        return {}

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(one.key for one in self.replies if one.key)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Course:
        """Raise DataError for a transcript that cannot be read."""
        try:
            told = dict(value["team"])
            replies = told.pop("replies")
            said = [message for message in value["messages"] if message.get("role") in REPLYING]
            read = tuple(_replied(reply, message) for reply, message in zip(replies, said, strict=True))
            return cls(tuple(value["messages"]), read, told)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"the transcript cannot be read ({error!r})") from None


def _reply_json(one: Replied, sent_back: Mapping[str, Any] | None) -> dict[str, Any]:
    said = one.answer.to_json()
    message = said.pop("message")
    return {**said, **({"key": one.key} if one.key else {}), **({} if message == sent_back else {"reply": message})}


def _replied(value: Mapping[str, Any], sent_back: Mapping[str, Any]) -> Replied:
    return Replied(Answer.from_json({**value, "message": value.get("reply", sent_back)}), value.get("key", ""))


def answers_of(transcript: Mapping[str, Any]) -> Sequence[Answer]:
    """The manager's replies in order. Raise DataError for a transcript that cannot be read."""
    return [one.answer for one in Course.from_json(transcript).replies]
