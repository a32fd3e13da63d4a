"""A derivation evaluated over the answers of a plan, and what makes a builder refuse it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

from infranode_eval.chain import pointers
from infranode_eval.chain.answers import same_value
from infranode_eval.chain.declaration import Derivation, Source, Step
from infranode_eval.chain.pointers import MISSING, is_number
from infranode_eval.chain.requests import request_for
from infranode_eval.chain.responses import Response
from lm_eval_task.errors import BenchError, DataError
from lm_eval_task.match import json_equal
from lm_eval_task.records import Call, canonical_json

Bodies = Mapping[str, Any]


class Refused(BenchError):
    """An operation has no answer on these data, or a task of it would not be fair; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Executed:
    """One executed step of a plan."""

    id: str
    call: Call
    request: str
    response: Response

    def to_json(self) -> dict[str, Any]:
        """The row of `gold`; body_sha256 is over the compact text of the body."""
        return {"id": self.id, "call": self.call.to_json(), "request": self.request, "status": self.response.status,
                "source_status": self.response.source_status,
                "body_sha256": sha256(self.response.text.encode()).hexdigest()}


def call_of(step: Step, bodies: Bodies) -> Call:
    """The call of a step with its derived arguments filled in from the bodies of earlier steps.

    Raise Refused where a derivation has no answer, or one that is no text.
    """
    arguments = dict(step.call.arguments)
    for name, derivation in step.derived().items():
        found = value_of(derivation, bodies)
        if not isinstance(found, str) or not found:
            raise Refused(f"step {step.id}: argument {name} is no text but {_short(found)}")
        arguments[name] = found
    return Call(step.call.name, arguments)


def execute_plan(steps: Sequence[Step], get: Callable[[str], Response]) -> list[Executed]:
    """Run the steps in order. Raise Refused for a derived argument without an answer, DataError for a call that causes
    no request, and what `get` raises."""
    bodies: dict[str, Any] = {}
    executed = []
    for step in steps:
        call = call_of(step, bodies)
        request = request_for(call)
        if request is None:
            raise DataError(f"step {step.id}: {call} causes no request")
        response = get(request)
        bodies[step.id] = response.body
        executed.append(Executed(step.id, call, request, response))
    return executed


def bodies_of(executed: Sequence[Executed]) -> dict[str, Any]:
    """The bodies by step, as derivations read them."""
    return {step.id: step.response.body for step in executed}


def value_of(derivation: Derivation | Mapping[str, Any], bodies: Bodies) -> Any:
    """The answer of a derivation: a JSON number, text, true, false, a list of distinct values (set), or None (none).

    Single values stay as the source gives them; computed ones are exact: 29.9 − 13.7 is 16.2.
    Raise Refused where there is no answer, DataError for a step that is unknown.
    """
    derivation = Derivation.of(derivation)
    return _plain(_OPERATIONS[derivation.op](derivation, bodies))


def source_rows(source: Source, bodies: Bodies, filtered: bool = True) -> list[Any]:
    """The rows of a source, of all its steps in order; without `filtered` those before `where`.

    Raise Refused where a step's answer holds nothing there.
    """
    rows: list[Any] = []
    for step in source.steps:
        if step not in bodies:
            raise DataError(f'step "{step}" is read but was not executed')
        found = pointers.rows_at(bodies[step], source.at)
        if found is None:
            raise Refused(f"the answer of step {step} holds nothing at {source.at or 'its root'}")
        rows += pointers.matching(found, source.where) if filtered else found
    return rows


def selected_rows(leaf: Derivation, bodies: Bodies) -> list[Any]:
    """The rows that a leaf's answer stands on: the chosen one for max, argmax, nth and the like, else all of them."""
    assert leaf.source is not None
    rows = source_rows(leaf.source, bodies)
    if leaf.op in ("max", "min"):
        wanted = value_of(leaf, bodies)
        return [row for row in rows if json_equal(pointers.at(row, leaf.source.field), wanted)]
    if leaf.op in ("argmax", "argmin"):
        return [_extreme(leaf, bodies)]
    if leaf.op == "nth":
        return _ordered(leaf, bodies)[:leaf.n]
    return rows


def _leaf_rows(leaf: Derivation, bodies: Bodies) -> list[Any]:
    assert leaf.source is not None
    return source_rows(leaf.source, bodies)


def _known(rows: Sequence[Any], pointer: str) -> list[Any]:
    """What stands at the pointer of each row; Refused for a missing value or a null."""
    found = [pointers.at(row, pointer) for row in rows]
    for value in found:
        if value is MISSING:
            raise Refused(f"a row has no {pointer or 'value'}")
        if value is None:
            raise Refused(f"a null stands among the rows at {pointer or 'the row itself'}")
    return found


def _fields(leaf: Derivation, bodies: Bodies) -> list[Any]:
    assert leaf.source is not None
    values = _known(_leaf_rows(leaf, bodies), leaf.source.field)
    if not values:
        raise Refused("no row is left")
    return values


def _numbers(leaf: Derivation, bodies: Bodies) -> list[Fraction]:
    return [_exact(value, leaf.op) for value in _fields(leaf, bodies)]


def _exact(value: Any, where: str) -> Fraction:
    if not is_number(value):
        raise Refused(f"{where} takes numbers, found {_short(value)}")
    return Fraction(str(value))


def _value(leaf: Derivation, bodies: Bodies) -> Any:
    values = _fields(leaf, bodies)
    if len(values) != 1:
        raise Refused(f"value takes the single row, found {len(values)}")
    return values[0]


def _count(leaf: Derivation, bodies: Bodies) -> int:
    return len(_leaf_rows(leaf, bodies))


def _sum(leaf: Derivation, bodies: Bodies) -> Fraction:
    return sum(_numbers(leaf, bodies), Fraction(0))


def _mean(leaf: Derivation, bodies: Bodies) -> Fraction:
    numbers = _numbers(leaf, bodies)
    return sum(numbers, Fraction(0)) / len(numbers)


def _peak(leaf: Derivation, bodies: Bodies) -> Any:
    values = _comparable(_fields(leaf, bodies))
    return max(values) if leaf.op == "max" else min(values)


def _comparable(values: list[Any]) -> list[Any]:
    """The values; Refused unless all are numbers or all are texts."""
    if all(map(is_number, values)) or all(isinstance(value, str) for value in values):
        return values
    raise Refused("the values that are compared are neither all numbers nor all texts")


def _ordered(leaf: Derivation, bodies: Bodies) -> list[Any]:
    """The rows, ascending by `by`."""
    rows = _leaf_rows(leaf, bodies)
    if not rows:
        raise Refused("no row is left")
    keys = _comparable(_known(rows, leaf.by or ""))
    return [rows[index] for index in sorted(range(len(rows)), key=lambda index: keys[index])]


def _extreme(leaf: Derivation, bodies: Bodies) -> Any:
    rows = _ordered(leaf, bodies)
    rows = rows[::-1] if leaf.op == "argmax" else rows
    if len(rows) > 1 and _same_key(leaf, rows[0], rows[1]):
        raise Refused("a tie: two rows share the first place")
    return rows[0]


def _same_key(leaf: Derivation, one: Any, other: Any) -> bool:
    return json_equal(pointers.at(one, leaf.by or ""), pointers.at(other, leaf.by or ""))


def _given(leaf: Derivation, row: Any) -> Any:
    return _known([row], leaf.give or "")[0]


def _argument(leaf: Derivation, bodies: Bodies) -> Any:
    return _given(leaf, _extreme(leaf, bodies))


def _nth(leaf: Derivation, bodies: Bodies) -> Any:
    rows, place = _ordered(leaf, bodies), (leaf.n or 1) - 1
    if place >= len(rows):
        raise Refused(f"there are {len(rows)} rows, none in place {leaf.n}")
    if any(_same_key(leaf, rows[place], rows[other]) for other in (place - 1, place + 1) if 0 <= other < len(rows)):
        raise Refused(f"equal keys: place {leaf.n} is shared")
    return _given(leaf, rows[place])


def _set(leaf: Derivation, bodies: Bodies) -> list[Any]:
    return _distinct(_fields(leaf, bodies))


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list({canonical_json(value): value for value in values}.values())


def _part(derivation: Derivation, name: str, bodies: Bodies) -> Any:
    return value_of(derivation.parts[name], bodies)


def _number_part(derivation: Derivation, name: str, bodies: Bodies) -> Fraction:
    return _exact(_part(derivation, name, bodies), derivation.op)


def _difference(derivation: Derivation, bodies: Bodies) -> Fraction:
    found = _number_part(derivation, "of", bodies) - _number_part(derivation, "minus", bodies)
    return abs(found) if derivation.absolute else found


def _ratio(derivation: Derivation, bodies: Bodies) -> Fraction:
    over = _number_part(derivation, "over", bodies)
    if over == 0:
        raise Refused("ratio over 0")
    return _number_part(derivation, "of", bodies) / over * Fraction(str(derivation.times))


def _set_part(derivation: Derivation, name: str, bodies: Bodies) -> list[Any]:
    found = _part(derivation, name, bodies)
    if not isinstance(found, list):
        raise Refused(f"{derivation.op} takes sets, found {_short(found)}")
    return found


def _intersection(derivation: Derivation, bodies: Bodies) -> list[Any]:
    other = {canonical_json(value) for value in _set_part(derivation, "and", bodies)}
    return [value for value in _set_part(derivation, "of", bodies) if canonical_json(value) in other]


def _minus_set(derivation: Derivation, bodies: Bodies) -> list[Any]:
    other = {canonical_json(value) for value in _set_part(derivation, "minus", bodies)}
    return [value for value in _set_part(derivation, "of", bodies) if canonical_json(value) not in other]


_OPERATIONS: dict[str, Callable[[Derivation, Bodies], Any]] = {
    "value": _value, "count": _count, "sum": _sum, "mean": _mean, "max": _peak, "min": _peak, "argmax": _argument,
    "argmin": _argument, "nth": _nth, "set": _set, "difference": _difference, "ratio": _ratio,
    "intersection": _intersection, "minus_set": _minus_set, "none": lambda derivation, bodies: None}


def _plain(value: Any) -> Any:
    """A fraction as JSON number."""
    if not isinstance(value, Fraction):
        return value
    return value.numerator if value.denominator == 1 else float(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def tolerance_of(answer: Mapping[str, Any]) -> Fraction:
    """The tolerance of an answer block: as given, or 0.51 of the last asked decimal; 0 without both."""
    if answer.get("tolerance") is not None:
        return Fraction(str(answer["tolerance"]))
    decimals = answer.get("decimals")
    return Fraction(0) if decimals is None else Fraction(51, 100) / 10 ** decimals


def check(derivation: Derivation | Mapping[str, Any], bodies: Bodies, near: Mapping[str, Any],
          answer: Mapping[str, Any]) -> None:
    """Raise Refused, with the reason, where a task of this derivation would not be fair.

    near: derivations by the German name of the slip. answer: a block with `type`, and `tolerance` or `decimals`.
    Source of the rules: the table of operations in the specification of the suite, section 3.
    """
    derivation = Derivation.of(derivation)
    tolerance = tolerance_of(answer)
    gold = value_of(derivation, bodies)
    _REFUSALS.get(derivation.op, _no_refusal)(derivation, bodies, tolerance)
    if derivation.op != "none":
        _check_gold(gold)
    for name, other in near.items():
        try:
            found = value_of(other, bodies)
        except Refused as error:
            raise Refused(f'near miss "{name}" has no value: {error.reason}') from None
        if _too_close(gold, found, tolerance, answer):
            raise Refused(f'near miss "{name}" gives the gold: {_short(found)}')


def _check_gold(gold: Any) -> None:
    if gold is None or isinstance(gold, bool) or gold == "" or is_number(gold) and gold == 0:
        raise Refused(f"the gold is {gold!r}, which a guess would hit")


def _too_close(gold: Any, other: Any, tolerance: Fraction, answer: Mapping[str, Any]) -> bool:
    """Numbers within twice the tolerance, names that the scorer would take for each other, anything else if equal."""
    if is_number(gold) and is_number(other):
        return abs(Fraction(str(gold)) - Fraction(str(other))) <= 2 * tolerance
    if answer.get("type") in ("string", "set") and type(gold) is type(other):
        return same_value(other, None, {**answer, "value": gold})
    return json_equal(gold, other)


def _no_refusal(derivation: Derivation, bodies: Bodies, tolerance: Fraction) -> None:
    return None


def _refuse_count(leaf: Derivation, bodies: Bodies, tolerance: Fraction) -> None:
    assert leaf.source is not None
    count, whole = _count(leaf, bodies), len(source_rows(leaf.source, bodies, filtered=False))
    if count < 2:
        raise Refused(f"count is {count}, below 2")
    if count == whole:
        raise Refused(f"count is the length of the whole list ({whole})")
    for index, condition in enumerate(leaf.source.where):
        sibling = pointers.SIBLINGS.get(condition.op)
        if sibling is None or not is_number(condition.value):
            continue
        where = list(leaf.source.where)
        where[index] = replace(condition, op=sibling)
        if len(source_rows(replace(leaf.source, where=tuple(where)), bodies)) == count:
            raise Refused(f"no row lies on the bound {condition.value}: {condition.op} and {sibling} give the same")


def _refuse_few(leaf: Derivation, bodies: Bodies, tolerance: Fraction) -> None:
    if len(_leaf_rows(leaf, bodies)) < 3:
        raise Refused(f"{leaf.op} over fewer than 3 rows")


def _refuse_lead(leaf: Derivation, bodies: Bodies, tolerance: Fraction) -> None:
    assert leaf.source is not None
    pointer = leaf.source.field if leaf.op in ("max", "min") else leaf.by or ""
    values = sorted(_comparable(_known(_leaf_rows(leaf, bodies), pointer)), reverse=leaf.op.endswith("max"))
    if len(values) < 2:
        raise Refused(f"{leaf.op} over a single row")
    if values[0] == values[1]:
        raise Refused("a tie: two rows share the first place")
    if is_number(values[0]) and abs(Fraction(str(values[0])) - Fraction(str(values[1]))) < 2 * tolerance:
        raise Refused(f"the lead of {values[0]} over {values[1]} is below twice the tolerance")


def _refuse_equal_keys(leaf: Derivation, bodies: Bodies, tolerance: Fraction) -> None:
    first = _ordered(leaf, bodies)[:(leaf.n or 1) + 1]
    if any(_same_key(leaf, one, other) for one, other in zip(first, first[1:], strict=False)):
        raise Refused(f"equal keys among the first {len(first)} rows")


def _refuse_zero(derivation: Derivation, bodies: Bodies, tolerance: Fraction) -> None:
    for name in derivation.parts:
        if _number_part(derivation, name, bodies) == 0:
            raise Refused(f'an operand of {derivation.op} ("{name}") is 0')
    if value_of(derivation, bodies) == 0:
        raise Refused(f"the {derivation.op} is 0")


def _refuse_whole_set(derivation: Derivation, bodies: Bodies, tolerance: Fraction) -> None:
    found = len(value_of(derivation, bodies))
    if found == 0:
        raise Refused("the set is empty")
    if derivation.source is not None:
        rows = source_rows(derivation.source, bodies, filtered=False)
        whole = [len(_distinct([pointers.at(row, derivation.source.field) for row in rows]))]
    else:
        whole = [len(_set_part(derivation, name, bodies)) for name in derivation.parts if name != "minus"]
    if found in whole:
        raise Refused("the set is the whole list")


_REFUSALS: dict[str, Callable[[Derivation, Bodies, Fraction], None]] = {
    "count": _refuse_count, "sum": _refuse_few, "mean": _refuse_few, "max": _refuse_lead, "min": _refuse_lead,
    "argmax": _refuse_lead, "argmin": _refuse_lead, "nth": _refuse_equal_keys, "difference": _refuse_zero,
    "ratio": _refuse_zero, "set": _refuse_whole_set, "intersection": _refuse_whole_set,
    "minus_set": _refuse_whole_set}
