"""The bench on which the panel is tested: its databases in memory, the golds and their results."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from infranode_eval.db_routing.data import in_memory
from infranode_eval.db_routing.folding import words
from infranode_eval.db_routing.intents import Intent
from infranode_eval.db_routing.register import Register
from infranode_eval.db_routing.sources import Sources, closed_literals, open_literals
from infranode_eval.db_routing.wordlists import STEM

Result = list[tuple[Any, ...]]
Run = Callable[[str, str], "Result | str"]      # database, SQL → rows, or what went wrong
DIGITS = 6                                      # decimals in which two numbers have to agree


@dataclass(frozen=True)
class Bench:
    """sources: the panel, whose intents may be a part of it. run: the safe executor."""

    sources: Sources
    run: Run
    _open: dict[tuple[str, bool], sqlite3.Connection] = field(default_factory=dict, repr=False)
    _results: dict[str, Result] = field(default_factory=dict, repr=False)
    _voiced: dict[tuple[str, str], set[str]] = field(default_factory=dict, repr=False)

    @property
    def intents(self) -> tuple[Intent, ...]:
        return self.sources.all_intents

    @property
    def register(self) -> Register:
        return self.sources.register

    def database(self, name: str, *, reverse: bool = False) -> sqlite3.Connection:
        """In memory; reverse: rows inserted in the opposite order, unordered selects reversed by SQLite."""
        key = name, reverse
        if key not in self._open:
            self._open[key] = in_memory(self.sources.schemas[name], self.sources.rows(name), reverse=reverse)
            if reverse:
                self._open[key].execute("PRAGMA reverse_unordered_selects = ON")
        return self._open[key]

    def rows(self, database: str, sql: str, *, reverse: bool = False) -> Result | str:
        """The rows, or SQLite's complaint."""
        try:
            return self.database(database, reverse=reverse).execute(sql).fetchall()
        except sqlite3.Error as error:
            return str(error)

    def gold(self, intent: Intent) -> Result:
        """The rows of an intent's SQL; none if it fails (gate 1 says so)."""
        if intent.name not in self._results:
            found = self.rows(intent.database, self.sources.sql(intent))
            self._results[intent.name] = [] if isinstance(found, str) else found
        return self._results[intent.name]

    @contextmanager
    def changed(self, database: str, sql: str) -> Iterator[None]:
        """The database after a statement, until the end of the block."""
        connection = self.database(database)
        connection.execute("BEGIN")
        try:
            connection.execute(sql)
            yield
        finally:
            connection.execute("ROLLBACK")

    def voiced(self, intent: Intent, phrasing: str) -> set[str]:
        """The intent's concepts that a phrasing says: by a cue, or by a literal that is meaning (Garten).

        What names something (a town, a person) says nothing: Bonn is no Bon.
        """
        key = intent.name, phrasing
        if key not in self._voiced:
            self._voiced[key] = self._voiced_in(intent, intent.phrasings[phrasing])
        return self._voiced[key]

    def _voiced_in(self, intent: Intent, text: str) -> set[str]:
        for literal in open_literals(intent, self.sources.schemas[intent.database]):
            text = re.sub(re.escape(literal), " ", text, flags=re.IGNORECASE)
        known = self.register.concepts
        said = {concept for concept in self.sources.concepts(intent) if known[concept].is_voiced(text)}
        begins = words(text)
        closed = closed_literals(intent, self.sources.schemas[intent.database])
        return said | {concept for concept, literals in closed.items()
                       if any(_is_said(literal, begins, self.sources.lists.stop) for literal in literals)}


def _is_said(literal: str, begins: Sequence[str], stop: frozenset[str]) -> bool:
    """Does a word begin like each content word of the literal?"""
    wanted = [word[:STEM] for word in words(literal) if word not in stop]
    return bool(wanted) and all(any(word.startswith(start) for word in begins) for start in wanted)


def same(first: Result | str, second: Result | str, *, ordered: bool) -> bool:
    """Equal rows, as a list or as a multiset; numbers to 6 decimals, 2 = 2.0. A failure equals nothing."""
    if isinstance(first, str) or isinstance(second, str):
        return False
    one, other = [_plain(row) for row in first], [_plain(row) for row in second]
    return one == other if ordered else sorted(one, key=repr) == sorted(other, key=repr)


def _plain(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(round(float(value), DIGITS) if isinstance(value, int | float) else value for value in row)
