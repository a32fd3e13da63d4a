"""Expectations: the part `expect.answer` of a row, from a template's answer block and the gold that the plan gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from infranode_eval.chain.derive import Refused
from infranode_eval.chain.golds import written
from infranode_eval.generator.chain.template import COVERED_CITIES
from infranode_eval.generator.templates import city_forms

ROUNDING = 0.51                 # of the last asked decimal, so that both ways to round pass (specification: chain, 7)


def expected_answer(block: Mapping[str, Any], gold: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    """The expected answer. `block`: the template's, filled; `body`: the answer of the last step that carries the datum.

    Raise Refused for a gold that is nothing, or of another type than the block says.
    """
    kind = block["type"]
    if kind == "none":
        return {"type": "none", "value": None, "reasons": list(block["reasons"]),
                "alternatives": _alternatives(block, body)}
    value = written(kind, gold)
    if kind == "number":
        decimals = block.get("decimals")
        tolerance = 0 if decimals is None else round(ROUNDING * 10 ** -decimals, decimals + 2)
        return {"type": kind, "value": value, "unit": block.get("unit"), "tolerance": tolerance,
                "accept": list(block.get("accept", []))}
    if kind == "set":
        return {"type": kind, "value": value, "accept": _accepted_entries(value, block.get("accept", {}))}
    if kind == "string":
        return {"type": kind, "value": value, "drop": list(block.get("drop", [])),
                "accept": [*block.get("accept", []), *_city_names(value)]}
    return {"type": kind, "value": value, "accept": list(block.get("accept", []))}


def _alternatives(block: Mapping[str, Any], body: Mapping[str, Any]) -> list[list[str]] | None:
    """Slug and name of each city that the answer itself lists; None where no alternative is asked for."""
    if block.get("alternatives") != COVERED_CITIES:
        return None
    slugs = (body.get("meta") or {}).get("covered_cities")
    if not slugs:
        raise Refused("the answer lists no covered city, so no alternative can be named")
    return [[slug, city_forms()[slug].name] for slug in slugs]


def _accepted_entries(value: Sequence[str], accept: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    found = {entry: [*accept.get(entry, []), *_city_names(entry)] for entry in value}
    return {entry: names for entry, names in found.items() if names}


def _city_names(value: str) -> list[str]:
    """The name for a slug, the slug for a name: both name the same city."""
    forms = city_forms().get(value)
    if forms is not None:
        return [forms.name] if forms.name != value else []
    return [_slugs()[value]] if value in _slugs() else []


@cache
def _slugs() -> Mapping[str, str]:
    return {forms.name: slug for slug, forms in city_forms().items()}
