"""The schema of one database: tables, columns, foreign keys, and one concept for each of them.

Source of the rules: specification, db_routing_panel, sections 2 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.textfiles import read_json
from lm_eval_task.errors import DataError

KEY = "id"
TYPES = {"INTEGER": int, "REAL": float, "TEXT": str}
_COMPOUND = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_COLUMN_KEYS = {"name", "type", "concept", "references", "null", "open"}


@dataclass(frozen=True, slots=True)
class Column:
    """references: the table that it points to (always its id). open: its literals name persons, places, products."""

    name: str
    type: str
    concept: str
    references: str | None = None
    nullable: bool = False
    open: bool = False

    @property
    def ddl(self) -> str:
        if self.name == KEY:
            return f"{KEY} {self.type} PRIMARY KEY"
        parts = [self.name, self.type, "" if self.nullable else "NOT NULL",
                 f"REFERENCES {self.references}({KEY})" if self.references else ""]
        return " ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Table:
    """empty: holds no rows on purpose."""

    name: str
    concept: str
    columns: tuple[Column, ...]
    empty: bool = False

    @property
    def ddl(self) -> str:
        return f"CREATE TABLE {self.name} ({', '.join(column.ddl for column in self.columns)})"

    def references(self) -> Iterator[Column]:
        return (column for column in self.columns if column.references)


@dataclass(frozen=True)
class Schema:
    """The tables of a database, parents before children."""

    database: str
    tables: tuple[Table, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Table]:
        return {table.name: table for table in self.tables}

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Every column by "table.column"."""
        return {f"{table.name}.{column.name}": column for table in self.tables for column in table.columns}

    @cached_property
    def concepts(self) -> Mapping[str, list[str]]:
        """Concept → the columns that carry it, as "table.column", and the tables, by name."""
        found: dict[str, list[str]] = {}
        for name, column in self.columns.items():
            found.setdefault(column.concept, []).append(name)
        for table in self.tables:
            found.setdefault(table.concept, []).append(table.name)
        return found

    @property
    def identifiers(self) -> set[str]:
        """Names of tables and columns, without the key that all share."""
        return {t.name for t in self.tables} | {c.name for c in self.columns.values()} - {KEY}


def read_schema(path: Path) -> Schema:
    """Raise DataError, naming the table, for whatever breaks the rules of identifiers, types and references."""
    value = read_json(path)
    concept_of = {table["table"]: table.get("concept") for table in value["tables"]}
    tables: list[Table] = []
    for table in value["tables"]:
        try:
            tables.append(_table(table, concept_of, {t.name for t in tables}))
        except (KeyError, ValueError) as error:
            raise DataError(f'table {table.get("table")}: {error.args[0]}', path) from None
    return Schema(value["database"], tuple(tables))


def _table(value: Mapping[str, Any], concept_of: Mapping[str, str | None], earlier: set[str]) -> Table:
    name, concept = value["table"], value["concept"]
    _check_identifier(name)
    if name in earlier:
        raise ValueError("is declared twice")
    columns = tuple(_column(column, concept, concept_of, earlier) for column in value["columns"])
    names = [column.name for column in columns]
    if names[:1] != [KEY] or len(set(names)) != len(names):
        raise ValueError(f'the first column is "{KEY}", and each name comes once, found {names}')
    return Table(name, concept, columns, value.get("empty", False))


def _column(value: Mapping[str, Any], concept: str, concept_of: Mapping[str, str | None], earlier: set[str]) -> Column:
    name, target = value["name"], value.get("references")
    wrong = value.keys() - _COLUMN_KEYS
    if wrong or value["type"] not in TYPES:
        raise ValueError(f'column {name}: unknown key or type in {dict(value)}')
    if name != KEY:
        _check_identifier(name)
    if target is not None and target not in earlier:
        raise ValueError(f'column {name} references "{target}", which does not come before it')
    if target is not None and "concept" in value:
        raise ValueError(f"column {name}: a reference carries the concept of the table it points to")
    carried = concept_of[target] if target is not None else value.get("concept", concept)
    return Column(name, value["type"], str(carried), target, value.get("null", False), value.get("open", False))


def _check_identifier(name: str) -> None:
    if not _COMPOUND.fullmatch(name):
        raise ValueError(f'"{name}" is no identifier of the form wort_wort (ASCII, no bare noun)')
