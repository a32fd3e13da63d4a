"""The files of a folder in BIRD's layout, with what is odd about them put right: questions, tables, databases.

The hints that come with the questions are read by nobody. Source: specification, db_routing, 4 and 11.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.schema import Column, Schema, Table
from lm_eval_task.errors import DataError

SPLITS = ("dev", "train")
LAYOUT = ("expected <split>.json, <split>_tables.json, <split>_databases/<db>/<db>.sqlite and "
          "<split>_databases/<db>/database_description/*.csv, for dev, train or both")
_NAME = "original_column_name"      # the column of a CSV that holds names of columns


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a split. difficulty: as the folder grades it, None where it does not."""

    task_id: str
    split: str
    database: str
    question: str
    sql: str
    difficulty: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """One database of a split. described: names of columns in its CSVs, which may be others than the schema's."""

    split: str
    schema: Schema
    path: Path
    described: frozenset[str]


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds. databases: by name, of those that were asked for; known: all names in it."""

    questions: tuple[Asked, ...]
    databases: Mapping[str, Found]
    known: frozenset[str]


def read_folder(folder: Path, wanted: Iterable[str]) -> Folder:
    """The questions on the wanted databases, and these. Raise DataError, naming file and layout, for a broken part."""
    splits = [split for split in SPLITS if (folder / f"{split}.json").is_file()]
    if not splits:
        raise DataError(f"holds neither dev.json nor train.json; {LAYOUT}", folder)
    wanted, questions, databases, known = frozenset(wanted), [], {}, set()
    for split in splits:
        schemas = dict(_schemas(folder / f"{split}_tables.json"))
        known |= schemas.keys()
        if twice := databases.keys() & schemas.keys():
            raise DataError(f"{min(twice)} stands in an earlier split, too", folder / f"{split}_tables.json")
        databases |= {name: _found(folder, split, schema) for name, schema in schemas.items() if name in wanted}
        questions += [asked for asked in _questions(folder, split, schemas) if asked.database in wanted]
    return Folder(tuple(questions), databases, frozenset(known))


def _questions(folder: Path, split: str, known: Mapping[str, Schema]) -> Iterator[Asked]:
    path, seen = folder / f"{split}.json", set()
    for index, row in enumerate(_list_in(path)):
        texts = [row.get(key) if isinstance(row, dict) else None for key in ("db_id", "question", "SQL")]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise DataError(f"question {index}: db_id, question and SQL must be texts; {LAYOUT}", path)
        database, question, sql = texts
        if database not in known:
            raise DataError(f"question {index}: {database} is not in {split}_tables.json; {LAYOUT}", path)
        task_id = f"{split}-{row.get('question_id', index)}"
        if task_id in seen:
            raise DataError(f"question {index}: question_id {row['question_id']} stands twice", path)
        seen.add(task_id)
        difficulty = row.get("difficulty")
        yield Asked(task_id, split, database, " ".join(question.split()), sql.strip(),
                    difficulty if isinstance(difficulty, str) else None)


def _schemas(path: Path) -> Iterator[tuple[str, Schema]]:
    for number, value in enumerate(_list_in(path)):
        try:
            yield value["db_id"], _schema(value)
        except (KeyError, TypeError, IndexError, ValueError):
            raise DataError(f"entry {number} is no description of tables; {LAYOUT}", path) from None


def _schema(value: Mapping[str, Any]) -> Schema:
    """Tables and columns under the names of the database; -1 stands for the "*" of all tables."""
    tables = value["table_names_original"]
    columns: list[list[Column]] = [[] for _ in tables]
    for (table, name), kind in zip(value["column_names_original"], value["column_types"], strict=True):
        if table >= 0:
            columns[table].append(Column(name, kind, name))
    return Schema(value["db_id"], tuple(Table(name, name, tuple(own))
                                        for name, own in zip(tables, columns, strict=True)))


def _found(folder: Path, split: str, schema: Schema) -> Found:
    home = folder / f"{split}_databases" / schema.database
    path, about = home / f"{schema.database}.sqlite", home / "database_description"
    if not path.is_file():
        raise DataError(f"this database is missing; {LAYOUT}", path)
    with path.open("rb") as file:
        if not file.read(16).startswith(b"SQLite format 3"):
            raise DataError(f"is no SQLite database; {LAYOUT}", path)
    if not about.is_dir():
        raise DataError(f"this folder is missing; {LAYOUT}", about)
    names = (name for table in sorted(about.glob("*.csv")) for name in _names_in(table))
    return Found(split, schema, path.resolve(), frozenset(names))


def _names_in(path: Path) -> Iterator[str]:
    """The columns that one CSV describes; blanks around headings and names are an oddity of some."""
    rows = csv.reader(io.StringIO(text_in(path), newline=""))
    try:
        heading = [name.strip().lower() for name in next(rows, [])]
        place = heading.index(_NAME) if _NAME in heading else 0
        yield from (name for row in rows if len(row) > place and (name := row[place].strip()))
    except csv.Error as error:
        raise DataError(f"is no CSV ({error}); {LAYOUT}", path) from None


def _list_in(path: Path) -> list[Any]:
    try:
        value = json.loads(text_in(path))
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON ({error.msg}); {LAYOUT}", path, error.lineno) from None
    if not isinstance(value, list):
        raise DataError(f"must be a list; {LAYOUT}", path)
    return value


def text_in(path: Path, expected: str = LAYOUT) -> str:
    """UTF-8 with or without a byte order mark, else cp1252; no byte stops the reading. Raise DataError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}); {expected}", path) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")
