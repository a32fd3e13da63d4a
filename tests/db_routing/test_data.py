"""Rows by seed, written to SQLite, told apart by their content; the same on every Python."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.db_routing.data import (
    CACHE,
    Maker,
    cache_folder,
    content_sha256,
    database_file,
    file_digest,
    in_memory,
    make_rows,
    row_count,
    write_database,
)
from infranode_eval.db_routing.draw import Draw, Made, Row, clock, days_from, later, minutes_of, names, until, weekday
from infranode_eval.db_routing.schema import Column, Schema, Table
from infranode_eval.db_routing.sources import read_sources
from lm_eval_task.errors import DataError
from tests.db_routing.draft import Draft

KEY = Column("id", "INTEGER", "x")
SCHEMA = Schema("laden", (
    Table("markt_stamm", "x", (KEY, Column("markt_ort", "TEXT", "x"))),
    Table("bon_kopf", "x", (KEY, Column("markt_nr", "INTEGER", "x", "markt_stamm", True),
                            Column("betrag_eur", "REAL", "x"))),
    Table("leer_liste", "x", (KEY,), True)))


def markt_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 4):
        yield {"id": number, "markt_ort": draw.pick(("Köln", "Bonn"))}


def bon_kopf(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 21):
        yield {"betrag_eur": draw.around(10.0, 2.0), "id": number,
               "markt_nr": draw.maybe(0.8, draw.skewed(made["markt_stamm"])["id"])}


MAKERS: Mapping[str, Maker] = {"markt_stamm": markt_stamm, "bon_kopf": bon_kopf}


def test_rows_depend_on_database_table_and_seed_only() -> None:
    first = make_rows(SCHEMA, MAKERS, 1)
    assert first == make_rows(SCHEMA, MAKERS, 1)
    assert first != make_rows(SCHEMA, MAKERS, 2)
    assert first["bon_kopf"] != make_rows(Schema("kiosk", SCHEMA.tables), MAKERS, 1)["bon_kopf"]
    assert first["leer_liste"] == [] and row_count(first) == 23
    assert first["bon_kopf"][0][0] == 1, "columns in the order of the schema, whatever the maker's"


@pytest.mark.parametrize(("rows", "said"), [
    ([{"id": 1, "markt_ort": "Köln", "rest": 1}], "row 1: columns id, markt_ort, rest, expected id, markt_ort"),
    ([{"id": 1, "markt_ort": None}], "row 1: markt_ort is None, expected TEXT"),
    ([{"id": 1, "markt_ort": 3}], "row 1: markt_ort is 3, expected TEXT"),
    ([{"id": 1, "markt_ort": "x"}, {"id": 1, "markt_ort": "y"}], "id is not unique")])
def test_a_row_that_breaks_the_schema_is_refused(rows: list[Row], said: str) -> None:
    with pytest.raises(DataError, match=f"laden.markt_stamm.*{said}"):
        make_rows(SCHEMA, {**MAKERS, "markt_stamm": lambda draw, made: iter(rows)}, 1)


def test_a_reference_to_nothing_and_a_table_without_maker_are_refused() -> None:
    lost = [{"id": 1, "markt_nr": 9, "betrag_eur": 1.0}]
    with pytest.raises(DataError, match="markt_nr is 9, which markt_stamm lacks"):
        make_rows(SCHEMA, {**MAKERS, "bon_kopf": lambda draw, made: iter(lost)}, 1)
    with pytest.raises(DataError, match="laden: no function makes the rows of bon_kopf"):
        make_rows(SCHEMA, {"markt_stamm": markt_stamm}, 1)


def test_the_content_does_not_depend_on_the_order_of_rows() -> None:
    rows = make_rows(SCHEMA, MAKERS, 1)
    digest = content_sha256(in_memory(SCHEMA, rows))
    assert content_sha256(in_memory(SCHEMA, rows, reverse=True)) == digest
    rows["bon_kopf"][4] = (5, None, 10.000000000000002)
    assert content_sha256(in_memory(SCHEMA, rows)) != digest


def test_a_database_is_built_once_and_its_content_is_checked(tmp_path: Path) -> None:
    rows = make_rows(SCHEMA, MAKERS, 1)
    digest = content_sha256(in_memory(SCHEMA, rows))
    made: list[int] = []
    path = database_file(SCHEMA, digest, lambda: made.append(1) or rows, tmp_path / "new")
    assert database_file(SCHEMA, digest, lambda: made.append(1) or rows, tmp_path / "new") == path
    assert made == [1] and file_digest(path) == digest
    assert [found.name for found in path.parent.iterdir()] == [path.name], "nothing half written stays"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE markt_stamm SET markt_ort = 'Neuss' WHERE id = 1")
    with pytest.raises(DataError, match=f"{path.name}.*expected {digest}; delete the file"):
        database_file(SCHEMA, digest, lambda: rows, tmp_path / "new")
    path.write_bytes(b"no database at all, but long enough to be looked at")
    with pytest.raises(DataError, match="is no readable database"):
        file_digest(path)


def test_rows_of_another_python_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected 0000"):
        database_file(SCHEMA, "0" * 64, lambda: make_rows(SCHEMA, MAKERS, 1), tmp_path)


def test_a_written_file_holds_what_memory_holds(tmp_path: Path) -> None:
    rows = make_rows(SCHEMA, MAKERS, 1)
    write_database(tmp_path / "x.sqlite", SCHEMA, rows)
    assert file_digest(tmp_path / "x.sqlite") == content_sha256(in_memory(SCHEMA, rows))


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    monkeypatch.delenv(CACHE, raising=False)
    assert cache_folder() == Path("/there/infranode-tool-eval/db_routing")
    monkeypatch.setenv(CACHE, "/own")
    assert cache_folder() == Path("/own/db_routing")


def test_draws_are_the_same_everywhere() -> None:
    """Fixed values: another version of Python, or another way to add floats, must not move a row."""
    draw = Draw("a", "b", 7)
    drawn: list[Any] = [draw.below(100), draw.between(3, 9), draw.around(20.0, 3.0), draw.skewed("abcdefgh"),
                        draw.weighted({"x": 0.1, "y": 0.2, "z": 0.3}), draw.day("2024-01-01", "2025-12-31", {11: 2.5}),
                        draw.clock("08:30", "20:00"), draw.chance(0.5), draw.maybe(0.5, 1), draw.pick([1, 2, 3])]
    assert drawn == [78, 9, 22.5, "b", "y", "2025-02-07", "13:42", False, 1, 2]


def test_draws_stay_inside_their_bounds() -> None:
    draw = Draw("a", "c", 1)
    days = [draw.day("2025-02-27", "2025-03-02") for _ in range(200)]
    assert {*days} == {"2025-02-27", "2025-02-28", "2025-03-01", "2025-03-02"}
    assert {draw.between(1, 3) for _ in range(100)} == {1, 2, 3}
    early = [draw.skewed(range(10)) for _ in range(2000)]
    assert early.count(0) > 3 * early.count(9) > 0
    bell = [draw.around(0.0, 1.0) for _ in range(2000)]
    assert abs(sum(bell) / 2000) < 0.1 and 0.8 < sum(x * x for x in bell) / 2000 < 1.2


def test_days_and_times() -> None:
    assert later("2024-02-28", 2) == "2024-03-01"
    assert until("2026-01-01", "2025-12-31") is None and until("2025-12-31", "2025-12-31") == "2025-12-31"
    assert weekday("2025-12-24") == 2
    assert clock(minutes_of("23:50") + 15) == "00:05"
    assert days_from("2024-12-30", "2025-01-01") == ["2024-12-30", "2024-12-31", "2025-01-01"]


@pytest.mark.parametrize("name", ["onlineshop", "filialhandel", "luftguete"])
def test_the_shipped_databases_are_skewed_and_end_on_the_fixed_day(name: str) -> None:
    rows = read_sources().rows(name)
    texts = [value for table in rows.values() for row in table for value in row if isinstance(value, str)]
    assert max(text for text in texts if text[:3] == "202" and len(text) == 10) == "2025-12-31"
    assert 4_500 < row_count(rows) < 7_000
    assert any(value is None for table in rows.values() for row in table for value in row)


def test_sisters_share_towns_and_products() -> None:
    sources = read_sources()
    shared = [{v for table in sources.rows(name).values() for row in table for v in row if isinstance(v, str)}
              for name in ("onlineshop", "filialhandel")]
    for literal in ("Köln", "Becher Mira", "Kreditkarte", "Garten"):
        assert all(literal in values for values in shared)
    assert "Köln" in names("towns")


def test_the_draft_makes_the_rows_it_says(tmp_path: Path) -> None:
    sources = Draft().sources(tmp_path / "panel")
    assert {name: row_count(sources.rows(name)) for name in sources.schemas} == {
        "kraemerei": 48, "selbstbedienung": 38, "hafenamt": 30}
