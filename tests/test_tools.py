"""tools.json: read, checked, cast, and turned into requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import (
    COMPARE_RESOURCES,
    POI_TYPES,
    Toolset,
    call_problem,
    cast,
    check_golds,
    read_tools,
    request_of,
    type_allowed,
)

OWN = read_tools(Path(__file__).parent / "data" / "reply_tools.json")
TOOLS = read_tools()


def test_the_twelve_tools_of_release_v1_1_1() -> None:
    wanted = {
        "get_city": ["slug"], "get_city_overview": ["slug"], "get_city_resource": ["slug", "resource"], "sources": [],
        "air_quality": ["slug"], "weather": ["slug"], "pois": ["slug", "type"], "station_board_departures": ["eva"],
        "station_board_arrivals": ["eva"], "transit_departures": ["slug"], "list_cities": [], "compare": ["resource",
        "cities"],
    }
    assert {t.name: list(t.required) for t in TOOLS.tools} == wanted
    assert set(TOOLS.by_name["transit_departures"].properties) == {"slug", "stop_id"}


def test_only_resource_has_an_enum_of_67_keys() -> None:
    enums = {(t.name, p): s["enum"] for t in TOOLS.tools for p, s in t.properties.items() if "enum" in s}
    assert list(enums) == [("get_city_resource", "resource")]
    keys = enums["get_city_resource", "resource"]
    assert len(keys) == len(set(keys)) == 67
    assert {"base", "overview", "weather", "air-uba"} <= set(keys) and "pois" not in keys


def test_descriptions_name_the_values_that_no_enum_lists() -> None:
    compare = json.dumps(TOOLS.by_name["compare"].to_json(), ensure_ascii=False)
    assert all(resource in compare for resource in COMPARE_RESOURCES)
    kinds = TOOLS.by_name["pois"].properties["type"]["description"]
    assert all(kind in kinds for kind in POI_TYPES)


def test_the_slug_rule_names_the_six_cities_that_no_rule_yields() -> None:
    text = json.dumps(TOOLS.to_json(), ensure_ascii=False)
    for slug in ("frankfurt-am-main", "freiburg-im-breisgau", "halle-saale", "ludwigshafen-am-rhein",
    "muelheim-an-der-ruhr",
                 "offenbach-am-main"):
        assert slug in text
    for letter in ("ä→ae", "ö→oe", "ü→ue", "ß→ss"):
        assert letter in text


def test_the_content_is_frozen() -> None:
    """Questions were written after this text; a change is a new version of the benchmark."""
    assert TOOLS.fingerprint == "a327d4e28fd3c4d0810ec78d6248d7cc8de18bf7ac048ac589c06140a94e7a1d"
    written = json.loads((Path(__file__).parent.parent / "tools.json").read_text("utf-8"))
    assert Toolset.of(TOOLS.tools).to_json() == written


# --- reading ----------------------------------------------------------------------------------------------------------

def tool(name: Any = "x", **parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters or {
        "type": "object", "properties": {}}}}


NESTED: dict[str, Any] = {}
for _ in range(60):
    NESTED = {"items": NESTED}

BROKEN = [
    ("", "is not JSON", "blank"),
    ("{", "is not JSON", "cut"),
    ("[" * 100_000, "is not JSON", "too deep"),
    ("{}", "expected a list", "an object"),
    ("[]", "expected a list", "an empty list"),
    ("[5]", 'a tool is {"type"', "a number"),
    (json.dumps([tool(name=5)]), 'a tool is {"type"', "a name that is no string"),
    (json.dumps([tool(name="")]), 'a tool is {"type"', "a blank name"),
    (json.dumps([tool(), tool()]), "tool x is defined twice", "one name twice"),
    (json.dumps([tool(properties=[])]), '"properties"', "properties are no object"),
    (json.dumps([tool(properties={"a": 5})]), '"properties"', "a property is no schema"),
    (json.dumps([tool(properties={}, required=["a"])]), '"required"', "an unknown required name"),
    (json.dumps([tool(properties={}, required="a")]), '"required"', "required is no list"),
    (json.dumps([{"type": "function", "function": {"name": "x", "parameters": [1]}}]), '"properties"', "a list"),
    (json.dumps([tool(properties={"a": {}}, required=[["a"]])]), '"required"', "a list in required"),
    (json.dumps([tool(properties={"a": {"type": 5}})]), "tool x", "a type that is no name"),
    (json.dumps([tool(properties={"a": {"enum": 5}})]), "tool x", "an enum that is no list"),
    (json.dumps([tool(type=5, properties={})]), 'tool x: "parameters": "type"', "the type of the whole"),
    *[(json.dumps([tool(properties={"a": schema})]), f"tool x: parameter {path}: {part}", "a nested schema") for
      schema, path, part in [
        ({"items": {"type": 5}}, "a.items", '"type"'), ({"items": 5}, "a.items", "must be"),
        ({"anyOf": [{"type": 5}]}, "a.anyOf[0]", '"type"'), ({"anyOf": {}}, "a", '"anyOf" must be a list'),
        ({"oneOf": [{}, {"type": "text"}]}, "a.oneOf[1]", '"type"'), ({"allOf": [5]}, "a.allOf[0]", "must be"),
        ({"properties": {"b": {"required": [[]]}}}, "a.b", '"required"'), ({"required": [[]]}, "a", '"required"'),
        ({"properties": {"b": {"format": []}}}, "a.b", '"format"'), ({"properties": []}, "a", '"properties"'),
        ({"properties": {"b": {"type": None}}}, "a.b", '"type"'), ({"items": [{"enum": 5}]}, "a.items[0]", '"enum"'),
        ({"items": {"properties": {"b": {"items": {"type": "int"}}}}}, "a.items.b.items", '"type"')]],
    (json.dumps([tool(properties={"a": NESTED})]), "nested deeper", "deep"),
    (json.dumps([tool(properties={"a": {"$ref": "#/$defs/B"}})]), 'tool x: "$ref" must lead to', "no such definition"),
    (json.dumps([tool(properties={"a": {"$ref": "https://x.example/y"}})]), '"$ref" must lead to', "elsewhere"),
    (json.dumps([tool(properties={"a": {"$ref": 5}})]), '"$ref" must lead to', "no text"),
    (json.dumps([tool(properties={"a": {"$ref": "#/$defs/B"}}, **{"$defs": {"B": {"items": {"$ref": "#/$defs/B"}}}})]),
     'tool x: "$ref": #/$defs/B leads back to itself', "a recursive schema"),
    (json.dumps([tool(properties={"a": {"$ref": "#/$defs/D9"}}, **{"$defs": {"D0": {}, **{
        f"D{i}": {"anyOf": [{"$ref": f"#/$defs/D{i - 1}"}] * 4} for i in range(1, 10)}}})]), 'uses of "$ref"', "bomb"),
]


@pytest.mark.parametrize(("text", "message", "why"), BROKEN)
def test_a_broken_file_is_named(tmp_path: Path, text: str, message: str, why: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError) as error:
        read_tools(path)
    assert message in str(error.value) and str(path) in str(error.value), why
    assert "\n" not in str(error.value)


def test_local_references_are_put_in_their_place(tmp_path: Path) -> None:
    """As pydantic writes them: $defs, or definitions inside allOf; what stands beside a reference wins."""
    day = {"type": "string", "format": "date", "description": "Tag"}
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([tool(
        type="object", required=["day"], properties={
            "day": {"$ref": "#/$defs/Day", "description": "Beginn"}, "old": {"allOf": [{"$ref": "#/definitions/Row"}]},
            "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}}, "maybe": {"anyOf": [
                {"$ref": "#/$defs/Day"}, {"type": "null"}]}, "$ref": {"type": "string"}},
        **{"$defs": {"Day": day, "Row": {"type": "object", "properties": {"d": {"$ref": "#/$defs/Day"}}}},
           "definitions": {"Row": {"type": "integer"}}})]), "utf-8")
    found = read_tools(path).by_name["x"]
    assert found.properties == {
        "day": {**day, "description": "Beginn"}, "old": {"type": "integer"}, "rows": {
            "type": "array", "items": {"type": "object", "properties": {"d": day}}},
        "maybe": {"anyOf": [day, {"type": "null"}]}, "$ref": {"type": "string"}}
    assert "$ref\": \"#" not in json.dumps(found.to_json()) and "$defs" not in found.parameters
    assert found.required == ("day",)


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"tools\.json"):
        read_tools(path)
    with pytest.raises(DataError, match="check the path"):
        read_tools(tmp_path / "none.json")


def test_a_tool_without_parameters_takes_none(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text('[{"type": "function", "function": {"name": "x"}}]', "utf-8")
    assert call_problem(read_tools(path), Call("x")) is None
    assert "no parameter a" in str(call_problem(read_tools(path), Call("x", {"a": 1})))


# --- golds ------------------------------------------------------------------------------------------------------------

PROBLEMS = [
    (Call("nearby", {"slug": "k"}), None), (Call("nearby", {"slug": "k", "limit": 5.0, "note": None}), None),
    (Call("wetter", {}), "not among the offered tools"), (Call("weather", {}), "slug is missing"),
    (Call("weather", {"slug": None}), "slug is missing"), (Call("weather", {"slug": "k", "x": 1}), "no parameter x"),
    (Call("weather", {"slug": 5}), "type string"), (Call("nearby", {"slug": "k", "limit": True}), "type integer"),
    (Call("nearby", {"slug": "k", "limit": 2.5}), "type integer"), (Call("nearby", {"slug": "k", "tags": {}}),
     "type array"),
    (Call("get_city_resource", {"slug": "k", "resource": "klima"}), "not in the enum"),
]


@pytest.mark.parametrize(("call", "problem"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_call_problem(call: Call, problem: str | None) -> None:
    found = call_problem(OWN, call)
    assert found is None if problem is None else problem in str(found)


def test_a_gold_outside_the_schema_names_its_task() -> None:
    good, bad = Call("weather", {"slug": "k"}), Call("weather", {})
    check_golds([Task("a", "?", (good,), ((good,),))], OWN)
    for task in (Task("b", "?", (bad,)), Task("b", "?", (good,), ((bad,),)), Task("b", "?", (good, bad))):
        with pytest.raises(DataError, match="task b"):
            check_golds([task], OWN)


TYPES = [
    ("string", "x", True), ("string", 5, False), ("string", None, False), ("integer", 5, True), ("integer", 5.0, True),
    ("integer", 5.5, False), ("integer", True, False), ("integer", "5", False), ("number", 5, True), ("number", 5.5,
     True),
    ("number", False, False), ("boolean", True, True), ("boolean", 1, False), ("array", [], True), ("array", "x",
     False),
    ("object", {}, True), ("object", [], False), ("null", None, True), (["string", "null"], None, True),
    (["string", "null"], 5, False), (None, 5, True),
]


@pytest.mark.parametrize(("types", "value", "allowed"), TYPES, ids=range(len(TYPES)))
def test_type_allowed(types: Any, value: Any, allowed: bool) -> None:
    assert type_allowed({} if types is None else {"type": types}, value) is allowed


CASTS = [
    ("string", "5", "5"), ("string", " x\n", " x\n"), ("string", "null", "null"), ("integer", "5", 5), ("integer",
     " 5 ", 5),
    ("integer", "05", 5), ("integer", "5.0", "5.0"), ("integer", "٣", "٣"), ("number", "5", 5), ("number", "2.50", 2.5),
    ("number", "05", "05"), ("number", "inf", "inf"), ("number", "NaN", "NaN"), ("boolean", "TRUE", True),
    ("boolean", "0", "0"), ("array", "[1]", [1]), ("array", "1", "1"), ("object", '{"a": 1}', {"a": 1}), ("object",
     "[]", "[]"),
    (["string", "null"], "null", None), (["integer", "null"], "null", None), (["integer", "string"], "5", "5"),
    (None, "5", "5"), ("array", "[" * 100_000, "[" * 100_000), ("integer", "9" * 10_000, "9" * 10_000),
]


@pytest.mark.parametrize(("types", "text", "value"), CASTS, ids=range(len(CASTS)))
def test_cast(types: Any, text: str, value: Any) -> None:
    got = cast({} if types is None else {"type": types}, text)
    assert (type(got), got) == (type(value), value)


# --- requests ---------------------------------------------------------------------------------------------------------

REQUESTS = [
    (Call("get_city", {"slug": "koeln"}), "/cities/koeln/base"),
    (Call("get_city_overview", {"slug": "KOELN"}), "/cities/koeln/overview"),
    (Call("get_city_resource", {"slug": "koeln", "resource": "charging"}), "/cities/koeln/charging"),
    (Call("air_quality", {"slug": "koeln"}), "/cities/koeln/air-uba"),
    (Call("weather", {"slug": "koeln"}), "/cities/koeln/weather"),
    (Call("pois", {"slug": "koeln", "type": "school"}), "/cities/koeln/pois?type=school"),
    (Call("station_board_departures", {"eva": "8000207"}), "/stations/8000207/departures"),
    (Call("station_board_arrivals", {"eva": "8000207"}), "/stations/8000207/arrivals"),
    (Call("transit_departures", {"slug": "koeln", "stop_id": "de:05315:11201"}),
     "/live/koeln/transit/departures?stop_id=de:05315:11201"),
    (Call("transit_departures", {"slug": "koeln"}), None),
    (Call("list_cities", {}), "/cities?limit=200"), (Call("sources", {}), "/sources?limit=200"),
    (Call("compare", {"resource": "air", "cities": "Koeln , bonn"}), "/compare?resource=air&cities=bonn,koeln"),
    (Call("weather", {"slug": "Köln"}), "/cities/k%C3%B6ln/weather"),
    (Call("weather", {"slug": "frankfurt am main"}), None), (Call("weather", {"slug": "a/b"}), None),
    (Call("weather", {"slug": "a?b"}), None), (Call("weather", {"slug": "a#b"}), None), (Call("weather", {"slug": ""}),
     None),
    (Call("weather", {"slug": 5}), None), (Call("weather", {}), None), (Call("weather", {"slug": "\ud83d"}), None),
    (Call("station_board_departures", {"eva": "12345"}), None), (Call("station_board_departures", {"eva": "x" * 7}),
     None),
    (Call("station_board_departures", {"eva": "８０００２０７"}), None), (Call("nearby", {"slug": "koeln"}), None),
]


@pytest.mark.parametrize(("call", "request_"), REQUESTS, ids=[f"{i} {r[0].name}" for i, r in enumerate(REQUESTS)])
def test_request_of(call: Call, request_: str | None) -> None:
    if request_ == "/cities/k%C3%B6ln/weather":
        assert str(request_of(call)).lower() == request_.lower(), "an umlaut goes out percent-encoded and is a 404"
    else:
        assert request_of(call) == request_


@pytest.mark.parametrize(("key", "name"), [("weather", "weather"), ("air-uba", "air_quality"), ("base", "get_city"),
                                           ("overview", "get_city_overview")])
def test_four_pairs_hit_the_same_url(key: str, name: str) -> None:
    assert request_of(Call("get_city_resource", {"slug": "koeln", "resource": key})) == request_of(
        Call(name, {"slug": "koeln"}))


@pytest.mark.parametrize(("schema", "text"), [
    ({"type": "object"}, '{"a": 1, "a": 2}'), ({"type": "number"}, "1e999"), ({"type": "number"}, "NaN"),
    ({"type": "array"}, "[1,]"), ({"type": "array"}, "['a']"),
])
def test_what_is_no_json_to_the_letter_stays_text(schema, text) -> None:
    assert cast(schema, text) == text
