"""Datum: would the answer to a call have contained what was asked, whoever gave it? A table of carriers decides.

The table (datum.json) is written by generate.py, which executes every offered call against the offline model of the
API: datum name → labels of the calls whose answer holds it. Nothing is executed while scoring.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lm_eval_task.errors import DataError
from lm_eval_task.match import calls_equal
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import THE_TWELVE, Toolset, call_problem, request_of

TABLE = Path(__file__).resolve().parent / "datum.json"
COMPARE_AT_MOST = 28        # the API drops further cities without a word
_DETAIL = {"get_city_resource": "resource", "compare": "resource", "pois": "type"}
_EVERYWHERE = frozenset(("list_cities", "sources"))       # their answer holds every city


@dataclass(frozen=True, slots=True)
class Carriers:
    """labels: datum name → calls whose answer holds it. only: label → the sole cities for which it answers."""

    labels: Mapping[str, frozenset[str]]
    only: Mapping[str, frozenset[str]]

    def hold(self, datum: str, label: str, cities: Collection[str] = ()) -> bool:
        """Does the answer of a call with this label contain `datum` for all of `cities`?"""
        if label not in self.labels.get(datum, ()):
            return False
        answering = None if datum.startswith("availability.") else self.only.get(label)    # "no" is an answer there
        return answering is None or all(city in answering for city in cities)

    def to_json(self) -> dict[str, Any]:
        return {"carriers": {name: sorted(labels) for name, labels in sorted(self.labels.items())},
                "only": {label: sorted(cities) for label, cities in sorted(self.only.items())}}


def label_of(call: Call) -> str:
    """What a call asks for, whatever the city: "weather", "get_city_resource/air", "pois/school", "compare/air"."""
    parameter = _DETAIL.get(call.name)
    if parameter is None:
        return call.name
    detail = call.arguments.get(parameter)
    return f"{call.name}/{detail}" if isinstance(detail, str) else call.name


@cache
def carriers() -> Carriers:
    """The shipped table. Raise DataError if it cannot be read."""
    try:
        value = json.loads(TABLE.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}); reinstall the package", TABLE) from None
    except ValueError as error:
        raise DataError(f"is not JSON ({error}); python generate.py --source snapshot writes it anew", TABLE) from None
    return Carriers({name: frozenset(labels) for name, labels in value["carriers"].items()},
                    {label: frozenset(cities) for label, cities in value["only"].items()})


def datum_of(task: Task) -> tuple[str, ...]:
    """The datum names of a task; () for a task that names none, or something else under that key."""
    value = task.extra.get("datum")
    return tuple(value) if isinstance(value, list) and all(isinstance(name, str) for name in value) else ()


def carried(task: Task, calls: Sequence[Call], tools: Toolset) -> bool:
    """Would the answers to `calls`, no more than expected, have contained what `task` asks for?

    Where no call is right, where the city is not covered, and for tools other than the twelve: False.
    """
    names = datum_of(task)
    if not names or not calls or task.category == "not_covered" or not _known(names, task.expected):
        return False
    if _follows(task, calls, tools):
        return True
    return any(_holds_all(names, expected, calls, tools) for expected in task.alternatives
               if len(calls) <= len(expected))


def _known(names: Sequence[str], expected: Sequence[Call]) -> bool:
    """Is every datum carried by some expected call? Otherwise nobody can say what would hold it."""
    labels = {label_of(call) for call in expected}
    table = carriers().labels
    return all(not labels.isdisjoint(table.get(name, ())) for name in names)


def _follows(task: Task, calls: Sequence[Call], tools: Toolset) -> bool:
    """One call that the task allows after its look-up: the board of the right station."""
    then = task.extra.get("then")
    if len(calls) != 1 or not isinstance(then, list):
        return False
    try:
        following = [Call.from_json(call) for call in then]
        return any(call.name in tools and calls_equal(tools, calls[0], call) for call in following)
    except DataError:
        return False


def _holds_all(names: Sequence[str], expected: Sequence[Call], calls: Sequence[Call], tools: Toolset) -> bool:
    """Is every datum that an expected call carries carried by an actual call, for the same city or cities?"""
    table = carriers()
    for gold in expected:
        there = [(call, label_of(call)) for call in calls if _same_place(call, gold)]   # most wrong calls end here
        if not there or gold.name not in THE_TWELVE:
            return False
        label, cities = label_of(gold), cities_of(gold)
        needed = [name for name in names if label in table.labels.get(name, ())]
        if not needed:
            return False
        for name in needed:
            if not any(table.hold(name, label, cities) and executable(call, tools) for call, label in there):
                return False
    return True


def executable(call: Call, tools: Toolset) -> bool:
    """One of the twelve, valid under its schema, and its client sends a request."""
    return call.name in THE_TWELVE and call_problem(tools, call) is None and request_of(call) is not None


def cities_of(call: Call) -> tuple[str, ...]:
    """The cities that a call is about, lower-cased; () for a call about none."""
    slug, cities = call.arguments.get("slug"), call.arguments.get("cities")
    if isinstance(slug, str):
        return (_lower(slug),)
    if call.name == "compare" and isinstance(cities, str):
        return tuple([_lower(city.strip()) for city in cities.split(",") if city.strip()][:COMPARE_AT_MOST])
    return ()


def _lower(slug: str) -> str:
    """ASCII case is free, as in the API; str.lower alone would make k out of the Kelvin sign."""
    return slug.lower() if slug.isascii() else slug


def _same_place(actual: Call, gold: Call) -> bool:
    """Does `actual` cover what `gold` is about: its cities, its station, its stop?"""
    if gold.name in _EVERYWHERE or actual.name in _EVERYWHERE:
        return True
    for parameter in ("eva", "stop_id"):
        if gold.arguments.get(parameter) != actual.arguments.get(parameter):
            return False
    covered = cities_of(actual)
    return all(city in covered for city in cities_of(gold))
