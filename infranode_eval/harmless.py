"""Text of unknown origin made harmless for a terminal or for Markdown: nothing in it acts, everything is seen."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))   # control, format (bidi, zero width), surrogates, separators


def clean(text: str) -> str:
    r"""One line that a terminal shows as it is: \x1b, \u202e and their kin are spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spelled(c) if unicodedata.category(c) in _INVISIBLE else c for c in text)


def _spelled(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


_MARKDOWN = re.compile(r"[\\`*|~$#]|\](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])")   # a bracket alone makes no link
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def markdown(text: str) -> str:
    """`clean` text whose characters mean themselves in Markdown and in a table cell."""
    escaped = _MARKDOWN.sub(lambda m: "\\" + m[0], clean(text))
    return re.sub("[&<>]", lambda m: _HTML[m[0]], escaped)
