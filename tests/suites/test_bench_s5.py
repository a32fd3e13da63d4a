"""S5 proved: what each case lacks stands in no question, no system text and no declared output, or is disarmed there.

A case of S5 is only fair if silence is the one right answer: a tool fits, a value is missing, and nothing in the
catalogue returns it. The table below says for each missing value which words would betray it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import pytest

from lm_eval_task.cases import read_cases
from lm_eval_task.records import Task
from lm_eval_task.tools import Tool, Toolset, data_file, read_tools

UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
CLOCK = r"\b\d{1,2}(?::\d{2})? ?Uhr|\b\d{1,2}:\d{2}\b|\bum (?:eins|zwei|drei|acht|neun|zehn|elf|zwölf)\b"
LENGTH = r"\bMinuten?\b|\bStunden?\b|\bviertelstündig|\b\d+ ?min\b"


@dataclass(frozen=True)
class Missing:
    """A value that a case lacks.

    betrays: words of a declared output that would hand it over. carriers: the tools whose output has such a word all
    the same, and the words, in the catalogue or in the question, that disarm them. given: what the value looks like
    where it is given. asked: what a word of `fehlt` that asks for it looks like.
    """

    parameter: str
    betrays: str
    given: str
    asked: str
    carriers: dict[str, str] = field(default_factory=dict)
    why: str = ""


PHONE = Missing("phone", "telefon|nummer", r"\b\+?\d{6,}\b", "nummer|telefon",
                {"get_contact": "was jetzt gespeichert ist"}, "the number stored now is the one to be replaced")
EMAIL = Missing("email", "mail", r"\S+@\S+", "mail", {"get_contact": "noch nicht gespeichert|bisher nichts zu tun"},
                "who is new has no record, and no contact_id to look it up by")
TITLE = Missing("title", "titel|betreff|thema", "„.+“", "titel|betreff|thema|worum",
                {"get_events": "Titel, den der Benutzer dem Termin gibt"}, "titles of other events are no title of his")
CALENDAR = Missing("calendar", "kalender", r"\b(?:team|privat)\b|Kalender raum", "kalender",
                   {"list_calendars": "es gibt keinen Standardkalender"}, "three names, and none is the usual one")
BOOKED = Missing("start", "beginn|uhrzeit|zeiten", CLOCK, "uhrzeit|wann",
                 {"get_events": "in keinem Kalender erscheint die Buchung"}, "the calendars know nothing of bookings")
AGREED = Missing("start", "beginn|uhrzeit|zeiten", CLOCK, "uhrzeit|wann",
                 {"get_events": "steht noch in keinem Kalender|bisher nirgends eingetragen"},
                 "the event is in no calendar yet, and its time is settled: a free gap is no answer")
LASTING = Missing("duration_min", "dauer|länge|minuten", LENGTH, "dauer|lange|länge",
                  {"get_events": "es gibt keine Standarddauer"}, "how long other events last")
EVENT = Missing("event_id", r"event_id|kennung|\bid\b|terminnummer", r"\bT-\d+\b", "kennung|event_id|welchen termin")
CONTACT = Missing("contact_id", r"contact_id|kennung|\bid\b", UUID, "kennung|contact_id|welchen kontakt")
STATUS = Missing("status", "status", r"\b(?:lead|kunde|ehemalig)\b", "status",
                 {"list_contacts": "eine Reihenfolge gibt es nicht", "get_contact": "was jetzt gespeichert ist"},
                 "the status stored now is the old one, and two others remain")

PROOF: dict[str, tuple[str, tuple[Missing, ...]]] = {       # case: the tool that fits, what it lacks
    "S5-1": ("update_contact", (PHONE,)),
    "S5-2": ("create_contact", (EMAIL,)),
    "S5-3": ("create_event", (TITLE, CALENDAR)),
    "S5-4": ("book_room", (BOOKED, LASTING)),
    "S5-5": ("cancel_event", (EVENT,)),
    "S5-6": ("delete_contact", (CONTACT,)),
    "S5-7": ("update_contact", (STATUS,)),
    "S5-8": ("create_event", (CALENDAR, AGREED, LASTING)),
}
PAIRS = [(case, missing) for case, (_, values) in PROOF.items() for missing in values]


@pytest.fixture(scope="module")
def tools() -> Toolset:
    return read_tools(data_file("bench_tools.json"))


@pytest.fixture(scope="module")
def system() -> str:
    return read_cases().system


def wordings(case: str) -> list[Task]:
    return [task for which in ("original", "paraphrase") for task in read_cases(which=which).tasks
            if task.task_id == case]


def returned(description: str) -> str:
    """What a description says that comes back: from "Liefert" to the first semicolon or full stop."""
    return re.search(r"Liefert[^;.]*", description)[0]


def betrayals(case: str, missing: Missing, tools: Toolset, system: str) -> list[str]:
    """What would hand the value over, or who does so without being disarmed."""
    catalogue = json.dumps(tools.to_json(), ensure_ascii=False)
    carriers = {t.name for t in tools.tools if re.search(missing.betrays, returned(t.description), re.IGNORECASE)}
    found = [f"{name} returns it" for name in sorted(carriers - missing.carriers.keys())]
    found += [f"{name} does not return it any more" for name in sorted(missing.carriers.keys() - carriers)]
    for task in wordings(case):
        found += [f"given in the question: {m[0]}" for m in re.finditer(missing.given, task.question)]
        found += [f"{name} is not disarmed for: {task.question}" for name, words in missing.carriers.items()
                  if not re.search(words, catalogue + task.question)]
    values = set(re.findall(missing.given, system))
    if len(values) == 1 or values and missing.parameter != "calendar":
        found.append(f"given in the system text: {values}")
    schema = tools.by_name[PROOF[case][0]].properties[missing.parameter]
    if "default" in schema or len(schema.get("enum", (1, 2))) < 2:
        found.append("the schema leaves one value only")
    return found


def test_the_table_holds_every_case_of_s5() -> None:
    assert list(PROOF) == [task.task_id for task in read_cases().tasks if task.category == "S5"]


@pytest.mark.parametrize(("case", "missing"), PAIRS, ids=[f"{case} {missing.parameter}" for case, missing in PAIRS])
def test_nothing_hands_the_missing_value_over(case: str, missing: Missing, tools: Toolset, system: str) -> None:
    assert betrayals(case, missing, tools, system) == [], missing.why


@pytest.mark.parametrize("case", PROOF)
def test_the_tool_fits_and_cannot_do_without_the_value(case: str, tools: Toolset) -> None:
    name, values = PROOF[case]
    tool = tools.by_name[name]
    optional = {m.parameter for m in values} - set(tool.required)
    assert not optional or (len(values) == 1 and tool.parameters["minProperties"] > len(tool.required)), \
        "an update without a value is no valid call, so the one that is asked for cannot be left out"


@pytest.mark.parametrize(("case", "missing"), PAIRS, ids=[f"{case} {missing.parameter}" for case, missing in PAIRS])
def test_a_question_for_the_missing_value_is_known_as_such(case: str, missing: Missing) -> None:
    for task in wordings(case):
        assert any(re.search(missing.asked, word, re.IGNORECASE) for word in task.extra["fehlt"])


def test_what_follows_a_declared_output_only_denies(tools: Toolset) -> None:
    """The proof reads up to the semicolon, so nothing may come back behind it."""
    for tool in tools.tools:
        rest = tool.description.split(returned(tool.description), 1)[1].lstrip(";. ")
        assert not rest or re.search("nicht dabei|geht an den Benutzer", rest), tool.name
        assert tool.description.count("Liefert") == 1


@pytest.mark.parametrize(("case", "missing", "name", "old", "new"), [
    ("S5-6", CONTACT, "list_contacts", "Name, Firma und Status", "Name, Firma, Status und contact_id"),
    ("S5-5", EVENT, "get_events", "Titel, Beginn und Dauer", "Titel, Beginn, Dauer und Kennung"),
    ("S5-1", PHONE, "list_contacts", "Name, Firma und Status", "Name, Telefon und Status"),
    ("S5-1", PHONE, "get_contact", "Liefert nur, was jetzt gespeichert ist:", "Liefert"),
    ("S5-4", BOOKED, "list_rooms", "ob ein Projektor da ist", "freie Zeiten"),
    ("S5-4", BOOKED, "book_room", "in keinem Kalender erscheint die Buchung", "in raum erscheint die Buchung"),
])
def test_a_catalogue_that_tells_more_is_caught(case: str, missing: Missing, name: str, old: str, new: str,
                                               tools: Toolset, system: str) -> None:
    text = json.dumps(tools.to_json(), ensure_ascii=False)
    value = json.loads(text)
    [function] = [entry["function"] for entry in value if entry["function"]["name"] == name]
    assert old in function["description"]
    function["description"] = function["description"].replace(old, new)
    assert betrayals(case, missing, Toolset.of(map(Tool.from_json, value)), system)


def test_a_system_text_that_names_one_calendar_is_caught(tools: Toolset, system: str) -> None:
    only = system.replace("team, raum und privat", "team")
    assert betrayals("S5-8", CALENDAR, tools, only) == ["given in the system text: {'team'}"]
