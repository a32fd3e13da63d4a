"""A made-up panel as its authors write it: two sisters and an isolated database, four questions each, all gates passed.

`Draft` holds the parts as plain values, so that a test changes one of them and reads the folder again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.bench import Bench, Result
from infranode_eval.db_routing.data import Maker
from infranode_eval.db_routing.draw import Draw, Made, Row
from infranode_eval.db_routing.sources import FOLDER, Sources, read_sources

TOWNS = ("Köln", "Köln", "Bonn", "Aachen", "Köln", "Bonn", "Neuss", "Köln")
NAMES = ("Ada", "Emmy", "Lise", "Grete", "Hilde", "Käte", "Marie", "Rosa")


def _customers(draw: Draw, made: Made, shift: int = 0) -> Iterator[Row]:
    for number, (name, town) in enumerate(zip(NAMES, TOWNS[shift:] + TOWNS[:shift], strict=True), 1):
        yield {"id": number, "kunden_name": name, "wohn_ort": town}


def _bons(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 41):
        yield {"id": number, "kunden_nr": number * number % 8 + 1 if number % 9 else None,
               "bon_tag": f"2025-{number % 3 + 1:02d}-{number % 28 + 1:02d}", "kassen_nr": number % 3 + 1,
               "betrag_eur": number * 1.5 + number % 7}


def _sales(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 31):
        yield {"id": number, "kunden_nr": number * 3 % 8 + 1, "automat_art": ("Heißgetränk", "Imbiss")[number % 3 // 2],
               "betrag_eur": number * 0.5 + number % 5}


def _ships(draw: Draw, made: Made) -> Iterator[Row]:
    for number, name in enumerate(("Hertha", "Minna", "Wodan", "Elbe", "Ilse"), 1):
        yield {"id": number, "schiff_name": name, "laenge_m": 40.0 + number * number, "flagge_land": "DE" if number % 2
               else None}


def _landings(draw: Draw, made: Made) -> Iterator[Row]:
    for number in range(1, 26):
        yield {"id": number, "schiff_nr": number * number % 5 + 1, "anlauf_tag": f"2025-0{number % 4 + 1}-11",
               "ladung_t": number * 2.5 if number % 6 else None}


MAKERS: Mapping[str, Mapping[str, Maker]] = {
    "kraemerei": {"kunden_stamm": _customers, "bon_kopf": _bons},
    "selbstbedienung": {"kunden_stamm": partial(_customers, shift=3), "verkauf_pos": _sales},
    "hafenamt": {"schiff_stamm": _ships, "anlauf_buch": _landings}}


def column(name: str, kind: str, concept: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **({"concept": concept} if concept else {}), **more}


def table(name: str, concept: str, *columns: dict[str, Any]) -> dict[str, Any]:
    return {"table": name, "concept": concept, "columns": [column("id", "INTEGER"), *columns]}


def intent(name: str, base: str, select: list[Any], where: list[Any], a: str, b: str, c: str,
           **more: Any) -> dict[str, Any]:
    return {"intent": name, "base": base, "select": select, "where": where, "group": [], "order": [], "limit": None,
            "level": "own", "phrasings": {"a": a, "b": b, "c": c}, **more}


_CUSTOMERS = table("kunden_stamm", "kunde", column("kunden_name", "TEXT", open=True),
                   column("wohn_ort", "TEXT", "wohnort", open=True))
_COUNT, _SUM = [{"agg": "count"}], [{"agg": "sum", "expr": "bon_kopf.betrag_eur"}]


def _shared() -> dict[str, Any]:
    return {"kunde": {"de": "Mensch, der kauft", "cues": ["kunde", "käufer", "kundschaft"], "not": ["kundenkarte"]},
            "wohnort": {"de": "Ort, an dem jemand wohnt", "cues": ["wohn", "zu hause"]},
            "umsatz": {"de": "Geldbetrag", "cues": ["betrag", "umsatz", "geld", "einnahm"]}}


def _parts() -> dict[str, Any]:
    sold = {"kunde": {}, "wohnort": {}, "umsatz": {}}
    return {
        "kraemerei": {"database": "kraemerei", "cluster": "handel", "bridges": [],
                     "uses": {**sold, "umsatz": {"from": "2025-01-01", "to": "2025-12-31"}},
                     "concepts": {"kasse": {"de": "Kasse eines Ladens", "cues": ["kasse", "tresen", "=bon"],
                                            "not": ["krankenkasse"]}}},
        "selbstbedienung": {"database": "selbstbedienung", "cluster": "handel", "bridges": [], "uses": dict(sold),
                      "concepts": {"automat": {"de": "Verkaufsautomat", "cues": ["automat", "münzschlitz", "gerät"]}}},
        "hafenamt": {"database": "hafenamt", "cluster": None, "bridges": [], "uses": {},
                     "concepts": {"schiff": {"de": "Schiff", "cues": ["schiff", "dampfer", "kahn", "kähne"]},
                                  "ladung": {"de": "Ladung", "cues": ["ladung", "tonnen", "fracht"]}}}}


def _schemas() -> dict[str, list[dict[str, Any]]]:
    return {
        "kraemerei": [_CUSTOMERS, table("bon_kopf", "kasse", column("kunden_nr", "INTEGER", references="kunden_stamm",
                                                                   null=True),
                                       column("bon_tag", "TEXT"), column("kassen_nr", "INTEGER"),
                                       column("betrag_eur", "REAL", "umsatz"))],
        "selbstbedienung": [_CUSTOMERS, table("verkauf_pos", "automat", column("kunden_nr", "INTEGER",
                                                                         references="kunden_stamm"),
                                        column("automat_art", "TEXT"), column("betrag_eur", "REAL", "umsatz"))],
        "hafenamt": [table("schiff_stamm", "schiff", column("schiff_name", "TEXT", open=True),
                           column("laenge_m", "REAL"), column("flagge_land", "TEXT", null=True)),
                     table("anlauf_buch", "schiff", column("schiff_nr", "INTEGER", references="schiff_stamm"),
                           column("anlauf_tag", "TEXT"), column("ladung_t", "REAL", "ladung", null=True))]}


def _intents() -> dict[str, list[dict[str, Any]]]:
    return {
        "kraemerei": [
            intent("kraemerei-001", "bon_kopf", _SUM, [["bon_kopf.kassen_nr", "=", 2]],
                   "Welchen Betrag nahm die Kasse 2 ein?", "Einnahmen am Tresen 2?",
                   "Wie viel Geld lag abends in der zweiten Kasse, der mit der Nummer 2?"),
            intent("kraemerei-002", "bon_kopf", _COUNT, [["bon_kopf.kunden_nr", "is", None]],
                   "Wie viele Bons gehören zu keinem bekannten Käufer?", "Zahl der Bons ohne Namen?",
                   "Wie oft blieb an der Kasse offen, wer da zahlte?"),
            intent("kraemerei-003", "bon_kopf", ["kunden_stamm.kunden_name"],
                   [["bon_kopf.bon_tag", "month", "2025-03"]],
                   "Wer waren im März 2025 am Tresen die zwei mit dem meisten Geld?",
                   "Zwei Namen mit dem höchsten Umsatz an der Kasse im März 2025?",
                   "Der März 2025 war gut: Auf wessen Bon stand das meiste, die zwei besten, alle Besuche addiert?",
                   group=["kunden_stamm.id", "kunden_stamm.kunden_name"],
                   order=[[{"agg": "sum", "expr": "bon_kopf.betrag_eur"}, "desc"], ["kunden_stamm.id", "asc"]],
                   limit=2)],
        "selbstbedienung": [
            intent("selbstbedienung-001", "verkauf_pos", _COUNT, [["verkauf_pos.automat_art", "=", "Imbiss"]],
                   "Wie oft gab ein Automat einen Imbiss aus?", "Zahl der Imbisse aus dem Automaten?",
                   "Wer hungrig ist, wirft Münzen ein. Wie oft warf das Gerät dann etwas zu essen aus?"),
            intent("selbstbedienung-002", "verkauf_pos", [{"agg": "avg", "expr": "verkauf_pos.betrag_eur"}],
                   [["kunden_stamm.wohn_ort", "=", "Bonn"]],
                   "Wie viel Geld steckt jemand mit Wohnort Bonn im Schnitt in einen Automaten?",
                   "Mittlerer Betrag im Münzschlitz bei Wohnsitz Bonn?",
                   "Bonner Nachtschwärmer, dort zu Hause: Was lassen sie durchschnittlich im Gerät?")],
        "hafenamt": [
            intent("hafenamt-001", "anlauf_buch", [{"agg": "max", "expr": "anlauf_buch.ladung_t"}],
                   [["schiff_stamm.schiff_name", "=", "Minna"]],
                   "Wie viele Tonnen trug die Minna höchstens?", "Schwerste Ladung des Dampfers Minna in Tonnen?",
                   "Mit welcher Fracht lag die Minna am tiefsten im Wasser?"),
            intent("hafenamt-002", "schiff_stamm", ["schiff_stamm.schiff_name"],
                   [["schiff_stamm.flagge_land", "is", None]],
                   "Welche Schiffe fahren ohne Flagge?", "Namen der Kähne ohne Flagge?",
                   "Bei manchem Schiff fehlt die Flagge. Wie heißen sie?")]}


@dataclass
class Draft:
    """The parts of the panel; change them, then `sources(folder)` writes and reads them."""

    shared: dict[str, Any] = field(default_factory=_shared)
    register: dict[str, Any] = field(default_factory=_parts)
    schemas: dict[str, list[dict[str, Any]]] = field(default_factory=_schemas)
    intents: dict[str, list[dict[str, Any]]] = field(default_factory=_intents)
    makers: dict[str, dict[str, Maker]] = field(default_factory=lambda: {k: dict(v) for k, v in MAKERS.items()})
    paragraphs: dict[str, str] = field(default_factory=lambda: {
        "kraemerei": "Eine Frau verkauft, was das Dorf braucht, und schreibt auf, was hereinkommt.",
        "selbstbedienung": "Eine Firma stellt Kästen auf, an denen sich jeder selbst bedient.",
        "hafenamt": "Eine Behörde schreibt auf, was anlegt und was es bringt."})
    words: str = "Hertha"
    frame: str = ("viele zahl kasse tresen bons bon automaten automat imbiss flagge oft betrag geld gerät fracht "
                  "welche schiff höchsten tonnen namen zwei meisten meiste")

    def find(self, name: str) -> dict[str, Any]:
        """The intent with this id, to be changed."""
        return next(row for rows in self.intents.values() for row in rows if row["intent"] == name)

    def write(self, folder: Path) -> Path:
        for part in ("register", "schemas", "intents"):
            (folder / part).mkdir(parents=True)
        files = {"panel.json": {"panel": "draft", "seed": 3, "databases": list(self.register), "licence": "none"},
                 "lists.json": {"towns": ["Köln", "Bonn", "Aachen", "Neuss"], "names": NAMES},
                 "descriptions.json": {"databases": self.paragraphs, "reserve": []},
                 "register/shared.json": {"concepts": self.shared}}
        files |= {f"register/{name}.json": part for name, part in self.register.items()}
        files |= {f"schemas/{name}.json": {"database": name, "tables": tables} for name, tables in self.schemas.items()}
        for name, value in files.items():
            (folder / name).write_text(json.dumps(value, ensure_ascii=False), "utf-8")
        for name, rows in self.intents.items():
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (folder / "intents" / f"{name}.jsonl").write_text(lines, "utf-8")
        for name, text in (("stop.txt", (FOLDER / "stop.txt").read_text("utf-8")), ("frame.txt", self.frame),
                           ("words.txt", self.words)):
            (folder / name).write_text(text, "utf-8")
        return folder

    def sources(self, folder: Path) -> Sources:
        return read_sources(self.write(folder), makers=self.makers.__getitem__)

    def bench(self, folder: Path) -> Bench:
        """Golds run on plain connections: only the test of gate 1 needs the safe executor."""
        sources = self.sources(folder)
        return Bench(sources, partial(_plain_run, sources))


def _plain_run(sources: Sources, database: str, sql: str) -> Result | str:
    return Bench(sources, _never).rows(database, sql)


def _never(database: str, sql: str) -> Result | str:
    raise AssertionError(f"{database} is not asked for {sql}")


Change = Callable[[Draft], object]
