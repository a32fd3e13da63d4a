"""A small folder in BIRD's layout with the oddities of the real one, made by the test.

Three databases, one of them in the train split, and one that nobody describes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

MARKER = "EVIDENCE-{}-must-not-leave"
PARAGRAPHS = {
    "financial": "A bank keeps track of who owes it money, what was agreed, and how a client pays it back.",
    "toxicology": "A laboratory records substances, what they are made of, and whether they harm living beings.",
    "movie_platform": "An online community collects opinions of its members about films that they have watched.",
    "nowhere": "A harbour counts ships."}
_TABLES: Mapping[str, Mapping[str, list[tuple[str, str]]]] = {
    "financial": {"client": [("client_id", "integer"), ("gender", "text"), ("A4 share (%)", "real")],
                  "order": [("order_id", "integer"), ("client_id", "integer"), ("k_symbol", "text")]},
    "toxicology": {"molecule": [("molecule_id", "text"), ("label", "text")]},
    "movie_platform": {"ratings": [("movie_id", "integer"), ("rating_score", "integer")]},
    "unloved": {"things": [("thing_id", "integer")]}}
_ROWS: Mapping[str, Mapping[str, list[tuple[Any, ...]]]] = {
    "financial": {"client": [(1, "F", 1.5), (2, "M", 2.5), (3, "F", 0.5)], "order": [(1, 1, "SIPO"), (2, 3, "UVER")]},
    "toxicology": {"molecule": [("TR1", "+"), ("TR2", b"caf\xe9"), ("TR3", "-")]},
    "movie_platform": {"ratings": [(1, 5), (1, 3), (2, 4)]}, "unloved": {"things": [(1,)]}}
_DEV = [
    ("financial", "How many female clients are there?", "SELECT COUNT(*) FROM client WHERE gender = 'F'"),
    ("financial", "What is the highest share of a client?", "SELECT MAX(`A4 share (%)`) FROM client"),
    ("financial", "How many orders are for a loan?", 'SELECT COUNT(*) FROM "order" WHERE k_symbol = "UVER"'),
    ("toxicology", "How many molecules are carcinogenic?", "SELECT COUNT(*) FROM molecule WHERE label = '+'"),
    ("toxicology", "List the labels of all molecules.", "SELECT label FROM molecule ORDER BY molecule_id"),
    ("unloved", "How many things?", "SELECT COUNT(*) FROM things")]
_TRAIN = [
    ("movie_platform", "What is the average score of movie 1?",
     "SELECT AVG(rating_score) FROM ratings WHERE movie_id = 1"),
    ("movie_platform", "How many ratings are there?", "SELECT COUNT(*) FROM ratings")]


def write_folder(folder: Path) -> Path:
    """Both splits and descriptions.json beside them."""
    _split(folder, "dev", ("financial", "toxicology", "unloved"), [
        {"question_id": 10 + n, "difficulty": "simple", **_question(n, *one)} for n, one in enumerate(_DEV)])
    _split(folder, "train", ("movie_platform",), [_question(100 + n, *one) for n, one in enumerate(_TRAIN)])
    (folder / "descriptions.json").write_text(json.dumps(PARAGRAPHS), "utf-8")
    return folder


def _question(number: int, database: str, question: str, sql: str) -> dict[str, Any]:
    return {"db_id": database, "question": question, "evidence": MARKER.format(number), "SQL": sql}


def _split(folder: Path, split: str, names: tuple[str, ...], questions: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{split}.json").write_text(json.dumps(questions), "utf-8-sig" if split == "train" else "utf-8")
    (folder / f"{split}_tables.json").write_text(json.dumps([_described(name) for name in names]), "utf-8")
    for name in names:
        home = folder / f"{split}_databases" / name
        (home / "database_description").mkdir(parents=True)
        _database(home / f"{name}.sqlite", name)
        for number, (table, columns) in enumerate(_TABLES[name].items()):
            text = "original_column_name ,column_name,column_description\r\n" + "".join(
                f" {column} ,,für \"{table}\" – {kind}\r\n" for column, kind in columns)
            (home / "database_description" / f"{table}.csv").write_bytes(
                text.encode("utf-8-sig" if number else "cp1252"))


def _described(name: str) -> dict[str, Any]:
    columns = [(place, column, kind) for place, own in enumerate(_TABLES[name].values()) for column, kind in own]
    return {"db_id": name, "table_names_original": list(_TABLES[name]), "table_names": list(_TABLES[name]),
            "column_names_original": [[-1, "*"], *([place, column] for place, column, _ in columns)],
            "column_types": ["text", *(kind for *_, kind in columns)], "primary_keys": [], "foreign_keys": []}


def _database(path: Path, name: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, columns in _TABLES[name].items():
            connection.execute(f'CREATE TABLE "{table}" ({", ".join(f"`{c}` {kind}" for c, kind in columns)})')
            for row in _ROWS[name][table]:
                connection.execute(f'INSERT INTO "{table}" VALUES ({", ".join(map(_literal, row))})')


def _literal(value: Any) -> str:
    """Bytes as text that is no UTF-8."""
    return f"CAST(x'{value.hex()}' AS TEXT)" if isinstance(value, bytes) else repr(value)
