"""The route of a play: the database that its finalisation declares, and the verdict on it.

Pure, and no reply makes it raise. Source: specification, db_routing, 22 to 28.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from infranode_eval.final_objects import FinalObject, objects_with
from infranode_eval.providers.token_usage import normal_usage
from lm_eval_task.parse import CUT_REASONS, calls_from_message
from lm_eval_task.shapes import parts_of
from lm_eval_task.thoughts import Thoughts, split_thoughts
from lm_eval_task.tools import Toolset

KEY, SQL_KEY = "selected_database", "sql"
DECLARATION_ERRORS = ("missing", "invalid_alias", "not_a_string", "conflicting", "truncated", "blank", "tool_call")
SQL_ERRORS = ("missing", "not_a_string", "conflicting")
OUTCOMES = ("ok", "wrong_database", "no_declaration")


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a finalisation declares.

    alias: as it is offered; None with the reason in `error`, one of DECLARATION_ERRORS. said: the value as written,
    None where nothing was. prose: the only alias in the text, whatever is declared. sql: the text of the final object;
    None with the reason in `sql_error`, one of SQL_ERRORS. notes: how the object was read.
    """

    alias: str | None = None
    error: str | None = None
    said: Any = None
    prose: str | None = None
    sql: str | None = None
    sql_error: str | None = None
    notes: tuple[str, ...] = ()


NO_FINALISATION = Declaration(error="missing", sql_error="missing")     # the context could not hold one


def read_declaration(message: Mapping[str, Any], finish_reason: str | None, aliases: Collection[str],
                     tools: Toolset | None = None) -> Declaration:
    """Read the reply to a finalisation.

    aliases: the names a database may be declared by. tools: those of the turns before, to know a call in text when it
    stands there; it is not executed. A native call is a call whatever the text beside it says (scoring, rule 1).
    """
    parts = parts_of(message)
    thoughts = split_thoughts(parts.text)
    text = thoughts.text.strip()
    prose = prose_route(text, aliases)
    if any(entry.name is not None for entry in parts.entries):
        return Declaration(error="tool_call", prose=prose, sql_error="missing")
    objects = list(objects_with(KEY, text))
    if not objects:
        error = _why_nothing(message, finish_reason, thoughts, tools)
        return Declaration(error=error, prose=prose, sql_error="missing")
    alias, error, said = _declared(objects, aliases)
    sql, sql_error = _sql_of(objects)
    return Declaration(alias, error, said, prose, sql, sql_error, objects[0].notes)


def _why_nothing(message: Mapping[str, Any], finish_reason: str | None, thoughts: Thoughts,
                 tools: Toolset | None) -> str:
    finish = finish_reason if isinstance(finish_reason, str) else ""
    if finish.lower().startswith("malformed"):
        return "tool_call"
    if tools is not None and calls_from_message(message, tools, "native", finish_reason).calls:
        return "tool_call"
    if finish in CUT_REASONS or thoughts.unclosed:
        return "truncated"
    return "missing" if thoughts.text.strip() else "blank"


def _declared(objects: list[FinalObject], aliases: Collection[str]) -> tuple[str | None, str | None, Any]:
    """Alias, error and what was said; null and "" say nothing, and the same value twice is one."""
    said = [value for value in (found.value[KEY] for found in objects) if not _says_nothing(value)]
    if not said:
        return None, "missing", None
    if not all(isinstance(value, str) for value in said):
        return None, "not_a_string", next(value for value in said if not isinstance(value, str))
    if len({_plain(value) for value in said}) > 1:
        return None, "conflicting", said[0]
    alias = {_plain(alias): alias for alias in aliases}.get(_plain(said[0]))
    return alias, None if alias else "invalid_alias", said[0]


def _sql_of(objects: list[FinalObject]) -> tuple[str | None, str | None]:
    said = [value for value in (found.value.get(SQL_KEY) for found in objects) if not _says_nothing(value)]
    if not said:
        return None, "missing"
    if not all(isinstance(value, str) for value in said):
        return None, "not_a_string"
    return (None, "conflicting") if len({value.strip() for value in said}) > 1 else (said[0], None)


def _says_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _plain(alias: str) -> str:
    """Without blanks around, ASCII letters small; no other letter is touched."""
    return re.sub("[A-Z]+", lambda match: match[0].lower(), alias.strip())


def prose_route(text: str, aliases: Collection[str]) -> str | None:
    """The only alias that stands in a text as a word, however often; None for none, or for two different ones."""
    if not aliases:
        return None
    by_plain = {_plain(alias): alias for alias in aliases}
    longest_first = sorted(by_plain, key=len, reverse=True)
    word = re.compile(rf"(?<!\w)(?ai:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    plain = {_plain(match[0]) for match in word.finditer(text)}
    return by_plain[plain.pop()] if len(plain) == 1 else None


# --- the verdict ------------------------------------------------------------------------------------------------------

class Verdict(NamedTuple):
    """outcome: one of OUTCOMES; sub: the declaration's error. lenient: right by declaration or by the prose alone."""

    outcome: str
    sub: str | None
    route_ok: bool
    lenient: bool
    why: str


def judge_route(declaration: Declaration, gold: str) -> Verdict:
    """The verdict by the alias of the right database; what was probed before inherits nothing."""
    right, by_prose = declaration.alias == gold, declaration.prose == gold
    if declaration.alias is None:
        named = f"; its text names {declaration.prose} only" if declaration.prose else ""
        why = _WHY[declaration.error or "missing"] + named
        return Verdict("no_declaration", declaration.error, False, by_prose, why)
    why = f"declares {declaration.alias}" if right else f"declares {declaration.alias} instead of {gold}"
    return Verdict("ok" if right else "wrong_database", None, right, right or by_prose, why)


_WHY = {"missing": "declares no database", "invalid_alias": "declares a database that was not offered",
        "not_a_string": "declares something that is no name", "conflicting": "declares two different databases",
        "truncated": "the token budget ended the finalisation before a database was declared",
        "blank": "the finalisation is blank", "tool_call": "calls a tool in the finalisation"}


# --- answer or failure ------------------------------------------------------------------------------------------------

class Failure(NamedTuple):
    """No answer was obtained. outcome: one of `records.FAILURES`; sub as in a row."""

    outcome: str
    sub: str | None = None


def failure_of_reply(message: Mapping[str, Any], finish_reason: str | None,
                     usage: Mapping[str, Any] | None) -> Failure | None:
    """Is a reply that arrived no answer at all? None: it is one, however bad.

    Blank with completion tokens, or cut, is an answer: the model spoke and nobody was reached. Blank without is none,
    and neither is a blank one that a content filter left. usage: the counts as received.
    """
    parts = parts_of(message)
    if any(entry.name is not None for entry in parts.entries) or any(map(str.strip, (parts.text, *parts.thoughts))):
        return None
    finish = finish_reason if isinstance(finish_reason, str) else ""
    if finish == "content_filter":
        return Failure("infra_error", "content_filter")
    if finish in CUT_REASONS or finish.lower().startswith("malformed"):
        return None
    counted = normal_usage(usage)
    return None if counted and counted["output_tokens"] else Failure("empty_reply")


def failure_of_error(outcome: str, answered_calls: int, sub: str | None = None) -> Failure | None:
    """Does an error that no retry has cured fail the question? outcome: the label of a ProviderError.

    answered_calls: how many calls of the question had an answer before. Only a context that a play has filled itself is
    its own doing: after an answered call it ends the tool turns and is no failure.
    """
    return None if outcome == "context_overflow" and answered_calls else Failure(outcome, sub)
