"""Intents as SQL: operators, joins by the tree of foreign keys, and what the grammar refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.db_routing.intents import Intent, read_intents
from infranode_eval.db_routing.schema import Schema, read_schema
from infranode_eval.db_routing.sqlgen import order_key_sql, selected_sql, sql_of, without_filter
from lm_eval_task.errors import DataError
from tests.db_routing.draft import column, intent, table

BASE = "FROM bon_pos"
BON = "JOIN bon_kopf ON bon_pos.bon_nr = bon_kopf.id"
TABLES = [
    table("orts_liste", "ort", column("orts_name", "TEXT", open=True)),
    table("markt_stamm", "markt", column("orts_nr", "INTEGER", references="orts_liste"), column("markt_art", "TEXT")),
    table("kunde_stamm", "kunde", column("orts_nr", "INTEGER", references="orts_liste"),
          column("kunden_name", "TEXT")),
    table("bon_kopf", "kauf", column("markt_nr", "INTEGER", references="markt_stamm"),
          column("kunden_nr", "INTEGER", references="kunde_stamm", null=True), column("bon_tag", "TEXT", "tag")),
    table("bon_pos", "kauf", column("bon_nr", "INTEGER", references="bon_kopf"),
          column("menge_stk", "INTEGER", "menge"), column("preis_eur", "REAL", "preis"))]


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    return schema_of(tmp_path, TABLES)


def schema_of(folder: Path, tables: list[dict[str, Any]]) -> Schema:
    path = folder / "laden.json"
    path.write_text(json.dumps({"database": "laden", "tables": tables}), "utf-8")
    return read_schema(path)


def made(select: list[Any], where: list[Any] | None = None, base: str = "bon_pos", **more: Any) -> Intent:
    return Intent.from_json("laden", intent("laden-001", base, select, where or [], "A?", "B?", "C?", **more))


COUNT = [{"agg": "count"}]
WERT = "bon_pos.menge_stk * bon_pos.preis_eur"


@pytest.mark.parametrize(("asked", "sql"), [
    (made(COUNT), f"SELECT COUNT(*) {BASE}"),
    (made([{"agg": "sum", "expr": WERT, "round": 2}]), f"SELECT ROUND(SUM({WERT}), 2) {BASE}"),
    (made([{"agg": "count_distinct", "expr": "bon_pos.bon_nr"}]), f"SELECT COUNT(DISTINCT bon_pos.bon_nr) {BASE}"),
    (made(COUNT, [["bon_kopf.bon_tag", "month", "2025-03"]]),
     f"SELECT COUNT(*) {BASE} {BON} WHERE bon_kopf.bon_tag LIKE '2025-03%'"),
    (made(COUNT, [["bon_kopf.kunden_nr", "is", None], ["bon_kopf.markt_nr", "is", "not null"]]),
     f"SELECT COUNT(*) {BASE} {BON} WHERE bon_kopf.kunden_nr IS NULL AND bon_kopf.markt_nr IS NOT NULL"),
    (made(COUNT, [["markt_stamm.markt_art", "in", ["O'Hara", "x"]], ["bon_pos.menge_stk", "between", [2, 4]]]),
     f"SELECT COUNT(*) {BASE} {BON} JOIN markt_stamm ON bon_kopf.markt_nr = markt_stamm.id "
     "WHERE markt_stamm.markt_art IN ('O''Hara', 'x') AND bon_pos.menge_stk BETWEEN 2 AND 4"),
    (made(COUNT, [["bon_pos.menge_stk", ">", {"expr": "bon_pos.preis_eur"}],
                  ["kunde_stamm.kunden_name", "like", "A%"]]),
     f"SELECT COUNT(*) {BASE} {BON} JOIN kunde_stamm ON bon_kopf.kunden_nr = kunde_stamm.id "
     "WHERE bon_pos.menge_stk > bon_pos.preis_eur AND kunde_stamm.kunden_name LIKE 'A%'"),
    (made(["markt_stamm.markt_art", *COUNT], group=["markt_stamm.markt_art"], base="bon_kopf",
          order=[[{"agg": "count"}, "desc"], ["markt_stamm.markt_art", "asc"]], limit=3),
     "SELECT markt_stamm.markt_art, COUNT(*) FROM bon_kopf JOIN markt_stamm ON bon_kopf.markt_nr = markt_stamm.id "
     "GROUP BY markt_stamm.markt_art ORDER BY COUNT(*) DESC, markt_stamm.markt_art ASC LIMIT 3"),
    (made(COUNT, [["orts_liste.orts_name", "=", "Köln"]], path=["bon_kopf.kunden_nr"]),
     f"SELECT COUNT(*) {BASE} {BON} JOIN kunde_stamm ON bon_kopf.kunden_nr = kunde_stamm.id "
     "JOIN orts_liste ON kunde_stamm.orts_nr = orts_liste.id WHERE orts_liste.orts_name = 'Köln'"),
    (made(COUNT, [["year(bon_kopf.bon_tag)", "!=", "2024"]], base="bon_kopf"),
     "SELECT COUNT(*) FROM bon_kopf WHERE substr(bon_kopf.bon_tag, 1, 4) != '2024'"),
])
def test_an_intent_becomes_one_select(schema: Schema, asked: Intent, sql: str) -> None:
    assert sql_of(asked, schema) == sql


def test_the_variants_that_gates_run(schema: Schema) -> None:
    asked = made(["kunde_stamm.kunden_name"], [["bon_kopf.bon_tag", "year", "2025"], ["bon_pos.menge_stk", ">", 1]],
                 group=["kunde_stamm.kunden_name"], limit=1,
                 order=[[{"agg": "sum", "expr": WERT}, "desc"], ["kunde_stamm.kunden_name", "asc"]])
    joins = f"{BASE} {BON} JOIN kunde_stamm ON bon_kopf.kunden_nr = kunde_stamm.id"
    assert sql_of(without_filter(asked, 0), schema).startswith(
        f"SELECT kunde_stamm.kunden_name {joins} WHERE bon_pos.menge_stk > 1 GROUP BY")
    assert selected_sql(asked, schema) == (f"SELECT bon_pos.id {joins} WHERE bon_kopf.bon_tag LIKE '2025%' "
                                           "AND bon_pos.menge_stk > 1")
    assert order_key_sql(asked, schema).startswith(f"SELECT SUM({WERT}) FROM")
    assert order_key_sql(asked, schema).endswith("LIMIT 2")


@pytest.mark.parametrize(("asked", "said"), [
    (made(COUNT, [["orts_liste.orts_name", "=", "Köln"]]),
     "orts_liste is reached by bon_kopf.kunden_nr and bon_kopf.markt_nr"),
    (made(COUNT, [["bon_pos.menge_stk", "=", 1]], base="bon_kopf"), "no foreign keys lead from bon_kopf to bon_pos"),
])
def test_no_path_and_two_paths_are_refused(schema: Schema, asked: Intent, said: str) -> None:
    with pytest.raises(DataError, match=said):
        sql_of(asked, schema)


@pytest.mark.parametrize(("change", "said"), [
    ({"select": [{"agg": "median", "expr": "t.c"}]}, "an item is"), ({"select": [{"agg": "sum"}]}, 'takes an "expr"'),
    ({"select": COUNT * 2}, "one aggregate at most"), ({"select": []}, "one aggregate at most"),
    ({"select": ["t.a", "t.b", "t.c", "t.d"]}, "3 items at most"),
    ({"select": ["t.a", *COUNT]}, "selects t.a beside a group or an aggregate"),
    ({"where": [["t.c", "~", 1]]}, "a filter is"), ({"where": [["t.c", "month", "2025"]]}, '"month" does not take'),
    ({"where": [["t.c", "=", None]]}, '"=" does not take None'), ({"where": [["t.c", "in", ["x"]]]}, '"in" does not'),
    ({"where": [["t.c", "is", 3]]}, '"is" does not take 3'), ({"limit": 1}, "a limit without an order"),
    ({"order": [["t.c", "asc"]]}, "orders by two keys"), ({"order": [["t.c", "up"], ["t.d", "asc"]]}, "orders by two"),
    ({"level": "hard"}, "has the level 'hard'"), ({"phrasings": {"a": "A?", "b": "B?"}}, "phrasings a, b and c"),
    ({"phrasings": {"a": "A?", "b": " B?", "c": "C?"}}, "without blanks"),
    ({"intent": "markt-001"}, 'called "laden-NNN"'),
    ({"note": "x"}, "has the keys"), ({"where": [["t.c", "=", True]]}, "does not take True")])
def test_the_grammar_refuses(change: dict[str, Any], said: str) -> None:
    row = intent("laden-001", "bon_pos", COUNT, [], "A?", "B?", "C?") | change
    with pytest.raises(DataError, match=said):
        Intent.from_json("laden", row)


def test_concepts_are_those_of_columns_and_base_not_of_tables_that_connect(schema: Schema) -> None:
    asked = made(COUNT, [["kunde_stamm.kunden_name", "=", "Ada"]])
    assert asked.concepts(schema) == ["kauf", "kunde"]
    assert made(COUNT, [["bon_kopf.kunden_nr", "is", None]]).concepts(schema) == ["kauf", "kunde"], "of the target"
    assert made([{"agg": "avg", "expr": WERT}]).concepts(schema) == ["kauf", "menge", "preis"]


def test_an_intents_file_says_where_it_is_wrong(tmp_path: Path, schema: Schema) -> None:
    rows = [intent(f"laden-00{n}", "bon_pos", COUNT, [], "A?", "B?", "C?") for n in (2, 1)]
    path = tmp_path / "laden.jsonl"
    for broken, said in ((rows, None), ([*rows, rows[0]], ":3: laden-002 comes twice"),
                         ([{**rows[0], "where": [["bon_pos.laenge", "=", 1]]}], ":1: laden-002: there is no bon_pos"),
                         ([{**rows[0], "base": "bons"}], ":1: laden-002: there is no bons.id")):
        path.write_text("".join(json.dumps(row) + "\n" for row in broken), "utf-8")
        if said is None:
            assert [found.name for found in read_intents(path, schema)] == ["laden-001", "laden-002"]
        else:
            with pytest.raises(DataError, match=said):
                read_intents(path, schema)


@pytest.mark.parametrize(("tables", "said"), [
    ([table("bons", "kauf")], '"bons" is no identifier'),
    ([table("bon_kopf", "kauf", column("preis", "REAL"))], '"preis" is no identifier'),
    ([table("bon_kopf", "kauf", column("bon_tag", "DATE"))], "unknown key or type"),
    ([table("bon_kopf", "kauf", column("markt_nr", "INTEGER", references="markt_stamm"))], "does not come before it"),
    ([TABLES[0], table("bon_kopf", "kauf", column("orts_nr", "INTEGER", "kauf", references="orts_liste"))],
     "a reference carries the concept"),
    ([TABLES[0], TABLES[0]], "is declared twice"),
    ([table("bon_kopf", "kauf", column("bon_tag", "TEXT"), column("bon_tag", "TEXT"))], "each name comes once"),
])
def test_a_schema_that_breaks_the_rules_is_refused(tmp_path: Path, tables: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(DataError, match=said):
        schema_of(tmp_path, tables)


def test_a_schema_knows_its_concepts_and_identifiers(schema: Schema) -> None:
    assert schema.concepts["ort"] == ["orts_liste.id", "orts_liste.orts_name", "markt_stamm.orts_nr",
                                      "kunde_stamm.orts_nr", "orts_liste"]
    assert "bon_kopf" in schema.identifiers and "orts_nr" in schema.identifiers and "id" not in schema.identifiers
    assert schema.by_name["bon_kopf"].ddl == (
        "CREATE TABLE bon_kopf (id INTEGER PRIMARY KEY, markt_nr INTEGER NOT NULL REFERENCES markt_stamm(id), "
        "kunden_nr INTEGER REFERENCES kunde_stamm(id), bon_tag TEXT NOT NULL)")
