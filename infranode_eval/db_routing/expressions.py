"""Expressions of an intent over columns, read and written as SQL: arithmetic and a few functions of dates.

    expression := term (("+" | "-") term)*      term := factor (("*" | "/") factor)*
    factor     := number | table.column | function "(" expression ("," expression)* ")" | "(" expression ")"
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lm_eval_task.errors import DataError

# What each function takes and becomes. hour, minutes: of "HH:MM" and of texts that end so.
FUNCTIONS = {
    "year": (1, "substr({0}, 1, 4)"), "month": (1, "substr({0}, 1, 7)"), "day": (1, "substr({0}, 1, 10)"),
    "hour": (1, "substr({0}, -5, 2)"), "days": (2, "(julianday({0}) - julianday({1}))"),
    "minutes": (2, "round((julianday({0}) - julianday({1})) * 1440)"), "abs": (1, "abs({0})")}
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([a-z]\w*\.[a-z]\w*)|([a-z]+)(?=\()|([-+*/(),]))")


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as SQL, with the columns ("table.column") that it reads, in order, each once."""

    text: str
    sql: str = field(compare=False)
    columns: tuple[str, ...] = field(compare=False)

    @property
    def column(self) -> str | None:
        """The column, if it is nothing but one."""
        return self.text if self.columns == (self.text,) else None


def read_expression(text: str) -> Expression:
    """Raise DataError for what the grammar does not know."""
    reader = _Reader(text)
    sql = reader.sum()
    if reader.tokens:
        raise DataError(f'the expression "{text}" goes on with {reader.tokens[0]!r}')
    return Expression(text, sql, tuple(dict.fromkeys(reader.columns)))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.columns = text, _tokens(text), list[str]()

    def _take(self, *wanted: str) -> str | None:
        return self.tokens.pop(0)[1] if self.tokens and self.tokens[0][1] in wanted else None

    def sum(self) -> str:
        sql = self._product()
        while sign := self._take("+", "-"):
            sql = f"{sql} {sign} {self._product()}"
        return sql

    def _product(self) -> str:
        sql = self._factor()
        while sign := self._take("*", "/"):
            sql = f"{sql} {sign} {self._factor()}"
        return sql

    def _factor(self) -> str:
        kind, token = self.tokens.pop(0) if self.tokens else ("end", "")
        if kind == "number":
            return token
        if kind == "column":
            self.columns.append(token)
            return token
        if kind == "function" and token in FUNCTIONS:
            return self._call(token)
        if token == "(":
            sql = self.sum()
            if self._take(")"):
                return f"({sql})"
        raise DataError(f'the expression "{self.text}" has {token!r} where a column, a number or one of '
                        f'{", ".join(FUNCTIONS)} belongs')

    def _call(self, name: str) -> str:
        count, form = FUNCTIONS[name]
        self._take("(")
        arguments = [self.sum()]
        while self._take(","):
            arguments.append(self.sum())
        if not self._take(")") or len(arguments) != count:
            raise DataError(f'the expression "{self.text}" gives {name} {len(arguments)} arguments, expected {count}')
        return form.format(*arguments)


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise DataError(f'the expression "{text}" cannot be read from "{text[at:]}"')
        kinds = ("number", "column", "function", "sign")
        found.append(next((kind, token) for kind, token in zip(kinds, match.groups(), strict=True) if token))
        at = match.end()
    return found
