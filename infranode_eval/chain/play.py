"""The loop: ask, execute the calls, send the results back, until an answer stands or a budget is used up.

A pure function of replies and world, so that a stored play can be gone through again. Source: specification, chain,
section 6.
"""

from __future__ import annotations

import json
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
from infranode_eval.providers.echo import UNREADABLE as UNREADABLE_TEXT
from infranode_eval.providers.echo import EchoCall, acceptable_name, echo_calls, echo_text, sendable, unique_ids
from infranode_eval.providers.protocol import Answer, Provider, Sampling, Tools
from infranode_eval.tool_turn import result_message
from lm_eval_task.errors import EmptyReplyError
from lm_eval_task.parse import calls_from_message, calls_of_entries
from lm_eval_task.records import Call, Reading
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
                self._take_calls(number, answer, reading)
            elif read_final(reading.text) is not None:
                return self._end(ANSWER, answer, "answered")
            elif reading.broken and not _tries_to_answer(reading.text):
                self._take_calls(number, answer, reading)
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
            if reading.attempted or reading.truncated or reading.text or reading.thought:
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

    def _take_calls(self, number: int, answer: Answer, reading: Reading) -> None:
        """Every call in order, each with exactly one result; what cannot be read is told so. Costs one turn."""
        entries = [entry for entry in parts_of(answer.message).entries if entry.name is not None]
        if entries and self._mode == "native":
            self._take_entries(number, answer, entries)
            return
        if entries:     # native calls where none was offered: they go on as the text that was asked for
            read = [one.call for one in calls_of_entries(entries, self._tools)]
            echo = echo_text({}, "\n".join(filter(None, (reading.text, *map(_as_text, read)))))
        else:
            read = [*(reading.calls or ()), *([None] if reading.broken else [])]
            echo = echo_text(answer.message, reading.text)
        executed = [unreadable() if call is None else self._toolbox.execute(call) for call in read] or [unreadable()]
        self._said(_kind_of(executed), answer, echo, executed)
        self.messages.append(_results_message(executed, self._max_chars))

    def _take_entries(self, number: int, answer: Answer, entries: Sequence[Entry]) -> None:
        ids = unique_ids([entry.id for entry in entries], number, self._taken)
        executed, echoed = [], []
        for call_id, read in zip(ids, calls_of_entries(entries, self._tools), strict=True):
            executed.append(unreadable(call_id) if read.call is None else self._toolbox.execute(read.call, call_id))
            echoed.append(EchoCall(call_id, acceptable_name(read.name), read.call.arguments if read.call else {}))
        self._said(_kind_of(executed), answer, echo_calls(answer.message, echoed), executed)
        for one, call in zip(executed, echoed, strict=True):
            self.messages.append(result_message(call, shown(one.text, self._max_chars)))

    def _finalised(self, without: str) -> Course:
        """Ask for the answer once, with no call allowed; `without` is the stop reason if none comes."""
        self.messages.append({"role": "user", "content": NO_MORE_CALLS})
        sampling = self._sampling if self._tools_json is None else replace(self._sampling, tool_choice="none")
        answer, reading = self._asked(sampling)
        late = read_final(reading.text) is not None
        return self._end(FINAL, answer, "answered_late" if late else without)


def _tries_to_answer(text: str) -> bool:
    """Is a text that cannot be read an answer object rather than a call?"""
    return '"antwort"' in text and '"name"' not in text


def _as_text(call: Call | None) -> str:
    return "" if call is None else json.dumps(call.to_json(), ensure_ascii=False)


def _kind_of(executed: Sequence[Executed]) -> str:
    return CALLS if any(one.call is not None for one in executed) else UNREADABLE


def _results_message(executed: Sequence[Executed], max_chars: int) -> dict[str, Any]:
    """The results of calls that stood in text, each under a line that names its call; a lone refusal says all."""
    lines = [shown(one.text, max_chars) for one in executed]
    if len(executed) > 1 or executed[0].call is not None:
        lines = [f"{_header(one)}\n{line}" for one, line in zip(executed, lines, strict=True)]
    return {"role": "user", "content": sendable("\n".join(lines))}


def _header(one: Executed) -> str:
    """One line, whatever the call is named."""
    return f"Ergebnis von {UNREADABLE_TEXT if one.call is None else ' '.join(str(one.call).splitlines())}:"
