"""The JSON objects with a certain key in a final reply: bare, fenced, or in prose.

Pure, linear time, and no text makes it raise. What an object may look like: specification, scoring, rules 2, 4 and 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lm_eval_task.decode import Decoded, decode_all, decode_at, extent_of
from lm_eval_task.jsoncalls import ARGUMENT_KEYS, NAME_KEYS, unfenced


class FinalObject(NamedTuple):
    """An object with its format notes and the names of the repairs that reading it took."""

    value: Mapping[str, Any]
    notes: tuple[str, ...]


def objects_with(key: str, text: str) -> Iterator[FinalObject]:
    """Every top-level object that has `key` and is no call, in order; lists of objects give their entries.

    text: without reasoning (`split_thoughts`), blanks around it removed. An object that cannot be read is skipped as a
    whole; if it never closes, nothing behind it is looked at.
    """
    inner = unfenced(text) if text.startswith("```") else None
    body = text if inner is None else inner
    decoded = decode_all(body) if body.startswith(("{", "[")) else None
    if decoded is not None:
        yield from _objects_of(key, decoded.value, (() if inner is None else ("fenced_json",)) + decoded.repairs)
        return
    for start, end, piece in _pieces_of(text):
        notes = () if end - start == len(text) else ("prose_around",)
        yield from _objects_of(key, piece.value, notes + piece.repairs)


def _objects_of(key: str, value: Any, notes: tuple[str, ...]) -> Iterator[FinalObject]:
    if isinstance(value, list):
        notes += ("list_of_one",) if len(value) == 1 else ()
    for entry in value if isinstance(value, list) else (value,):
        if isinstance(entry, dict) and key in entry and not is_call(entry):
            yield FinalObject(entry, notes)


def is_call(value: Mapping[str, Any]) -> bool:
    """Does the object call something, by a name beside arguments?"""
    if isinstance(value.get("function"), dict) or isinstance(value.get("tool_calls"), list):
        return True
    return any(isinstance(value.get(k), str) for k in NAME_KEYS) and any(k in value for k in ARGUMENT_KEYS)


_CANDIDATE = re.compile(r"""(?:\[\s*)?\{\s*["'“”„‟‘’‚]""")


def _pieces_of(text: str) -> Iterator[tuple[int, int, Decoded]]:
    """Top-level objects, and lists of them, that can be read, each with its span."""
    at = 0
    while match := _CANDIDATE.search(text, at):
        start = match.start()
        decoded = decode_at(text, start)
        at = decoded.end if decoded else extent_of(text, start) or len(text)
        if decoded is None:
            decoded = _with_plain_quotes(text[start:at])
        if decoded is not None:
            yield start, at, decoded


_CURLY_DOUBLE = str.maketrans(dict.fromkeys("“”„‟", '"'))
_CURLY_SINGLE = re.compile(r"(?<=[{\[,:\s])[‘’‚](?=\S)|(?<=\S)[‘’](?=\s*[:,}\]])")


def _with_plain_quotes(piece: str) -> Decoded | None:
    """What a piece says with plain quotes for typographic ones; None if it still cannot be read."""
    plain = _CURLY_SINGLE.sub("'", piece.translate(_CURLY_DOUBLE))
    if plain == piece:
        return None
    decoded = decode_all(plain)
    return decoded and decoded._replace(repairs=(*decoded.repairs, "typographic_quotes"))
