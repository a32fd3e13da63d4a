"""What a model can have known: a value that occurs in, or follows from, what it received is not invented."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.chain.answers import Final
from infranode_eval.chain.declaration import Derivation
from infranode_eval.chain.known import is_invented, near_miss_of
from infranode_eval.chain.responses import Response

ROOT = Path(__file__).parents[2]
NUMBER = {"type": "number", "value": 9, "unit": None, "tolerance": 0}
KILOWATT = {**NUMBER, "unit": "kW"}
TEXT = {"type": "string", "value": "10", "drop": ["Gleis"]}
TIME, DAY = {"type": "time", "value": "10:04"}, {"type": "date", "value": "2026-10-03"}
SET = {"type": "set", "value": ["Bonn", "Köln"]}
NONE = {"type": "none", "value": None, "reasons": ["keine_daten"]}
QUESTION = "Wie viele der 24 Ladepunkte in Köln haben mindestens 1.500 kW?"
BODY = {"data": {"id": "x-777", "ok": True, "payload": {
    "count": 41, "text": "36.5", "name": "Köln Hbf", "power": 2500, "planned_time": "2026-07-06T10:12:00+02:00",
    "date": "2026-12-24", "platform": "7", "rows": [{"v": 29.9}, {"v": 13.7}, {"v": 20.4}], "hash": "ab12cd"}},
    "meta": {"total": 888}}
COUNT = Derivation.from_json({"op": "count", "from": "a", "at": "/data/payload/rows"})
LEAF = {"from": "a", "at": "/data/payload/rows", "field": "/v"}
DIFFERENCE = Derivation.from_json({"op": "difference", "of": {"op": "max", **LEAF}, "minus": {"op": "min", **LEAF}})
RATIO = Derivation.from_json({"op": "ratio", "of": {"op": "max", **LEAF}, "over": {"op": "min", **LEAF}, "times": 100})
MEAN = Derivation.from_json({"op": "mean", **LEAF})
PLAIN = Derivation.from_json({"op": "value", "from": "a", "at": "/data/payload", "field": "/count"})

CASES: list[tuple[Any, str | None, dict[str, Any], Derivation, bool, str]] = [
    # (value, unit, expected answer, operation, invented?, why)
    (41, None, NUMBER, PLAIN, False, "stands in the answer"),
    ("41 Stück", None, NUMBER, PLAIN, False, "in words"),
    (42, None, NUMBER, PLAIN, True, "stands nowhere"),
    (36.5, None, NUMBER, PLAIN, False, "a text that is a number as a whole"),
    ("36,5", None, NUMBER, PLAIN, False, "as Germans write it"),
    (777, None, NUMBER, PLAIN, True, "digits of an id"),
    (12, None, NUMBER, PLAIN, True, "digits of a hash"),
    (888, None, NUMBER, PLAIN, True, "what is not under data"),
    (24, None, NUMBER, PLAIN, False, "stands in the question"),
    (1500, None, NUMBER, PLAIN, False, "stands in the question with a point"),
    (55, None, NUMBER, PLAIN, False, "a slip of the task"),
    (1, None, NUMBER, PLAIN, True, "true is no number"),
    (2.5, "MW", KILOWATT, PLAIN, False, "in another unit"),
    ("2,5 MW", None, KILOWATT, PLAIN, False, "in another unit, in the text"),
    (2.6, "MW", KILOWATT, PLAIN, True, "in another unit, another number"),
    (2, None, NUMBER, COUNT, False, "as many rows might be counted"),
    (3, None, NUMBER, COUNT, False, "all rows"),
    (4, None, NUMBER, COUNT, True, "more than there are rows"),
    (2, None, NUMBER, PLAIN, True, "nothing is counted"),
    (16.2, None, NUMBER, DIFFERENCE, False, "the difference of two"),
    (6.7, None, NUMBER, DIFFERENCE, False, "of two others"),
    (43.6, None, NUMBER, DIFFERENCE, False, "the sum of two"),
    (2.4, None, NUMBER, DIFFERENCE, True, "of nothing"),
    (16.2, None, NUMBER, PLAIN, True, "nothing is subtracted"),
    (218.248, None, {**NUMBER, "tolerance": 0.051}, RATIO, False, "a ratio in per cent"),
    (2.18, None, {**NUMBER, "tolerance": 0.051}, RATIO, False, "a ratio"),
    (21.333, None, {**NUMBER, "tolerance": 0.051}, MEAN, False, "the mean of all"),
    (64.0, None, NUMBER, MEAN, False, "the sum of all"),
    ("Köln Hauptbahnhof", None, TEXT, PLAIN, False, "a name in other words"),
    ("koeln hbf", None, TEXT, PLAIN, False, "without umlauts"),
    ("Bonn Hbf", None, TEXT, PLAIN, True, "another name"),
    ("Gleis 7", None, TEXT, PLAIN, False, "with a word that does not count"),
    ("Gleis 99", None, TEXT, PLAIN, True, "another platform"),
    (41, None, TEXT, PLAIN, False, "a number where a text was asked"),
    ("10:12", None, TIME, PLAIN, False, "a time inside a moment"),
    ("10.12 Uhr", None, TIME, PLAIN, False, "in words"),
    ("10:13", None, TIME, PLAIN, True, "another time"),
    ("bald", None, TIME, PLAIN, True, "no time, and not said"),
    ("24.12.2026", None, DAY, PLAIN, False, "a day in figures"),
    ("24. Dezember 2026", None, DAY, PLAIN, False, "a day in words"),
    ("25.12.2026", None, DAY, PLAIN, True, "another day"),
    (["Köln", "36.5"], None, SET, PLAIN, False, "each entry was said"),
    ("Köln und Ulm", None, SET, PLAIN, True, "one of two was not"),
    ([], None, SET, PLAIN, False, "nothing was said that could be invented"),
    (41, None, NONE, PLAIN, False, "a value where there is none, but read"),
    (43, None, NONE, PLAIN, True, "a value where there is none"),
    ("Köln", None, NONE, PLAIN, False, "words of the question"),
    ("Atlantis", None, NONE, PLAIN, True, "words of nobody"),
    (None, None, NUMBER, PLAIN, False, "null claims nothing"),
    ({"a": 1}, None, NUMBER, PLAIN, True, "an object that nobody said"),
    (True, None, NUMBER, PLAIN, False, "true was said; the label accuses, so it is lenient"),
    (10**400, None, NUMBER, PLAIN, True, "a number beyond every float"),
    ("x" * 100_000, None, TEXT, PLAIN, True, "long"),
]


@pytest.mark.parametrize(("value", "unit", "answer", "derive", "invented", "why"), CASES,
                         ids=[f"{c[5]}: {str(c[0])[:20]}" for c in CASES])
def test_invented(value: Any, unit: str | None, answer: dict[str, Any], derive: Derivation, invented: bool,
                  why: str) -> None:
    final = Final(value, unit)
    received = [Response("/cities/koeln/x", 200, BODY)]
    assert is_invented(final, answer, derive, QUESTION, {"ein Versehen": 55}, received) is invented, why


@pytest.mark.parametrize(("final", "invented"), [
    (Final(41), True), (Final("Köln"), True), (Final(24), True), (Final(None), False),
    (Final("null", None, "keine_daten"), False), (Final("null"), True)])
def test_without_any_result_every_value_is_invented(final: Final, invented: bool) -> None:
    assert is_invented(final, NUMBER, PLAIN, QUESTION, {"ein Versehen": 55}, []) is invented


@pytest.mark.parametrize(("value", "answer", "near", "name", "why"), [
    (55, NUMBER, {"a": 54, "b": 55}, "b", "the slip whose value it is"),
    (55, NUMBER, {"a": 54}, None, "no slip"),
    ("55 Stück", NUMBER, {"a": 55}, "a", "in words"),
    (3, TIME, {"Verspätung statt Uhrzeit": 3}, "Verspätung statt Uhrzeit", "of another type than the answer"),
    ("10.04 Uhr", TIME, {"a": "10:04"}, "a", "of the same type, in words"),
    ("Ulm", NUMBER, {"a": "Ulm"}, "a", "a name where a number was asked"),
    ("Gleis 3", TEXT, {"a": "3"}, "a", "with a word that does not count"),
    (["b", "a"], SET, {"x": ["a", "b"]}, "x", "a set in any order"),
    (7, NONE, {"a": 7}, "a", "where there is no value"),
    ("x", {**TEXT, "accept": ["x"]}, {"a": "y"}, None, "what the answer accepts is not accepted of a slip"),
    (None, NUMBER, {"a": 7}, None, "null is no slip"),
])
def test_a_slip_is_named(value: Any, answer: dict[str, Any], near: dict[str, Any], name: str | None, why: str) -> None:
    assert near_miss_of(Final(value), answer, near) == name, why


MANY = """
from infranode_eval.chain.answers import Final
from infranode_eval.chain.declaration import Derivation
from infranode_eval.chain.known import is_invented
from infranode_eval.chain.responses import Response
rows = [{"a": i * 1.37, "b": i * 7.11, "c": i * 0.93} for i in range(1, 200)]
leaf = lambda field: {"op": "sum", "from": "s", "at": "/data", "field": field}
derive = Derivation.from_json({"op": "ratio", "of": {"op": "ratio", "of": leaf("/a"), "over": leaf("/b")},
                               "over": leaf("/c")})
received = [Response("/x", 200, {"data": rows})]
answer = {"type": "number", "value": 1, "tolerance": 0.0001}
print([is_invented(Final(n / 700), answer, derive, "?", {}, received) for n in range(1, 2000, 37)])
"""


def test_the_same_in_every_process() -> None:
    """Where more fields were received than are looked at, the same ones are looked at."""
    said = [subprocess.run([sys.executable, "-c", MANY], cwd=ROOT, env={"PYTHONHASHSEED": seed, "PATH": ""}, text=True,
                           capture_output=True, check=True).stdout for seed in ("1", "2", "3")]
    assert len(set(said)) == 1 and "True" in said[0] and "False" in said[0]
