"""From the parts of a failed exchange to one readable line, and to the seconds to wait."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest

from infranode_eval.providers.failures import error_text, failure_of, retry_after_s

NOW = 1_800_000_000.0

RETRY_AFTER = [
    ("3", 3.0, "seconds"),
    ("0.25", 0.25, "a fraction, as some send it"),
    ("0", 0.0, "at once"),
    ("-5", 0.0, "the past is now"),
    (formatdate(NOW + 20, usegmt=True), 20.0, "a date"),
    (formatdate(NOW - 20, usegmt=True), 0.0, "a date in the past"),
    (None, None, "no header"),
    ("bald", None, "neither number nor date"),
    ("inf", None, "no end"),
    ("nan", None, "no number"),
]


@pytest.mark.parametrize(("value", "expected", "reason"), RETRY_AFTER)
def test_retry_after(value: str | None, expected: float | None, reason: str) -> None:
    assert retry_after_s(value, NOW) == expected, reason


def test_a_429_carries_its_wait() -> None:
    assert failure_of(429, {"Retry-After": "7"}, {}).retry_after == 7.0


TEXTS = [
    ({"error": {"message": "kein Modell"}}, "kein Modell", "OpenAI"),
    ({"error": "kein Modell"}, "kein Modell", "Ollama"),
    ({"detail": [{"message": "x"}]}, "x", "a list of details"),
    ({"message": "a\n b\x1b[31m"}, "a b [31m", "one line, no control characters"),
    ({}, "", "nothing"),
    (None, "", "no body"),
    ("x" * 500, "x" * 199 + "…", "cut"),
    ({"error": {}}, "", "an empty object"),
]


@pytest.mark.parametrize(("error", "expected", "reason"), TEXTS)
def test_error_text(error: Any, expected: str, reason: str) -> None:
    assert error_text(error) == expected, reason
