"""Executes calls: checks their arguments, asks the world, shortens long lists; answers in the API's own words.

Nothing but the world is ever asked. Source: specification, chain, section 6 (rules 3, 4, 5 and 7).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from infranode_eval.chain.course import Executed
from infranode_eval.chain.requests import request_for
from infranode_eval.chain.worlds import Response
from lm_eval_task.records import Call
from lm_eval_task.tools import SLUG_REFUSED, Tool, Toolset, type_allowed

MOST_CALLS = 24             # in one play
MAX_RESULT_CHARS = 24_000   # default of --max-result-chars
LONGEST_LIST = 50           # entries, as the API's own tool layer has it
_WHOLE = ("/sources", "/cities?")     # answers whose lists are never cut
_TYPES = {"string": "Text", "null": "null", "integer": "ganze Zahl", "number": "Zahl", "boolean": "Wahrheitswert",
          "array": "Liste", "object": "Objekt"}


class Answering(Protocol):
    """What answers requests within one play (a Session of worlds.py)."""

    def get(self, request: str) -> Response: ...


class Toolbox:
    """The tools of one play. A call beyond the budget is answered, not executed."""

    def __init__(self, session: Answering, tools: Toolset, most_calls: int = MOST_CALLS) -> None:
        self._session, self._tools, self._most_calls = session, tools, most_calls
        self._count = 0

    def execute(self, call: Call, call_id: str | None = None) -> Executed:
        self._count += 1
        if self._count > self._most_calls:
            return Executed(call, error_text("budget", f"Das Kontingent von {self._most_calls} Aufrufen ist "
                                             "aufgebraucht.", "Gib jetzt die Antwort."), call_id)
        tool = self._tools.get(call.name)
        if tool is None:
            names = ", ".join(t.name for t in self._tools.tools)
            return Executed(call, error_text("unknown_tool", f"Es gibt kein Werkzeug '{_short(call.name)}'.",
                                             f"Vorhanden sind: {names}."), call_id)
        problem = argument_problem(tool, call.arguments)
        if problem is not None:
            return Executed(call, error_text("invalid_arguments", problem, f"Parameter: {_signature(tool)}."), call_id)
        request = request_for(call)
        if request is None:
            return Executed(call, error_text("invalid_arguments", "Die Argumente ergeben keine Anfrage.",
                                             f"Parameter: {_signature(tool)}."), call_id)
        response = self._session.get(request)
        text = result_text(response)
        return Executed(call, text, call_id, request, response.status, response if text is response.text else None)


def unreadable(call_id: str | None = None) -> Executed:
    """What answers an entry, or a text, that wanted to be a call and cannot be read."""
    return Executed(None, error_text("unreadable_call", "Der Aufruf war nicht lesbar.",
                                     'Erwartet wird {"name": "<Werkzeug>", "arguments": {…}} als gültiges JSON.'),
                    call_id)


def error_text(code: str, message: str, hint: str) -> str:
    return _compact({"error": {"code": code, "message": message, "hint": hint}})


def argument_problem(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """Why the tool layer refuses the arguments; None if it does not."""
    for name in tool.required:
        if arguments.get(name) is None:
            return f"Der Parameter '{name}' fehlt."
    for name, value in arguments.items():
        schema = tool.properties.get(name)
        if schema is None:
            return f"Den Parameter '{_short(name)}' gibt es nicht."
        if not type_allowed(schema, value):
            types = schema.get("type", "string")
            wanted = " oder ".join(_TYPES.get(t, t) for t in ([types] if isinstance(types, str) else types))
            return f"Der Parameter '{name}' hat den falschen Typ; erwartet wird: {wanted}."
        if name == "slug" and isinstance(value, str) and (SLUG_REFUSED.search(value) or not value.strip(".")):
            return (f"'{_short(value)}' ist kein gültiges Stadtkürzel: Leerzeichen und die Zeichen / @ : \\ ? # sind "
                    "nicht erlaubt.")
    return None


def result_text(response: Response) -> str:
    """The body as compact JSON; a list of its payload keeps its first 50 entries, and meta.pagination says so."""
    body = response.body
    if response.request.startswith(_WHOLE) or response.request.endswith("/overview"):
        return response.text
    data = body.get("data")
    payload = data.get("payload") if isinstance(data, Mapping) else None
    if isinstance(data, list) and len(data) > LONGEST_LIST:
        return _compact({**body, "data": data[:LONGEST_LIST], "meta": _paged(body, len(data))})
    if isinstance(payload, Mapping):
        longest = max((len(value) for value in payload.values() if isinstance(value, list)), default=0)
        if longest > LONGEST_LIST:
            cut = {key: value[:LONGEST_LIST] if isinstance(value, list) else value for key, value in payload.items()}
            return _compact({**body, "data": {**data, "payload": cut}, "meta": _paged(body, longest)})
    return response.text


def _paged(body: Mapping[str, Any], total: int) -> dict[str, Any]:
    return {**body.get("meta", {}), "pagination": {"total": total, "returned": LONGEST_LIST, "limit": LONGEST_LIST,
                                                   "offset": 0, "truncated": True}}


def shown(text: str, max_chars: int) -> str:
    """A result as the model sees it: what goes beyond `max_chars` is cut off, visibly."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}…[gekürzt: {max_chars} von {len(text)} Zeichen]"


def _signature(tool: Tool) -> str:
    return ", ".join(f"{name}{'' if name in tool.required else ' (optional)'}" for name in tool.properties) or "keine"


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
