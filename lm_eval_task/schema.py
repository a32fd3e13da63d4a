"""JSON Schema as far as tools use it: does a value fit, which branch is meant, what instant does a date-time name?

Standard library only. A keyword that is not known here forbids nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any

from lm_eval_task.errors import DataError
from lm_eval_task.tools import type_allowed


def branch_of(schema: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """The branch of anyOf or oneOf that `value` fits (the first), down to one without branches.

    Where it fits none, the first whose type allows it; the schema itself where there is no such branch either.
    """
    branches = _branches(schema)
    fitting = next((b for b in branches if misfit(b, value) is None), None)
    if fitting is None:
        fitting = next((b for b in branches if "type" in b and type_allowed(b, value)), None)
    return schema if fitting is None else branch_of(fitting, value)


def takes_text(schema: Mapping[str, Any]) -> bool:
    """Does a type, in the schema or in one of its branches, allow a text?"""
    branches = _branches(schema)
    return type_allowed(schema, "") and (not branches or any(map(takes_text, branches)))


def _branches(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    lists = [schema[keyword] for keyword in ("anyOf", "oneOf") if isinstance(schema.get(keyword), list)]
    return [branch for branches in lists for branch in branches if isinstance(branch, dict)]


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The schemas of an object's entries by name; empty where there are none."""
    found = schema.get("properties")
    return {name: inner for name, inner in found.items() if isinstance(inner, dict)} if isinstance(found, dict) else {}


def required_of(schema: Mapping[str, Any]) -> list[str]:
    """The names of the entries that an object must have."""
    found = schema.get("required")
    return found if isinstance(found, list) else []


_INSTANT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
                      r"(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))?")
ZONE = re.compile(r"[+-](?:0[0-9]|1[0-4]):[0-5][0-9]")
ZONE_NAME = re.compile(r"[A-Za-z]+(?:/[A-Za-z0-9_+-]+)+")


def instant_of(text: str, zone: str = "") -> datetime | None:
    """The instant that a text names; seconds and their fraction may be left out. None if it names none.

    Without an offset it is local in `zone` ("+02:00", "Europe/Berlin"), and without that it stays a local time. Of an
    hour that clocks show twice the first one is meant. Raise DataError for a zone by name that is not known here.
    A fraction counts down to the microsecond (`beyond_microseconds` has the rest).
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    day, hour, minute, second, fraction, zulu, sign, hours, minutes = match.groups()
    offset = timezone.utc if zulu else _offset(sign, hours, minutes) if sign else _zone(zone)
    if sign and offset is None:
        return None
    try:
        start = datetime.combine(date.fromisoformat(day), datetime.min.time(), offset)
        return _fixed(start.replace(hour=int(hour), minute=int(minute), second=int(second or 0),
                                    microsecond=int((fraction or "0").ljust(6, "0")[:6])))
    except ValueError:
        return None


_BEYOND = re.compile(r"\.[0-9]{6}([0-9]+)")


def beyond_microseconds(text: str) -> str:
    """The digits of a time's fraction behind the sixth, without final zeros; "" mostly."""
    match = _BEYOND.search(text)
    return match[1].rstrip("0") if match else ""


def _fixed(moment: datetime) -> datetime:
    """With the offset of that moment: times near a change of clocks equal nothing as long as their zone has a name."""
    offset = moment.utcoffset()
    return moment if offset is None else moment.replace(tzinfo=timezone(offset))


def _zone(zone: str) -> tzinfo | None:
    if ZONE_NAME.fullmatch(zone):
        return zone_named(zone)
    return _offset(zone[0], zone[1:3], zone[4:6]) if ZONE.fullmatch(zone) else None


@lru_cache(maxsize=16)
def zone_named(name: str) -> tzinfo:
    """A zone of the machine's time zone database. Raise DataError where there is none of that name, or no database."""
    from zoneinfo import ZoneInfo  # late: most files have an offset

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise DataError(f'time zone {name} is not known on this machine; expected a name such as "Europe/Berlin" '
                        '(without a time zone database: pip install tzdata) or an offset such as "+02:00"') from None


def _offset(sign: str, hours: str, minutes: str) -> timezone | None:
    span = timedelta(hours=int(hours), minutes=int(minutes))
    if span >= timedelta(hours=24):
        return None
    return timezone(-span if sign == "-" else span)


def _is_day(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) and date.fromisoformat(text))
    except ValueError:
        return False


_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
FORMATS: dict[str, Callable[[str], bool]] = {
    "uuid": lambda text: bool(_UUID.fullmatch(text)),
    "date-time": lambda text: instant_of(text) is not None and text[10] in "Tt",
    "date": _is_day,
    "email": lambda text: bool(_EMAIL.fullmatch(text)),
}


def misfit(schema: Mapping[str, Any], value: Any, path: str = "") -> str | None:
    """The first reason why `value` does not fit `schema`, as one line that opens with its path; None if it fits."""
    for reason in _misfits(schema, value, path):
        return reason
    return None


def _misfits(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    where = f"{path or 'the arguments'}: "
    if not type_allowed(schema, value):
        yield f"{where}must be of type {_types(schema)}, found {_show(value)}"
        return
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        branches = [b for b in branches if isinstance(b, dict)] if isinstance(branches, list) else []
        if branches and all(misfit(branch, value, path) for branch in branches):
            yield f"{where}{_show(value)} fits none of {keyword}"
    if isinstance(schema.get("enum"), list) and not any(_same(value, allowed) for allowed in schema["enum"]):
        yield f"{where}must be one of {', '.join(map(_show, schema['enum']))}, found {_show(value)}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{where}must be {_show(schema['const'])}, found {_show(value)}"
    if isinstance(value, str):
        yield from _text_misfits(schema, value, where)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _number_misfits(schema, value, where)
    elif isinstance(value, list):
        yield from _array_misfits(schema, value, path, where)
    elif isinstance(value, dict):
        yield from _object_misfits(schema, value, path, where)


def _text_misfits(schema: Mapping[str, Any], value: str, where: str) -> Iterator[str]:
    wanted = schema.get("format")
    if isinstance(wanted, str) and wanted in FORMATS and not FORMATS[wanted](value):
        yield f"{where}{_show(value)} is no {wanted}"
    if isinstance(schema.get("pattern"), str):
        try:
            fits = re.search(schema["pattern"], value) is not None
        except re.error:   # written for another engine
            fits = True
        if not fits:
            yield f"{where}{_show(value)} does not match {schema['pattern']}"
    yield from _bounds(schema, len(value), where, "Length", "characters")


def _number_misfits(schema: Mapping[str, Any], value: float, where: str) -> Iterator[str]:
    for keyword, broken, word in (("minimum", lt, "at least"), ("maximum", gt, "at most"),
                                  ("exclusiveMinimum", le, "more than"), ("exclusiveMaximum", ge, "less than")):
        bound = schema.get(keyword)
        if isinstance(bound, (int, float)) and not isinstance(bound, bool) and broken(value, bound):
            yield f"{where}must be {word} {bound}, found {_show(value)}"


def _array_misfits(schema: Mapping[str, Any], value: list[Any], path: str, where: str) -> Iterator[str]:
    yield from _bounds(schema, len(value), where, "Items", "items")
    items = schema.get("items")
    if isinstance(items, dict):
        for index, item in enumerate(value):
            yield from _misfits(items, item, f"{path}[{index}]")


def _object_misfits(schema: Mapping[str, Any], value: Mapping[str, Any], path: str, where: str) -> Iterator[str]:
    properties = properties_of(schema)
    for name in required_of(schema):
        if name not in value:
            yield f"{where}{name} is missing"
    if schema.get("additionalProperties") is False:
        for name in value:
            if name not in properties:
                yield f"{where}there is no {name}; it has {', '.join(properties) or 'no parameter'}"
    yield from _bounds(schema, len(value), where, "Properties", "entries")
    for name, item in value.items():
        if name in properties:
            yield from _misfits(properties[name], item, f"{path}.{name}" if path else name)


def _bounds(schema: Mapping[str, Any], size: int, where: str, what: str, unit: str) -> Iterator[str]:
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    if isinstance(least, int) and size < least:
        yield f"{where}needs at least {least} {unit}, has {size}"
    if isinstance(most, int) and size > most:
        yield f"{where}may have at most {most} {unit}, has {size}"


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, bool) is isinstance(b, bool) and a == b


def _types(schema: Mapping[str, Any]) -> str:
    types = schema.get("type")
    return types if isinstance(types, str) else " or ".join(types)


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 80 else text[:77] + "…"
