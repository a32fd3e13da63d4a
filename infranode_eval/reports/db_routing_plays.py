"""A play of the suite db_routing under the lens: turn by turn, from the file of transcripts beside its result.

Texts in it come from strangers and may have any shape: nothing here raises for them, and all are cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from infranode_eval.beside import read_transcripts
from infranode_eval.db_routing.course import FINAL, replies_in
from infranode_eval.reports.archive import Row
from infranode_eval.reports.db_routing_panels import panel_of
from infranode_eval.reports.replies import Evidence, Text, evidence_of
from lm_eval_task.errors import DataError
from lm_eval_task.records import Task

PREVIEW = 320           # characters of a result that a terminal shows
_MARKS = {"first_probe": "first probed", "declared": "declared", "prose_route": "prose names"}


@dataclass(frozen=True, slots=True)
class Result:
    """A call that was executed, or refused. database: what its alias stands for; None where that is not known.

    text: what the model was shown; empty where the transcript does not tell.
    """

    alias: str
    database: str | None
    action: str
    arguments: str
    status: str
    truncated: bool
    text: Text


@dataclass(frozen=True, slots=True)
class Turn:
    """One API call: what came back, and what became of its calls. upstream: who answered, where a router tells."""

    number: int
    kind: str
    said: Evidence
    attempts: int
    recovered: bool
    results: tuple[Result, ...]
    upstream: str | None = None


@dataclass(frozen=True, slots=True)
class RoutedPlay:
    """asked: the last text before the first reply, which holds paragraphs and question. names: alias → database."""

    asked: Text
    turns: tuple[Turn, ...]
    condition: str
    procedure: str
    history: str
    stop_reason: str
    names: Mapping[str, str]


@lru_cache(maxsize=2)
def _stored(path: Path, file: str, sha256: str) -> Mapping[tuple[str, int], Mapping[str, Any]]:
    return read_transcripts(path, {"file": file, "sha256": sha256})


def play_of(value: Mapping[str, Any], path: Path, row: Row) -> RoutedPlay | None:
    """The play of a row; None where the result names no file of transcripts, or that one holds none of the row.

    value: the content of the result. Raise DataError for a file that is missing, or not the one that belongs to it.
    """
    told = value.get("transcripts")
    if not isinstance(told, dict) or not isinstance(told.get("file"), str):
        return None
    stored = _stored(path, told["file"], str(told.get("sha256"))).get((row.task_id, row.repeat))
    if stored is None:
        return None
    try:
        return _read(stored, value)
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration, RuntimeError) as error:
        raise DataError(f"row {row.task_id}: its transcript cannot be read ({error!r})", path) from None


def _read(stored: Mapping[str, Any], value: Mapping[str, Any]) -> RoutedPlay:
    told, hashes = stored["db_routing"], value.get("hashes")
    panel = panel_of(hashes.get("panel") if isinstance(hashes, dict) else None)
    names = dict(panel.aliases) if panel and told["condition"] not in ("names", "catalogue", "permuted",
                                                                       "distractors") else {}
    shown = {message.get("tool_call_id"): message.get("content") for message in stored["messages"]
             if message.get("role") == "tool"}
    first = [message.get("content") for message in stored["messages"] if message.get("role") == "user"]
    turns = tuple(_turn(call, reply, names, shown) for call, reply in replies_in(stored))
    return RoutedPlay(Text.of(str(first[0]) if first else ""), turns, told["condition"], told["procedure"],
                      told["history"], told["stop_reason"], names)


def _turn(call: Mapping[str, Any], reply: Mapping[str, Any] | None, names: Mapping[str, str],
          shown: Mapping[Any, Any]) -> Turn:
    said = evidence_of({"reply": reply, "finish_reason": call["finish_reason"]})
    return Turn(call["turn"], call["kind"], said, call["attempts"], call["recovered"],
                tuple(_result(one, names, shown) for one in call["tool_calls"]), call["provider"])


def _result(one: Mapping[str, Any], names: Mapping[str, str], shown: Mapping[Any, Any]) -> Result:
    arguments = {key: inner for key, inner in one["arguments"].items() if key != "action"}
    text = shown.get(one["id"]) if one["id"] is not None else None
    return Result(str(one["alias"]), names.get(one["alias"]), str(one["action"]),
                  json.dumps(arguments, ensure_ascii=False) if arguments else "", str(one["status"]),
                  bool(one["truncated"]), Text.of(text, PREVIEW) if isinstance(text, str) else Text())


# --- as text ----------------------------------------------------------------------------------------------------------

def play_lines(play: RoutedPlay) -> Iterator[str]:
    """Every turn with its calls and how their results begin; the lines are not yet harmless."""
    yield from _block("asked", play.asked)
    for turn in play.turns:
        yield f"  {f'turn {turn.number}':<9} {_heading(turn)}"
        if turn.said.thoughts.shown:
            yield from _block("thought", turn.said.thoughts)
        if turn.said.text.shown or not (turn.results or turn.said.entries):
            yield from _block("reply", turn.said.text if turn.said.text.shown else Text("(empty)"))
        if not turn.results:
            for entry in turn.said.entries:
                yield from _block("entry", entry)
        for result in turn.results:
            yield f"  {'call':<9} {_call(result)}"
            yield f"  {'came back':<9} {result.status}{', cut' if result.truncated else ''}"
            if result.text.shown:
                yield from _block("", result.text)


def _heading(turn: Turn) -> str:
    marks = [("finalisation" if turn.kind == FINAL else "with tools"), turn.said.finish_reason,
             f"{turn.attempts} attempts" if turn.attempts > 1 else None, "recovered out of text" if turn.recovered else
             None, f"by {turn.upstream}" if turn.upstream else None]
    return ", ".join(mark for mark in marks if mark)


def _call(result: Result) -> str:
    name = result.alias if result.database is None else f"{result.alias} = {result.database}"
    return f"{name}: {result.action}{f' {result.arguments}' if result.arguments else ''}"


def _block(name: str, text: Text) -> Iterator[str]:
    for number, line in enumerate(text.shown.split("\n")):
        yield f"  {'' if number else name:<9} {line}".rstrip()
    if text.left_out:
        yield f"  {'':<9} … {text.left_out:,} more characters"


def verdict_lines(row: Row, stored: Mapping[str, Any], task: Task | None) -> Iterator[str]:
    """What was declared, what it was compared with, and what was counted on the way. stored: the row as in the file."""
    details = row.details
    if row.score.failed:
        return
    told = [f"{word} {details[name]}" for name, word in _MARKS.items() if details.get(name)]
    error = f", no declaration: {details['declaration_error']}" if details.get("declaration_error") else ""
    yield f"  {'route':<9} {', '.join(told) or 'nothing declared'}; right is {details['database']}{error}"
    if isinstance(stored.get("sql"), str):
        yield from _block("sql", Text.of(stored["sql"]))
    if details.get("sql_set") is not None:
        reason = f" ({details['sql_error']})" if details.get("sql_error") else ""
        yield (f"  {'':<9} sql_set {_yes(details['sql_set'])}, sql_strict {_yes(details['sql_strict'])}{reason}")
    if task is not None and isinstance(task.extra.get("gold_sql"), str):
        yield from _block("gold", Text.of(task.extra["gold_sql"]))
    yield (f"  {'counts':<9} {details['tool_turns']} tool turns, {details['tool_calls']} calls, probed "
           f"{', '.join(details['probes']) or 'nothing'}; ended by {details['stop_reason']}")


def _yes(value: Any) -> str:
    return "yes" if value else "no"


# --- for programs -----------------------------------------------------------------------------------------------------

def play_json(play: RoutedPlay | None) -> Any:
    """None where there is none."""
    if play is None:
        return None
    return {"condition": play.condition, "procedure": play.procedure, "history": play.history,
            "stop_reason": play.stop_reason, "asked": play.asked.shown, "turns": [{
                "number": turn.number, "kind": turn.kind, "text": turn.said.text.shown,
                "thoughts": turn.said.thoughts.shown, "finish_reason": turn.said.finish_reason,
                "attempts": turn.attempts, "recovered": turn.recovered, "upstream": turn.upstream,
                "results": [{"alias": r.alias, "database": r.database, "action": r.action, "arguments": r.arguments,
                             "status": r.status, "truncated": r.truncated, "text": r.text.shown}
                            for r in turn.results]} for turn in play.turns]}
