"""One text being read in one format: a position, what may stand there, and what was found so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lm_eval_task.decode import Decoded, decode_at
from lm_eval_task.jsoncalls import plain_name
from lm_eval_task.records import Call, canonical_json
from lm_eval_task.tools import Toolset, cast

_BLANKS = re.compile(r"\s*")
_TOOL_NAME = re.compile(r"[^\s<>\"'{}\[\]()]{1,200}")
_EDGE_NEWLINES = re.compile(r"\A\r?\n|\r?\n\Z")


class Unreadable(Exception):
    """An opener stands in the text, and what follows is no complete call of that format."""


@dataclass(slots=True)
class Scan:
    """One text being read in one format: what was found so far. Readers take a position and return the next one.

    several: the same call twice in one block is two calls.
    """

    text: str
    tools: Toolset
    several: bool = False
    calls: list[Call] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)

    def skip(self, at: int) -> int:
        """Position behind blanks."""
        return _BLANKS.match(self.text, at).end()

    def expect(self, at: int, *tokens: str) -> int:
        """Position behind the first of `tokens` that stands here after blanks. Raise Unreadable if none does."""
        at = self.skip(at)
        for token in tokens:
            if self.text.startswith(token, at):
                return at + len(token)
        raise Unreadable

    def accept(self, at: int, *tokens: str) -> int:
        """As `expect`, but the tokens may be missing; then the position stays."""
        try:
            return self.expect(at, *tokens)
        except Unreadable:
            return at

    def sees(self, at: int, *tokens: str) -> bool:
        return self.text.startswith(tokens, self.skip(at))

    def until(self, at: int, token: str) -> tuple[str, int]:
        """The text up to `token` and the position behind it. Raise Unreadable if it never comes."""
        end = self.text.find(token, at)
        if end < 0:
            raise Unreadable
        return self.text[at:end], end + len(token)

    def value(self, at: int) -> Decoded:
        """The JSON value that stands here. Raise Unreadable if none does."""
        decoded = decode_at(self.text, at)
        if decoded is None:
            raise Unreadable
        self.repairs += decoded.repairs
        return decoded

    def add(self, name: str, arguments: dict[str, Any]) -> None:
        """One more call. Raise Unreadable for what cannot be a name: blank, or with markup in it."""
        name = plain_name(name, self.tools)
        if not _TOOL_NAME.fullmatch(name):
            raise Unreadable
        self.calls.append(Call(name, arguments))

    def element(self, at: int, closer: str, *followers: str) -> tuple[str, int]:
        """The text of an element up to the `closer` that counts, and the position behind it.

        A closer counts when, after blanks, one of `followers` or the end of the text follows (formats, rule 13).
        """
        start = at
        while True:
            end = self.text.find(closer, at)
            if end < 0:
                raise Unreadable
            at = end + len(closer)
            behind = self.skip(at)
            if behind == len(self.text) or self.text.startswith(followers, behind):
                return self.text[start:end], at

    @staticmethod
    def put(arguments: dict[str, Any], parameter: str, value: Any) -> None:
        """One more argument. Raise Unreadable if it stands there already with another value (scoring, rule 6)."""
        if parameter in arguments and canonical_json(arguments[parameter]) != canonical_json(value):
            raise Unreadable
        arguments[parameter] = value

    def schema(self, name: str, parameter: str) -> Mapping[str, Any]:
        """The schema of a tool's parameter; empty for what is not offered."""
        tool = self.tools.get(plain_name(name, self.tools))
        return tool.properties.get(parameter, {}) if tool else {}

    def untyped(self, name: str, parameter: str, text: str) -> Any:
        """The value of untyped text under the schema of tool `name`: one newline at each end belongs to the format."""
        tool = self.tools.get(plain_name(name, self.tools))
        schema = self.schema(name, parameter)
        text = _EDGE_NEWLINES.sub("", text)
        if text.strip() == "null" and tool and parameter in tool.properties and parameter not in tool.required \
                and "string" not in schema.get("type", ()):
            return None
        return cast(schema, text)
