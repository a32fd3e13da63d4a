"""The tools of the suite: one for each database under its alias, with three actions, executed and answered.

Source: specification, db_routing, requirements 1 to 9 and 19.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.db_routing.rows import SqlError
from infranode_eval.db_routing.world import World
from lm_eval_task.records import Call
from lm_eval_task.tools import Tool, Toolset

GET_SCHEMA, GET_TABLE_SCHEMA, EXECUTE_QUERY = "get_schema", "get_table_schema", "execute_query"
ACTIONS = (GET_SCHEMA, GET_TABLE_SCHEMA, EXECUTE_QUERY)
_NEEDS = {GET_TABLE_SCHEMA: "table", EXECUTE_QUERY: "sql"}
_PARAMETERS = ("action", "table", "sql")
_DESCRIPTION = (
    "Datenbank {alias}, SQLite, nur lesbar. Der Parameter action wählt, was geschieht: get_schema nennt alle Tabellen; "
    "get_table_schema nennt die Spalten der Tabelle, deren Name in table steht; execute_query führt die SELECT-Abfrage "
    "aus, die in sql steht, und zeigt höchstens 50 Zeilen.")


def alias_of(number: int) -> str:
    """The name of the tool with this number, from 1."""
    return f"db_{number:02d}"


def toolset(aliases: Iterable[str]) -> Toolset:
    """One tool an alias, in their order; they differ in nothing but the name."""
    return Toolset.of(Tool.from_json({"type": "function", "function": {
        "name": alias, "description": _DESCRIPTION.format(alias=alias),
        "parameters": {"type": "object", "properties": {
            "action": {"type": "string", "enum": list(ACTIONS)}, "table": {"type": "string"},
            "sql": {"type": "string"}}, "required": ["action"], "additionalProperties": False}}}) for alias in aliases)


def order_of(seed: int, task_id: str, aliases: Iterable[str]) -> tuple[str, ...]:
    """The aliases as one question sees them: in every repeat and for every model the same."""
    order = sorted(aliases)
    random.Random(f"{seed}/{task_id}").shuffle(order)
    return tuple(order)


def in_order(tools: Toolset, order: Sequence[str]) -> Toolset:
    """The same tools in another order. Raise KeyError for one that is not among them."""
    return Toolset(tuple(tools.by_name[alias] for alias in order), tools.by_name)


@dataclass(frozen=True, slots=True)
class Executed:
    """One call with what was sent back for it.

    status: one of behaviour.STATUSES. reached: a database has answered, be it with an error. truncated: the result
    was cut. rows: how many a query showed, None for anything else. literals: double-quoted names that were taken for
    text. volatile: another time the answer may be another. ms: in the database, None where nobody measured.
    """

    alias: str
    arguments: Mapping[str, Any]
    text: str
    status: str
    reached: bool = False
    truncated: bool = False
    rows: int | None = None
    literals: tuple[str, ...] = ()
    volatile: bool = False
    ms: float | None = None

    @property
    def action(self) -> str | None:
        action = self.arguments.get("action")
        return action if isinstance(action, str) else None

    def to_json(self, call_id: str | None, timed: bool) -> dict[str, Any]:
        """As a transcript has it. timed: with the milliseconds, which differ from run to run."""
        value = {"id": call_id, "alias": self.alias, "action": self.action, "arguments": dict(self.arguments),
                 "reached": self.reached, "status": self.status, "truncated": self.truncated, "rows": self.rows,
                 "ms": self.ms if timed else None}
        value |= {"literals": list(self.literals)} if self.literals else {}
        return value | ({"volatile": True} if self.volatile else {})

    def noted(self) -> dict[str, Any]:
        """What a resumed play needs to see the same answer again."""
        return {"text": self.text, "status": self.status, "truncated": self.truncated, "rows": self.rows}


class Toolbox:
    """The tools of one play. databases: alias → database, of those that are offered, in their order."""

    def __init__(self, world: World, databases: Mapping[str, str]) -> None:
        self._world, self._databases = world, databases

    def execute(self, call: Call) -> Executed:
        """Raise WorldNotReadyError where the answer would not speak of the call."""
        if call.name not in self._databases:
            names = ", ".join(self._databases)
            return failed(call, "unknown_tool", f"Dieses Werkzeug gibt es nicht. Vorhanden sind: {names}.")
        problem = argument_problem(call.arguments)
        if problem is not None:
            return failed(call, "invalid", problem)
        database, action = self._databases[call.name], call.arguments["action"]
        if action == EXECUTE_QUERY:
            return self._queried(call, database)
        shown = self._world.table_names(database) if action == GET_SCHEMA else \
            self._world.table(database, call.arguments["table"])
        if shown is None:
            return failed(call, "error", "Diese Tabelle gibt es in dieser Datenbank nicht.", reached=True)
        return Executed(call.name, call.arguments, shown.text, "ok", True, shown.truncated)

    def _queried(self, call: Call, database: str) -> Executed:
        sql = call.arguments["sql"]
        found = self._world.run(database, sql)
        if isinstance(found, SqlError):
            return failed(call, "error", found.message, reached=True, ms=found.ms,
                          volatile=found.kind in ("timeout", "worker_died", "memory"))
        return Executed(call.name, call.arguments, found.text(), "ok", True, found.truncated, len(found.rows),
                        found.literals, _tells_time(sql), found.ms)


def failed(call: Call, status: str, message: str, *, reached: bool = False, volatile: bool = False,
           ms: float | None = None) -> Executed:
    """A call that has no result but a reason."""
    return Executed(call.name, call.arguments, f"Fehler: {message}", status, reached, volatile=volatile, ms=ms)


def argument_problem(arguments: Mapping[str, Any]) -> str | None:
    """Why no database is asked, in German; None if one is."""
    if any(name not in _PARAMETERS for name in arguments):
        return f"Diesen Parameter gibt es nicht. Vorhanden sind: {', '.join(_PARAMETERS)}."
    action = arguments.get("action")
    if action is None:
        return f"Der Parameter action fehlt. Möglich sind: {', '.join(ACTIONS)}."
    if not isinstance(action, str) or action not in ACTIONS:
        return f"Diese Aktion gibt es nicht. Möglich sind: {', '.join(ACTIONS)}."
    needed = _NEEDS.get(action)
    if needed is None:
        return None
    value = arguments.get(needed)
    if value is None or (isinstance(value, str) and not value.strip()):
        return f"Die Aktion {action} braucht den Parameter {needed}."
    return None if isinstance(value, str) else f"Der Parameter {needed} muss ein Text sein."


_CLOCK = re.compile(r"now|\b(?:date|time|datetime|julianday)\s*\(\s*\)|\bstrftime\s*\([^,()]*\)",
                    re.IGNORECASE)


def _tells_time(sql: str) -> bool:
    """Whether the answer may depend on the clock."""
    return _CLOCK.search(sql) is not None
