"""Case files: what the project's own holds, and how a broken case is refused, with file, line and field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lm_eval_task.cases import (
    SILENT,
    Cases,
    looks_like_cases,
    offered,
    read_cases,
    row_of,
    sets_of,
    steps_of,
    task_of,
)
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import Call, Task, tasks_fingerprint
from lm_eval_task.tools import Tool, Toolset, data_file, read_tools

OURS = read_cases()
TOOLS = OURS.tools
UUID = "7c2f41d8-93ab-4e05-b6d1-58f0a29c3e74"


def case(**fields: Any) -> dict[str, Any]:
    """A case that is right, with these fields instead; None takes one out."""
    row = {"id": "X-1", "stufe": "S2", "frage": "Öffne den Kontakt.", "erwartet": [
        {"name": "get_contact", "args": {"contact_id": UUID}}], "prueft": "p", "fallen": "f"} | fields
    return {key: value for key, value in row.items() if value is not None}


Reader = Callable[..., Cases]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """read(row, …, which=…, tools=…): the cases of a file with these lines."""

    def of(*rows: Any, which: str = "original", tools: Toolset = TOOLS) -> Cases:
        path = tmp_path / "eigene.jsonl"
        lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
        path.write_text("\n".join(lines), "utf-8")
        return read_cases(path, tools, which)

    return of


# --- the project's own ------------------------------------------------------------------------------------------------

def test_the_stages_have_the_numbers_of_the_specification() -> None:
    stages = [task.category for task in OURS.tasks]
    assert {s: stages.count(s) for s in stages} == {"S1": 8, "S2": 12, "S3": 8, "S4": 6, "S5": 8}
    assert [sum(len(t.expected) for t in OURS.tasks if t.category == s) for s in ("S1", "S2", "S3")] == [8, 12, 17]
    assert len(TOOLS.tools) == 11
    assert (OURS.zone, OURS.version) == ("+02:00", "bench-2026-12")
    assert "13. April 2026" in OURS.system


def test_each_case_says_what_it_tests_and_what_goes_wrong() -> None:
    for task in OURS.tasks:
        assert task.extra["prueft"] and task.extra["fallen"], task.task_id
        assert ("fehlt" in task.extra) is (task.category == "S5"), task.task_id


def test_the_narrowed_stage_offers_two_to_four_tools_and_every_other_one_all() -> None:
    for task in OURS.tasks:
        number = len(offered(task, TOOLS).tools)
        assert 2 <= number <= 4 if task.category == "S1" else number == 11, task.task_id


def test_the_second_list_asks_the_same_with_other_words() -> None:
    second, both = read_cases(which="paraphrase"), read_cases(which="all")
    assert len(both.tasks) == 84
    for first, other in zip(OURS.tasks, second.tasks, strict=True):
        assert (first.task_id, first.expected, first.extra) == (other.task_id, other.expected, other.extra)
        assert first.question != other.question
    assert [t.task_id for t in both.tasks[:4]] == ["S1-1", "S1-1-p", "S1-2", "S1-2-p"]
    assert {t.question for t in both.tasks} == {t.question for t in (*OURS.tasks, *second.tasks)}


def test_no_question_stands_in_a_task_twice() -> None:
    assert not any("frage2" in task.extra for task in OURS.tasks)


def test_a_task_survives_the_way_through_json() -> None:
    for task in OURS.tasks:
        again = Task.from_json(json.loads(json.dumps(task.to_json(), ensure_ascii=False)))
        assert again == task
        assert (steps_of(again), sets_of(again)) == (steps_of(task), sets_of(task))


# --- a file of one's own ----------------------------------------------------------------------------------------------

def test_head_and_system_text_are_optional_and_comments_are_skipped(read: Reader) -> None:
    cases = read("# meine Fälle", "", case(), "  # noch einer", case(id="X-2"))
    assert [t.task_id for t in cases.tasks] == ["X-1", "X-2"]
    assert (cases.system, cases.zone, cases.version) == ("", "", "")


def test_a_system_text_stands_in_the_head_or_in_a_file_beside_the_cases(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "system.txt").write_text("Du bist da.\n", "utf-8")
    assert read({"kopf": {"system": "system.txt", "zeitzone": "-05:30"}}, case()).system == "Du bist da."
    assert read({"kopf": {"system": "Du hilfst."}}, case()).system == "Du hilfst."


ASKED = case(stufe="S5", erwartet=[], fehlt=["Titel"])


@pytest.mark.parametrize(("system", "about"), [
    ({"system": "system.txt"}, "{folder}/system.txt, 2 lines"), ({"system": "prompt"}, "{folder}/prompt, 1 line"),
    ({"system": "Du hilfst.\nImmer."}, "in {folder}/eigene.jsonl, 2 lines"), ({"system": "  "}, "built-in"),
    ({}, "built-in"),
])
def test_which_system_text_is_used_is_told(read: Reader, tmp_path: Path, system: dict[str, str], about: str) -> None:
    for name, text in (("system.txt", "Du bist da.\nHeute ist Montag.\n"), ("prompt", "Du bist da.")):
        (tmp_path / name).write_text(text, "utf-8")
    assert read({"kopf": system}, ASKED).about == "system text: " + about.format(folder=tmp_path)


def test_the_projects_own_system_text_is_told_by_name() -> None:
    assert OURS.about == f"system text: bench_system.txt, {len(OURS.system.splitlines())} lines"
    assert OURS.notes == ()


def test_a_system_text_that_nothing_names_is_noted(read: Reader, tmp_path: Path) -> None:
    assert read(ASKED).notes == ()
    (tmp_path / "system.txt").write_text("Du bist da.", "utf-8")
    note, = read(ASKED).notes
    assert note.startswith(f'{tmp_path}/eigene.jsonl: no "kopf" names a "system", so {tmp_path}/system.txt is not used')
    assert read({"kopf": {"system": "Du hilfst."}}, ASKED).notes == ()


def test_missing_values_that_no_word_names_are_noted(read: Reader) -> None:
    note, = read(ASKED, ASKED | {"id": "X-2", "fehlt": ["a"]}, case(id="X-3", stufe="S5", erwartet=[])).notes
    assert 'eigene.jsonl: no "fehlt" in X-3: whether a question back' in note
    assert read(ASKED, case(id="X-3", stufe="S4", erwartet=[])).notes == (), "in S4 nothing is missing"


def test_the_tools_are_the_users_own(read: Reader) -> None:
    tools = read_tools(data_file("tools.json"))
    row = case(erwartet=[{"name": "weather", "args": {"slug": "koeln"}}])
    assert read(row, tools=tools).tasks[0].expected == (Call("weather", {"slug": "koeln"}),)
    with pytest.raises(DataError, match="weather is not among the tools"):
        read(row)


def test_alternatives_order_and_sets_come_along(read: Reader) -> None:
    steps = [{"name": "list_rooms", "args": {}, "oder": [{"name": "list_rooms", "args": {"min_seats": 1}}]},
             {"name": "list_calendars"}]
    task, = read(case(stufe="S3", erwartet=steps, reihenfolge=True, nur=["list_rooms", "list_calendars"])).tasks
    assert steps_of(task) == ((Call("list_rooms"), Call("list_rooms", {"min_seats": 1})), (Call("list_calendars"),))
    assert task.extra["reihenfolge"] is True
    assert [t.name for t in offered(task, TOOLS).tools] == ["list_rooms", "list_calendars"]


def test_what_decides_about_a_case_is_in_the_hash() -> None:
    def of(**extra: Any) -> str:
        return tasks_fingerprint([Task("a", "?", (Call("list_rooms"),), extra=extra)])
    assert of() == of(prueft="x", fallen="y")
    different = [of(), of(nur=["list_rooms"]), of(oder=[[]]), of(reihenfolge=True), of(menge=["/a"]), of(fehlt=["a"])]
    assert len(set(different)) == len(different)


TAGGED = Toolset.of(tool for tool in read_tools(Path(__file__).parent / "data" / "reply_tools.json").tools
                    if tool.name == "nearby")
NEARBY = {"name": "nearby", "args": {"slug": "k", "tags": ["a", "b"]}}


def test_a_set_is_a_pointer_to_an_array(read: Reader) -> None:
    task, = read(case(erwartet=[NEARBY], menge=["/tags"]), tools=TAGGED).tasks
    assert sets_of(task) == {("tags",)}
    for pointer in ("tags", "/slug", "/nothing", "/tags/x", "/"):
        with pytest.raises(DataError, match=r'eigene\.jsonl:1: case X-1: "menge"\[0\] must point to an array'):
            read(case(erwartet=[NEARBY], menge=[pointer]), tools=TAGGED)


def step(name: str = "get_contact", **args: Any) -> list[dict[str, Any]]:
    return [{"name": name, "args": args}]


def other(name: str, **args: Any) -> list[dict[str, Any]]:
    return [{"name": "get_contact", "args": {"contact_id": UUID}, "oder": step(name, **args)}]


BOOKING = {"room": "atelier", "start": "2026-04-21T09:30:00", "duration_min": 60}
BROKEN = [
    # (why, the case, what the message says after "eigene.jsonl:1: ")
    ("no object", [], "a case is a JSON object, found []"),
    ("missing id", case(id=None), 'a case: "id" is missing'),
    ("blank id", case(id=" "), 'a case: "id" must be a text that is not blank'),
    ("missing question", case(frage=None), 'case X-1: "frage" is missing'),
    ("no text", case(prueft=5), 'case X-1: "prueft" must be a text that is not blank, found 5'),
    ("blank second question", case(frage2=""), 'case X-1: "frage2" must be a text'),
    ("unknown stage", case(stufe="S6"), 'case X-1: "stufe" must be one of S1, S2, S3, S4, S5, found "S6"'),
    ("missing stage", case(stufe=None), 'case X-1: "stufe" must be one of'),
    ("missing calls", case(erwartet=None), 'case X-1: "erwartet" must be a list of calls'),
    ("misspelled field", case(reihenfoge=True), 'case X-1: "reihenfoge" is unknown; expected id, stufe, frage'),
    ("misspelled field of a call", case(erwartet=[{"name": "list_rooms", "arguments": {}}]),
     'case X-1: "erwartet"[0]: "arguments" is unknown; expected name, args, oder'),
    ("no call", case(erwartet=["list_rooms"]), 'case X-1: "erwartet"[0] must be {"name": "…", "args": {…}}'),
    ("unknown tool", case(erwartet=step("open_contact")),
     'case X-1: "erwartet"[0]: "name": open_contact is not among the tools (list_contacts, get_contact'),
    ("arguments that are no object", case(erwartet=[{"name": "list_rooms", "args": []}]),
     'case X-1: "erwartet"[0]: "args" must be an object, found []'),
    ("argument outside the schema", case(erwartet=step(contact_id=UUID, kind="x")),
     'case X-1: "erwartet"[0]: "args" of get_contact do not fit the schema: the arguments: there is no kind'),
    ("missing argument", case(erwartet=step()), "the arguments: contact_id is missing"),
    ("a format", case(erwartet=step(contact_id="A")), 'contact_id: "A" is no uuid'),
    ("a type", case(erwartet=step("list_rooms", min_seats="12")), 'min_seats: must be of type integer, found "12"'),
    ("a value outside the enum", case(erwartet=step("list_contacts", status="Kunde")),
     'status: must be one of "lead", "kunde", "ehemalig", found "Kunde"'),
    ("below the minimum", case(erwartet=step("book_room", **BOOKING | {"duration_min": 0})), "must be at least 1"),
    ("no date-time", case(erwartet=step("book_room", **BOOKING | {"start": "21.04.2026 9:30"})), "is no date-time"),
    ("an update without a value", case(erwartet=step("update_contact", contact_id=UUID)), "needs at least 2 entries"),
    ("alternative outside the schema", case(erwartet=other("list_rooms", min_seats=0)),
     'case X-1: "erwartet"[0]: "oder"[0]: "args" of list_rooms do not fit the schema: min_seats: must be at least 1'),
    ("alternative of an unknown tool", case(erwartet=other("nothing")), '"erwartet"[0]: "oder"[0]: "name": nothing is'),
    ("alternative with alternatives", case(erwartet=[{**step("list_rooms")[0], "oder": other("list_rooms")}]),
     '"erwartet"[0]: "oder"[0]: "oder" is unknown'),
    ("alternatives that are no list", case(erwartet=[{**step("list_rooms")[0], "oder": {}}]),
     '"erwartet"[0]: "oder" must be a list of calls'),
    ("narrowed to an unknown tool", case(nur=["get_contact", "nothing"]), 'case X-1: "nur"[1]: nothing is not among'),
    ("narrowed twice to one", case(nur=["get_contact", "get_contact"]), '"nur"[1]: get_contact stands there twice'),
    ("narrowed to nothing", case(nur=[]), 'case X-1: "nur" must be a list of texts, found []'),
    ("narrowed without the expected tool", case(nur=["list_rooms", "book_room"]),
     'case X-1: "erwartet"[0]: get_contact is not offered in this case; add it to "nur" (list_rooms, book_room)'),
    ("narrowed without an alternative's tool", case(nur=["get_contact"], erwartet=other("list_rooms")),
     '"erwartet"[0]: "oder"[0]: list_rooms is not offered'),
    ("order that is no truth value", case(reihenfolge="ja"), 'case X-1: "reihenfolge" must be true or false'),
    ("words that are no list", case(stufe="S5", erwartet=[], fehlt="Titel"), '"fehlt" must be a list of texts'),
    ("a set of nothing", case(menge=[]), '"menge" must be a list of texts'),
    ("one call too many", case(stufe="S1", erwartet=step("list_rooms") * 2),
     '"erwartet" of stage S1 must hold one call, found 2'),
    ("one call too few", case(stufe="S3"), '"erwartet" of stage S3 must hold two calls or more, found 1'),
    ("a call where none is right", case(stufe="S4"), '"erwartet" of stage S4 must hold []: no call is right there'),
    ("a head that is no object", {"kopf": []}, '"kopf" must be an object such as'),
    ("a head with an unknown field", {"kopf": {"zone": "+02:00"}}, '"kopf": "zone" is unknown; expected system'),
    ("a zone by a wrong name", {"kopf": {"zeitzone": "Europe/Berln"}},
     '"zeitzone" of "kopf": time zone Europe/Berln is not known on this machine; expected a name such as'),
    ("no zone", {"kopf": {"zeitzone": "Berlin"}},
     '"zeitzone" of "kopf" must be an offset such as "+02:00" or a name such as "Europe/Berlin", found "Berlin"'),
    ("a head's number", {"kopf": {"version": 1}}, '"version" of "kopf" must be a text, found 1'),
    ("a system file that is not there", {"kopf": {"system": "weg.txt"}}, '"system" of "kopf": weg.txt cannot be read'),
    ("a file name without its ending", {"kopf": {"system": "sytem"}},
     '"system" of "kopf": sytem cannot be read (No such file or directory); it must be a file beside'),
    ("a file name that no file can have", {"kopf": {"system": "a\0b"}}, '"system" of "kopf": '),
    ("words to ask for where a call is right", case(fehlt=["Titel"]),
     'case X-1: "fehlt" is for stages in which no call is right (S4, S5), found stage S2'),
    ("broken JSON", '{"id": "X-1"', "is not JSON"),
]


@pytest.mark.parametrize(("why", "row", "message"), BROKEN, ids=[b[0] for b in BROKEN])
def test_a_broken_case_names_file_line_and_field(read: Reader, why: str, row: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read("# ein Fall", row, case(id="X-9"))
    text = str(caught.value)
    assert "eigene.jsonl:2: " in text and "\n" not in text
    assert message in text


def test_an_id_stands_once_in_a_file(read: Reader) -> None:
    with pytest.raises(DataError, match=r'eigene\.jsonl:3: "id": X-1 stands already in line 1'):
        read(case(), case(id="X-2"), case())


def test_the_head_is_the_first_line(read: Reader) -> None:
    for rows in ([case(), {"kopf": {}}], [{"kopf": {"version": "1"}}, {"kopf": {}}, case()]):
        with pytest.raises(DataError, match=r'eigene\.jsonl:2: "kopf" must be the first line'):
            read(*rows)


def test_the_hint_at_tools_is_for_those_who_gave_none(read: Reader) -> None:
    unknown = case(erwartet=[{"name": "weather", "args": {}}])
    with pytest.raises(DataError, match=r"if it is a tool of your own, give --tools FILE$"):
        read(unknown)
    with pytest.raises(DataError, match=r"weather is not among the tools \(nearby\)$"):
        read(unknown, tools=TAGGED)


@pytest.mark.parametrize(("text", "like"), [
    ('# c\n{"kopf": {}}', True), ('{"id": "a", "stufe": "S1", "frage": "?"}', True), ("\ufeff" + '{"kopf": {}}', True),
    ('{"task_id": "a", "question": "?", "expected": []}', False), ("[]", False), ("", False), ("kaputt", False),
])
def test_a_file_of_cases_is_known_by_its_first_row(tmp_path: Path, text: str, like: bool) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text, "utf-8")
    assert looks_like_cases(path) is like


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    for name, text in (("c.jsonl", json.dumps({"kopf": {"system": "s.txt"}}) + "\n" + json.dumps(case())),
                       ("s.txt", "Du bist da."), ("t.json", json.dumps(TOOLS.to_json()))):
        (tmp_path / name).write_text(text, "utf-8-sig")
    cases = read_cases(tmp_path / "c.jsonl", read_tools(tmp_path / "t.json"))
    assert (cases.system, len(cases.tasks), cases.tools) == ("Du bist da.", 1, TOOLS)


def test_a_file_without_a_case_is_refused(read: Reader, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no case"):
        read({"kopf": {}})
    with pytest.raises(DataError, match=r"weg\.jsonl: cannot be read"):
        read_cases(tmp_path / "weg.jsonl")


def test_paraphrases_are_asked_only_where_there_are_some(read: Reader) -> None:
    rows = case(frage2="Anders gefragt."), case(id="X-2")
    assert [t.task_id for t in read(*rows, which="all").tasks] == ["X-1", "X-1-p", "X-2"]
    with pytest.raises(DataError, match=r'eigene\.jsonl:2: case X-2: "frage2" is missing'):
        read(*rows, which="paraphrase")
    with pytest.raises(UsageError, match="set core does not exist|set 'core' does not exist"):
        read(*rows, which="core")


def test_a_silent_stage_expects_nothing() -> None:
    assert all(bool(task.expected) is (task.category not in SILENT) for task in OURS.tasks)


# --- back into a line -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("which", ["original", "paraphrase", "all"])
def test_a_case_written_as_a_line_is_read_as_the_same_case(which: str) -> None:
    tasks = read_cases(which=which).tasks
    assert any("oder" in task.extra for task in tasks) and any("nur" in task.extra for task in tasks)
    assert tuple(task_of(row_of(task), TOOLS) for task in tasks) == tasks
    again = tuple(Task.from_json(json.loads(json.dumps(task.to_json()))) for task in tasks)
    assert tuple(task_of(row_of(task), TOOLS) for task in again) == tasks, "as a document of lm-eval holds it"


@pytest.mark.parametrize("others", [5, [], [[], []], [5], [{"name": "get_contact"}]])
def test_alternatives_that_are_no_lists_by_step_are_refused(others: Any) -> None:
    with pytest.raises(DataError, match='case X-1: "oder" must hold a list of calls for each step'):
        row_of(Task("X-1", "?", (Call("get_contact", {}),), category="S2", extra={"oder": others}))


@pytest.mark.parametrize("extra, message", [
    ({"oder": [[5]]}, '"oder"'), ({"nur": ["fax"]}, '"nur"'), ({"menge": 5}, '"menge"'),
    ({"reihenfolge": "ja"}, '"reihenfolge"'), ({"fehlt": [1]}, '"fehlt"')])
def test_what_a_task_of_unknown_origin_holds_is_checked_as_a_line(extra: dict[str, Any], message: str) -> None:
    task = Task("X-1", "?", (Call("get_contact", {"contact_id": UUID}),), category="S2", extra=extra)
    with pytest.raises(DataError, match=message):
        task_of(row_of(task), TOOLS)


def test_an_id_that_the_second_question_of_another_case_takes_is_refused(read: Reader) -> None:
    rows = case(frage2="Anders gefragt."), case(id="X-1-p")
    assert len(read(*rows).tasks) == 2, "alone, each list has its own ids"
    with pytest.raises(DataError, match=r'eigene\.jsonl:2: "id": X-1-p is what .* X-1 \(line 1\)'):
        read(*rows, which="all")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_gold_that_is_no_json_number_is_refused(read: Reader, number: str) -> None:
    call = {"name": "list_rooms", "args": {"min_seats": 7777}}
    for row in (case(erwartet=[call]), case(erwartet=[{"name": "list_rooms", "args": {}, "oder": [call]}])):
        with pytest.raises(DataError, match=r'eigene\.jsonl:1: case X-1: .*"args" must hold JSON numbers only'):
            read(json.dumps(row).replace("7777", number))


@pytest.mark.parametrize("system", ["a\0b", "a\0b.txt"])
def test_a_system_text_with_nul_is_refused(read: Reader, system: str) -> None:
    with pytest.raises(DataError, match=r'eigene\.jsonl:1: "system" of "kopf": holds a NUL'):
        read({"kopf": {"system": system}}, case())


TAGS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(("schema", "pointer", "value"), [
    ({"anyOf": [TAGS, {"type": "null"}]}, "/tags", ["a"]), ({"oneOf": [{"type": "null"}, TAGS]}, "/tags", ["a"]),
    ({"type": ["array", "null"]}, "/tags", ["a"]),
    ({"anyOf": [{"type": "array", "items": {"anyOf": [TAGS, {"type": "null"}]}}, {"type": "null"}]}, "/tags/*",
     [["a"]]),
])
def test_an_optional_array_may_be_a_set(read: Reader, schema: dict[str, Any], pointer: str, value: list[Any]) -> None:
    tools = Toolset.of([Tool.from_json({"name": "mark", "parameters": {"properties": {"tags": schema}}})])
    row = case(erwartet=[{"name": "mark", "args": {"tags": value}}], menge=[pointer])
    assert sets_of(read(row, tools=tools).tasks[0]) == {tuple(pointer[1:].split("/"))}
