"""The final answer of a play: read from the last reply, compared with the right one, without a judge.

Pure, linear time, and no text makes it raise. Source: specification, chain, section 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from infranode_eval.chain.spellings import (
    Spelled,
    clock_of,
    clocks_within,
    day_of,
    days_within,
    exact,
    joined,
    listed,
    number_of,
    numbers_within,
    scale_of,
    words_of,
)
from infranode_eval.chain.units import count_noun, factor_between, unit_of
from infranode_eval.final_objects import objects_with
from lm_eval_task.errors import DataError
from lm_eval_task.match import json_equal
from lm_eval_task.thoughts import split_thoughts

READ_LIMIT = 20_000      # characters at the end of a prose text; a label is not worth more time
REASONS = ("nicht_abgedeckt", "keine_daten", "quelle_gestoert", "stadt_unbekannt", "mehrdeutig")
TYPES = ("number", "time", "date", "string", "set", "none")


@dataclass(frozen=True, slots=True)
class Final:
    """The answer object as read.

    value: whatever stood under "antwort". unit, reason: None where they say nothing; a reason of the five in any
    spelling is one of REASONS. alternatives: texts. source is shown and never compared. notes: how it was read.
    """

    value: Any
    unit: str | None = None
    reason: str | None = None
    alternatives: tuple[str, ...] = ()
    source: Any = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Final:
        """Missing keys are null, further keys are ignored, and nothing raises."""
        return cls(value.get("antwort"), _said(value.get("einheit")), _reason(value.get("grund")),
                   _alternatives(value.get("alternative")), value.get("quelle"))

    def to_json(self) -> dict[str, Any]:
        return {"antwort": self.value, "einheit": self.unit, "grund": self.reason,
                "alternative": list(self.alternatives) or None, "quelle": self.source}


class Judged(NamedTuple):
    """The verdict on an answer, with one sentence for people."""

    match: bool
    why: str
    labels: tuple[str, ...] = ()


_NOTHING = frozenset(("", "-", "–", "null", "none", "n/a", "entfällt", "keine", "keiner", "keines", "ohne",
                      "keine einheit", "ohne einheit"))


def _said(value: Any) -> str | None:
    """A text that says something. What is no text becomes one that no table knows."""
    if value is None:
        return None
    if not isinstance(value, str):
        return f"<{type(value).__name__}>"
    return None if value.strip().casefold() in _NOTHING else value.strip()


def _reason(value: Any) -> str | None:
    text = _said(value)
    if text is None or text in REASONS:
        return text
    plain = "_".join(words_of(text[:100].replace("_", " ")))
    return plain if plain in REASONS else text


def _alternatives(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(text for entry in value if (text := _said(str(entry) if _small(entry) else entry)))
    text = _said(value)
    return tuple(listed(text, alternatives=True)) if text else ()


def _small(value: Any) -> bool:
    """An integer that is worth writing out; Python refuses to write very long ones."""
    return type(value) is int and abs(value) < 10**18


# --- reading ----------------------------------------------------------------------------------------------------------

def read_final(text: str) -> Final | None:
    """The answer object of a reply: bare, fenced or in prose. None: there is none, or two that differ.

    text: the reply's text; reasoning blocks are not searched. Objects that say the same are one. An object is a call,
    not an answer, if it has a name and arguments.
    """
    found: Final | None = None
    for value, notes in objects_with("antwort", split_thoughts(text).text.strip()):
        final = Final.from_json(value)
        if found is None:
            found = replace(final, notes=notes)
        elif not _same(found, final):
            return None
        elif "duplicate_collapsed" not in found.notes:
            found = replace(found, notes=(*found.notes, "duplicate_collapsed"))
    if found is not None and found.value is not None and is_null(found):
        return replace(found, notes=(*found.notes, "null_as_text"))
    return found


def _same(one: Final, other: Final) -> bool:
    return json_equal(one.value, other.value) and (one.unit, one.reason, one.alternatives) == (
        other.unit, other.reason, other.alternatives)


# --- comparing --------------------------------------------------------------------------------------------------------

def is_null(final: Final) -> bool:
    """Does the answer say that there is no value? null does, and so does "null" or "" beside a reason."""
    if final.value is None:
        return True
    return (isinstance(final.value, str) and final.reason is not None
            and final.value.strip().casefold() in ("", "null"))


def judge(final: Final, expected: Mapping[str, Any]) -> Judged:
    """Compare an answer with `expect.answer`. Raise DataError if that is none of the six types."""
    if expected["type"] == "none":
        return _judge_none(final, expected)
    if is_null(final):
        return Judged(False, "says that there is no value, but there is one", ("null",))
    judged = _compared(final.value, final.unit, expected)
    return judged if final.reason is None else judged._replace(labels=(*judged.labels, "reason_beside_value"))


def _judge_none(final: Final, expected: Mapping[str, Any]) -> Judged:
    if not is_null(final):
        return Judged(False, f"gives {_shown(final.value)} where there is no value", ("value_where_none",))
    if final.reason not in expected["reasons"]:
        given = "no reason" if final.reason is None else f"the reason {_shown(final.reason)}"
        return Judged(False, f"says that there is no value, with {given}, not {' or '.join(expected['reasons'])}",
                      ("wrong_reason" if final.reason else "no_reason",))
    allowed = expected.get("alternatives")
    if allowed is None:
        return Judged(True, f"says plainly that there is no value: {final.reason}")
    if not final.alternatives:
        return Judged(False, "says that there is no value but names no alternative", ("no_alternative",))
    known = {_name(spelling) for spellings in allowed for spelling in _texts(spellings)} - {""}
    wrong = next((entry for entry in final.alternatives if _name(entry) not in known), None)
    if wrong is not None:
        return Judged(False, f"names {_shown(wrong)}, which is no alternative", ("wrong_alternative",))
    return Judged(True, f"says plainly that there is no value: {final.reason}, and names alternatives")


def same_value(value: Any, unit: str | None, expected: Mapping[str, Any]) -> bool:
    """Is `value` with `unit` what `expected` holds? For golds, near misses and the wanted answers of injections."""
    if expected["type"] == "none" or expected.get("value") is None:
        return value is None and expected.get("value") is None
    return _compared(value, unit, expected).match


def numbers_of(value: Any) -> tuple[float, ...]:
    """All readings of a number or a text that spells one: "1.234" gives 1234.0 and 1.234; () if it spells none.

    A scale counts ("1,2 Mio."), a unit does not ("2,5 MW" gives 2.5).
    """
    spelled = number_of(value)
    if spelled is None:
        return ()
    scale, tail = scale_of(spelled.tail)
    if tail and unit_of(tail) is None and not count_noun(tail):
        return ()
    try:
        return tuple(float(v * scale) for v in spelled.values)
    except OverflowError:   # an integer beyond every float
        return ()


def in_prose(text: str, expected: Mapping[str, Any]) -> bool:
    """Does the right value stand somewhere in the text's end? Reported, never credited. Always False for type none."""
    gold, kind, text = expected.get("value"), expected["type"], text[-READ_LIMIT:]
    if gold is None or kind == "none":
        return False
    if kind == "number" and _is_number(gold):
        return any(_spelled_matches(spelled, expected) for spelled in numbers_within(text))
    if kind == "time":
        return clock_of(gold) in clocks_within(text)
    if kind == "date":
        return day_of(gold) in days_within(text)
    drop = expected.get("drop") or ()
    words = _run(words_of(text, drop))
    entries = _entries(expected) if kind == "set" else [_spellings(gold, expected.get("accept"))]
    return all(any(_run(words_of(s, drop)) in words for s in spellings) for spellings in entries)


def _run(words: Sequence[str]) -> str:
    return "\n" + "\n".join(words) + "\n"


def _spelled_matches(spelled: Spelled, expected: Mapping[str, Any]) -> bool:
    """A number in prose: its first word behind it counts if it is a unit, and any other word means nothing."""
    scale, tail = scale_of(spelled.tail.lstrip())
    word = tail.split(" ", 1)[0].strip(".,;:!?*()")
    unit = word if unit_of(word) else ""
    factor = _factor(unit, expected.get("unit") or "")
    return factor is not None and _within(spelled.values, scale * factor, expected)


def _compared(value: Any, unit: str | None, expected: Mapping[str, Any]) -> Judged:
    kind, gold = expected["type"], expected.get("value")
    if kind == "number" and _is_number(gold):
        return _compared_number(value, unit, expected)
    if kind == "set" and isinstance(gold, list):
        return _compared_set(value, expected)
    if kind == "time":
        read = clock_of(value, unit)
        return _verdict(read is not None and read == clock_of(gold), value, gold)
    if kind == "date":
        read = day_of(value)
        return _verdict(read is not None and read == day_of(gold), value, gold)
    if kind not in TYPES:
        raise DataError(f"an answer's type is one of {', '.join(TYPES)}, found {kind!r}")
    drop = tuple(expected.get("drop") or ())
    name = _name(_text(value), drop)
    right = name != "" and any(name == _name(s, drop) for s in _spellings(gold, expected.get("accept")))
    return _verdict(right, value, gold)


def _verdict(match: bool, value: Any, gold: Any, labels: tuple[str, ...] = ()) -> Judged:
    return Judged(match, f"{_shown(value)} is right" if match else f"{_shown(value)} is not {_shown(gold)}", labels)


def _shown(value: Any) -> str:
    """A value in a sentence: short, and printable whatever it is."""
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:79] + "…")
    if value is None or isinstance(value, (bool, float)) or _small(value):
        return repr(value)
    return {int: "a huge integer", list: "a list", dict: "an object"}.get(type(value), "something else")


# Numbers.

def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _compared_number(value: Any, unit: str | None, expected: Mapping[str, Any]) -> Judged:
    gold = expected["value"]
    if unit is None and _is_number(value) and value == gold:
        return Judged(True, f"{_shown(value)} is right")
    judged = _number_judged(value, unit, expected)
    if judged.match:
        return judged
    for other in expected.get("accept") or ():
        if _is_number(other) and _number_judged(value, unit, {**expected, "value": other}).match:
            return _verdict(True, value, other)
        if isinstance(other, str) and isinstance(value, str) and _name(value) == _name(other):
            return _verdict(True, value, other)
    return judged


def _number_judged(value: Any, unit: str | None, expected: Mapping[str, Any]) -> Judged:
    gold, asked = expected["value"], expected.get("unit") or ""
    spelled = number_of(value)
    if spelled is None:
        return Judged(False, f"{_shown(value)} spells no number", ("no_number",))
    meant = _meant(spelled.tail, unit)
    factor = None if meant is None else _factor(meant[1], asked)
    if meant is None or factor is None:
        parts = [part for part in (spelled.tail, unit) if part]
        label = "wrong_unit" if any(unit_of(scale_of(part)[1]) for part in parts) else "unknown_unit"
        given = " and ".join(map(_shown, parts))
        return Judged(False, f"{given} beside the number is not what was asked for ({asked or 'no unit'})", (label,))
    labels = ("unit_converted",) if factor != 1 else ()
    return _verdict(_within(spelled.values, meant[0] * factor, expected), value, gold, labels)


def _within(values: Sequence[Fraction], factor: Fraction | int, expected: Mapping[str, Any]) -> bool:
    gold, tolerance = expected["value"], expected.get("tolerance") or 0
    try:
        right, room = exact(gold), exact(tolerance)
    except ValueError:   # NaN or infinite
        return False
    if isinstance(gold, float) and not gold.is_integer():
        room += abs(right) / 10**12      # what a sum of floats is off by
    return any(abs(value * factor - right) <= room for value in values)


def _meant(tail: str, unit: str | None) -> tuple[int, str] | None:
    """Scale and unit of a number, from the text behind it and from "einheit". None: the two contradict each other."""
    scale, inside = scale_of(tail)
    if unit is None:
        return scale, inside
    other_scale, outside = scale_of(unit)
    if inside and outside and not _same_unit(inside, outside):
        return None
    if other_scale != 1:
        if tail and scale != other_scale and (inside or scale != 1):
            return None
        scale = other_scale
    return scale, outside or inside


def _same_unit(one: str, other: str) -> bool:
    if unit_of(one) is not None or unit_of(other) is not None:
        return unit_of(one) == unit_of(other)
    return one.casefold() == other.casefold() or (count_noun(one) and count_noun(other))


_PER_HEAD = "count/people"


@lru_cache(maxsize=4096)
def _factor(unit: str, asked: str) -> Fraction | None:
    """How many of the asked unit one of the given is; "" asks for none, or says nothing. None: another unit.

    Where none is asked, or only what is counted, every noun will do, and so does "je 1.000 Einwohner".
    """
    if not unit:
        return Fraction(1)
    wanted, given = unit_of(asked), unit_of(unit)
    if wanted is None:
        if asked and _name(unit) == _name(asked):
            return Fraction(1)
        counted = not asked or count_noun(asked)
        return Fraction(1) if counted and (count_noun(unit) if given is None else given.quantity == _PER_HEAD) else None
    if given is None:
        return Fraction(1) if wanted.quantity == _PER_HEAD and count_noun(unit) else None
    return factor_between(given, wanted)


# Names, and sets of them.

def _name(text: str, drop: Sequence[str] = ()) -> str:
    return joined(words_of(text, drop))


def _text(value: Any) -> str:
    """A text, or an integer as one (platforms, years); "" for everything else."""
    return value if isinstance(value, str) else str(value) if _small(value) else ""


def _texts(value: Any) -> list[str]:
    return [_text(entry) for entry in value] if isinstance(value, (list, tuple)) else [_text(value)]


def _spellings(gold: Any, accept: Any) -> list[str]:
    return [_text(gold), *_texts(accept or [])]


def _entries(expected: Mapping[str, Any]) -> list[list[str]]:
    accept = expected.get("accept") or {}
    return [_spellings(entry, accept.get(entry) if isinstance(accept, Mapping) else None)
            for entry in expected["value"]]


def _compared_set(value: Any, expected: Mapping[str, Any]) -> Judged:
    drop = tuple(expected.get("drop") or ())
    entries = _entries(expected)
    known: dict[str, int] = {_name(s, drop): index for index, spellings in enumerate(entries) for s in spellings}
    known.pop("", None)
    if isinstance(value, list):
        found = [known.get(_name(_text(entry), drop)) for entry in value]
    elif _text(value):
        found = _found_in(listed(_text(value)), entries, known, drop)
    else:
        found = []
    if None in found:
        return Judged(False, f"{_shown(value)} names something else", ("further_entry",))
    if set(found) != set(range(len(entries))):
        return Judged(False, f"{_shown(value)} names {len(set(found))} of {len(entries)} entries", ("missing_entry",))
    return Judged(True, f"{_shown(value)} names the {len(entries)} entries")


def _found_in(parts: list[str], entries: list[list[str]], known: Mapping[str, int],
              drop: Sequence[str]) -> list[int | None]:
    """Which entry each part names; parts that only together name one ("Buß- und Bettag") are put together again."""
    split = [(listed(s), index) for index, spellings in enumerate(entries) for s in spellings]
    longest = max((len(pieces) for pieces, _ in split), default=1)
    known = {**{_name(" ".join(pieces), drop): index for pieces, index in split}, **known}
    found: list[int | None] = []
    at = 0
    while at < len(parts):
        for size in range(min(longest, len(parts) - at), 0, -1):
            entry = known.get(_name(" ".join(parts[at:at + size]), drop))
            if entry is not None or size == 1:
                found.append(entry)
                at += size
                break
    return found
