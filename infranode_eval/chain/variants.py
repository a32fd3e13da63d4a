"""Answers to a task whose verdict is known beforehand: spellings of the gold, and answers that are near it and wrong.

Written from the specification (chain, sections 7 and 9), not from the scorer, which it checks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from infranode_eval.chain.course import ANSWER, Course, Turn
from infranode_eval.chain.moves import answer
from infranode_eval.chain.tasks import ChainTask
from infranode_eval.providers.protocol import Answer

_REASONS = ("nicht_abgedeckt", "keine_daten", "quelle_gestoert", "stadt_unbekannt", "mehrdeutig")
_UNITS = ("km", "kW", "°C", "Promille")     # of quantities so different that at most one of them is asked for
_AS_GOOD = {"K": "°C"}      # of a difference
_MONTHS = ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
           "Dezember")


@dataclass(frozen=True, slots=True)
class AnswerVariant:
    """One answer as the text of a reply, what it is, and whether it is right."""

    kind: str
    text: str
    right: bool


def answers(task: ChainTask) -> Iterator[AnswerVariant]:
    """Right and wrong answers to a task, each with a name."""
    expected = task.expectation["answer"]
    spelled, wrong = _MAKERS[expected["type"]]
    for kind, text in spelled(expected):
        yield AnswerVariant(kind, text, True)
        if kind == "as it is":
            yield AnswerVariant("fenced", f"```json\n{text}\n```", True)
            yield AnswerVariant("in prose", f"Die Antwort lautet {text}. Gern geschehen.", True)
    for kind, text in (*wrong(expected), *_wrong_anyway(task, expected)):
        yield AnswerVariant(kind, text, False)


def _wrong_anyway(task: ChainTask, expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong whatever the type is."""
    unit = expected.get("unit")
    for name, value in task.expectation.get("near_misses", {}).items():
        yield f"near miss: {name}", answer(value, unit)
    yield "an object", json.dumps({"antwort": {"wert": expected["value"]}}, ensure_ascii=False)
    yield "true", answer(True, unit)
    yield "another key", json.dumps({"ergebnis": expected["value"]}, ensure_ascii=False)
    if expected["type"] == "none":
        return
    yield "null with a reason", answer(None, None, "keine_daten")
    yield "null without a reason", answer(None)
    yield "a sentence", f"Die Antwort lautet {expected['value']}."
    yield "two answers", f"{answer(expected['value'], unit)}\n{answer('anders', unit)}"


def answered(course: Course, text: str, turns: int | None = None) -> Course:
    """The play with this reply as its answer, after so many of its turns (by default after all but the last)."""
    kept = course.turns[:-1 if turns is None else turns]
    return replace(course, turns=(*kept, Turn(ANSWER, Answer({"role": "assistant", "content": text}, "stop"))),
                   stop_reason="answered")


# --- by type ----------------------------------------------------------------------------------------------------------

def _number(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value, unit = expected["value"], expected.get("unit")
    german = f"{Decimal(str(value)):,f}".translate(str.maketrans(",.", ".,"))
    yield "as it is", answer(value, unit)
    yield "without a unit", answer(value)
    yield "as German text", answer(german, unit)
    yield "unit in the text", answer(f"{german} {unit or ''}".strip())
    tolerance = Decimal(str(expected.get("tolerance") or 0))
    if tolerance:
        yield "within the tolerance", answer(float(Decimal(str(value)) + tolerance * Decimal("0.9")), unit)


def _wrong_number(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value, unit = Decimal(str(expected["value"])), expected.get("unit")
    step = 2 * Decimal(str(expected.get("tolerance") or 0)) or Decimal(1).scaleb(value.as_tuple().exponent)
    for kind, other in (("a little more", value + step), ("a little less", value - step), ("negated", -value),
                        ("a thousandfold", value * 1000)):
        yield kind, answer(float(other) if other % 1 else int(other), unit)
    for other_unit in _UNITS:
        if other_unit not in (unit, _AS_GOOD.get(unit or "")):
            yield "another unit", answer(expected["value"], other_unit)
            yield "another unit in the text", answer(f"{expected['value']} {other_unit}")
    yield "a range", answer(f"{expected['value']} bis {value + 2 * abs(value)}", unit)
    yield "a list of one", answer([expected["value"]], unit)


def _text(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value = expected["value"]
    yield "as it is", answer(value)
    yield "in capitals", answer(value.upper())
    yield "with a full stop", answer(f" „{value}“. ")
    for spelling in expected.get("accept") or ():
        yield "another spelling", answer(spelling)
    for word in expected.get("drop") or ():
        yield "with a word more", answer(f"{word} {value}")


def _wrong_text(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value = expected["value"]
    yield "a further word", answer(f"{value} oder so")
    yield "twice", answer(f"{value} {value}")
    yield "a digit more", answer(f"{value}1")
    yield "nothing", answer("")
    yield "a list of one", answer([value])
    if len(value) > 2:
        yield "a part", answer(value[:-2])


def _time(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value = expected["value"]
    yield "as it is", answer(value)
    yield "with Uhr", answer(f"{value} Uhr")
    yield "with a full stop", answer(f"{value.replace(':', '.')} Uhr")
    yield "as a moment", answer(f"2026-07-06T{value}:00+02:00")


def _wrong_time(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    hour, minute = map(int, expected["value"].split(":"))
    yield "a minute later", answer(f"{(hour + (minute + 1) // 60) % 24:02}:{(minute + 1) % 60:02}")
    yield "twelve hours later", answer(f"{(hour + 12) % 24:02}:{minute:02}")
    yield "the hour only", answer(f"{hour} Uhr")


def _date(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    day = date.fromisoformat(expected["value"])
    yield "as it is", answer(day.isoformat())
    yield "in figures", answer(f"{day:%d.%m.%Y}")
    yield "in words", answer(f"{day.day}. {_MONTHS[day.month - 1]} {day.year}")


def _wrong_date(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    day = date.fromisoformat(expected["value"])
    yield "a day later", answer((day + timedelta(days=1)).isoformat())
    yield "without a year", answer(f"{day.day}. {_MONTHS[day.month - 1]}")


def _set(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value = expected["value"]
    yield "as it is", answer(value)
    yield "the other way round", answer([*value[::-1], value[0]])
    yield "as a text", answer(", ".join(value))


def _wrong_set(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value = expected["value"]
    yield "an entry less", answer(value[:-1])
    yield "an entry more", answer([*value, "Atlantis"])
    yield "an entry changed", answer([*value[:-1], f"{value[-1]} oder so"])


def _none(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    alternatives = expected.get("alternatives") or [[None]]
    yield "as it is", answer(None, None, expected["reasons"][0], alternatives[0][0])
    for reason in expected["reasons"]:
        for spelling in {alternatives[-1][0]: None, alternatives[-1][-1]: None}:
            yield "another reason or alternative", answer(None, None, reason, spelling)
    yield "null as a word", answer("null", None, expected["reasons"][0], alternatives[0][0])


def _wrong_none(expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    alternatives = expected.get("alternatives")
    first = alternatives[0][0] if alternatives else None
    yield "a number", answer(1)
    yield "a number with a reason", answer(1, None, expected["reasons"][0], first)
    yield "a sentence as the answer", answer("Das weiß ich nicht.", None, expected["reasons"][0], first)
    yield "no reason", answer(None, None, None, first)
    for reason in _REASONS:
        if reason not in expected["reasons"]:
            yield "a wrong reason", answer(None, None, reason, first)
    if alternatives is not None:
        yield "no alternative", answer(None, None, expected["reasons"][0])
        yield "a wrong alternative", answer(None, None, expected["reasons"][0], "Atlantis")


_MAKERS = {"number": (_number, _wrong_number), "string": (_text, _wrong_text), "time": (_time, _wrong_time),
           "date": (_date, _wrong_date), "set": (_set, _wrong_set), "none": (_none, _wrong_none)}
