"""The loop: at most nine tool turns, then exactly one request for the answer, without tools.

A function of replies and databases, so that a stored play can be gone through again. Source: specification, db_routing,
requirements 15 to 21a, 28 and 58 to 61.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.db_routing.asking import RESULT, Asked, Asking
from infranode_eval.db_routing.course import FINAL, NATIVE, TEXT, TOOL, Course, Turn, replying
from infranode_eval.db_routing.history import HEADER, as_text, has_results, with_short_results
from infranode_eval.db_routing.opening import TOOL_TURNS, finalisation
from infranode_eval.db_routing.tools import Executed, Toolbox, failed
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.echo import EchoCall, acceptable_name, echo_calls, echo_text, sendable, unique_ids
from infranode_eval.providers.protocol import Answer, Messages, Tools
from infranode_eval.tool_turn import readable, result_message
from lm_eval_task.errors import ContextOverflowError, RefusedRequestError
from lm_eval_task.parse import calls_from_message
from lm_eval_task.records import Call, Reading
from lm_eval_task.shapes import Entry, parts_of
from lm_eval_task.tools import Toolset

MOST_CALLS = 11         # executed in one turn
_OVER_LIMIT = f"In einer Nachricht werden höchstens {MOST_CALLS} Aufrufe ausgeführt; dieser nicht."
_UNREADABLE = "Der Aufruf ist nicht lesbar. Die Argumente müssen ein gültiges JSON-Objekt sein."
_NAMELESS = "(unlesbar)"


class Play:
    """One play of one question. tools: in the order of the question; tools_json: as sent, None in prompted mode."""

    def __init__(self, asking: Asking, tools: Toolset, tools_json: Tools | None, opening: Sequence[Mapping[str, Any]],
                 toolbox: Toolbox) -> None:
        self._asking, self._tools, self._tools_json, self._toolbox = asking, tools, tools_json, toolbox
        self._mode = "prompt" if tools_json is None else "native"
        self._messages = Conversation(opening)
        self._waiting: str | None = None        # for the model; goes with what is asked next
        self._turns: list[Turn] = []
        self._taken: set[str] = set()

    def run(self) -> Course:
        """Lets ProviderError through: a request without an answer fails the question."""
        return self._finalised(self._tool_turns())

    # --- tool turns ---------------------------------------------------------------------------------------------------

    def _tool_turns(self) -> str:
        """Why they ended: one of course.STOP_REASONS."""
        for number in range(TOOL_TURNS):
            try:
                asked = self._asking.ask(self._told(), self._tools_json, first=number == 0)
            except ContextOverflowError:
                if not number:
                    raise
                return "context_overflow"
            over = self._take(number, asked)
            if over is not None:
                return over
        return "max_turns"

    def _told(self) -> Messages:
        if self._waiting is not None:
            self._messages.append({"role": "user", "content": self._waiting})
            self._waiting = None
        return self._messages

    def _take(self, number: int, asked: Asked) -> str | None:
        """Do what a reply says; why the turns are over, None if they are not."""
        answer = _answer_of(asked)
        reading = calls_from_message(answer.message, self._tools, self._mode, answer.finish_reason, several=True)
        entries = [entry for entry in parts_of(answer.message).entries if entry.name is not None]
        if entries and self._mode == "native":
            calls = readable(entries, self._tools, answer.finish_reason)
            if any(calls) or not reading.truncated:
                self._take_entries(number, asked, entries, calls)
                return None
        elif calls := [call for call in reading.calls or () if call.name in self._tools]:
            self._take_text(asked, reading, calls)
            return None
        self._said(asked, echo_text(answer.message, reading.text))
        if reading.truncated:
            return "truncated"
        if reading.broken and not _tries_to_answer(reading.text):
            self._waiting = f"Fehler: {_UNREADABLE}"
            return None
        return "stopped" if reading.text else "blank"

    def _said(self, asked: Asked, echo: Mapping[str, Any],
              executed: Sequence[tuple[str | None, Executed]] = (), recovered: bool = False) -> None:
        self._turns.append(Turn(TOOL, asked, tuple(executed), recovered))
        self._messages.append(replying(echo))

    def _take_entries(self, number: int, asked: Asked, entries: Sequence[Entry], calls: Sequence[Call | None]) -> None:
        """Native calls: every one is answered, once and in order, whatever it is."""
        answer = _answer_of(asked)
        ids = unique_ids([entry.id for entry in entries], number, self._taken)
        executed = [self._executed(asked, place, entry.name or _NAMELESS, call)
                    for place, (entry, call) in enumerate(zip(entries, calls, strict=True))]
        echoed = [EchoCall(call_id, acceptable_name(one.alias), one.arguments)
                  for call_id, one in zip(ids, executed, strict=True)]
        self._said(asked, echo_calls(answer.message, echoed), list(zip(ids, executed, strict=True)))
        for one, call in zip(executed, echoed, strict=True):
            self._messages.append(result_message(call, one.text))

    def _take_text(self, asked: Asked, reading: Reading, calls: Sequence[Call]) -> None:
        """Calls that stood in text: their results go back as text, each under a line that names its call."""
        answer = _answer_of(asked)
        executed = [self._executed(asked, place, call.name, call) for place, call in enumerate(calls)]
        native = [call for call in reading.calls or () if self._mode == "prompt" and parts_of(answer.message).entries]
        text = "\n".join(filter(None, (reading.text, *(json.dumps(c.to_json(), ensure_ascii=False) for c in native))))
        self._said(asked, echo_text({} if native else answer.message, text), [(None, one) for one in executed],
                   reading.recovered)
        lines = [f"{HEADER}{' '.join(str(Call(one.alias, one.arguments)).split())}:\n{one.text}" for one in executed]
        if reading.broken:
            lines.append(f"Fehler: {_UNREADABLE}")
        self._waiting = sendable("\n\n".join(lines))

    def _executed(self, asked: Asked, place: int, name: str, call: Call | None) -> Executed:
        """place: among the calls of its turn, from 0. A stored result of a resumed play is taken as it was."""
        if call is None:
            return failed(Call(name), "invalid", _UNREADABLE)
        if place >= MOST_CALLS:
            return failed(call, "over_limit", _OVER_LIMIT)
        note = f"{RESULT} {asked.request_sha256}.{place}"
        known = self._asking.known(note)
        if known is not None:
            return Executed(call.name, call.arguments, known["text"], known["status"], True, known["truncated"],
                            known["rows"], volatile=True)
        found = self._toolbox.execute(call)
        if found.volatile:
            self._asking.note(note, found.noted())
        return found

    # --- the finalisation ---------------------------------------------------------------------------------------------

    def _finalised(self, stop_reason: str) -> Course:
        """Ask for the answer once. What an API refuses for its form is asked for in the other one."""
        asked_for = finalisation()
        self._messages.append({"role": "user", "content": asked_for if self._waiting is None else
                               f"{self._waiting}\n\n{asked_for}"})
        history = TEXT if self._asking.needs_text and has_results(self._messages) else NATIVE
        cut = stop_reason == "context_overflow"
        while True:
            shown = self._shown(history, cut)
            try:
                asked = self._asking.ask(shown, None)
                break
            except ContextOverflowError:
                if cut:
                    asked = Asked(self._asking.refused[-1][1], None)
                    break
                cut, stop_reason = True, "context_overflow"
            except RefusedRequestError as error:
                if history == TEXT or not _of_form(error) or not has_results(self._messages):
                    raise
                self._asking.note_history(shown)
                history = TEXT
        return self._course(asked, stop_reason, history, cut)

    def _shown(self, history: str, cut: bool) -> Messages:
        if not cut and history == NATIVE:
            return self._messages
        shown = with_short_results(self._messages) if cut else list(self._messages)
        return as_text(shown) if history == TEXT else shown

    def _course(self, asked: Asked, stop_reason: str, history: str, cut: bool) -> Course:
        if asked.answer is not None:
            self._messages.append(replying(asked.answer.message))
        order, asking = tuple(tool.name for tool in self._tools.tools), self._asking
        return Course(tuple(self._messages), (*self._turns, Turn(FINAL, asked)), order, "anonymised", "agentic",
                      stop_reason, history, cut, tuple(asking.refused), drawn_from(asked.answer, asking.timed),
                      asking.timed)


def drawn_from(answer: Answer | None, timed: bool) -> int | None:
    """Among how many a program says to have drawn; only programs are believed."""
    said = answer.message.get("drawn_from") if answer is not None and not timed else None
    return said if isinstance(said, int) else None


def _answer_of(asked: Asked) -> Answer:
    assert asked.answer is not None, "a tool turn has an answer"
    return asked.answer


def _tries_to_answer(text: str) -> bool:
    """Is a text that cannot be read an answer object rather than a call?"""
    return '"selected_database"' in text and '"name"' not in text


def _of_form(error: RefusedRequestError) -> bool:
    """May the refusal be about the form of the request, rather than key, model, account or content?"""
    return error.status in (400, 422) and error.sub is None
