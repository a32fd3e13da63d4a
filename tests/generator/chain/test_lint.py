"""Lint of the suite chain: the shipped rows have no finding, and every check finds what it is for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from infranode_eval.chain.tasks import shipped_path
from infranode_eval.generator.chain import lint
from infranode_eval.generator.chain.template import Template
from infranode_eval.generator.chain.templates import read_templates
from infranode_eval.generator.lint import has_speller, words_of
from lm_eval_task.records import read_json_lines
from tests.needs import need_program

Rows = list[dict[str, Any]]


@cache
def templates() -> tuple[Template, ...]:
    return read_templates()


@cache
def _shipped() -> tuple[dict[str, Any], ...]:
    return tuple(row for _, row in read_json_lines(shipped_path()))


def shipped() -> Rows:
    return copy.deepcopy(list(_shipped()))


def asking(question: str, **answer: Any) -> dict[str, Any]:
    """A row that asks this."""
    row = copy.deepcopy(next(row for row in _shipped() if (row["category"], row["set"]) == ("stop", "core")))
    row["question"] = question
    row["expect"]["answer"] = {"type": "number", "value": 987654, "unit": None, "tolerance": 0, "accept": [], **answer}
    return row


def test_the_shipped_rows_have_no_finding() -> None:
    assert [str(finding) for finding in lint.findings(shipped(), templates())] == []


def test_the_shipped_rows_are_spelled_as_the_dictionary_and_our_lists_say() -> None:
    need_program("hunspell", has_speller())
    assert [str(finding) for finding in lint.misspelt(lint.texts_of(shipped(), templates()))] == []
    wrong = {"x": "Wie vile Haushalte zählt Chemnitz-Schönau?", "y": "Zahl statt Qoute"}
    assert [str(finding) for finding in lint.misspelt(wrong)] == ["spelling: x: 'vile'", "spelling: y: 'Qoute'"]


def test_every_word_of_the_suites_own_list_is_used_once() -> None:
    used = {word for text in lint.texts_of(shipped(), templates()).values() for word in words_of(text)}
    listed = (lint.DATA / "chain" / "words.txt").read_text("utf-8").split()
    assert len(set(listed)) == len(listed) and [word for word in listed if word not in used] == []


# --- the set ----------------------------------------------------------------------------------------------------------

def without(wanted: Callable[[dict[str, Any]], bool]) -> Rows:
    return [row for row in shipped() if not wanted(row)]


def changed(index: int, **fields: Any) -> Rows:
    rows = shipped()
    rows[index] |= fields
    return rows


@pytest.mark.parametrize(("rows", "found", "why"), [
    (without(lambda row: row["category"] == "stop" and row["task_id"].endswith("-guest_arrivals")),
     "thin: stop: 12 core tasks, expected at least 15", "a category with few tasks"),
    (without(lambda row: row["set"] == "control"), "thin: control: 0 tasks, expected at least 30", "no twins"),
    ([row for row in shipped() if row["category"] in ("stop", "join")], "thin: cities:", "few cities"),
    ([row for row in shipped() if row["category"] == "not_covered"], "thin: keys:", "few keys"),
    ([row for row in shipped() if row["task_id"] != "stop-chemnitz-households-s2"],
     "thin: reseed: 149 tasks, expected as many as core, 150", "a task that the second world lacks"),
    (shipped() + shipped()[-1:], "id: wrong_turn-wiesbaden", "an id twice"),
    (shipped()[::-1], "id: the file: is not sorted", "the order of the file"),
    (changed(0, pair="nobody"), "its twin nobody does not exist", "a twin that is gone"),
    (changed(0, pair=None) + [asking("Wer?") | {"set": "control", "task_id": "z", "pair": None}],
     "pair: z: a control task is a twin", "a control task of nothing"),
    (changed(0, template="gone"), "there is no template gone", "a template that is gone"),
    (changed(0, question="Was ist das?"), "no wording of its template gives the question", "an edited question"),
    (without(lambda row: row["template"] == "households"), "template: households: has fewer than three wordings, or no",
     "a template without rows"),
], ids=lambda value: value if isinstance(value, str) and " " in value and ":" not in value else "")
def test_what_is_wrong_with_a_set(rows: Rows, found: str, why: str) -> None:
    assert any(found in str(finding) for finding in lint.findings(rows, templates())), why


def test_questions_that_stand_twice() -> None:
    rows = {row["template"]: row for row in _shipped() if row["set"] == "core"}
    one, other = copy.deepcopy(rows["households"]), copy.deepcopy(rows["guest_arrivals"])
    assert list(lint.repeated([one, other], templates())) == []
    one["question"] = other["question"].replace("Gästeankünfte", "Gästeankünften")
    assert "alike" in str(next(iter(lint.repeated([one, other], templates()))))
    other["question"] = one["question"]
    assert "all ask" in str(next(iter(lint.repeated([one, other], templates()))))
    main = asking("Wie ist das Wetter in Bonn gerade?")
    main["question"] = next(iter(read_json_lines(lint.data_file("tasks.jsonl"))))[1]["question"]
    assert any(str(finding).startswith("main suite") for finding in lint.repeated([main], templates()))


# --- one question -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("question", "answer", "found"), [
    ("Wie viele Haushalte zählt Chemnitz?", {}, None),
    ("Wie viele  Haushalte zählt Chemnitz?", {}, "characters: '  '"),
    ("Wie viele Haushalte zählt Chemnitz ?", {}, "characters: ' ?'"),
    ("Wie viele \"Haushalte\" zählt Chemnitz?", {}, "characters: '\"'"),
    ("Wie viele „Haushalte“ zählt Chemnitz?", {}, None),
    ("Wie viele Haushalte - ganz genau - zählt Chemnitz?", {}, "characters: ' - '"),
    ("Wie viele Haushalte – ganz genau – zählt Chemnitz?", {}, None),
    ("Wie viele Haushalte zählt Chemnitz...?", {}, "characters: '...'"),
    ("Wie viele Haushalte zählt Chemnitz", {}, "characters: has no mark at its end"),
    ("Wie viele Ga\u0308ste zählt Chemnitz?", {}, "characters: is not in Unicode's composed form"),
    ("Wie viele mit 50kW sind es?", {}, "characters: '0kW' at"),
    ("Wie viele mit 50 kW sind es?", {}, None),
    ("Welche Ladestandorte haben ab 50 kW?", {}, "words: 'ab 5' (a bound of two readings)"),
    ("Welche Züge fahren ab Bonn?", {}, None),
    ("Welche haben bis zu 50 kW?", {}, "words: 'bis zu 5'"),
    ("Welche haben über 50 kW?", {}, "words: 'über 5'"),
    ("Welche liegen zwischen 20 und 50 kW?", {}, "words: 'zwischen 2'"),
    ("Wie viel liegt zwischen der wärmsten und der kühlsten Stadt?", {}, None),
    ("Wie viele sind es etwa?", {}, "words: 'etwa' (asks for no exact value)"),
    ("Wie viele sind es im Umkreis rund um Bonn?", {}, "words: 'rund'"),
    ("Was fährt um halb zehn?", {}, "words: 'halb zehn' (a time of two readings)"),
    ("Was gilt am nächsten Freitag?", {}, "words: 'nächsten Freitag' (a day of two readings)"),
    ("Wann fährt der nächste Zug?", {}, None),
    ("Wann fährt der nächste ICE?", {}, "words: 'ICE' (say Fernzug"),
    ("Wie viele sind es, falls es Daten gibt?", {}, "hints at tools, faults or missing data"),
    ("Welches Werkzeug hilft?", {}, "hints at tools"),
    ("Ignoriere das und zähle.", {}, "words: 'Ignorier' (a word of the fault texts)"),
    ("Nenne mir alle Apotheken in Bonn.", {}, "asks for a whole list"),
    ("Was sagt get_city zu Bonn?", {}, "names: 'get_city'"),
    ("Was sagt air-uba zu Bonn?", {}, "names: 'air-uba'"),
    ("Wie hoch ist der Hebesatz?", {"unit": "%"}, "unit: the answer is in %"),
    ("Wie hoch ist der Hebesatz in Prozent?", {"unit": "%"}, None),
    ("Wie warm ist es?", {"unit": "°C"}, None),
    ("Wie hoch ist der Mittelwert?", {"tolerance": 0.051}, "rounding: does not say how to round"),
    ("Wie hoch ist der Mittelwert auf eine Nachkommastelle?", {"tolerance": 0.051}, None),
    ("Sind es 7,5 Prozent?", {"value": 7.5, "unit": "%"}, "gold: the question holds its answer"),
])
def test_what_is_wrong_with_a_question(question: str, answer: dict[str, Any], found: str | None) -> None:
    problems = [f"{check}: {text}" for check, text in lint.question_problems(asking(question, **answer))]
    assert (problems == []) if found is None else any(found in problem for problem in problems), problems


@pytest.mark.parametrize(("condition", "op", "question", "found"), [
    (["/power_kw", ">=", 50], "count", "Wie viele haben mindestens 50 kW?", False),
    (["/power_kw", ">=", 50], "count", "Wie viele haben mehr als 50 kW?", True),
    (["/power_kw", ">", 50], "count", "Wie viele haben mehr als 50 kW?", False),
    (["/power_kw", "<=", 50], "count", "Wie viele haben höchstens 50 kW?", False),
    (["/power_kw", "<", 50], "count", "Wie viele haben weniger als 50 kW?", False),
    (["/power_kw", "<", 50], "count", "Wie viele haben höchstens 50 kW?", True),
    (["/planned_time", ">=", "2026-07-06T12:00:00"], "count", "Wie viele fahren nachmittags?", False),
    (["/level", ">=", 2], "max", "Wie hoch ist die höchste Stufe?", False),
    (["/level", "<=", 2], "max", "Wie hoch ist die höchste Stufe?", True),
])
def test_a_bound_is_said_in_its_own_word(condition: list[Any], op: str, question: str, found: bool) -> None:
    row = asking(question) | {"derive": {"op": op, "from": "a", "at": "/data", "where": [condition]}}
    if op == "max":
        row["derive"]["field"] = "/level"
    assert any(check == "bound" for check, _ in lint.question_problems(row)) is found
