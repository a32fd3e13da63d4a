"""A built panel of three small databases, two of them alike, with four questions each; no maker, no gate, no hardness.

Written as `panel build` writes one, so that the loader takes it; the databases lie in the cache folder already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.data import content_sha256, in_memory, write_database
from infranode_eval.db_routing.panel import Panel, load_panel, panel_sha256, text_sha256
from infranode_eval.db_routing.schema import read_schema
from infranode_eval.db_routing.tasks import RoutingTask, tasks_of

SEED = 7
ALIASES = {"db_01": "werkstatt", "db_02": "laden", "db_03": "hafen"}
CLUSTERS = {"laden": "handel", "werkstatt": "handel", "hafen": None}
PARAGRAPHS = {
    "laden": "Ein Geschäft hält fest, was es jeden Tag über den Tresen verkauft und wem.",
    "werkstatt": "Ein Betrieb schreibt auf, welche Fahrräder er repariert und was daran zu tun war.",
    "hafen": "Eine Behörde zählt, welche Schiffe anlegen und wie lange sie bleiben."}
RESERVE = tuple(f"Ein Verein führt Buch über seine {what}." for what in ("Pferde", "Bienen", "Chöre"))
SCHEMAS: Mapping[str, Mapping[str, Sequence[tuple[str, str]]]] = {
    "laden": {"kunden_stamm": [("kunden_name", "TEXT"), ("kunden_ort", "TEXT")],
              "bon_kopf": [("kunden_nr", "→kunden_stamm"), ("bon_summe", "REAL")]},
    "werkstatt": {"rad_stamm": [("rad_marke", "TEXT")], "auftrag_kopf": [("rad_nr", "→rad_stamm"),
                                                                         ("auftrag_preis", "REAL")]},
    "hafen": {"schiff_stamm": [("schiff_name", "TEXT"), ("schiff_laenge", "REAL")]}}
ROWS: Mapping[str, Mapping[str, list[tuple[Any, ...]]]] = {
    "laden": {"kunden_stamm": [(1, "Ada", "Köln"), (2, "Emmy", "Bonn"), (3, "Lise", "Köln")],
              "bon_kopf": [(n, n % 3 + 1, n * 1.5) for n in range(1, 61)]},
    "werkstatt": {"rad_stamm": [(1, "Flitz"), (2, "Roller")],
                  "auftrag_kopf": [(1, 1, 20.0), (2, 1, 35.5), (3, 2, 12.25)]},
    "hafen": {"schiff_stamm": [(1, "Hertha", 80.5), (2, "Minna", 42.0)]}}
GOLDS = {
    "laden": [("Wie viele Kunden kommen aus Köln?", "SELECT COUNT(*) FROM kunden_stamm WHERE kunden_ort = 'Köln'"),
              ("Wie heißen die Kunden?", "SELECT kunden_name FROM kunden_stamm ORDER BY kunden_name, id"),
              ("Welchen Betrag hat der höchste Bon?", "SELECT MAX(bon_summe) FROM bon_kopf"),
              ("Wie viele Bons gibt es?", "SELECT COUNT(*) FROM bon_kopf")],
    "werkstatt": [("Was kostete die teuerste Reparatur?", "SELECT MAX(auftrag_preis) FROM auftrag_kopf"),
                  ("Wie viele Räder der Marke Flitz waren da?",
                   "SELECT COUNT(*) FROM rad_stamm WHERE rad_marke = 'Flitz'"),
                  ("Was wurde mit Reparaturen verdient?", "SELECT SUM(auftrag_preis) FROM auftrag_kopf"),
                  ("Welche Marken wurden repariert?", "SELECT rad_marke FROM rad_stamm")],
    "hafen": [("Wie heißt das längste Schiff?", "SELECT schiff_name FROM schiff_stamm ORDER BY schiff_laenge DESC, id "
                                                "LIMIT 1"),
              ("Wie viele Schiffe legten an?", "SELECT COUNT(*) FROM schiff_stamm"),
              ("Welche Schiffe sind über fünfzig Meter lang?",
               "SELECT schiff_name FROM schiff_stamm WHERE schiff_laenge > 50"),
              ("Wie lang sind alle Schiffe zusammen?", "SELECT SUM(schiff_laenge) FROM schiff_stamm")]}
FOREIGN = {"laden": [0, 5, 9, 1], "werkstatt": [5, 0, 20, 4], "hafen": [0, 0, 0, 0]}     # foreign neighbours


def write_panel(folder: Path, cache: Path) -> Path:
    """All files of the panel in `folder`, its databases in `cache`."""
    (folder / "schemas").mkdir(parents=True)
    databases = {name: _database(folder, cache, name) for name in SCHEMAS}
    descriptions = {"databases": PARAGRAPHS, "reserve": list(RESERVE)}
    rows = sorted(_questions(), key=lambda row: row["task_id"])
    texts = {"register.json": "{}\n", "descriptions.json": json.dumps(descriptions, ensure_ascii=False),
             "questions.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)}
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    order = [row["task_id"] for row in rows[::-1]]
    order = order[1::2] + order[0::2]
    manifest = {
        "format": 1, "panel": "test", "seed": SEED, "order": order, "aliases": ALIASES, "databases": databases,
        "questions_sha256": text_sha256(texts["questions.jsonl"]),
        "descriptions_sha256": text_sha256(texts["descriptions.json"]),
        "register_sha256": text_sha256(texts["register.json"]),
        "hardness": {"signal": "none", "k": 20, "threshold": 5, "floor": 0.1, "pool": 24, "library": "none"},
        "candidates": {"method": "authored", "threshold": None, "linkage": None}, "licence": "none"}
    (folder / "manifest.json").write_text(json.dumps(manifest | {"panel_sha256": panel_sha256(manifest)}), "utf-8")
    return folder


def _database(folder: Path, cache: Path, name: str) -> dict[str, Any]:
    tables = [{"table": table, "concept": table, "columns": [{"name": "id", "type": "INTEGER"}, *(
        {"name": column, "type": "INTEGER", "references": kind[1:]} if kind.startswith("→") else
        {"name": column, "type": kind} for column, kind in columns)]} for table, columns in SCHEMAS[name].items()]
    path = folder / "schemas" / f"{name}.json"
    path.write_text(json.dumps({"database": name, "tables": tables}), "utf-8")
    schema, rows = read_schema(path), dict(ROWS[name])
    digest = content_sha256(in_memory(schema, rows))
    write_database(cache / f"{name}-{digest[:16]}.sqlite", schema, rows)
    return {"cluster": CLUSTERS[name], "tables": len(tables), "rows": sum(map(len, rows.values())),
            "content_sha256": digest, "description_sha256": text_sha256(PARAGRAPHS[name])}


def _questions() -> list[dict[str, Any]]:
    return [_question(name, number, question, sql, FOREIGN[name][number - 1])
            for name, golds in GOLDS.items() for number, (question, sql) in enumerate(golds, 1)]


def _question(database: str, number: int, question: str, sql: str, foreign: int) -> dict[str, Any]:
    bucket = "neighbour_hard" if foreign >= 5 else "neighbour_free"
    return {"task_id": f"db_routing-{database}-{number:03d}", "set": "core", "category": bucket, "question": question,
            "expected": [{"name": "select_database", "arguments": {"database": database}}], "database": database,
            "cluster": CLUSTERS[database], "intent": f"{database}-{number:03d}", "level": "own", "gold_sql": sql,
            "gold_ordered": "ORDER BY" in sql, "gold_rows": 1, "gold_sha256": "", "concepts": [], "why_not": {},
            "decoys": [], "hardness": {"foreign": foreign, "neighbours": 20, "votes": None, "bucket": bucket},
            "paraphrase": None if number == 4 else f"Anders gesagt: {question}", "verified": {"level": "none"}}


def tiny_panel(tmp: Path) -> Panel:
    """The panel, written and loaded."""
    return load_panel(write_panel(tmp / "panel", tmp / "cache"), cache=tmp / "cache", makers=partial(_none))


def _none(database: str) -> Mapping[str, Any]:
    raise AssertionError(f"{database} stands in the cache")


def tiny_tasks(tmp: Path) -> tuple[RoutingTask, ...]:
    return tasks_of(tiny_panel(tmp))
