"""JSON as RFC 8259 has it: what an endpoint sends besides that is no JSON."""

from __future__ import annotations

import json
from typing import Any


def decoded(text: bytes | str) -> Any:
    """The JSON value of a text; None if it is none. NaN and numbers beyond every float are not JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_number, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if value not in (float("inf"), float("-inf")) else _refuse_number(text)
