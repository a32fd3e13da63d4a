"""One reply of a model with tools: the calls in it, the reply as it goes back, and the results behind it.

Pure; the same in every loop that executes calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.providers.echo import (
    EchoCall,
    acceptable_name,
    echo_calls,
    echo_text,
    sendable,
    unique_ids,
)
from infranode_eval.providers.protocol import Answer
from lm_eval_task.parse import CUT_REASONS, calls_from_message, calls_of_entries
from lm_eval_task.records import Call
from lm_eval_task.shapes import Entry, parts_of
from lm_eval_task.tools import Toolset

NAMELESS = "(unlesbar)"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call in a reply. id: None where it stood in the text. call: None where it cannot be read."""

    id: str | None
    name: str
    call: Call | None


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """calls: in order; () for a reply that ends the turns. echo: the reply as it goes back. text: what can be read."""

    calls: tuple[Wanted, ...]
    echo: dict[str, Any]
    text: str

    def messages(self, results: Sequence[str]) -> list[dict[str, Any]]:
        """One text for each call, in order, as what follows the reply."""
        if all(one.id is None for one in self.calls):
            lines = [f"Ergebnis von {' '.join(str(one.call or NAMELESS).split())}:\n{text}"
                     for one, text in zip(self.calls, results, strict=True)]
            return [{"role": "user", "content": sendable("\n\n".join(lines))}]
        return [result_message(EchoCall(one.id or "", acceptable_name(one.name), {}), text)
                for one, text in zip(self.calls, results, strict=True)]


def result_message(call: EchoCall, text: str) -> dict[str, Any]:
    """The result of a native call."""
    return {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": sendable(text)}


def tool_turn(answer: Answer, tools: Toolset, number: int, taken: set[str]) -> ToolTurn:
    """What a reply of native mode says. number: of the reply in its play; taken: ids of earlier calls, grows."""
    reading = calls_from_message(answer.message, tools, "native", answer.finish_reason, several=True)
    entries = [entry for entry in parts_of(answer.message).entries if entry.name is not None]
    if entries:
        calls = readable(entries, tools, answer.finish_reason)
        ids = unique_ids([entry.id for entry in entries], number, taken)
        wanted = tuple(Wanted(call_id, entry.name or NAMELESS, call)
                       for call_id, entry, call in zip(ids, entries, calls, strict=True))
        echoed = [EchoCall(one.id or "", acceptable_name(one.name), one.call.arguments if one.call else {})
                  for one in wanted]
        return ToolTurn(wanted, echo_calls(answer.message, echoed), reading.text)
    in_text = [call for call in reading.calls or () if call.name in tools]
    wanted = tuple(Wanted(None, call.name, call) for call in in_text)
    if not wanted and reading.broken and not reading.truncated:
        wanted = (Wanted(None, NAMELESS, None),)
    return ToolTurn(wanted, echo_text(answer.message, reading.text), reading.text)


def readable(entries: Sequence[Entry], tools: Toolset, finish_reason: str | None) -> list[Call | None]:
    """The call of each entry, None for one that cannot be read; nothing is read into what the budget has cut off."""
    calls = [one.call for one in calls_of_entries(entries, tools)]
    last = entries[-1].arguments
    if finish_reason in CUT_REASONS and (last is None or (isinstance(last, str) and not last.strip())):
        calls[-1] = None
    return calls

