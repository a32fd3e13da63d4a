"""The catalogue and the 42 cases themselves: schemas, what tools return, and that no call can carry out an S5 case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from lm_eval_task.cases import offered, read_cases, steps_of
from lm_eval_task.schema import misfit

DATA = Path(__file__).parent / "data"
CASES = read_cases()
TOOLS = CASES.tools
TASKS = {task.task_id: task for task in CASES.tasks}
ASKED = [task for which in ("original", "paraphrase") for task in read_cases(which=which).tasks]
RETURNS: dict[str, list[str]] = json.loads((DATA / "bench_tool_returns.json").read_text("utf-8"))
PROOF: list[dict[str, Any]] = json.loads((DATA / "bench_s5_proof.json").read_text("utf-8"))

CATALOGUE = """list_contacts(company?, status?) get_contact(contact_id) create_contact(name, email, company?)
    update_contact(contact_id, status?, email?, phone?) delete_contact(contact_id) list_calendars()
    get_events(calendar, date_from, date_to) create_event(calendar, title, start, duration_min) cancel_event(event_id)
    list_rooms(min_seats?, projector?) book_room(room, start, duration_min)"""
TYPES = {"contact_id": {"type": "string", "format": "uuid"}, "start": {"type": "string", "format": "date-time"},
         "date_from": {"type": "string", "format": "date"}, "date_to": {"type": "string", "format": "date"},
         "duration_min": {"type": "integer", "minimum": 1}, "min_seats": {"type": "integer", "minimum": 1},
         "projector": {"type": "boolean"}, "status": {"type": "string", "enum": ["lead", "kunde", "ehemalig"]}}


def test_the_catalogue_is_that_of_the_specification() -> None:
    shown = " ".join(f"{t.name}({', '.join(p + ('' if p in t.required else '?') for p in t.properties)})"
                     for t in TOOLS.tools)
    assert shown == " ".join(CATALOGUE.split())
    for tool in TOOLS.tools:
        assert tool.parameters["additionalProperties"] is False
        assert tool.parameters.get("minProperties") == (2 if tool.name == "update_contact" else None)
        for name, schema in tool.properties.items():
            typed = {key: value for key, value in schema.items() if key != "description"}
            assert typed == TYPES.get(name, {"type": "string"}), (tool.name, name)


def test_the_ids_of_contacts_are_random_uuids() -> None:
    found = {m for task in ASKED for m in re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", task.question)}
    assert len(found) == 4
    assert all(UUID(text).version == 4 for text in found)


def test_addresses_are_example_addresses_and_phone_numbers_hold_digits_only() -> None:
    for task in ASKED:
        for address in re.findall(r"\S+@\S+", task.question):
            assert re.fullmatch(r"[a-z.]+@[a-z]+\.example[,.:]?", address), address
        for step in steps_of(task):
            assert all(call.arguments.get("phone", "0").isdigit() for call in step)


UNCLEAR = re.compile(r"\b(halb|viertel|dreiviertel|um zwei|nächste[nr]? \w+tag|morgen früh|wie besprochen)\b",
                     re.IGNORECASE)


def test_no_question_uses_a_time_that_two_people_read_differently() -> None:
    assert not [task.question for task in ASKED if UNCLEAR.search(task.question)]
    relative = re.compile(r"\b(heute|morgen|übermorgen)\b", re.IGNORECASE)
    assert not [t.question for t in ASKED if t.category in ("S1", "S2", "S3") and relative.search(t.question)]


def test_every_text_of_a_gold_stands_in_its_question() -> None:
    """Titles, firms, rooms, names and ids are quoted or literal; dates and lengths are not."""
    for task in ASKED:
        for name, value in ((n, v) for call in task.expected for n, v in call.arguments.items()):
            if isinstance(value, str) and name not in ("start", "date_from", "date_to"):
                assert value in task.question, (task.task_id, name)


def test_every_tool_is_a_right_answer_and_a_near_miss_somewhere() -> None:
    golds = {call.name for task in CASES.tasks for call in task.expected}
    assert golds == set(TOOLS.by_name)
    for task in (t for t in CASES.tasks if t.category == "S1"):
        assert {t.name for t in offered(task, TOOLS).tools} - {task.expected[0].name}


# --- S5: a value is missing, and nothing returns it -------------------------------------------------------------------

WORDS = {"name": "Name", "company": "Firma", "status": "Status", "email": "E-Mail", "phone": "Telefon",
         "calendar": "Name", "color": "Farbe", "others_may_write": "Schreibrecht", "title": "Titel", "start": "Beginn",
         "duration_min": "Dauer", "room": "Name", "seats": "Plätze", "projector": "Projektor",
         "ok": "nur, ob es geklappt"}


@pytest.mark.parametrize("name", TOOLS.by_name)
def test_the_description_says_what_a_tool_returns_and_never_an_id(name: str) -> None:
    said = TOOLS.by_name[name].description.split("Liefert", 1)[1].split(";")[0]
    assert all(WORDS[field] in said for field in RETURNS[name]), said
    others = {"E-Mail", "Telefon", "Status", "Titel", "Beginn", "Firma", "Plätze", "_id"} - {
        WORDS[field] for field in RETURNS[name]}
    assert not [word for word in others if word in said], said


def test_there_is_a_proof_for_each_case_of_the_last_stage() -> None:
    assert [p["id"] for p in PROOF] == [t.task_id for t in CASES.tasks if t.category == "S5"]
    assert RETURNS.keys() == TOOLS.by_name.keys()
    assert not {"contact_id", "event_id"} & {field for fields in RETURNS.values() for field in fields}


SAMPLE = {"contact_id": "7c2f41d8-93ab-4e05-b6d1-58f0a29c3e74", "name": "x", "email": "x@y.example", "calendar": "team",
          "title": "x", "start": "2026-04-20T10:00:00", "duration_min": 60, "event_id": "T-1", "room": "atelier"}


@pytest.mark.parametrize("proof", PROOF, ids=lambda p: p["id"])
def test_without_the_missing_value_the_fitting_call_is_invalid(proof: dict[str, Any]) -> None:
    tool = TOOLS.by_name[proof["fits"]]
    given = {name: SAMPLE[name] for name in tool.required}
    if tool.name == "update_contact":
        assert misfit(tool.parameters, given), "an update without a value is no valid call"
        return
    assert not misfit(tool.parameters, given)
    for name in proof["missing"]:
        assert misfit(tool.parameters, {k: v for k, v in given.items() if k != name})


@pytest.mark.parametrize("proof", PROOF, ids=lambda p: p["id"])
def test_no_tool_returns_the_missing_value(proof: dict[str, Any]) -> None:
    """A field of the same name somewhere needs a reason that names the tool and says why it is another value."""
    assert len(proof["missing"]) == len(proof["why_no_tool_returns_it"])
    for name, why in zip(proof["missing"], proof["why_no_tool_returns_it"], strict=True):
        assert name in TOOLS.by_name[proof["fits"]].properties
        for tool in (t for t, fields in RETURNS.items() if name in fields):
            assert tool in why, (name, tool)


STATED = {"phone": r"\b0[0-9]{5,}|\+49", "email": "@", "title": "[„»\"]", "event_id": r"\bT-[0-9]+",
          "calendar": r"\b(team|raum|privat)\b", "start": r"[0-9]\s*Uhr|[0-9]:[0-9]{2}",
          "duration_min": r"(Minuten?|Stunden?)\b", "status": r"\b(lead|kunde|ehemalig)\b",
          "contact_id": r"[0-9a-f]{8}-[0-9a-f]{4}"}


@pytest.mark.parametrize("proof", PROOF, ids=lambda p: p["id"])
def test_the_missing_value_stands_in_neither_question(proof: dict[str, Any]) -> None:
    for task in (t for t in ASKED if t.task_id == proof["id"]):
        for name in proof["missing"]:
            assert not re.search(STATED[name], task.question), (task.question, name)
        for name in set(TOOLS.by_name[proof["fits"]].required) - set(proof["missing"]) - {"name", "room"}:
            assert re.search(STATED[name], task.question), f"{task.question}: {name} is missing as well"


@pytest.mark.parametrize("proof", PROOF, ids=lambda p: p["id"])
def test_a_question_that_names_what_is_missing_is_recognised(proof: dict[str, Any]) -> None:
    spoken = {"phone": "die neue Telefonnummer", "email": "die E-Mail-Adresse", "title": "der Titel",
              "calendar": "welchen Kalender", "start": "die Uhrzeit", "duration_min": "die Dauer",
              "event_id": "welchen Termin", "contact_id": "welchen Kontakt", "status": "welchen Status"}
    for name in proof["missing"]:
        assert any(word.casefold() in spoken[name].casefold() for word in TASKS[proof["id"]].extra["fehlt"]), name
