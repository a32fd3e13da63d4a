"""The loop: ask, execute the calls, send the results back, until an answer stands or a budget is used up.

A pure function of replies and world, so that a stored play can be gone through again. Source: specification, chain,
section 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from infranode_eval.chain.answers import read_final
from infranode_eval.chain.course import (
    ANSWER,
    BLANK,
    CALLS,
    FINAL,
    SILENT,
    TRUNCATED,
    UNREADABLE,
    Course,
    Executed,
    Turn,
)
from infranode_eval.chain.opening import NO_MORE_CALLS
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.chain.toolbox import Toolbox, shown, unreadable
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.echo import EchoCall, echo_calls, echo_text, unique_ids
from infranode_eval.providers.protocol import Answer, Provider, Sampling, Tools
from lm_eval_task.errors import EmptyReplyError
from lm_eval_task.parse import calls_from_message, calls_of_entries
from lm_eval_task.records import Reading
from lm_eval_task.shapes import Entry, parts_of
from lm_eval_task.tools import Toolset

BLANK_REPLIES = 3       # so many in a row are a failure


class Play:
    """One play of one task. tools_json: what travels as `tools=`, None in prompted mode."""

    def __init__(self, task: ChainTask, provider: Provider, tools: Toolset, tools_json: Tools | None,
                 sampling: Sampling, opening: Sequence[Mapping[str, Any]], toolbox: Toolbox, max_chars: int) -> None:
        self._task, self._provider, self._tools, self._tools_json = task, provider, tools, tools_json
        self._sampling, self._toolbox, self._max_chars = sampling, toolbox, max_chars
        self._mode = "prompt" if tools_json is None else "native"
        self.messages = Conversation(opening)
        self.turns: list[Turn] = []
        self._taken: set[str] = set()

    def run(self) -> Course:
        """Lets ProviderError through; raise EmptyReplyError for replies that stay blank."""
        for number in range(self._task.max_turns):
            answer, reading = self._asked(self._sampling)
            if reading.calls:
                self._execute(number, answer, reading)
            elif read_final(reading.text) is not None:
                return self._end(ANSWER, answer, "answered")
            elif reading.broken:
                self._refuse(number, answer, reading)
            elif reading.truncated:
                return self._end(TRUNCATED, answer, "truncated")
            else:
                self._said(SILENT, answer, echo_text(answer.message, reading.text))
                return self._finalised("no_answer")
        return self._finalised("max_turns")

    def _asked(self, sampling: Sampling) -> tuple[Answer, Reading]:
        """The reply and its reading; a blank one is asked for once more, as a server may have lost it."""
        for _ in range(BLANK_REPLIES):
            answer = self._provider.ask(self.messages, self._tools_json, sampling)
            reading = calls_from_message(answer.message, self._tools, self._mode, answer.finish_reason, several=True)
            if reading.attempted or reading.truncated or reading.text:
                return answer, reading
            self.turns.append(Turn(BLANK, answer))
        raise EmptyReplyError(f"{BLANK_REPLIES} replies in a row were blank")

    def _said(self, kind: str, answer: Answer, echo: Mapping[str, Any], executed: Sequence[Executed] = ()) -> None:
        self.turns.append(Turn(kind, answer, tuple(executed)))
        self.messages.append(echo)

    def _end(self, kind: str, answer: Answer, stop_reason: str) -> Course:
        self.turns.append(Turn(kind, answer))
        self.messages.append(answer.message)
        return Course(tuple(self.turns), stop_reason)

    def _execute(self, number: int, answer: Answer, reading: Reading) -> None:
        """Every call in order, each with exactly one result; entries that cannot be read are told so."""
        entries = [entry for entry in parts_of(answer.message).entries if entry.name is not None]
        if not entries:     # calls that stand in text, prompted or recovered
            executed = [self._toolbox.execute(call) for call in reading.calls or ()]
            self._said(CALLS, answer, echo_text(answer.message, reading.text), executed)
            self.messages.append(_results_message(executed, self._max_chars))
            return
        self._answer_entries(CALLS, number, answer, entries)

    def _answer_entries(self, kind: str, number: int, answer: Answer, entries: Sequence[Entry]) -> None:
        ids = unique_ids([entry.id for entry in entries], number, self._taken)
        executed, echoed = [], []
        for call_id, read in zip(ids, calls_of_entries(entries, self._tools), strict=True):
            executed.append(unreadable(call_id) if read.call is None else self._toolbox.execute(read.call, call_id))
            echoed.append(EchoCall(call_id, read.name, {} if read.call is None else read.call.arguments))
        self._said(kind, answer, echo_calls(answer.message, echoed), executed)
        for one, call in zip(executed, echoed, strict=True):
            self.messages.append({"role": "tool", "tool_call_id": call.id, "name": call.name,
                                  "content": shown(one.text, self._max_chars)})

    def _refuse(self, number: int, answer: Answer, reading: Reading) -> None:
        """A call that cannot be read costs a turn: the error goes under its id, else into a message of the user's."""
        entries = [entry for entry in parts_of(answer.message).entries if entry.name is not None]
        if entries:
            self._answer_entries(UNREADABLE, number, answer, entries)
            return
        refusal = unreadable()
        self._said(UNREADABLE, answer, echo_text(answer.message, reading.text), [refusal])
        self.messages.append({"role": "user", "content": refusal.text})

    def _finalised(self, without: str) -> Course:
        """Ask for the answer once, with no call allowed; `without` is the stop reason if none comes."""
        self.messages.append({"role": "user", "content": NO_MORE_CALLS})
        sampling = self._sampling if self._tools_json is None else replace(self._sampling, tool_choice="none")
        answer, reading = self._asked(sampling)
        late = read_final(reading.text) is not None
        return self._end(FINAL, answer, "answered_late" if late else without)


def _results_message(executed: Sequence[Executed], max_chars: int) -> dict[str, Any]:
    """The results of calls that stood in text, each under a line that names its call."""
    return {"role": "user", "content": "\n".join(
        f"Ergebnis von {one.call}:\n{shown(one.text, max_chars)}" for one in executed)}
