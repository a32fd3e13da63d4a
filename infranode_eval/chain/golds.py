"""Golds: what a plan gives in a world, as the answer type writes it, and the values of its near misses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from infranode_eval.chain.answers import same_value
from infranode_eval.chain.declaration import Derivation, Step
from infranode_eval.chain.derive import Executed, Refused, value_of
from infranode_eval.chain.pointers import is_number
from lm_eval_task.match import json_equal

_LOCAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT(\d\d:\d\d)")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:T.*)?")
_NOISE = 10                     # decimals that are kept: 29.9 - 13.7 is 16.2


def check_results(steps: Sequence[Step], executed: Sequence[Executed]) -> None:
    """A step that shall be answered is answered, one that shall fail fails. Raise Refused otherwise."""
    for step, done in zip(steps, executed, strict=True):
        result = done.response.result
        if step.result not in ("any", result) and not (step.result == "failed" and result != "answered"):
            raise Refused(f"step {step.id}: {done.request} is {result}, expected {step.result}")


def written(kind: str, value: Any) -> Any:
    """A derived value as the answer type writes it: a time as "10:04", a date as "2026-10-03", a number without noise.

    Raise Refused for a value that is no such thing, or no gold: 0, "", true and false.
    """
    if kind == "set":
        return _entries(value)
    if value in (None, "", 0) or isinstance(value, bool):
        raise Refused(f"the gold is {value!r}, which a model that found nothing would say, too")
    if kind == "number":
        if not is_number(value):
            raise Refused(f"the gold {value!r} is no number")
        return value if isinstance(value, int) else round(value, _NOISE)
    if not isinstance(value, str):
        raise Refused(f"the gold {value!r} is no text")
    if kind == "string":
        return value
    pattern = _LOCAL_TIME if kind == "time" else _DATE
    found = pattern.match(value) if kind == "time" else pattern.fullmatch(value)
    if found is None:
        raise Refused(f"the gold {value!r} is no {kind}")
    return found[1]


def _entries(value: Any) -> list[str]:
    entries = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else None
    if not entries or not all(isinstance(entry, str) and entry for entry in entries):
        raise Refused(f"the gold {value!r} is no set of names")
    return entries


def slips(near: Mapping[str, Derivation], bodies: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each near miss as the answer would write it. Raise Refused where one is right by accident."""
    return {name: slip(name, derivation, bodies, answer) for name, derivation in near.items()}


def slip(name: str, derivation: Derivation, bodies: Mapping[str, Any], answer: Mapping[str, Any]) -> Any:
    """The value of one near miss. Raise Refused where it has none, or is right by accident."""
    value = value_of(derivation, bodies)
    with suppress(Refused):         # another type, or 0: a slip may give what a gold may not
        value = written(answer["type"], value)
    if json_equal(value, answer["value"]) or same_value(value, None, answer):
        raise Refused(f'near miss "{name}" gives the gold: {value!r}')
    return value
