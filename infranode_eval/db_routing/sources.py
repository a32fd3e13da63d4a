"""What the panel is written in: register, schemas, makers of rows, intents, paragraphs, word lists, as they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.data import Maker, TableRows, make_rows, shipped_makers
from infranode_eval.db_routing.intents import Intent, read_intents
from infranode_eval.db_routing.register import Register, read_register
from infranode_eval.db_routing.schema import Schema, read_schema
from infranode_eval.db_routing.sqlgen import sql_of
from infranode_eval.db_routing.textfiles import read_json
from infranode_eval.db_routing.wordlists import Wordlists, bare_words, read_wordlists, words_of_many_groups
from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError, UsageError

FOLDER = DATA / "db_routing"


@dataclass(frozen=True)
class Sources:
    """The parts of a panel. schemas, intents: only of the databases that are written.

    known: all intents, also where `intents` are those of some databases. config: panel.json (panel, seed, databases,
    licence). descriptions: paragraph by database. reserve: paragraphs without data. makers: database → functions that
    make the rows of its tables.
    """

    folder: Path
    config: Mapping[str, Any]
    register: Register
    schemas: Mapping[str, Schema]
    intents: Mapping[str, tuple[Intent, ...]]
    known: Mapping[str, tuple[Intent, ...]]
    descriptions: Mapping[str, str]
    reserve: tuple[str, ...]
    lists: Wordlists
    makers: Callable[[str], Mapping[str, Maker]] = field(default=shipped_makers, repr=False)
    _rows: dict[str, TableRows] = field(default_factory=dict, repr=False)

    @property
    def seed(self) -> int:
        return self.config["seed"]

    def rows(self, database: str) -> TableRows:
        """The rows of a database, made once."""
        if database not in self._rows:
            self._rows[database] = make_rows(self.schemas[database], self.makers(database), self.seed)
        return self._rows[database]

    @cached_property
    def all_intents(self) -> tuple[Intent, ...]:
        return tuple(intent for intents in self.intents.values() for intent in intents)

    def intent(self, name: str) -> Intent:
        """Raise UsageError for an id that no database has."""
        for intent in self.all_intents:
            if intent.name == name:
                return intent
        raise UsageError(f"there is no intent {name}; databases with intents: {', '.join(self.intents)}")

    def sql(self, intent: Intent) -> str:
        return sql_of(intent, self.schemas[intent.database])

    def concepts(self, intent: Intent) -> list[str]:
        return intent.concepts(self.schemas[intent.database])

    def bare(self, intent: Intent, phrasing: str) -> list[str]:
        """The words of a phrasing that may carry a domain."""
        return bare_words(intent.phrasings[phrasing], open_literals(intent, self.schemas[intent.database]), self.lists)

    def with_panel_frame(self) -> Sources:
        """The same with the frame words that only the whole panel shows."""
        texts: dict[str, list[list[str]]] = {}
        for intent in self.all_intents:
            group = texts.setdefault(self.register.group(intent.database), [])
            group += [self.bare(intent, phrasing) for phrasing in ("a", "b")]
        return replace(self, lists=replace(self.lists, panel_frame=words_of_many_groups(texts)))

    def only(self, databases: Sequence[str]) -> Sources:
        """The same with the intents of some databases. Raise UsageError for one without intents."""
        for name in databases:
            if name not in self.intents:
                raise UsageError(f"{name} has no intents yet; those that have: {', '.join(self.intents)}")
        return replace(self, intents={name: self.intents[name] for name in self.intents if name in databases})


def open_literals(intent: Intent, schema: Schema) -> list[str]:
    """Literals of columns that name persons, places, products, codes; patterns without their wildcards."""
    found = []
    for condition in intent.where:
        if any(schema.columns[name].open for name in condition.expression.columns):
            found += [value.strip("%") for value in condition.literals if isinstance(value, str)]
    return found


def closed_literals(intent: Intent, schema: Schema) -> dict[str, set[str]]:
    """Concept → literals that are meaning (Garten, Kreditkarte): texts of columns that are not open."""
    found: dict[str, set[str]] = {}
    for condition in intent.where:
        column = schema.columns.get(condition.expression.column or "")
        if column and column.type == "TEXT" and not column.open and condition.operator in ("=", "!=", "in"):
            found.setdefault(column.concept, set()).update(map(str, condition.literals))
    return found


def read_sources(folder: Path = FOLDER, makers: Callable[[str], Mapping[str, Maker]] = shipped_makers) -> Sources:
    """Read a panel's folder; databases without a schema or makers are left out. Raise DataError with the file."""
    config = read_json(folder / "panel.json")
    names = config["databases"]
    register = read_register(folder / "register", names)
    schemas = {name: _schema(folder, name, register) for name in names
               if (folder / "schemas" / f"{name}.json").is_file() and _are_there(makers, name)}
    intents = {name: read_intents(folder / "intents" / f"{name}.jsonl", schema) for name, schema in schemas.items()
               if (folder / "intents" / f"{name}.jsonl").is_file()}
    paragraphs = read_json(folder / "descriptions.json")
    lists = read_wordlists(folder, read_json(folder / "lists.json")["towns"])
    for concept in register.concepts.values():
        for cue in concept.cues:
            if cue.key in lists.stop:
                raise DataError(f'concept {concept.name}: the cue "{cue.text}" is a function word', folder / "register")
    intents = {name: found for name, found in intents.items() if found}
    return Sources(folder, config, register, schemas, intents, intents, paragraphs["databases"],
                   tuple(paragraphs["reserve"]), lists, makers)


def _are_there(makers: Callable[[str], Mapping[str, Maker]], name: str) -> bool:
    try:
        return bool(makers(name))
    except ModuleNotFoundError:
        return False


def _schema(folder: Path, name: str, register: Register) -> Schema:
    """Raise DataError if schema and register disagree about the concepts of a database."""
    path = folder / "schemas" / f"{name}.json"
    schema = read_schema(path)
    known = register.databases[name].concepts.keys()
    for carried in sorted(schema.concepts.keys() - known):
        raise DataError(f'{schema.concepts[carried][0]} carries "{carried}", which the register does not give {name}',
                        path)
    for missing in sorted(known - schema.concepts.keys()):
        raise DataError(f'no column carries "{missing}", which the register gives {name}', path)
    return schema
