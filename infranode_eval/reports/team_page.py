"""Plays of the suite team as values for the page's script: rounds, lanes, runs by the logical clock, every message.

Pure. Everything in the values is text that may be shown; media are named, never embedded. A long text stands once,
under its sha256. Transcripts come from strangers: a broken one is no play.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infranode_eval.harmless import clean
from infranode_eval.reports.archive import Row
from infranode_eval.reports.replies import Text, visible
from infranode_eval.reports.team_rows import Managed
from infranode_eval.team.agent import MAIN
from infranode_eval.team.course import REPLYING, Course
from infranode_eval.team.log import stretches
from infranode_eval.team.metrics import Usage
from lm_eval_task.errors import DataError
from lm_eval_task.shapes import parts_of

LONGEST = 30_000        # characters of one text that the page holds
SHORT = 240             # up to here a text stands in its message


class Texts:
    """Long texts by sha256, each once."""

    def __init__(self) -> None:
        self.bodies: dict[str, str] = {}

    def of(self, text: str) -> Any:
        """The text itself, or [sha256, its characters, how it begins] where it is long."""
        if len(text) <= SHORT:
            return visible(text)
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self.bodies[key] = text
        return [key, len(text), visible(text[:SHORT])]


def course_values(transcript: Mapping[str, Any] | None, texts: Texts) -> dict[str, Any] | None:
    """A play; None where there is none, or one of another form."""
    if transcript is None:
        return None
    try:
        course = Course.from_json(transcript)
        told = course.told
        runs = list(_runs(told, texts))
        return {"rounds": list(_rounds(course, texts)), "runs": runs,
                "ticks": max([run["to"] for run in runs] + [_clock(told)[1]]),
                "workflows": [_workflow(one, texts) for one in told["workflows"]],
                "system": texts.of(_text(course.messages[0].get("content"))) if course.messages else ""}
    except (DataError, KeyError, TypeError, ValueError, AttributeError, IndexError):
        return None


def row_values(row: Row, play: Mapping[str, Any] | None) -> dict[str, Any]:
    """{"team": what a row tells, with its play}."""
    managed: Managed | None = row.details.get("managed")
    if managed is None:
        return {"team": {"rounds": [], "agents": [], "refusals": [], "play": None}}
    return {"team": {
        "rounds": [[clean(one.id), one.passed, clean(one.why)] for one in managed.rounds],
        "agents": [_agent(usage) for usage in managed.play.subagents],
        "refusals": [[clean(text) for text in (one.round, one.agent, one.tool, one.path)] for one in managed.refusals],
        "play": play}}


def _agent(usage: Usage) -> dict[str, Any]:
    return {"name": clean(usage.name), "key": usage.model_key, "used": sorted(map(clean, usage.granted & usage.used)),
            "idle": sorted(map(clean, usage.granted - usage.used)), "paths": [clean(path) for path in usage.paths],
            "files": usage.files, "touched": len(usage.touched),
            "media": [[name, count] for name, count in usage.media.items() if count], "refused": usage.refused}


# --- the clock --------------------------------------------------------------------------------------------------------

def _clock(told: Mapping[str, Any]) -> tuple[dict[str, tuple[int, int]], int]:
    """(round → from and to, the end of the last): each event takes one tick, each round one more, and two at least."""
    found, now = {}, 0
    for one in told["rounds"]:
        begin = now
        now += max(2, 1 + sum(event["round"] == one["id"] for event in told["events"]))
        found[one["id"]] = (begin, now)
    return found, now


def _runs(told: Mapping[str, Any], texts: Texts) -> Iterator[dict[str, Any]]:
    """In the order in which they started. ended: false where the manager never got the end."""
    spans, last = _clock(told)
    places = {name: begin for name, (begin, _) in spans.items()}
    parts = {session["id"]: list(stretches(session["messages"])) for session in told["sessions"]}
    opened: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    for event in told["events"]:
        places[event["round"]] += 1
        now = places[event["round"]]
        if event["event"] == "end":
            if event["run"] in opened:
                opened[event["run"]] |= {"to": now, "ended": True}
            continue
        session = event["session"]
        number = numbers[session] = numbers.get(session, -1) + 1
        inside = parts.get(session, [])
        opened[event["run"]] = {
            "id": clean(str(event["run"])), "agent": clean(str(event["subagent"])), "session": clean(str(session)),
            "round": clean(str(event["round"])), "number": number, "from": now, "to": last, "ended": False,
            "messages": list(_messages(inside[number], texts)) if number < len(inside) else []}
    return iter(opened.values())


def _rounds(course: Course, texts: Texts) -> Iterator[dict[str, Any]]:
    """Each with the manager's messages in it."""
    spans, _ = _clock(course.told)
    started = [one for one in course.told["rounds"] if one.get("first") is not None]
    ends = {one["id"]: nxt["first"] for one, nxt in zip(started, started[1:], strict=False)}
    for one in course.told["rounds"]:
        inside = [] if one.get("first") is None else course.messages[one["first"]:ends.get(one["id"])]
        begin, end = spans[one["id"]]
        yield {"id": clean(str(one["id"])), "from": begin, "to": end, "messages": list(_messages(inside, texts))}


# --- messages ---------------------------------------------------------------------------------------------------------

def _messages(messages: Iterable[Mapping[str, Any]], texts: Texts) -> Iterator[dict[str, Any]]:
    for message in messages:
        role = message.get("role")
        if role in REPLYING:
            parts = parts_of(message)
            yield {"role": MAIN, "text": texts.of(parts.text) if parts.text else "",
                   "thoughts": texts.of("\n".join(parts.thoughts)) if any(parts.thoughts) else "",
                   "calls": [[clean(str(entry.name or "?")), texts.of(_arguments(entry.arguments))]
                             for entry in parts.entries]}
        else:
            yield from _given(role, message, texts)


def _given(role: Any, message: Mapping[str, Any], texts: Texts) -> Iterator[dict[str, Any]]:
    """What an agent was given: a prompt, a result, media by their names."""
    content = message.get("content")
    text = _text(content)
    media = [_medium(part) for part in content if isinstance(part, dict) and part.get("type") == "media"] \
        if isinstance(content, list) else []
    refused = role == "tool" and text.startswith("verboten: ")
    failed = role == "tool" and text.startswith("Fehler: ")
    yield {"role": "tool" if role == "tool" else "user", "name": clean(str(message.get("name") or "")),
           "text": texts.of(text) if text else "", "media": media,
           **({"bad": "refused" if refused else "error"} if refused or failed else {})}


def _medium(part: Mapping[str, Any]) -> list[Any]:
    """[path, MIME, bytes]."""
    size = part.get("bytes")
    return [clean(str(part.get("path"))), clean(str(part.get("mime"))), size if isinstance(size, int) else 0]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(part.get("text")) for part in content if isinstance(part, dict) and part.get("text"))


def _arguments(value: Any) -> str:
    """One a line, texts with their own line ends; what is no object as it came."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "\n".join(f"{name}: {text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)}"
                     for name, text in value.items())


def _workflow(one: Mapping[str, Any], texts: Texts) -> dict[str, Any]:
    return {"id": clean(str(one["task_id"])), "script": texts.of(str(one["script"])),
            "log": [clean(str(line)) for line in one["log"]], "result": texts.of(str(one["result"]))}


def shown_bodies(bodies: Mapping[str, str], left: int) -> Iterator[tuple[str, list[Any]]]:
    """(sha256, [text as it may be shown, characters left out]) as long as `left` characters are enough."""
    for key, text in bodies.items():
        cut = Text.of(text, LONGEST)
        if len(cut.shown) <= left:
            left -= len(cut.shown)
            yield key, [cut.shown, cut.left_out]
