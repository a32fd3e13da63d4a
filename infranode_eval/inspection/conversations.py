"""What was said about a stored row, message by message, as inspect_ai shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageAssistant

from infranode_eval.chain.course import BLANK, FINAL, Course, Executed, Turn
from infranode_eval.chain.opening import Opening
from infranode_eval.chain.play import Play
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.inspection.messages import assistant_message, chat_message, sent_back, with_calls
from infranode_eval.inspection.verdicts import harmless
from infranode_eval.providers.protocol import Messages
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.suites import Setup
from lm_eval_task.errors import DataError, ProviderError
from lm_eval_task.records import Call, Task


def conversation_of(row: Mapping[str, Any], task: Task | None, setup: Setup | None, as_asked: bool,
                    bodies: Mapping[str, str]) -> list[ChatMessage]:
    """All messages of a row, each with an id that does not change; replies with their thoughts.

    task: None where it is not known, and so is the question. setup: None where the tools are not known: of a play only
    the last reply is there then. as_asked: the set-up's prompt is the one that was sent; without it only the question
    stands before the replies.
    """
    asked = [] if task is None else _asked(task, setup if as_asked else None)
    told = None
    if setup is not None and isinstance(row.get("transcript"), dict):
        told = _played(row, setup, bodies, asked)
    told = [*map(chat_message, asked), *_reply(row)] if told is None else told
    for number, message in enumerate(told):
        message.id = sha256(f"{row['task_id']} {row['repeat']} {number}".encode()).hexdigest()[:22]
    return told


def _asked(task: Task, setup: Setup | None) -> list[dict[str, Any]]:
    question = harmless(task.question)
    if setup is None:
        return [{"role": "user", "content": question}]
    if isinstance(task, ChainTask):
        return Opening().messages(setup.mode, setup.tools, question, task.world.get("clock"))
    return setup.for_task(task.task_id, task.question).messages(question)


def _reply(row: Mapping[str, Any]) -> Iterator[ChatMessage]:
    if isinstance(row.get("reply"), dict):
        yield assistant_message(harmless(row["reply"]))


# --- plays of several requests ----------------------------------------------------------------------------------------

def _played(row: Mapping[str, Any], setup: Setup, bodies: Mapping[str, str],
            asked: Messages) -> list[ChatMessage] | None:
    """Our loop once more over the stored replies and results: it says everything else as it said it then.

    None where the loop of this version parts from the stored play.
    """
    try:
        course = Course.from_json(row["transcript"], bodies)
        messages = _gone_through(course, setup, asked)
        replies = iter([turn for turn in course.turns if turn.kind != BLANK])
        return [_said(next(replies), message) if message["role"] == "assistant" else chat_message(harmless(message))
                for message in messages]
    except (DataError, ProviderError, AssertionError, StopIteration, RuntimeError):
        return None


def _gone_through(course: Course, setup: Setup, asked: Messages) -> Messages:
    """Of its task the loop needs to know how many turns it had; it had those that were not the last word."""
    replies = ScriptedProvider([turn.answer for turn in course.turns])
    task = ChainTask("", "", (), max_turns=sum(turn.kind not in (BLANK, FINAL) for turn in course.turns))
    again = Play(task, replies, setup.tools, setup.tools_json if setup.mode == "native" else None, setup.sampling,
                 asked, _StoredResults(course), setup.scene.settings["max_result_chars"])
    if len(again.run().turns) != len(course.turns):
        raise DataError("the loop ended before the stored play did")
    return again.messages


class _StoredResults:
    """Gives each call the result that it got then."""

    def __init__(self, course: Course) -> None:
        self._left = iter([one for turn in course.turns for one in turn.executed if one.call is not None])

    def execute(self, call: Call, call_id: str | None = None) -> Executed:
        return replace(next(self._left), call_id=call_id)


def _said(turn: Turn, echo: Mapping[str, Any]) -> ChatMessageAssistant:
    """A reply with its thoughts; its calls have the ids under which their results follow."""
    said = assistant_message(harmless(turn.answer.message))
    ids = [one.call_id for one in turn.executed if one.call_id]
    return with_calls(said, ids, [call.function for call in said.tool_calls or ()]) if ids else \
        sent_back(said, harmless(echo)) if said.tool_calls else said
