"""What a model can have known at the end of a play: a value that is none of it was invented.

Source: specification, chain, section 8 (invented_value). Lenient on purpose: the label accuses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from infranode_eval.chain.answers import Final, is_null, numbers_of, same_value
from infranode_eval.chain.declaration import Derivation
from infranode_eval.chain.responses import Response
from infranode_eval.chain.spellings import clock_of, clocks_within, day_of, days_within

_MOST_OPERANDS = 300        # numbers of the declared fields whose pairs are looked at
_MOST_IN_UNITS = 3_000      # numbers that are compared with an answer in another unit
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_PAIRED = ("difference", "ratio", "sum", "mean")


def is_invented(final: Final, answer: Mapping[str, Any], derive: Derivation | None, question: str,
                near: Mapping[str, Any], received: Sequence[Response]) -> bool:
    """Does an answer other than null neither occur in nor follow from what was received? False for null.

    answer: the expected answer, whose type and tolerance decide how values are compared. received: the answered
    results in order; without any, every value is invented.
    """
    if is_null(final):
        return False
    if not received:
        return True
    if near_miss_of(final, answer, near) is not None:
        return False
    if answer["type"] == "number" or isinstance(final.value, (int, float)):
        return not _number_known(final, answer, derive, question, received)
    told = " ".join((question, *(response.text for response in received)))
    read, within = {"time": (clock_of, clocks_within), "date": (day_of, days_within)}.get(answer["type"], _NO_MOMENT)
    moment = read(final.value)
    if moment is not None:
        return moment not in within(told)
    return not _words_known(final.value, told, [_plain(word) for word in answer.get("drop") or ()])


def near_miss_of(final: Final, answer: Mapping[str, Any], near: Mapping[str, Any]) -> str | None:
    """The name of the slip whose value was answered. A slip may be of another type than the answer."""
    if is_null(final):
        return None
    return next((name for name, value in near.items()
                 if same_value(final.value, final.unit, _expecting(value, answer))), None)


def _expecting(value: Any, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer block that expects a value: that of the answer where the type is the same."""
    by_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    kinds = ("number",) if by_number else ("set",) if isinstance(value, list) else ("string", "time", "date")
    if answer["type"] in kinds:
        return {**answer, "value": value, "accept": None}
    return {"type": kinds[0], "value": value, "unit": None, "tolerance": 0}


def _no_moment(value: Any) -> None:
    """Nothing is a time here."""


_NO_MOMENT = (_no_moment, _no_moment)


def _words_known(value: Any, told: str, drop: Sequence[str] = ()) -> bool:
    """Does each entry of a text or a list occur in what was told?"""
    told = _plain(told)
    return all(_without(_plain(entry), drop) in told for entry in _entries(value))


def _number_known(final: Final, answer: Mapping[str, Any], derive: Derivation | None, question: str,
                  received: Sequence[Response]) -> bool:
    given = numbers_of(final.value)
    if not given:       # words: somebody answered another type
        return _words_known(final.value, " ".join((question, *(response.text for response in received))))
    tolerance = float(answer.get("tolerance") or 0) + 1e-9
    known = _numbers(question, derive, received)
    if any(abs(value - one) <= tolerance for one in known for value in given):
        return True
    with_unit = answer["type"] == "number" and (final.unit is not None or isinstance(final.value, str))
    return with_unit and any(same_value(final.value, final.unit, {**answer, "value": one})
                             for one in sorted(known)[:_MOST_IN_UNITS] if one)


def _numbers(question: str, derive: Derivation | None, received: Sequence[Response]) -> set[float]:
    """Every number that was received or asked with, and what the operation makes of the declared fields."""
    known = {value for text in _DIGITS.findall(question) for value in numbers_of(text)}
    longest = 0
    fields: list[float] = []
    pointers = [pointer for leaf in derive.leaves() for pointer in leaf.pointers()] if derive else []
    names = dict.fromkeys(pointer.rpartition("/")[2] for pointer in pointers)
    for response in received:
        found = _numbers_in(response.text)
        longest = max(longest, found.longest)
        known |= found.all
        fields += [value for name in names for value in found.by_name.get(name, ())]
    if derive is None:
        return known
    operations = {derive.op, *(leaf.op for leaf in derive.leaves())}
    if "count" in operations:
        known |= {float(n) for n in range(longest + 1)}
    if derive.op in _PAIRED:
        known |= set(_combined(fields[:_MOST_OPERANDS] or sorted(known)[:_MOST_OPERANDS], float(derive.times)))
    return known


class _Numbers(NamedTuple):
    """The numbers of one result: all of them, those under each key in order, and the length of its longest list."""

    all: frozenset[float]
    by_name: Mapping[str, Sequence[float]]
    longest: int


@lru_cache(maxsize=1024)
def _numbers_in(text: str) -> _Numbers:
    """Many plays receive the same results, so each is looked through once."""
    by_name: dict[str, list[float]] = {}
    longest = 0
    for key, value in _values(json.loads(text).get("data")):
        if isinstance(value, list):
            longest = max(longest, len(value))
        elif (number := _number_of(value)) is not None:
            by_name.setdefault(key, []).append(number)
    return _Numbers(frozenset(n for numbers in by_name.values() for n in numbers), by_name, longest)


def _combined(fields: Sequence[float], times: float) -> Iterator[float]:
    """Sum, mean, and every difference and ratio of two."""
    if not fields:
        return
    yield sum(fields)
    yield sum(fields) / len(fields)
    for a in fields:
        for b in fields:
            yield a - b
            yield a + b
            yield (a + b) / 2
            if b:
                yield a / b
                yield a / b * times


def _number_of(value: Any) -> float | None:
    """A JSON number, or a string that is one as a whole; never digits inside ids, names, hashes."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value) if abs(value) < 1e300 else None
    if isinstance(value, str) and len(value) < 20 and _NUMBER.fullmatch(value):
        return float(value)
    return None


def _values(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every list and every leaf below a value, with the key under which it stands."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _values(inner, name)
        return
    yield key, value
    if isinstance(value, list):
        for inner in value:
            yield from _values(inner, key)


def _entries(value: Any) -> Iterable[str]:
    return [str(entry) for entry in value] if isinstance(value, (list, tuple)) else [
        entry for entry in re.split(r"[,;]|\bund\b", str(value)) if entry.strip()]


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def _plain(text: str) -> str:
    """Lower case, umlauts written out, everything but letters and digits as one blank."""
    return " ".join(re.findall(r"\w+", text.lower().translate(_UMLAUTS).replace("hauptbahnhof", "hbf")))


def _without(text: str, words: Sequence[str]) -> str:
    return " ".join(word for word in text.split() if word not in words)
