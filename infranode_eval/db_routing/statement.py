"""A text of SQL, read as SQLite's tokenizer reads it: its statements, its first word, its order, its quoted names.

The worker imports this module too, so it keeps to imports that are cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"""
    (?P<space>[ \t\n\f\r\ufeff]+ | --[^\n]* | /\*.*?(?:\*/|\Z))
  | (?P<text>'[^']*(?:''[^']*)*(?:'|\Z))
  | (?P<quoted>"[^"]*(?:""[^"]*)*(?:"|\Z))
  | (?P<name>`[^`]*(?:``[^`]*)*(?:`|\Z) | \[[^\]]*(?:\]|\Z))
  | (?P<word>[A-Za-z0-9_$\x80-\U0010ffff]+)
  | (?P<sign>.)
""", re.VERBOSE | re.DOTALL)
# A double-quoted name after one of these words stands where a value is expected; after others it may be a new name.
_BEFORE_VALUES = frozenset((
    "select", "distinct", "all", "where", "and", "or", "not", "in", "like", "glob", "between", "when", "then", "else",
    "case", "by", "having", "on", "is", "escape", "limit", "offset", "values"))

_DATES = frozenset(("date", "time", "datetime", "julianday", "strftime"))
_LATER = "'+35000000 seconds'"      # another year, month, day of the week, hour, minute and second


def statements(sql: str) -> tuple[str, ...]:
    """The statements of a text, without the semicolons; what is blank or a comment is none."""
    found, start, holds = [], 0, False
    for kind, text, position in _tokens(sql):
        if kind == "sign" and text == ";":
            found += [sql[start:position]] if holds else []
            start, holds = position + 1, False
        else:
            holds = True
    return (*found, sql[start:]) if holds else tuple(found)


def first_word(statement: str) -> str:
    """In lower case; "" if the statement does not start with a word."""
    kind, text, _ = next(_tokens(statement), ("", "", 0))
    return text.lower() if kind == "word" else ""


def is_ordered(sql: str) -> bool:
    """Whether ORDER BY stands outside all parentheses: then the order of the rows is part of the answer."""
    depth, before = 0, ""
    for kind, text, _ in _tokens(sql):
        if kind == "sign":
            depth += (text == "(") - (text == ")")
        word = text.lower() if kind == "word" and depth == 0 else ""
        if before == "order" and word == "by":
            return True
        before = word
    return False


def quoted_values(sql: str) -> tuple[str, ...]:
    """Double-quoted names that stand only where a value may stand: SQLite takes those it does not know for text."""
    found, elsewhere, value_next = [], set(), False
    for kind, text, _ in _tokens(sql):
        name = text[1:-1].replace('""', '"') if kind == "quoted" else text.strip("`[]")
        if kind == "quoted" and value_next:
            found.append(name)
        elif kind in ("quoted", "name", "word"):
            elsewhere.add(name.lower())
        value_next = text.lower() in _BEFORE_VALUES if kind == "word" else kind == "sign" and text not in (")", ".")
    return tuple(name for name in dict.fromkeys(found) if name.lower() not in elsewhere)


def in_another_year(sql: str) -> str:
    """The query as it would be asked 405 days later, at another time of the day: every 'now' of a date function moves.

    A query without a clock stays as it is.
    """
    parts, calls, before, done = [], [], "", 0
    for kind, text, position in _tokens(sql):
        if calls and calls[-1] in _DATES:
            is_now = kind == "text" and text.lower() == "'now'"
            if is_now or (text, before) == (")", "("):      # date() is date('now')
                parts += [sql[done:position], f"'now', {_LATER}"]
                done = position + (len(text) if is_now else 0)
        if text == "(":
            calls.append(before)
        elif text == ")" and calls:
            calls.pop()
        before = text.lower()
    return "".join((*parts, sql[done:]))


def _tokens(sql: str) -> Iterator[tuple[str, str, int]]:
    """(kind, text, position) of all that is neither blank nor comment."""
    for match in _TOKEN.finditer(sql):
        if match.lastgroup != "space":
            yield str(match.lastgroup), match.group(), match.start()
