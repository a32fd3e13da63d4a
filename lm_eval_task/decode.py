"""JSON as models write it: one value from a position in a text, with the few repairs that change no meaning.

Nothing is completed (an open string or bracket is unreadable), nothing is evaluated, no value is guessed.
Source of the repairs: specification, scoring, "Reading a reply", rule 6.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

MAX_DEPTH = 200      # deeper nesting is unreadable; no tool takes such arguments
MAX_DIGITS = 4300    # CPython's own limit for int(str), which not every version enforces
_BLANK = re.compile(r"[ \t\r\n]*")


class Decoded(NamedTuple):
    """A decoded value, the index behind it, and the names of the repairs that were needed (empty: plain JSON)."""

    value: Any
    end: int
    repairs: tuple[str, ...]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        _refuse_contradiction(pairs)
    return result


def _refuse_contradiction(pairs: list[tuple[str, Any]]) -> None:
    """A key twice with the same value is one key; with different values the object says two things."""
    first: dict[str, str] = {}
    for key, value in pairs:
        text = json.dumps(value, sort_keys=True)
        if first.setdefault(key, text) != text:
            raise ValueError(f"key {key!r} twice with different values")


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError("a number of too many digits")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number beyond every float")
    return value


_SCAN = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_integer,
                         parse_float=_float).scan_once   # raises StopIteration where no value begins


def decode_at(text: str, start: int = 0) -> Decoded | None:
    """Decode the value that begins at `start` (blanks before it are skipped). None if there is no readable one."""
    start = _BLANK.match(text, start).end()
    try:
        value, end = _SCAN(text, start)
        return Decoded(value, end, ()) if _shallow(text, start, end) else None
    except (ValueError, RecursionError, MemoryError, StopIteration):
        pass
    try:
        literal = _Literal(text)
        value, end = literal.value(start, 0)
        return Decoded(value, end, tuple(sorted(literal.repairs)))
    except (ValueError, RecursionError, MemoryError):
        return None


def _shallow(text: str, start: int, end: int) -> bool:
    """Is the nesting within MAX_DEPTH? Counted in the text, an upper bound."""
    if text.count("{", start, end) + text.count("[", start, end) <= MAX_DEPTH:
        return True
    depth = 0
    for match in _STRUCTURE.finditer(text, start, end):
        if match[0] in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                return False
        elif match[0] in "}]":
            depth -= 1
    return True


# A string that never closes is one token up to the end, so that no quote is looked at twice.
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


def decode_all(text: str) -> Decoded | None:
    """Decode `text` as exactly one value, blanks around it allowed; stray quotes behind an object are a repair."""
    decoded = decode_at(text)
    if decoded is None:
        return None
    rest = text[decoded.end:].strip()
    if not rest:
        return decoded
    if isinstance(decoded.value, (dict, list)) and not rest.strip("\"'`"):
        return Decoded(decoded.value, len(text), (*decoded.repairs, "trailing_quotes"))
    return None


_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![\w.])")
_WORD = re.compile(r"(?:True|False|None|true|false|null)(?![\w])")
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_SINGLE = re.compile(r"'((?:[^'\\\n]|\\.)*)'")
_DOUBLE = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", "'": "'", '"': '"'}


class _Literal:
    """Reads JSON or Python literals from a text and notes which repairs that took. Raises ValueError if unreadable."""

    def __init__(self, text: str, python: bool = False) -> None:
        self.text = text
        self.python = python
        self.repairs: set[str] = set()

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        head = self.text[at:at + 1]
        if head == "{":
            return self._object(at, depth)
        if head == "[":
            return self._array(at, depth)
        if head in ("'", '"'):
            return self.string(at)
        if match := _WORD.match(self.text, at):
            if match[0][0].isupper():
                self.repairs.add("python_literal")
            return _WORDS[match[0]], match.end()
        if match := _NUMBER.match(self.text, at):
            return (_float(match[0]) if match[1] or match[2] else _integer(match[0])), match.end()
        raise ValueError(f"no value at {at}")

    def string(self, at: int) -> tuple[str, int]:
        if match := _DOUBLE.match(self.text, at):
            if self.python and "\\" in match[0]:
                return _ESCAPE.sub(_unescape, match[0][1:-1]), match.end()
            return json.loads(match[0]), match.end()
        match = _SINGLE.match(self.text, at)
        if match is None:
            raise ValueError(f"open string at {at}")
        self.repairs.add("single_quotes")
        return _ESCAPE.sub(_unescape, match[1]), match.end()

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        at = self._skip(at + 1)
        while self.text[at:at + 1] != "]":
            item, at = self.value(at, depth + 1)
            items.append(item)
            at = self._comma(at, "]")
        return items, at + 1

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        pairs: list[tuple[str, Any]] = []
        at = self._skip(at + 1)
        while self.text[at:at + 1] != "}":
            key, at = self.string(at)
            at = self._skip(at)
            if self.text[at:at + 1] != ":":
                raise ValueError(f"no colon at {at}")
            value, at = self.value(self._skip(at + 1), depth + 1)
            pairs.append((key, value))
            at = self._comma(at, "}")
        return _pairs(pairs), at + 1

    def _comma(self, at: int, closer: str) -> int:
        """Behind an item: the closer, or a comma and what follows it; a comma before the closer is a repair."""
        at = self._skip(at)
        if self.text[at:at + 1] == closer:
            return at
        if self.text[at:at + 1] != ",":
            raise ValueError(f"neither comma nor {closer} at {at}")
        at = self._skip(at + 1)
        if self.text[at:at + 1] == closer:
            self.repairs.add("trailing_comma")
        return at

    def _skip(self, at: int) -> int:
        return _BLANK.match(self.text, at).end()


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "ux" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code in _ESCAPED:
        return _ESCAPED[code]
    raise ValueError(f"unknown escape \\{code}")


def literal_at(text: str, start: int) -> Decoded | None:
    """Like `decode_at`, for pythonic formats: True, None and single quotes are at home there and no repair."""
    try:
        literal = _Literal(text, python=True)
        value, end = literal.value(_BLANK.match(text, start).end(), 0)
        return Decoded(value, end, tuple(sorted(literal.repairs - {"single_quotes", "python_literal"})))
    except (ValueError, RecursionError, MemoryError):
        return None


def extent_of(text: str, start: int) -> int | None:
    """Index behind the bracket that closes the one at `start`, strings respected; None if it never closes. Linear."""
    depth = 0
    for match in _STRUCTURE.finditer(text, start):
        if match[0] in "{[":
            depth += 1
        elif match[0] in "}]":
            depth -= 1
            if depth == 0:
                return match.end()
    return None
