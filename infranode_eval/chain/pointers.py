"""JSON pointers into an answer, and the rows of a list that meet conditions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_task.errors import DataError
from lm_eval_task.match import json_equal


class _Missing:
    """What stands where a pointer leads nowhere; None is a value of JSON."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
OPERATORS = ("==", "!=", *_ORDERS)
# The operator that treats a row on the bound the other way.
SIBLINGS = {">=": ">", ">": ">=", "<=": "<", "<": "<="}


def parts(pointer: str) -> tuple[str, ...]:
    """The names of an RFC 6901 pointer; () for "". Raise DataError unless it is "" or begins with "/"."""
    if pointer == "":
        return ()
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise DataError(f'a JSON pointer is "" or begins with "/", found {pointer!r}')
    return tuple(name.replace("~1", "/").replace("~0", "~") for name in pointer[1:].split("/"))


def at(document: Any, pointer: str) -> Any:
    """What stands at `pointer`; MISSING where it leads nowhere."""
    for name in parts(pointer):
        document = _child(document, name)
        if document is MISSING:
            return MISSING
    return document


def _child(document: Any, name: str) -> Any:
    if isinstance(document, Mapping):
        return document.get(name, MISSING)
    if isinstance(document, list) and name.isdecimal() and int(name) < len(document):
        return document[int(name)]
    return MISSING


def replaced(document: Any, pointer: str, value: Any) -> Any:
    """A copy of `document` with `value` at `pointer`; what is not on the way is shared, nothing is changed in place.

    Raise DataError where the pointer leads nowhere: a value is replaced, never added.
    """
    if at(document, pointer) is MISSING:
        raise DataError(f"there is nothing at {pointer} that could be replaced")
    return _with(document, parts(pointer), value)


def _with(document: Any, names: Sequence[str], value: Any) -> Any:
    if not names:
        return value
    first, rest = names[0], names[1:]
    if isinstance(document, list):
        index = int(first)
        return [*document[:index], _with(document[index], rest, value), *document[index + 1:]]
    return {**document, first: _with(document[first], rest, value)}


def nested(pointer: str, value: Any) -> Any:
    """The smallest document of objects that holds `value` at `pointer`."""
    for name in reversed(parts(pointer)):
        value = {name: value}
    return value


@dataclass(frozen=True, slots=True)
class Condition:
    """What a row must meet: `pointer` into it, one of OPERATORS, and a plain JSON value."""

    pointer: str
    op: str
    value: Any

    @classmethod
    def from_json(cls, value: Any) -> Condition:
        """Raise DataError unless `value` is [pointer, op, value] with a known op and a plain value."""
        if not isinstance(value, (list, tuple)) or len(value) != 3 or value[1] not in OPERATORS:
            raise DataError(f'a condition is [pointer, op, value] with op among {" ".join(OPERATORS)}, found {value!r}')
        if isinstance(value[2], (dict, list)):
            raise DataError(f"the value of a condition is a text, a number, true, false or null, found {value[2]!r}")
        parts(value[0])
        return cls(*value)

    def to_json(self) -> list[Any]:
        return [self.pointer, self.op, self.value]

    def holds(self, row: Any) -> bool:
        """== and != compare as JSON; an order holds between two numbers or two texts only, never for null."""
        found = at(row, self.pointer)
        if found is MISSING:
            return False
        if self.op == "==":
            return json_equal(found, self.value)
        if self.op == "!=":
            return not json_equal(found, self.value)
        comparable = is_number(found) and is_number(self.value) or isinstance(found, str) and isinstance(
            self.value, str)
        return comparable and _ORDERS[self.op](found, self.value)


def is_number(value: Any) -> bool:
    """A JSON number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def rows_at(body: Any, pointer: str) -> list[Any] | None:
    """The rows at `pointer`: the entries of an array, anything else as one row, None where nothing or null stands."""
    found = at(body, pointer)
    if found is MISSING or found is None:
        return None
    return found if isinstance(found, list) else [found]


def matching(rows: Sequence[Any], where: Sequence[Condition]) -> list[Any]:
    """The rows that meet every condition, in their order."""
    return [row for row in rows if all(condition.holds(row) for condition in where)]
