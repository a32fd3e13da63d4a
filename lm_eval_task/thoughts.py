"""Reasoning inside a reply's text: closed blocks are taken out, what follows an unclosed one is never searched.

Source: specification, scoring, "Reading a reply", rule 2; formats, end of section 2.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lm_eval_task.decode import decode_at


class Thoughts(NamedTuple):
    """A text without its reasoning. closed: contents of the closed blocks; unclosed: a block never ends."""

    text: str
    closed: tuple[str, ...] = ()
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
    if "<|message|>" in text:
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
            return Thoughts("".join(kept), tuple(closed), True)
        closed.append(text[match.end():end])
        at = search = end + len(closer)
    return Thoughts("".join(kept) + text[at:], tuple(closed))


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


_HARMONY = re.compile(
    r"(?:<\|start\|>\s*assistant)?(?P<header>[^<]*(?:<\|channel\|>[^<]*)?(?:<\|constrain\|>[^<]*)?)<\|message\|>")
_HARMONY_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")


def _split_harmony(text: str) -> Thoughts:
    """GPT-OSS channels: analysis is reasoning, final is the text, a message with a recipient stays for the formats."""
    kept: list[str] = []
    closed: list[str] = []
    at = 0
    while match := _HARMONY.search(text, at):
        kept.append(text[at:match.start()])
        end = _HARMONY_END.search(text, match.end())
        body = text[match.end():end.start() if end else len(text)]
        header = match["header"]
        if "to=" in header:
            kept.append(text[match.start():end.end() if end and end[0] == "<|call|>" else match.end() + len(body)])
        elif "analysis" in header:
            if end is None:
                return Thoughts("".join(kept), tuple(closed), True)
            closed.append("")
        else:
            kept.append(body)
        at = len(text) if end is None else end.end() if end[0] in _HARMONY_STOPS else end.start()
    return Thoughts("".join(kept) + text[at:], tuple(closed))


_HARMONY_STOPS = ("<|end|>", "<|return|>", "<|call|>")
