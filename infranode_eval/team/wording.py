"""What the host says to its agents, in the words of the data files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from infranode_eval.shipped import DATA, read_shipped

FOLDER = "team"
_OURS = re.compile(r"<(?=/?(?:task-notification|system-reminder)\b)", re.IGNORECASE)


@cache
def texts() -> Mapping[str, str]:
    """All texts by name, the two openings among them ("system", "worker")."""
    openings = {name: (DATA / FOLDER / f"{name}.txt").read_text("utf-8") for name in ("system", "worker")}
    return {**read_shipped(f"{FOLDER}/texts.json"), **openings}


def say(name: str, /, **values: object) -> str:
    """A text with its values. Raise KeyError for a text or a value that does not exist."""
    text = texts()[name]
    for key in values:
        if f"{{{key}}}" not in text:
            raise KeyError(key)
    return _filled(text, values)


def _filled(text: str, values: Mapping[str, object]) -> str:
    """Braces of values stay as they are: each place is filled once, from left to right."""
    pieces, rest = [], text
    while rest:
        start = rest.find("{")
        end = rest.find("}", start)
        if start < 0 or end < 0:
            break
        pieces += [rest[:start], str(values[rest[start + 1:end]])]
        rest = rest[end + 1:]
    return "".join([*pieces, rest])


def escaped(text: str) -> str:
    """So that no worker can forge a notice or a reminder."""
    return text.replace("<", "&lt;")


def unforged(text: str) -> str:
    """The same for a text whose other tags shall stay: the content of a file may be read back into it."""
    return _OURS.sub("&lt;", text)


def listed(items: object) -> str:
    return ", ".join(map(str, items)) or say("none")  # type: ignore[call-overload]
