"""Reasoning inside a reply's text: closed blocks are taken out, what follows an unclosed one is never searched.

Source: specification, scoring, "Reading a reply", rule 2; formats, end of section 2.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lm_eval_task.decode import decode_at


class Thoughts(NamedTuple):
    """A text without its reasoning.

    closed: contents of the closed blocks that may be read leniently. any: some closed block is not blank (also a
    harmony analysis message, whose content nobody reads). unclosed: a block never ends.
    """

    text: str
    closed: tuple[str, ...] = ()
    any: bool = False
    unclosed: bool = False


_BLOCKS = {
    "<think>": "</think>", "<thinking>": "</thinking>", "<seed:think>": "</seed:think>", "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>", "<|channel>": "<channel|>",
}
_TAG = re.compile("|".join(re.escape(tag) for pair in _BLOCKS.items() for tag in pair))


def split_thoughts(text: str) -> Thoughts:
    """Separate reasoning from `text`.

    A closer without its opener closes a block that the chat template opened before the reply. Tags inside the strings
    of a JSON call are data.
    """
    if _MESSAGE in text:
        return _split_harmony(text)
    if not _TAG.search(text):
        return Thoughts(text)
    data = _json_spans(text)
    kept: list[str] = []
    closed: list[str] = []
    at = search = 0
    while match := _TAG.search(text, search):
        while data and data[0][1] <= match.start():
            data.pop(0)
        if data and data[0][0] < match.start():
            search = data[0][1]
            continue
        closer = _BLOCKS.get(match[0])
        if closer is None:
            closed.append("".join(kept) + text[at:match.start()])
            kept = []
            at = search = match.end()
            continue
        kept.append(text[at:match.start()])
        end = text.find(closer, match.end())
        if end < 0:
            return _thoughts("".join(kept), closed, True)
        closed.append(text[match.end():end])
        at = search = end + len(closer)
    return _thoughts("".join(kept) + text[at:], closed, False)


def _thoughts(text: str, closed: list[str], unclosed: bool) -> Thoughts:
    return Thoughts(text, tuple(closed), any(map(str.strip, closed)), unclosed)


_JSON_START = re.compile(r"(?:\A\s*(?:```[ \t]*\w*\s*)?|<tool_call>\s*|<TOOLCALL>\s*|\[TOOL_CALLS\]\s*|\[ARGS\]\s*)"
                         r"(?=[{\[])")


def _json_spans(text: str) -> list[tuple[int, int]]:
    """Spans of JSON values at the start of the text and behind call openers, in order; stops at an unreadable one."""
    spans: list[tuple[int, int]] = []
    at = 0
    while match := _JSON_START.search(text, at):
        decoded = decode_at(text, match.end())
        if decoded is None:
            break
        spans.append((match.end(), decoded.end))
        at = decoded.end
    return spans


_MESSAGE = "<|message|>"
# A header begins with a token; at the very start of a reply the chat template may have written that token already.
_HEADER = re.compile(r"(?:<\|(?:start|channel|constrain)\|>[^<]*)+\Z|\A\s*(?:analysis|commentary|final)\b[^<]*"
                     r"(?:<\|(?:channel|constrain)\|>[^<]*)*\Z|\Z")
_HEADER_LENGTH = 200   # characters; a header is a role, a channel, a recipient and a type
_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_STOPS = ("<|end|>", "<|return|>", "<|call|>")


def _split_harmony(text: str) -> Thoughts:
    """GPT-OSS channels: analysis is reasoning, final is the text, a message with a recipient stays for the formats."""
    kept: list[str] = []
    thought = False
    at = 0
    while (message := text.find(_MESSAGE, at)) >= 0:
        start = _HEADER.search(text, max(at, message - _HEADER_LENGTH), message).start()
        header = text[start:message]
        body_start = message + len(_MESSAGE)
        kept.append(text[at:start])
        end = _END.search(text, body_start)
        body = text[body_start:end.start() if end else len(text)]
        at = len(text) if end is None else end.end() if end[0] in _STOPS else end.start()
        if "analysis" in header:
            if end is None:
                return Thoughts("".join(kept), any=thought, unclosed=True)
            thought = thought or bool(body.strip())
        elif "to=" in header:
            kept.append(text[start:at])
        else:
            kept.append(body)
    return Thoughts("".join(kept) + text[at:], any=thought)
