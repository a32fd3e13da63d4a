"""Reading a reply: from a chat message to the calls it holds, or the reason why none can be read.

One entry, `calls_from_message`; lm-eval's plain text ends in it too. Pure, linear time, never raises.
Source of the order and the rules: specification, scoring ("Reading a reply", "The verdict") and formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lm_eval_task.decode import Decoded, decode_all, decode_at, extent_of
from lm_eval_task.formats import ends_in_opener, find_opener, read_tagged, read_untagged
from lm_eval_task.jsoncalls import (
    FENCE_HEADER,
    Found,
    calls_of_value,
    plain_name,
    read_arguments,
    unfenced,
)
from lm_eval_task.records import Call, Reading, canonical_json
from lm_eval_task.shapes import Entry, Parts, parts_of
from lm_eval_task.thoughts import split_thoughts
from lm_eval_task.tools import Toolset


def calls_from_message(message: Mapping[str, Any], tools: Toolset, mode: str = "prompt",
                       finish_reason: str | None = None, *, several: bool = False) -> Reading:
    """Read one reply.

    message: a chat message as an endpoint returns it, in any provider's shape (shapes.py).
    mode: "prompt" (a JSON call was asked for) or "native" (`tools=` was sent).
    finish_reason: as the endpoint gave it; None where the harness does not hand it over.
    several: the prompt asks for all calls that are needed in one reply. So objects one after the other, and nothing
    else, are calls whatever their names, and the same object twice is two calls;
    and what begins behind a readable call and is cut by the end of the text makes the reply broken.
    """
    parts = parts_of(message)
    finish = finish_reason if isinstance(finish_reason, str) else ""
    cut = finish in CUT_REASONS
    if finish.lower().startswith("malformed"):
        return Reading(None, attempted=True, broken=True, text=parts.text.strip(), thought=_any_text(parts.thoughts))
    if parts.entries:
        return _read_native(parts, tools, cut)
    return _read_text(parts, tools, mode, cut, several)


CUT_REASONS = frozenset(("length", "max_tokens", "MAX_TOKENS", "max_output_tokens"))


def _any_text(thoughts: Iterable[str]) -> bool:
    return any(map(str.strip, thoughts))


class EntryCall(NamedTuple):
    """A native entry with the call that it is (None: unreadable), and how it had to be read."""

    entry: Entry
    call: Call | None
    name: str
    notes: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


def calls_of_entries(entries: Iterable[Entry], tools: Toolset) -> Iterator[EntryCall]:
    """Each entry with a function object, in order; any other is ignored (specification: scoring, rule 1)."""
    for entry in entries:
        if entry.name is None:
            continue
        name = plain_name(entry.name, tools)
        arguments = read_arguments(entry.arguments)
        if arguments is None or not name:
            yield EntryCall(entry, None, name)
        else:
            notes = (() if name == entry.name.strip() else ("name_affix",)) + arguments.notes
            yield EntryCall(entry, Call(name, arguments.value), name, notes, arguments.repairs)


def _read_native(parts: Parts, tools: Toolset, cut: bool) -> Reading:
    read = list(calls_of_entries(parts.entries, tools))
    calls = tuple(one.call for one in read if one.call is not None)
    unread = [one.name for one in read if one.call is None]
    labels = _unique(label for one in read for label in one.notes + one.repairs)
    return Reading(calls or None, labels, any(one.repairs for one in read), attempted=True,
                   broken=bool(unread) or not calls, broken_name=unread[0] if unread else None, truncated=cut,
                   text=parts.text.strip(), thought=_any_text(parts.thoughts))


def _read_text(parts: Parts, tools: Toolset, mode: str, cut: bool, several: bool) -> Reading:
    thoughts = split_thoughts(parts.text)
    text = _without_end_tokens(_visible(thoughts.text))
    found = _calls_in(text, tools, mode, several)
    notes = (("reasoning_removed",) if thoughts.closed or thoughts.any else ()) + found.notes
    attempted = bool(found.calls) or found.broken
    recovered = bool(found.repairs) or (bool(found.calls) and (found.special or mode == "native"))
    lenient = None if attempted else _calls_in_thoughts((*parts.thoughts, *thoughts.closed), tools)
    return Reading(None if found.calls is None else tuple(found.calls), _unique(notes + found.repairs), recovered,
                   attempted, found.broken, None, cut or thoughts.unclosed, text,
                   thoughts.any or _any_text(parts.thoughts), lenient)


def _calls_in_thoughts(thoughts: Iterable[str], tools: Toolset) -> tuple[Call, ...] | None:
    """Special-token or tag calls inside reasoning, never bare JSON (a draft is not a call)."""
    for text in thoughts:
        section = read_tagged(text, tools)
        if section is not None and section.calls and not section.broken:
            return tuple(section.calls)
    return None


def _calls_in(text: str, tools: Toolset, mode: str, several: bool) -> Found:
    """The calls in a text without reasoning, end tokens and outer blanks."""
    if several and (cut_at := _open_end(text)):
        found = _calls_of(text[:cut_at].rstrip(), tools, mode, several)
        if found.calls and not found.special:
            return found._replace(broken=True)
    return _calls_of(text, tools, mode, several)


def _calls_of(text: str, tools: Toolset, mode: str, several: bool) -> Found:
    if not text:
        return Found()
    whole = _whole_text(text, tools, mode)
    if whole is not None:
        return whole
    start = _first_opener(text)
    section = read_untagged(text, tools) if start is None else read_tagged(text, tools, start, several)
    if section is not None:
        cut = several and bool(section.calls) and _open_end(text, section.end) is not None
        return Found(section.calls or None, section.notes, (section.label, *section.repairs), section.broken or cut,
                     True)
    if _starts_like_a_call(text, tools, mode):
        return Found(broken=True)
    return Found() if mode == "native" else _calls_in_prose(text, tools, several)


def _open_end(text: str, at: int = 0) -> int | None:
    """Where, from `at` on, a piece or an opener begins that the end of the text cuts; None if none does."""
    bare = len(text.rstrip("[{ \t\r\n"))
    if at <= bare < len(text):
        return bare
    opener = ends_in_opener(text)
    if opener is not None and opener >= at:
        return opener
    for piece in _pieces_of(text, at):
        if piece.decoded is None and piece.end == len(text) and extent_of(text, piece.start) is None:
            return piece.start
    return None


# What a server leaves at the end of a text although it ends the turn; no part of the reply.
_END_TOKENS = ("<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "</s>",
               "<end_of_turn>")


_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\0"   # nothing a reader sees; strip() leaves them


def _visible(text: str) -> str:
    return text.strip().strip(_INVISIBLE).strip()


def _without_end_tokens(text: str) -> str:
    end = len(text)
    while text.endswith(_END_TOKENS, 0, end):
        end -= next(len(token) for token in _END_TOKENS if text.endswith(token, 0, end))
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def _whole_text(text: str, tools: Toolset, mode: str) -> Found | None:
    """The text is one JSON value, or one fenced block with one: a call, a list of calls, or "I call nothing"."""
    inner = unfenced(text) if text.startswith("```") else None
    body = text if inner is None else inner
    if not body.startswith(("{", "[")):
        return None
    decoded = decode_all(body)
    found = decoded and calls_of_value(decoded.value, tools, whole=True)
    if found is None:
        return None
    notes = ("fenced_json",) if inner is not None else ("bare_json",) if mode == "native" and found.calls else ()
    return found._replace(notes=notes + found.notes, repairs=decoded.repairs + found.repairs)


_JSON_START = re.compile(r"""\{\s*["'“”„]|\[\s*\{""")
_PYTHONIC_START = re.compile(r"\[\s*([\w.-]+)\s*\(")


def _starts_like_a_call(text: str, tools: Toolset, mode: str) -> bool:
    """A text that starts like a call and cannot be read as one.

    Native mode reads whole texts only, so a call with anything behind it is unreadable there, too.
    """
    start = header.end() if (header := FENCE_HEADER.match(text)) else 0
    pythonic = _PYTHONIC_START.match(text, start)
    if pythonic:
        return pythonic[1] in tools
    if not _JSON_START.match(text, start):
        return False
    decoded = decode_at(text, start)
    return decoded is None or (mode == "native" and bool(calls_of_value(decoded.value, tools, whole=False)))


_CANDIDATE = re.compile(r"(?:\[\s*)?\{")
_QUOTED = re.compile(r"""(?:\[\s*)?\{\s*["'“”„]""")
_NAME_KEY = re.compile(r"""["'“”„‘’‚](?:name|tool|tool_name|function)["'“”‘’]\s*:""")
_BARE_BRACES, _BARE_LENGTH = 50, 5_000   # how many braces without a quote behind them are followed, and how far


class Piece(NamedTuple):
    """A top-level JSON object, or list of objects, in a text: its span and value (None if it does not decode)."""

    start: int
    end: int
    decoded: Decoded | None


def _pieces_of(text: str, at: int = 0) -> Iterator[Piece]:
    """Top-level pieces in order; an undecodable one ends at its closing bracket, or with the text. Linear time.

    A brace without a quote behind it is prose unless it closes soon.
    """
    bare = _BARE_BRACES
    while match := _CANDIDATE.search(text, at):
        start = match.start()
        quoted = _QUOTED.match(text, start)
        decoded = decode_at(text, start) if quoted or text.startswith("}", match.end()) else None
        end = decoded.end if decoded else None
        if end is None and quoted:
            end = extent_of(text, start) or len(text)
        elif end is None and bare:
            bare -= 1
            end = extent_of(text[start:start + _BARE_LENGTH], 0)
            end = end and start + end
        if end is None:
            at = match.end()
            continue
        yield Piece(start, end, decoded)
        at = end


def _first_opener(text: str) -> int | None:
    """Where the first opener of a format stands that is not data inside a decodable piece of JSON."""
    at = find_opener(text)
    if at is None or "{" not in text[:at]:
        return at
    for piece in _pieces_of(text):
        if at is None or piece.start >= at:
            break
        if piece.decoded is not None and at < piece.end:
            at = find_opener(text, piece.end)
    return at


def _calls_in_prose(text: str, tools: Toolset, several: bool) -> Found:
    """Prompted mode: call-like objects before, inside or after prose, in fences, or one after the other."""
    calls: list[Call] = []
    alone = several and _only_pieces(text)
    bare: set[str] = set()
    notes: tuple[str, ...] = ("one_after_another",) if alone else ("prose_around",)
    repairs: tuple[str, ...] = ()
    at = ticks = 0
    for piece in _pieces_of(text):
        ticks += text.count("```", at, piece.start)
        at = piece.end
        if piece.decoded is None:
            if _NAME_KEY.search(text, piece.start, piece.end):
                return Found(calls or None, broken=True)
            continue
        fenced = ticks % 2 == 1 and _fenced(text, piece)
        found = calls_of_value(piece.decoded.value, tools, whole=fenced or alone)
        if found is None:
            continue
        if found.broken:
            return Found(calls or None, broken=True)
        if not several and not fenced and isinstance(piece.decoded.value, dict) and len(found.calls) == 1:
            said = canonical_json(found.calls[0].to_json())
            if said in bare:   # only bare objects collapse; lists and fences say what they say
                repairs += ("duplicate_collapsed",)
                continue
            bare.add(said)
        calls += found.calls
        notes += found.notes
        repairs += piece.decoded.repairs + found.repairs
    return Found(calls, notes, repairs) if calls else Found()


_BETWEEN = re.compile(r"(?:[\s,;]|```[\w+-]*)*")


def _only_pieces(text: str) -> bool:
    """Does the text hold pieces, and between them only blanks, commas and fences?"""
    at = 0
    for piece in _pieces_of(text):
        if piece.decoded is None or _BETWEEN.match(text, at, piece.start).end() != piece.start:
            return False
        at = piece.end
    return at > 0 and _BETWEEN.match(text, at).end() == len(text)


_HEADER_BEFORE = re.compile(r"```[ \t]*[\w+-]*\s*\Z")


def _fenced(text: str, piece: Piece) -> bool:
    """Is the piece the whole content of a fenced block?"""
    return (text[piece.end:piece.end + 40].lstrip().startswith("```")
            and bool(_HEADER_BEFORE.search(text, max(0, piece.start - 40), piece.start)))


def _unique(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(labels))
