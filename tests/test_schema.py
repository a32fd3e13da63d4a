"""JSON Schema as far as tools use it: what fits, which reason is given, what instant a text names."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import available_timezones

import pytest

from lm_eval_task.errors import DataError
from lm_eval_task.schema import branch_of, instant_of, misfit, takes_text
from tests.needs import need

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
OBJECT = {"type": "object", "properties": {"a": TEXT, "b": {"type": "integer", "minimum": 1}}, "required": ["a"]}
UUID = "7c2f41d8-93ab-4e05-b6d1-58f0a29c3e74"

FITS = [
    (TEXT, "x"), (WHOLE, 5), (WHOLE, 5.0), ({}, None), ({"type": ["string", "null"]}, None), ({"enum": [1, "a"]}, 1.0),
    ({"const": 3}, 3), ({**TEXT, "format": "uuid"}, UUID), ({**TEXT, "format": "date"}, "2026-04-15"),
    ({**TEXT, "format": "date-time"}, "2026-04-15T09:00:00"), ({**TEXT, "format": "email"}, "a@b.example"),
    ({**TEXT, "format": "hostname"}, "anything"), ({**TEXT, "pattern": "^T-"}, "T-1"), ({**TEXT, "pattern": "("}, "x"),
    ({**TEXT, "minLength": 1, "maxLength": 2}, "ab"), ({"type": "number", "exclusiveMinimum": 0}, 0.1),
    ({"type": "array", "items": WHOLE, "maxItems": 2}, [1, 2]), (OBJECT, {"a": "x", "b": 1}),
    (OBJECT, {"a": "x", "c": 1}),
    ({"anyOf": [TEXT, {"type": "null"}]}, None), ({"properties": None, "required": None, "enum": None}, {}),
    ({"type": "integer", "minimum": 1.0, "maximum": 9.5}, 5),
]


@pytest.mark.parametrize(("schema", "value"), FITS, ids=range(len(FITS)))
def test_what_fits(schema: dict[str, Any], value: Any) -> None:
    assert misfit(schema, value) is None


CLOSED = {**OBJECT, "additionalProperties": False, "minProperties": 2}
MISFITS = [
    (TEXT, 5, "the arguments: must be of type string, found 5"), (WHOLE, 5.5, "integer"), (WHOLE, True, "integer"),
    (WHOLE, "5", "integer"), ({"type": ["string", "null"]}, 1, "string or null"),
    ({"enum": ["a", "b"]}, "A", 'must be one of "a", "b", found "A"'), ({"enum": [1]}, True, "one of 1"),
    ({"const": 3}, 4, "must be 3"), ({**TEXT, "format": "uuid"}, UUID[:-1], "is no uuid"),
    ({**TEXT, "format": "date"}, "15.04.2026", "is no date"), ({**TEXT, "format": "date"}, "2026-02-30", "is no date"),
    ({**TEXT, "format": "date-time"}, "2026-04-15 09:00:00", "is no date-time"),
    ({**TEXT, "format": "date-time"}, "2026-04-15", "is no date-time"),
    ({**TEXT, "format": "email"}, "a@b", "is no email"), ({**TEXT, "pattern": "^T-"}, "x", "does not match ^T-"),
    ({**TEXT, "minLength": 1}, "", "at least 1 characters, has 0"),
    ({"type": "integer", "minimum": 1}, 0, "at least 1, found 0"), ({"type": "integer", "maximum": 1}, 2, "at most 1"),
    ({"exclusiveMinimum": 1}, 1, "more than 1"), ({"exclusiveMaximum": 1}, 1, "less than 1"),
    ({"type": "array", "items": WHOLE}, [1, "2"], '[1]: must be of type integer, found "2"'),
    ({"type": "array", "minItems": 1}, [], "at least 1 items"), (OBJECT, {"b": 1}, "a is missing"),
    (OBJECT, {"a": "x", "b": 0}, "b: must be at least 1"), (CLOSED, {"a": "x"}, "at least 2 entries, has 1"),
    (CLOSED, {"a": "x", "c": 1}, "there is no c; it has a, b"), ({"anyOf": [TEXT, WHOLE]}, None, "fits none of anyOf"),
    ({"properties": {"p": OBJECT}}, {"p": {"a": 1}}, "p.a: must be of type string"),
]


@pytest.mark.parametrize(("schema", "value", "reason"), MISFITS, ids=range(len(MISFITS)))
def test_what_does_not_fit_and_why(schema: dict[str, Any], value: Any, reason: str) -> None:
    assert reason in str(misfit(schema, value))


def test_jsonschema_agrees() -> None:
    """But for formats, where JSON Schema wants an offset, and the local times of this project have none."""
    validator = need("jsonschema").Draft202012Validator
    cases = [(s, v, True) for s, v in FITS] + [(s, v, False) for s, v, _ in MISFITS]
    for schema, value, fits in cases:
        if not {"format", "pattern"} & schema.keys() and None not in schema.values():
            assert validator(schema).is_valid(value) is fits, (schema, value)


def test_a_branch_is_chosen_by_type() -> None:
    schema = {"oneOf": [{"type": "null"}, {**TEXT, "format": "date"}]}
    assert branch_of(schema, "2026-04-15")["format"] == "date"
    assert branch_of(schema, 5) == schema
    assert branch_of({"anyOf": [{**WHOLE, "minimum": 9}, TEXT]}, 5) == {**WHOLE, "minimum": 9}, "by type, if by nothing"
    assert branch_of(TEXT, 5) == TEXT


BRANCHES = [
    # (branches, value, index of the branch)
    ([{**TEXT, "format": "uuid"}, {**TEXT, "format": "date-time"}], "2026-04-16T14:00:00", 1),
    ([{**TEXT, "enum": ["auto"]}, TEXT], "x", 1), ([{"enum": ["auto"]}, WHOLE], 5, 1), ([{"const": 5}, WHOLE], 5, 0),
    ([{"type": "object", "properties": {"k": {"const": "a"}}}, OBJECT], {"k": "b", "a": "x"}, 1),
    ([True, TEXT], "x", 1),
]


@pytest.mark.parametrize(("branches", "value", "index"), BRANCHES, ids=range(len(BRANCHES)))
def test_the_first_branch_that_the_value_fits_is_meant(branches: list[Any], value: Any, index: int) -> None:
    for keyword in ("anyOf", "oneOf"):
        assert branch_of({keyword: branches}, value) is branches[index]
        assert branch_of({keyword: [{"anyOf": branches}]}, value) is branches[index], "branches in a branch"


@pytest.mark.parametrize(("schema", "takes"), [
    (TEXT, True), (WHOLE, False), ({"type": ["integer", "string"]}, True), ({"anyOf": [WHOLE, TEXT]}, True),
    ({"anyOf": [WHOLE, {"type": "null"}]}, False), ({"oneOf": [WHOLE, {"anyOf": [TEXT]}]}, True), ({}, True),
])
def test_whether_a_schema_takes_text(schema: dict[str, Any], takes: bool) -> None:
    assert takes_text(schema) is takes


def known_zones() -> None:
    """Skip where the machine has no time zone database."""
    if not available_timezones():
        pytest.skip("no time zone database")


def hours(number: float) -> timezone:
    return timezone(timedelta(hours=number))


INSTANTS = [
    ("2026-04-16T14:00:00", "", datetime(2026, 4, 16, 14)), ("2026-04-16T14:00", "", datetime(2026, 4, 16, 14)),
    ("2026-04-16T14:00:00", "+02:00", datetime(2026, 4, 16, 14, tzinfo=hours(2))),
    ("2026-04-16t12:00:00.000z", "+02:00", datetime(2026, 4, 16, 14, tzinfo=hours(2))),
    ("2026-04-16 14:00:30.25-0530", "", datetime(2026, 4, 16, 14, 0, 30, 250_000, tzinfo=hours(-5.5))),
    ("0001-01-01T00:00:00+14:00", "", datetime(1, 1, 1, tzinfo=hours(14))),
    ("2026-04-16T14:00:00." + "0" * 400, "", datetime(2026, 4, 16, 14)),
    ("2026-04-16T14:00:00.1234567891", "", datetime(2026, 4, 16, 14, 0, 0, 123456)),
    ("2026-02-30T14:00:00", "", None), ("2026-04-16T24:00:00", "", None), ("2026-04-16T14:60:00", "", None),
    ("2026-04-16T14:00:61", "", None), ("2026-04-16", "", None), ("14:00", "", None), ("2026-04-16T14", "", None),
    ("16.04.2026 14:00", "", None), ("2026-04-16T14:00:00 Uhr", "", None), ("", "", None),
    ("2026-04-16T14:00:00+99:99", "", None), ("2026-04-16T14:00:00", "Berlin", datetime(2026, 4, 16, 14)),
]


BERLIN = [
    # (as the clock in Berlin shows it, the same in UTC, why)
    ("2026-07-01T12:00:00", "2026-07-01T10:00:00Z", "summer"),
    ("2026-12-01T12:00:00", "2026-12-01T11:00:00Z", "winter"),
    ("2026-03-29T01:59:59", "2026-03-29T00:59:59Z", "the last second of winter"),
    ("2026-03-29T03:00:00", "2026-03-29T01:00:00Z", "the first second of summer"),
    ("2026-10-25T02:30:00", "2026-10-25T00:30:00Z", "twice on the clock: the first is meant"),
    ("2026-10-25T03:00:00", "2026-10-25T02:00:00Z", "winter again"),
]


@pytest.mark.parametrize(("local", "utc", "why"), BERLIN, ids=[b[2] for b in BERLIN])
def test_a_zone_by_name_knows_when_clocks_change(local: str, utc: str, why: str) -> None:
    known_zones()
    assert instant_of(local, "Europe/Berlin") == instant_of(utc, "Europe/Berlin") == instant_of(utc)


def test_no_year_is_too_early_or_too_late_for_a_zone_by_name() -> None:
    known_zones()
    for text in ("0001-01-01T00:00:00", "9999-12-31T23:59:59"):
        assert instant_of(text, "Europe/Berlin") == instant_of(text, "Europe/Berlin") is not None


def test_a_zone_that_nobody_knows_is_told_not_guessed() -> None:
    with pytest.raises(DataError, match="time zone Europe/Berln is not known on this machine; .*pip install tzdata"):
        instant_of("2026-04-16T14:00:00", "Europe/Berln")


@pytest.mark.parametrize(("text", "zone", "instant"), INSTANTS, ids=range(len(INSTANTS)))
def test_the_instant_that_a_text_names(text: str, zone: str, instant: datetime | None) -> None:
    found = instant_of(text, zone)
    assert found == instant
    assert found is None or (found.tzinfo is None) is (instant.tzinfo is None)
