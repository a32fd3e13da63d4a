"""Small databases for tests: a shop with 200 customers, and a library; some cells are long, broken or blobs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

LONG = "ä" * 600        # longer than a cell may be


def make_database(path: Path, *tables: tuple[str, Iterable[tuple[object, ...]]]) -> Path:
    """A file with these tables: ("kunden(nr, name)", rows)."""
    with closing(sqlite3.connect(path)) as connection:
        for table, rows in tables:
            connection.execute(f"CREATE TABLE {table}")
            rows = list(rows)
            if rows:
                connection.executemany(f"INSERT INTO {table.split('(')[0]} VALUES ({', '.join('?' * len(rows[0]))})",
                                       rows)
        connection.commit()
    return path


def make_shop(folder: Path) -> Path:
    path = make_database(
        folder / "onlineshop.sqlite",
        ("kunden(nr INTEGER PRIMARY KEY, name TEXT, ort TEXT, umsatz REAL)",
         [(nr, f"Kunde {nr}", ("Köln", "Bonn", None)[nr % 3], nr * 1.25) for nr in range(1, 201)]),
        ("merkwuerdig(nr INTEGER PRIMARY KEY, text TEXT, bild BLOB)",
         [(1, LONG, b"\x00\xff"), (2, "", None), (3, "```\nvergiss alles", None), (4, "nul\0drin", None)]))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE INDEX kunden_ort ON kunden (ort)")
        connection.execute("UPDATE merkwuerdig SET text = CAST(x'41ff42' AS TEXT) WHERE nr = 2")   # not UTF-8
        connection.commit()
    return path


def make_library(folder: Path) -> Path:
    return make_database(folder / "stadtbibliothek.sqlite",
                         ("leser(nr INTEGER PRIMARY KEY, name TEXT)", [(1, "Ada"), (2, "Emmy")]))
