"""Equality of calls: each row of the specification's table, both ways, and which fault an unequal call has."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.mutations import GERMAN, meaning, native_reply
from lm_eval_task.german import means
from lm_eval_task.match import (
    BENCH,
    MAIN,
    arguments_equal,
    bench_policy,
    calls_equal,
    fault_of,
    form_notes,
    json_equal,
    lenient_value,
    pairing,
    same_text_equal,
)
from lm_eval_task.metrics import score_reply
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import COMPARE_RESOURCES, POI_TYPES, THE_TWELVE, Tool, Toolset, call_problem, read_tools

OWN = read_tools(Path(__file__).parent / "data" / "reply_tools.json")
TOOLS = read_tools()

JSON = [
    (5, 5.0, True), (5, 6, False), (True, 1, False), (False, 0, False), ("5", 5, False), ("true", True, False),
    (None, None, True), (None, False, False), (None, 0, False), ("", None, False), ("a", "a", True), ("a", "A", False),
    ("ü", "u\u0308", True), ("a ", "a", False), ([1, 2], [1, 2], True), ([1, 2], [2, 1], False), ([1], [1, 1], False),
    ([True], [1], False), ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True), ({"a": 1}, {"a": 1, "b": None}, False),
    ({"a": [{"b": 1}]}, {"a": [{"b": True}]}, False), ([], {}, False), (0, -0.0, True), (10**400, 10**400, True),
    (10**400, 1.0, False), ({}, {}, True), ([[]], [[]], True), ("1e3", 1000, False),
]


@pytest.mark.parametrize(("a", "b", "equal"), JSON, ids=range(len(JSON)))
def test_json_equality(a: Any, b: Any, equal: bool) -> None:
    assert json_equal(a, b) is equal
    assert json_equal(b, a) is equal


def c(name: str, **arguments: Any) -> Call:
    return Call(name, arguments)


TABLE = [
    # (actual, expected, equal, row of the table)
    (c("nearby", slug="k", limit=5), c("nearby", slug="k", limit=5.0), True, "5 = 5.0"),
    (c("nearby", slug="k", limit=5), c("nearby", slug="k", limit=6), False, "5 != 6"),
    (c("nearby", slug="k", limit="5"), c("nearby", slug="k", limit=5), False, "'5' != 5"),
    (c("nearby", slug="k", open_only=True), c("nearby", slug="k", open_only=1), False, "true != 1"),
    (c("nearby", slug="k", area={"a": 1, "b": 2}), c("nearby", slug="k", area={"b": 2, "a": 1}), True, "key order"),
    (c("nearby", slug="k", note="ä"), c("nearby", slug="k", note="a\u0308"), True, "NFC = NFD"),
    (c("nearby", slug="k", note=None), c("nearby", slug="k"), True, "optional: null = omitted"),
    (c("nearby", slug="k", limit=10), c("nearby", slug="k"), True, "optional: default = omitted"),
    (c("nearby", slug="k", limit=10.0), c("nearby", slug="k"), True, "optional: default as a float"),
    (c("nearby", slug="k", open_only=False), c("nearby", slug="k"), True, "optional: false is the default"),
    (c("nearby", slug="k", open_only=0), c("nearby", slug="k"), False, "0 is not the default false"),
    (c("nearby", slug="k", note=""), c("nearby", slug="k"), False, "optional: '' != omitted"),
    (c("nearby", slug="k", tags=[]), c("nearby", slug="k"), False, "optional: [] != omitted"),
    (c("transit_departures", slug="koeln", stop_id=None), c("transit_departures", slug="koeln"), True, "default null"),
    (c("weather", slug=None), c("weather", slug="koeln"), False, "required: null = missing"),
    (c("weather"), c("weather", slug="koeln"), False, "required: absent"),
    (c("weather", slug="KOELN"), c("weather", slug="koeln"), True, "slug: ASCII case"),
    (c("weather", slug="Koeln"), c("weather", slug="koeln"), True, "slug: ASCII case"),
    (c("weather", slug="Köln"), c("weather", slug="koeln"), False, "slug: umlauts"),
    (c("weather", slug="koln"), c("weather", slug="koeln"), False, "slug: missing umlaut"),
    (c("weather", slug="\u212aoeln"), c("weather", slug="koeln"), False, "slug: the Kelvin sign is no ASCII K"),
    (c("weather", slug="halle"), c("weather", slug="halle-saale"), False, "slug: short form"),
    (c("weather", slug="halle-saale-x"), c("weather", slug="halle-saale"), False, "slug: long form"),
    (c("weather", slug="halle saale"), c("weather", slug="halle-saale"), False, "slug: inner blank"),
    (c("weather", slug=" koeln"), c("weather", slug="koeln"), False, "slug: edge blank"),
    (c("weather", slug="koeln\n"), c("weather", slug="koeln"), False, "slug: newline"),
    (c("weather", slug="hallesaale"), c("weather", slug="halle-saale"), False, "slug: punctuation"),
    (c("weather", slug="halle_saale"), c("weather", slug="halle-saale"), False, "slug: punctuation"),
    (c("compare", resource="air", cities="bonn, Koeln"), c("compare", resource="air", cities="koeln,bonn"), True,
     "cities: order, blanks, case"),
    (c("compare", resource="air", cities="koeln,bonn,bonn"), c("compare", resource="air", cities="koeln,bonn"), False,
     "cities: duplicates"),
    (c("compare", resource="air", cities=["koeln", "bonn"]), c("compare", resource="air", cities="koeln,bonn"), False,
     "cities: a list"),
    (c("compare", resource="air", cities="koeln,bonn,"), c("compare", resource="air", cities="koeln,bonn"), False,
     "cities: an empty entry"),
    (c("compare", resource="air", cities="köln,bonn"), c("compare", resource="air", cities="koeln,bonn"), False,
     "cities: umlauts"),
    (c("compare", resource="air", cities="koeln bonn"), c("compare", resource="air", cities="koeln,bonn"), False,
     "cities: blanks instead of commas"),
    (c("compare", resource="AIR", cities="koeln"), c("compare", resource="air", cities="koeln"), False,
     "resource: case"),
    (c("pois", slug="koeln", type="School"), c("pois", slug="koeln", type="school"), False, "type: case"),
    (c("pois", slug="koeln", type="Schule"), c("pois", slug="koeln", type="school"), False, "type: German"),
    (c("get_city_resource", slug="koeln", resource="Parking"), c("get_city_resource", slug="koeln", resource="parking"),
     False, "resource: case"),
    (c("station_board_departures", eva="08000207"), c("station_board_departures", eva="8000207"), False,
     "eva: leading zeros"),
    (c("station_board_departures", eva="8000207 "), c("station_board_departures", eva="8000207"), False, "eva: exact"),
    (c("station_board_departures", eva=8000207), c("station_board_departures", eva="8000207"), False, "eva: a string"),
    (c("transit_departures", slug="koeln", stop_id="DE:1:2"), c("transit_departures", slug="koeln", stop_id="de:1:2"),
     False, "stop_id: exact"),
    (c("weather", slug="koeln", x=None), c("weather", slug="koeln"), False, "unexpected argument: any, even null"),
    (c("list_cities", limit=5), c("list_cities"), False, "unexpected argument"),
    (c("sources"), c("list_cities"), False, "another tool"),
    (c("nearby", slug="KOELN"), c("nearby", slug="koeln"), False, "another tool than the twelve: JSON equality only"),
]


@pytest.mark.parametrize(("actual", "expected", "equal", "row"), TABLE,
                         ids=[f"{i} {t[3]}" for i, t in enumerate(TABLE)])
def test_table_of_equalities(actual: Call, expected: Call, equal: bool, row: str) -> None:
    assert calls_equal(OWN, actual, expected) is equal, row


@pytest.mark.parametrize("row", [t for t in TABLE if not t[2]], ids=lambda t: t[3])
def test_an_unequal_call_has_a_fault(row: tuple[Call, Call, bool, str]) -> None:
    fault = fault_of(OWN, row[0], row[1])
    assert fault.outcome in ("wrong_tool", "missing_args", "hallucinated_arg", "type_error", "wrong_args")
    assert (fault.sub is not None) is (fault.outcome == "wrong_args")


def test_every_gold_equals_itself() -> None:
    for tool in TOOLS.tools:
        call = Call(tool.name, {p: s.get("enum", ["koeln"])[0] for p, s in tool.properties.items()})
        assert calls_equal(TOOLS, call, call)


# --- the word table ---------------------------------------------------------------------------------------------------

KEYS = sorted({*TOOLS.by_name["get_city_resource"].properties["resource"]["enum"], *COMPARE_RESOURCES, *POI_TYPES})


@pytest.mark.parametrize("key", KEYS)
def test_every_key_and_type_has_a_german_word(key: str) -> None:
    assert means(GERMAN[key], key)
    assert means(GERMAN[key].lower(), key)
    assert not means(key + "-x", key)


def test_a_word_stands_for_its_own_key_only() -> None:
    assert not means("Apotheke", "hospital")
    assert not means("Wetter", "air")


# --- matching ---------------------------------------------------------------------------------------------------------

def best(edges: list[list[bool]]) -> int:
    """Size of a maximum matching by trying every assignment."""
    rows, columns = len(edges), len(edges[0]) if edges else 0
    if not rows or not columns:
        return 0
    if rows > columns:
        return best([list(column) for column in zip(*edges, strict=True)])
    return max(sum(edges[r][chosen[r]] for r in range(rows)) for chosen in itertools.permutations(range(columns), rows))


def test_matching_is_maximal_and_uses_each_call_once() -> None:
    rng = random.Random("infranode matching")
    for _ in range(400):
        actual, expected = rng.randint(1, 5), rng.randint(1, 5)
        edges = [[rng.random() < 0.4 for _ in range(expected)] for _ in range(actual)]
        partners = pairing(lambda a, e, edges=edges: edges[a][e], actual, expected)
        pairs = [(a, e) for a, e in enumerate(partners) if e is not None]
        assert all(edges[a][e] for a, e in pairs)
        assert len({e for _, e in pairs}) == len(pairs) == best(edges)


def test_matching_needs_augmenting_paths() -> None:
    assert pairing(lambda a, e: [[True, True], [True, False]][a][e], 2, 2) == [1, 0]


# --- lenient values ---------------------------------------------------------------------------------------------------

LENIENT = [
    ({"type": "integer"}, "5", 5), ({"type": "integer"}, "-5", -5), ({"type": "integer"}, "5.0", "5.0"),
    ({"type": "integer"}, "fünf", "fünf"), ({"type": "number"}, "5", 5), ({"type": "boolean"}, "true", True),
    ({"type": "boolean"}, "False", False), ({"type": "boolean"}, "ja", "ja"), ({"type": "boolean"}, 1, 1),
    ({"type": "string"}, 8000207, "8000207"), ({"type": "string"}, True, True), ({"type": "string"}, 2.5, 2.5),
    ({"type": "string"}, ["a", "b"], "a,b"), ({"type": "string"}, ["a", 1], ["a", 1]), ({"type": "string"}, "5", "5"),
    ({"type": ["string", "null"]}, 5, "5"), ({"type": "array"}, "a,b", "a,b"), ({}, "5", "5"),
    ({"type": "integer"}, "9" * 5000, "9" * 5000), ({"type": "string"}, {"a": 1}, {"a": 1}), ({"type": "integer"}, "٣",
     "٣"),
]


@pytest.mark.parametrize(("schema", "value", "wanted"), LENIENT, ids=range(len(LENIENT)))
def test_lenient_value(schema: dict[str, Any], value: Any, wanted: Any) -> None:
    got = lenient_value(schema, value)
    assert (type(got), got) == (type(wanted), wanted)


def test_the_rules_hang_on_the_twelve() -> None:
    assert {t.name for t in TOOLS.tools} == THE_TWELVE


# --- a second implementation agrees -----------------------------------------------------------------------------------

POOL: dict[str, list[Any]] = {
    "slug": ["koeln", "KOELN", "bonn", "köln", " koeln", "", None, 5], "type": ["school", "School", "Schule", "police"],
    "resource": ["weather", "air-uba", "charging", "Wetter", "nix"], "eva": ["8000207", "08000207", 8000207, "x"],
    "cities": ["koeln,bonn", "bonn, Koeln", "koeln,bonn,bonn", ["koeln", "bonn"], "koeln"], "text": ["x", "X"],
    "stop_id": ["de:1:2", None, "", "DE:1:2"], "radius_km": [5, 5.0, 2.5, "2.5", None, True], "extra": [1, None],
    "limit": [10, 10.0, 3, "3", True, None], "open_only": [False, 0, True, "true", None],
    "note": ["ä", "a\u0308", "", None, "x"], "tags": [[], ["a"], ["a", "b"], "a", None],
    "area": [{}, {"a": 1}, {"a": 1.0}, {"a": True}, None],
}


def random_call(rng: random.Random, valid: bool) -> Call:
    while True:
        tool = rng.choice(OWN.tools)
        names = [p for p in tool.properties if p in tool.required or rng.random() < 0.5]
        arguments = {p: rng.choice(POOL[p]) for p in names if valid or rng.random() > 0.1}
        if not valid and rng.random() < 0.05:
            arguments["extra"] = rng.choice(POOL["extra"])
        if not valid or call_problem(OWN, Call(tool.name, arguments)) is None:
            return Call(tool.name, arguments)


def test_the_verdict_agrees_with_a_second_implementation_of_equality() -> None:
    rng = random.Random("infranode equality")
    equal = 0
    for _ in range(5000):
        gold = tuple(random_call(rng, valid=True) for _ in range(rng.choice((1, 1, 1, 2, 3))))
        actual = [random_call(rng, valid=False) for _ in range(rng.choice((1, 2)))]
        if rng.random() < 0.7:   # one argument of the gold changed, calls in any order
            actual = rng.sample(gold, len(gold))
            changed = dict(actual[0].arguments)
            if changed:
                name = rng.choice(list(changed))
                changed[name] = rng.choice(POOL[name])
            actual[0] = Call(actual[0].name, changed)
        same = meaning(OWN, actual) == meaning(OWN, gold)
        equal += same
        score = score_reply(Task("t", "?", gold), native_reply(actual), OWN, "native")
        assert score.call_match is same, (gold, actual, score)
        assert not same or all((score.parsed, score.tool_match, score.args_match, score.request_match,
                                score.lenient_call_match))
        assert (score.sub is not None) is (score.outcome == "wrong_args")
    assert 500 < equal < 4500, "both verdicts occur often"


# --- the policy of the test bench -------------------------------------------------------------------------------------

ANYTHING = Tool.from_json({"name": "anything", "parameters": {"type": "object", "required": ["key"], "properties": {
    "key": {"type": "string"}, "text": {"type": "string"}, "flag": {"type": "boolean"}, "number": {"type": "integer"},
    "share": {"type": "number"}, "id": {"type": "string", "format": "uuid"},
    "day": {"type": "string", "format": "date"},
    "start": {"type": "string", "format": "date-time"}, "tags": {"type": "array", "items": {"type": "string"}},
    "size": {"type": "integer", "default": 10}, "maybe": {"type": ["string", "null"], "default": "x"},
    "person": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "age": {"type": "integer"}, "since": {"type": "string", "format": "date-time"}}},
    "people": {"type": "array", "items": {"type": "object", "properties": {
        "id": {"type": "string", "format": "uuid"}, "roles": {"type": "array", "items": {"type": "string"}}}}},
    "late": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    "free": {}}}})
ZONE = "+02:00"
START, UUID = "2026-04-16T14:00:00", "7c2f41d8-93ab-4e05-b6d1-58f0a29c3e74"

# (row of the specification's table, actual, expected, the original's rule, ours, with a form note)
BOTH_RULES = [
    ("bool as text", {"flag": "true"}, {"flag": True}, False, True, True),
    ("bool as text", {"flag": "false"}, {"flag": False}, False, True, True),
    ("bool as text, the other one", {"flag": "false"}, {"flag": True}, False, False, False),
    ("Python bool text", {"flag": "True"}, {"flag": True}, True, True, True),
    ("bool as other text", {"flag": "ja"}, {"flag": True}, False, False, False),
    ("1 for a bool", {"flag": 1}, {"flag": True}, False, False, False),
    ("a bool for 1", {"number": True}, {"number": 1}, False, False, False),
    ("integer spelled as float", {"number": 60.0}, {"number": 60}, False, True, False),
    ("digits as text for an integer", {"number": "60"}, {"number": 60}, True, True, True),
    ("digits as text, edge blanks", {"number": " 60 "}, {"number": 60}, True, True, True),
    ("other digits as text", {"number": "61"}, {"number": 60}, False, False, False),
    ("float as text for an integer", {"number": "60.0"}, {"number": 60}, False, False, False),
    ("digits with a leading zero for an integer", {"number": "060"}, {"number": 60}, False, False, False),
    ("a number with words for an integer", {"number": "60 min"}, {"number": 60}, False, False, False),
    ("decimal text for a number", {"share": "1.5"}, {"share": 1.5}, True, True, True),
    ("number for text", {"text": 4471}, {"text": "4471"}, True, False, False),
    ("number for text with a leading zero", {"text": 1067}, {"text": "01067"}, False, False, False),
    ("stringified list", {"tags": "['a', 'b']"}, {"tags": ["a", "b"]}, True, False, False),
    ("stringified list, JSON", {"tags": '["a", "b"]'}, {"tags": ["a", "b"]}, False, False, False),
    ("order of arguments", {"text": "a", "flag": True}, {"flag": True, "text": "a"}, True, True, False),
    ("edge blanks", {"text": " x "}, {"text": "x"}, True, True, False),
    ("edge no-break space", {"text": "\u00a0x\u00a0"}, {"text": "x"}, True, True, False),
    ("nested key order", {"person": {"age": 5, "name": "x"}}, {"person": {"name": "x", "age": 5}}, False, True, False),
    ("NFD umlaut", {"text": "Bo\u0308ß"}, {"text": "Böß"}, False, True, False),
    ("inner no-break space", {"text": "Lindqvist\u00a0GmbH"}, {"text": "Lindqvist GmbH"}, False, True, False),
    ("case of a text", {"text": "kickoff"}, {"text": "Kickoff"}, False, False, False),
    ('"None" for null', {"free": "None"}, {"free": None}, True, False, False),
    ("null for an omitted optional", {"text": None}, {}, False, True, False),
    ("an explicit default", {"size": 10}, {}, False, True, False),
    ("an omitted default", {}, {"size": 10}, False, True, False),
    ("not the default", {"size": 11}, {}, False, False, False),
    ('"" for an omitted optional', {"text": ""}, {}, False, False, False),
    ("date-time: seconds omitted", {"start": "2026-04-16T14:00"}, {"start": START}, False, True, False),
    ("date-time: fraction .0", {"start": "2026-04-16T14:00:00.0"}, {"start": START}, False, True, False),
    ("date-time: blank for T", {"start": "2026-04-16 14:00:00"}, {"start": START}, False, True, False),
    ("date-time: the zone's offset", {"start": "2026-04-16T14:00:00+02:00"}, {"start": START}, False, True, False),
    ("date-time: the same instant in Z", {"start": "2026-04-16T12:00:00Z"}, {"start": START}, False, True, False),
    ("date-time: the same instant in Z, short", {"start": "2026-04-16T12:00Z"}, {"start": START}, False, True, False),
    ("date-time: the same instant elsewhere", {"start": "2026-04-16T07:00:00-05:00"}, {"start": START}, False, True,
     False),
    ("date-time: the same digits with another offset", {"start": "2026-04-16T14:00:00Z"}, {"start": START}, False,
     False, False),
    ("date-time: another second", {"start": "2026-04-16T14:00:01"}, {"start": START}, False, False, False),
    ("date-time: another fraction", {"start": "2026-04-16T14:00:00.5"}, {"start": START}, False, False, False),
    ("date-time: no such day", {"start": "2026-02-30T14:00:00"}, {"start": START}, False, False, False),
    ("date-time: no such hour", {"start": "2026-04-15T38:00:00"}, {"start": START}, False, False, False),
    ("date-time for a date", {"day": "2026-04-15T00:00:00"}, {"day": "2026-04-15"}, False, False, False),
    ("German date text", {"day": "15.04.2026"}, {"day": "2026-04-15"}, False, False, False),
    ("date, edge blanks", {"day": "2026-04-15 "}, {"day": "2026-04-15"}, True, True, False),
    ("UUID upper case (format uuid)", {"id": UUID.upper()}, {"id": UUID}, False, True, False),
    ("UUID upper case, no format", {"text": UUID.upper()}, {"text": UUID}, False, False, False),
    ("another UUID", {"id": UUID[:-1] + "5"}, {"id": UUID}, False, False, False),
    ("unexpected key", {"text": "a", "size": 5}, {"text": "a"}, False, False, False),
    ("unexpected key outside the schema", {"text": "a", "colour": None}, {"text": "a"}, False, False, False),
    ("a missing key", {}, {"text": "a"}, False, False, False),
    ("nested: text for an integer", {"person": {"name": "x", "age": "5"}}, {"person": {"name": "x", "age": 5}}, False,
     True, True),
    ("nested: null for an omitted optional", {"person": {"name": "x", "age": None}}, {"person": {"name": "x"}}, False,
     True, False),
    ("nested: instant", {"person": {"name": "x", "since": "2026-04-16T12:00Z"}},
     {"person": {"name": "x", "since": START}}, False, True, False),
    ("nested: unexpected key", {"person": {"name": "x", "b": 1}}, {"person": {"name": "x"}}, False, False, False),
    ("in a list: UUID upper case", {"people": [{"id": UUID.upper()}]}, {"people": [{"id": UUID}]}, False, True, False),
    ("order of a list", {"tags": ["b", "a"]}, {"tags": ["a", "b"]}, False, False, False),
    ("a list for an object", {"person": []}, {"person": {}}, False, False, False),
    ("anyOf: instant", {"late": "2026-04-16T12:00:00Z"}, {"late": START}, False, True, False),
    ("no type in the schema: text is no number", {"free": "60"}, {"free": 60}, True, False, False),
]


@pytest.mark.parametrize(("row", "actual", "expected", "theirs", "ours", "noted"), BOTH_RULES,
                         ids=[f"{i} {t[0]}" for i, t in enumerate(BOTH_RULES)])
def test_the_bench_and_the_original_rule(row: str, actual: dict[str, Any], expected: dict[str, Any], theirs: bool,
                                         ours: bool, noted: bool) -> None:
    policy = bench_policy(ZONE)
    assert same_text_equal(actual, expected) is theirs, row
    assert arguments_equal(ANYTHING, actual, expected, policy) is ours, row
    assert bool(ours and form_notes(ANYTHING, actual, expected, policy)) is noted, row


@pytest.mark.parametrize(("actual", "expected", "theirs"), [
    ([], {"key": "x"}, False), ("[]", {"key": "x"}, False), (5, {"key": "x"}, False), ([], {}, True), ("", {}, True),
    ("text", {}, False), (["key"], {"key": "x"}, False), ({"key": 10 ** 5000}, {"key": "x"}, False),
])
def test_what_made_the_original_crash_is_no_match(actual: Any, expected: dict[str, Any], theirs: bool) -> None:
    assert same_text_equal(actual, expected) is theirs


def test_a_form_note_names_the_argument_and_what_stood_there() -> None:
    actual = {"key": "x", "number": "60", "person": {"name": "a", "age": "5"}, "flag": True}
    expected = {"key": "x", "number": 60, "person": {"name": "a", "age": 5}, "flag": True}
    assert form_notes(ANYTHING, actual, expected, BENCH) == [
        'number: text "60" for integer', 'person.age: text "5" for integer']
    assert form_notes(ANYTHING, expected, expected, BENCH) == []


SETS = [
    (("tags",), {"tags": ["b", "a"]}, {"tags": ["a", "b"]}, True),
    (("tags",), {"tags": ["a"]}, {"tags": ["a", "b"]}, False),
    (("tags",), {"tags": ["a", "b", "a"]}, {"tags": ["a", "b"]}, True),
    (("tags",), {"tags": ["a", "b", "c"]}, {"tags": ["a", "b"]}, False), (("tags",), {"tags": []}, {"tags": []}, True),
    (("tags",), {"tags": "ab"}, {"tags": ["a", "b"]}, False),
    (("people", "*", "roles"), {"people": [{"roles": ["x", "y"]}]}, {"people": [{"roles": ["y", "x"]}]}, True),
    (("people",), {"people": [{"roles": ["x", "y"]}]}, {"people": [{"roles": ["y", "x"]}]}, False),
    (("people",), {"people": [{"id": UUID.upper()}, {"id": "b"}]}, {"people": [{"id": "b"}, {"id": UUID}]}, True),
]


@pytest.mark.parametrize(("path", "actual", "expected", "equal"), SETS, ids=range(len(SETS)))
def test_an_array_named_as_a_set_has_no_order_and_no_duplicates(path: tuple[str, ...], actual: dict[str, Any],
                                                                expected: dict[str, Any], equal: bool) -> None:
    assert arguments_equal(ANYTHING, actual, expected, bench_policy(ZONE, frozenset([path]))) is equal
    assert arguments_equal(ANYTHING, actual, expected, MAIN) is False or actual == expected


def test_without_a_zone_a_time_with_an_offset_is_no_local_time() -> None:
    with_offset, local = {"start": "2026-04-16T12:00:00Z"}, {"start": START}
    assert not arguments_equal(ANYTHING, with_offset, local, BENCH)
    assert arguments_equal(ANYTHING, with_offset, {"start": "2026-04-16T14:00:00+02:00"}, BENCH)
    assert arguments_equal(ANYTHING, {"start": "2026-04-16 14:00"}, local, BENCH)


@pytest.mark.parametrize(("row", "actual", "expected"), [t[:3] for t in BOTH_RULES if t[4]], ids=lambda v: str(v)[:40])
def test_the_tolerances_of_the_bench_hold_both_ways_where_nothing_is_spelled_as_text(
        row: str, actual: dict[str, Any], expected: dict[str, Any]) -> None:
    if not form_notes(ANYTHING, actual, expected, bench_policy(ZONE)):
        assert arguments_equal(ANYTHING, expected, actual, bench_policy(ZONE)), row


TOLERATED = ("NFD umlaut", "nested key order", "order of arguments", "integer spelled as float",
             "null for an omitted optional", "nested: null for an omitted optional", "an explicit default",
             "an omitted default")


@pytest.mark.parametrize("row", [t for t in BOTH_RULES if t[4]], ids=lambda t: t[0])
def test_the_main_suite_has_none_of_the_tolerances_of_the_bench(row: tuple[Any, ...]) -> None:
    assert arguments_equal(ANYTHING, row[1], row[2]) is (row[0] in TOLERATED and not row[0].startswith("nested: null"))


@pytest.mark.parametrize("row", [t for t in BOTH_RULES if not t[4]], ids=lambda t: t[0])
def test_an_unequal_call_has_a_fault_under_the_policy_of_the_bench(row: tuple[Any, ...]) -> None:
    tools = Toolset.of([ANYTHING])
    actual, expected = ({"key": "k"} | arguments for arguments in row[1:3])
    fault = fault_of(tools, Call("anything", actual), Call("anything", expected), bench_policy(ZONE))
    assert fault.outcome in ("missing_args", "hallucinated_arg", "type_error", "wrong_args")


def test_a_fault_is_not_what_the_policy_lets_pass() -> None:
    tools = Toolset.of([ANYTHING])
    fault = fault_of(tools, Call("anything", {"key": "k", "number": "60", "text": "b"}),
                     Call("anything", {"key": "k", "number": 60, "text": "a"}), BENCH)
    assert (fault.outcome, fault.why) == ("wrong_args", "text: b instead of a")


WHOLE = {"type": "integer"}
MIXED = Tool.from_json({"name": "mixed", "parameters": {"type": "object", "required": ["n"], "properties": {
    "n": WHOLE, "listed": {"type": ["integer", "string"]}, "either": {"anyOf": [WHOLE, {"type": "string"}]},
    "maybe": {"anyOf": [WHOLE, {"type": "null"}]}, "size": {**WHOLE, "default": 60},
    "flag": {"type": "boolean", "default": False}, "rows": {"type": "array", "items": WHOLE},
    "when": {"anyOf": [{"type": "string", "format": "uuid"}, {"type": "string", "format": "date-time"}]},
    "inner": {"type": "object", "properties": {"size": {**WHOLE, "default": 60}}},
    "people": {"type": "array", "items": {"type": "object", "properties": {
        "age": WHOLE, "name": {"type": "string"}}}}}}})
AGE = 'people.*.age: text "5" for integer'
MIXED_ROWS = [
    # (why, actual, expected, equal, notes)
    ("a text where the type list takes text", {"listed": "60"}, {"listed": 60}, False, []),
    ("a text where a branch takes text", {"either": "60"}, {"either": 60}, False, []),
    ("a text where only a number or null goes", {"maybe": "60"}, {"maybe": 60}, True,
     ['maybe: text "60" for integer']),
    ("the default as text", {"size": "60"}, {}, True, ['size: text "60" for integer']),
    ("the default as text, for the default", {"size": "60"}, {"size": 60}, True, ['size: text "60" for integer']),
    ("another number as text", {"size": "61"}, {}, False, []),
    ("a default flag as text", {"flag": "false"}, {}, True, ['flag: text "false" for boolean']),
    ("a default further down", {"inner": {"size": "60"}}, {"inner": {}}, True,
     ['inner.size: text "60" for integer']),
    ("the branch that the gold fits decides", {"when": "2026-04-16T12:00:00Z"}, {"when": START}, True, []),
    ("a note for two items is one", {"rows": ["5", "5"]}, {"rows": [5, 5]}, True, ['rows.*: text "5" for integer']),
    ("what is unequal has no note", {"people": [{"age": "5", "name": "a"}]}, {"people": [{"age": 5, "name": "b"}]},
     False, []),
    ("nor has a comparison on the way to the right item", {"people": [{"age": "5", "name": "b"}]},
     {"people": [{"age": 5, "name": "b"}, {"age": 5, "name": "b"}]}, True, [AGE]),
    ("only the item that is spelled as text", {"people": [{"age": 5, "name": "b"}, {"age": 5, "name": "c"}]},
     {"people": [{"age": 5, "name": "c"}, {"age": 5, "name": "b"}]}, True, []),
    ("a fraction of any length", {"when": START + "." + "0" * 30}, {"when": START}, True, []),
    ("a fraction behind the microsecond", {"when": START + ".1234567"}, {"when": START + ".12345670"}, True, []),
    ("another one", {"when": START + ".1234567"}, {"when": START + ".1234568"}, False, []),
]


@pytest.mark.parametrize(("why", "actual", "expected", "equal", "notes"), MIXED_ROWS, ids=[r[0] for r in MIXED_ROWS])
def test_defaults_branches_and_notes_under_the_policy(why: str, actual: dict[str, Any], expected: dict[str, Any],
                                                      equal: bool, notes: list[str]) -> None:
    policy = bench_policy(ZONE, frozenset([("people",)]))
    assert arguments_equal(MIXED, {"n": 1, **actual}, {"n": 1, **expected}, policy) is equal, why
    if equal:
        assert form_notes(MIXED, {"n": 1, **actual}, {"n": 1, **expected}, policy) == notes, why
    else:
        tools = Toolset.of([MIXED])
        assert fault_of(tools, Call("mixed", {"n": 1, **actual}), Call("mixed", {"n": 1, **expected}), policy).why


def test_the_main_suite_compares_a_default_as_json() -> None:
    assert not arguments_equal(MIXED, {"n": 1, "size": "60"}, {"n": 1}, MAIN)
    assert arguments_equal(MIXED, {"n": 1, "size": 60.0}, {"n": 1}, MAIN)
