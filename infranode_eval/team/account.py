"""The account that a worker gives of what it read: the texts by file, and the dates in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

MONTHS = ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
          "Dezember")
_HEAD = re.compile(r"^\[(/[^\]\n]+)\]\n", re.MULTILINE)
_NUMBER = re.compile(r"^ *\d+\t", re.MULTILINE)
_DAY = re.compile(rf"(\d{{1,2}})\. ({'|'.join(MONTHS)}) (\d{{4}})")


def sections(answer: str) -> list[tuple[str, str]]:
    """(virtual path, text) of each `[path]` and what follows it, in order; a path may come twice.

    Line numbers as Read writes them are taken away.
    """
    _, *parts = _HEAD.split(answer)
    return [(path, plain(text).strip()) for path, text in zip(parts[::2], parts[1::2], strict=True)]


def texts_of(answer: str, path: str) -> list[str]:
    """All that the answer tells of one file, oldest first."""
    return [text for found, text in sections(answer) if found == path]


def plain(text: str) -> str:
    """A text without the line numbers that Read writes."""
    return _NUMBER.sub("", text)


def found(pattern: str, texts: Sequence[str]) -> re.Match[str] | None:
    """The first match in the first text that has one."""
    return next((match for text in texts if (match := re.search(pattern, text, re.DOTALL | re.MULTILINE))), None)


def day_in(text: str) -> date | None:
    """The first date of the form 14. September 2026 that exists, or None."""
    for day, month, year in _DAY.findall(text):
        try:
            return date(int(year), MONTHS.index(month) + 1, int(day))
        except ValueError:
            continue
    return None
