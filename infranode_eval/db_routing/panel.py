"""The built panel as a run uses it: databases with their files, paragraphs, aliases and questions, every hash checked.

Playing and scoring read only this: no register, no intents, no scikit-learn.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.data import (
    Maker,
    cache_folder,
    database_file,
    make_rows,
    shipped_makers,
)
from infranode_eval.db_routing.schema import Schema, read_schema
from infranode_eval.db_routing.textfiles import read_json, read_text
from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError
from lm_eval_task.records import fingerprint

FOLDER = DATA / "db_routing"
MANIFEST, QUESTIONS, REGISTER, DESCRIPTIONS = "manifest.json", "questions.jsonl", "register.json", "descriptions.json"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Database:
    """One database of a run. path: its SQLite file, never written any more. description: its paragraph."""

    name: str
    alias: str
    cluster: str | None
    schema: Schema
    description: str
    path: Path


@dataclass(frozen=True, slots=True)
class Panel:
    """databases: by name, in the order of their aliases. questions: the rows of questions.jsonl, in that order.

    order: task ids as a run takes them. reserve: paragraphs of databases that do not exist, for the distractor arm.
    """

    databases: Mapping[str, Database]
    questions: tuple[Mapping[str, Any], ...]
    order: tuple[str, ...]
    reserve: tuple[str, ...]
    seed: int
    manifest: Mapping[str, Any]

    @property
    def sha256(self) -> str:
        return self.manifest["panel_sha256"]

    @property
    def aliases(self) -> dict[str, str]:
        """Alias → name."""
        return {database.alias: name for name, database in self.databases.items()}


def load_panel(folder: Path = FOLDER, *, cache: Path | None = None,
               makers: Callable[[str], Mapping[str, Maker]] = shipped_makers) -> Panel:
    """Read a built panel; databases that the cache lacks are built there.

    cache: folder of SQLite files, None = the user's. Raise DataError, naming expected, found and the file, for every
    hash that does not hold.
    """
    manifest = read_json(folder / MANIFEST)
    _check(panel_sha256(manifest), manifest["panel_sha256"], folder / MANIFEST)
    for name, key in ((QUESTIONS, "questions_sha256"), (DESCRIPTIONS, "descriptions_sha256"),
                      (REGISTER, "register_sha256")):
        _check(text_sha256(read_text(folder / name)), manifest[key], folder / name)
    paragraphs = read_json(folder / DESCRIPTIONS)
    cache = cache_folder() if cache is None else cache
    databases = {name: _database(folder, manifest, alias, name, paragraphs["databases"][name], cache, makers)
                 for alias, name in manifest["aliases"].items()}
    questions = tuple(json.loads(line) for line in read_text(folder / QUESTIONS).splitlines())
    if sorted(manifest["order"]) != sorted(row["task_id"] for row in questions):
        raise DataError("the order does not name each question once", folder / MANIFEST)
    return Panel(databases, questions, tuple(manifest["order"]), tuple(paragraphs["reserve"]), manifest["seed"],
                 manifest)


def _database(folder: Path, manifest: Mapping[str, Any], alias: str, name: str, paragraph: str, cache: Path,
              makers: Callable[[str], Mapping[str, Maker]]) -> Database:
    facts = manifest["databases"][name]
    _check(text_sha256(paragraph), facts["description_sha256"], folder / DESCRIPTIONS)
    schema = read_schema(folder / "schemas" / f"{name}.json")
    path = database_file(schema, facts["content_sha256"], lambda: make_rows(schema, makers(name), manifest["seed"]),
                         cache)
    return Database(name, alias, facts["cluster"], schema, paragraph, path)


def _check(found: str, expected: str, path: Path) -> None:
    if found != expected:
        raise DataError(f"has sha256 {found}, expected {expected}; the panel was changed after it was built", path)


def text_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Over the bytes of a file, which may be too many to be read at once."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def panel_sha256(manifest: Mapping[str, Any]) -> str:
    """Over the manifest without this hash itself, as canonical JSON."""
    return fingerprint({key: value for key, value in manifest.items() if key != "panel_sha256"})
