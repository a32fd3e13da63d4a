"""A stored reply as it may be shown: cut to a length, with every invisible character spelled out.

Pure. Replies come from strangers, and may have any shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.harmless import clean
from lm_eval_task.shapes import parts_of

LONGEST = 4000          # characters of one text that are shown


@dataclass(frozen=True, slots=True)
class Text:
    """A text of unknown origin as it may be shown, and how many of its characters were left out."""

    shown: str = ""
    left_out: int = 0

    @classmethod
    def of(cls, value: str, longest: int = LONGEST) -> Text:
        r"""The first `longest` characters; line ends and tabs stay, other invisible characters become \u202e."""
        return cls(visible(value[:longest]), max(0, len(value) - longest))


def visible(text: str) -> str:
    """`clean`, but of several lines."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join("\t".join(map(clean, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a row's verdict rests on. entries: native call entries as received. error: why there is no answer."""

    text: Text = Text()
    entries: tuple[Text, ...] = ()
    thoughts: Text = Text()
    finish_reason: str | None = None
    error: str | None = None
    attempts: int = 1


def evidence_of(row: Mapping[str, Any]) -> Evidence:
    """From a row as stored. Never raises: a reply may have any shape."""
    finish, error, attempts = row.get("finish_reason"), row.get("error"), row.get("attempts")
    facts = {"finish_reason": clean(finish) if isinstance(finish, str) else None,
             "error": clean(_plain(error)[:LONGEST]) if error else None,
             "attempts": attempts if isinstance(attempts, int) else 1}
    message = row.get("reply")
    if not isinstance(message, dict):
        return Evidence(**facts)
    parts = parts_of(message)
    entries = tuple(Text.of(f"{e.name or '?'}({_plain(e.arguments)})") for e in parts.entries)
    text = parts.text
    if not (text or entries or parts.thoughts) and message.keys() - {"role", "content"}:
        text = _plain(message)      # a shape that the reader does not know, shown whole
    return Evidence(Text.of(text), entries, Text.of("\n".join(parts.thoughts)), **facts)


def _plain(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
