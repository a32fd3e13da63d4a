"""The API as a whole: what came, what went, and what nobody can know."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.generator.surroundings import Change, changes_of
from infranode_eval.infranode import facts, openapi
from infranode_eval.infranode.client import Answer
from infranode_eval.infranode.envelope import city_entry
from lm_eval_task.errors import DataError, InfraError
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
REGISTRY = [city_entry(city) for city in facts.cities()]
CITIES, OVERVIEW = "/cities?limit=200", "/cities/berlin/overview"


def found(document: Any = None, **answers: Any) -> dict[str, Change]:
    """document: what /openapi.json holds, or the error. answers: data by "cities" and "overview"; more by request."""
    data = {{"cities": CITIES, "overview": OVERVIEW}.get(name, name): value for name, value in answers.items()}
    replies = {request: value if isinstance(value, Answer) else Answer(request, 200, {"data": value}, "2026-12-05")
               for request, value in data.items()}

    def described(path: str) -> Any:
        if isinstance(document, Exception):
            raise document
        return document

    changes = changes_of(replies.get, lambda: replies, described, TOOLS)
    return {change.name: change for change in changes}


def test_the_description_of_the_api_tells_keys_and_compare_resources_but_no_types_of_pois() -> None:
    changes = found(openapi.document("v1.1.1"), cities=REGISTRY)
    assert [(c.name, c.before, c.now, c.is_change) for c in changes.values()] == [
        ("resource keys", 67, 67, False), ("compare resources", 8, 8, False), ("types of pois", 6, None, False),
        ("cities", 84, 84, False)]
    assert changes["resource keys"].source == "/openapi.json"


def test_an_enum_may_stand_behind_references() -> None:
    document = {"paths": {"/cities/{city}/pois": {"get": {"parameters": [{"$ref": "#/components/parameters/kind"}]}}},
                "components": {"parameters": {"kind": {"name": "type", "schema": {"$ref": "#/components/schemas/K"}}},
                               "schemas": {"K": {"type": "string", "enum": ["hospital", "school", "museum"]}}}}
    types = found(document)["types of pois"]
    assert (types.added, types.removed) == (("museum",), ("kindergarten", "pharmacy", "police", "restaurant"))


@pytest.mark.parametrize("document", [
    None, InfraError("x", status=503), DataError("holds no response"), "text", {"paths": []},
    {"paths": {"/cities": 1}}])
def test_without_a_description_the_catalogue_tells_the_keys(document: Any) -> None:
    kept = [{"type": key} for key in facts.keys("v1.1.1") if key not in ("overview", "icu-live")]
    changes = found(document, overview={"data_types": [*kept, {"type": "pois"}, {"type": "care"}]})
    keys = changes["resource keys"]
    assert (keys.source, keys.added, keys.removed) == (OVERVIEW, ("care",), ("icu-live",))
    assert changes["compare resources"].now is None


def test_where_nothing_answers_nothing_is_known_and_nothing_is_said_to_be_gone() -> None:
    changes = found()
    assert all(change.now is None and not change.is_change for change in changes.values())
    assert "neither" in changes["resource keys"].source


def test_new_and_vanished_cities_come_with_their_coverage() -> None:
    rows = [*REGISTRY[1:], {"slug": "witten", "coverage": "basic"}]
    changes = found(cities=rows)
    assert (changes["cities"].added, changes["cities"].removed) == (("witten (basic)",), ("berlin",))
    assert "coverage of cities" not in changes


def test_a_city_with_another_coverage_is_named() -> None:
    rows = [REGISTRY[0] | {"coverage": "auto"}, *REGISTRY[1:]]
    assert found(cities=rows)["coverage of cities"].added == (f"berlin: {REGISTRY[0]['coverage']} → auto",)


@pytest.mark.parametrize("by_catalogue", [True, False])
def test_covered_cities_are_compared_wherever_an_answer_tells_them(by_catalogue: bool) -> None:
    slugs = [slug for slug in facts.covered("v1.1.1", "parking") or () if slug != "koeln"] + ["witten"]
    told = Answer("x", 200, {"data": None, "meta": {"covered_cities": slugs}}, "2026-12-05")
    given = {"overview": {"data_types": [{"type": "parking", "covered_cities": slugs}]}} if by_catalogue \
        else {"/cities/trier/parking": told}
    change = found(**given)["cities of parking"]
    assert (change.added, change.removed) == (("witten",), ("koeln",))
