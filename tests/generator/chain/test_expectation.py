"""Expectations: a gold as the row writes it, or no gold at all."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.chain.derive import Refused
from infranode_eval.generator.chain.expectation import expected_answer, written

BODY = {"data": None, "meta": {"covered_cities": ["aachen", "koeln"]}}


@pytest.mark.parametrize(("block", "gold", "wanted", "why"), [
    ({"type": "number"}, 9, {"value": 9, "unit": None, "tolerance": 0, "accept": []}, "a count"),
    ({"type": "number", "unit": "°C", "decimals": 1}, 16.2, {"value": 16.2, "unit": "°C", "tolerance": 0.051,
                                                              "accept": []}, "0.51 of the last asked decimal"),
    ({"type": "number", "decimals": 0}, 47.32, {"value": 47.32, "unit": None, "tolerance": 0.51, "accept": []},
     "whole numbers, both ways to round"),
    ({"type": "number"}, 16.199999999999999, {"value": 16.2, "unit": None, "tolerance": 0, "accept": []}, "no noise"),
    ({"type": "number", "accept": ["II"]}, 2, {"value": 2, "unit": None, "tolerance": 0, "accept": ["II"]}, "accept"),
    ({"type": "time"}, "2026-07-06T10:04:00", {"value": "10:04", "accept": []}, "local time of an ISO text"),
    ({"type": "time"}, "2026-07-06T10:04:00+02:00", {"value": "10:04", "accept": []}, "its offset is the local one"),
    ({"type": "date"}, "2026-10-03", {"value": "2026-10-03", "accept": []}, "ISO"),
    ({"type": "date"}, "2026-10-03T00:00:00", {"value": "2026-10-03", "accept": []}, "midnight is a date"),
    ({"type": "string", "drop": ["Gleis"]}, "10", {"value": "10", "drop": ["Gleis"], "accept": []}, "a platform"),
    ({"type": "string"}, "koeln", {"value": "koeln", "drop": [], "accept": ["Köln"]}, "the name of a slug"),
    ({"type": "string", "accept": ["K"]}, "Köln", {"value": "Köln", "drop": [], "accept": ["K", "koeln"]}, "its slug"),
    ({"type": "set", "accept": {"ulm": ["U"]}}, ["ulm", "Linde"],
     {"value": ["ulm", "Linde"], "accept": {"ulm": ["U", "Ulm"]}}, "names of cities in a set"),
    ({"type": "none", "reasons": ["keine_daten"]}, None, {"value": None, "reasons": ["keine_daten"],
                                                          "alternatives": None}, "nothing"),
    ({"type": "none", "reasons": ["nicht_abgedeckt"], "alternatives": "covered_cities"}, None,
     {"value": None, "reasons": ["nicht_abgedeckt"], "alternatives": [["aachen", "Aachen"], ["koeln", "Köln"]]},
     "what the answer itself lists"),
])
def test_the_expected_answer(block: dict[str, Any], gold: Any, wanted: dict[str, Any], why: str) -> None:
    assert expected_answer(block, gold, BODY) == {"type": block["type"], **wanted}, why


@pytest.mark.parametrize(("kind", "value", "reason"), [
    ("number", 0, "the gold is 0"), ("number", 0.0, "the gold is 0"), ("string", "", "the gold is ''"),
    ("string", True, "the gold is True"), ("number", False, "the gold is False"), ("number", None, "the gold is None"),
    ("number", "9", "is no number"), ("string", 9, "is no text"), ("time", "bald", "is no time"),
    ("time", "10:04", "is no time"), ("date", "03.10.2026", "is no date"), ("set", [], "is no set of names"),
    ("set", "Ulm", "is no set of names"), ("set", ["Ulm", None], "is no set of names"), ("set", [3], "is no set"),
])
def test_what_is_no_gold_is_refused(kind: str, value: Any, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        written(kind, value)


def test_alternatives_need_cities_that_the_answer_lists() -> None:
    block = {"type": "none", "reasons": ["nicht_abgedeckt"], "alternatives": "covered_cities"}
    with pytest.raises(Refused, match="lists no covered city"):
        expected_answer(block, None, {"data": None, "meta": {}})
