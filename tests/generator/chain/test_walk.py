"""The walk: where a task starts, and what is tried next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from infranode_eval.generator.chain.fields import read_template
from infranode_eval.generator.chain.slots import Filling
from infranode_eval.generator.chain.template import Pick, Template
from infranode_eval.generator.chain.walk import candidates

COUNT = {"op": "count", "from": "a", "at": "/data/payload/stations", "where": [["/power_kw", ">=", "{kw}"]]}
ROW: dict[str, Any] = {
    "template": "charging_power",
    "phrasings": ["Wie viele {in_city} mit {kw} kW?", "Und {gen} Standorte mit {kw} kW?", "{city}, {kw} kW: Anzahl?"],
    "cities": ["dresden", "ulm", "bonn", "essen"], "vary": {"kw": [150, 50]}, "tasks": 2,
    "plan": [{"id": "a", "call": {"name": "get_city_resource",
                                  "arguments": {"slug": "{slug}", "resource": "charging"}}}],
    "derive": COUNT, "near": {}, "answer": {"type": "number"}}


def template(**changes: Any) -> Template:
    return read_template(ROW | changes, "filter_count", Path("x.json"), 1)


def no_rows(*_: Any) -> list[dict[str, Filling]]:
    return []


def named(number: int, of: Template | None = None, rows: Any = no_rows) -> list[str]:
    return [candidate.named for candidate in candidates(of or template(), number, rows)]


def test_a_task_starts_at_its_own_city_and_value_and_goes_on_with_spare_cities() -> None:
    assert named(0) == ["dresden, kw=150", "dresden, kw=50", "bonn, kw=150", "bonn, kw=50", "essen, kw=150",
                        "essen, kw=50", "ulm, kw=150", "ulm, kw=50"]
    assert named(1)[:3] == ["ulm, kw=50", "ulm, kw=150", "bonn, kw=50"]


def test_more_tasks_than_cities_go_round() -> None:
    assert named(5, template(tasks=6))[0] == "ulm, kw=50"


def test_every_candidate_stands_once() -> None:
    assert len(set(named(1))) == len(named(1)) == 8


def test_wordings_take_turns_and_a_city_without_the_form_takes_the_next() -> None:
    first = [next(iter(candidates(template(tasks=4), number, no_rows))) for number in range(4)]
    assert [candidate.phrasing[:3] for candidate in first] == ["Wie", "Und", "{ci", "Wie"]
    essen = next(c for c in candidates(template(), 1, no_rows) if c.cities.slugs == ("essen",))
    assert essen.phrasing[:3] == "{ci", "Essen has no safe genitive"


def test_a_city_that_no_wording_fits_is_passed_over() -> None:
    texts = [f"{word} {{gen}} Standorte mit {{kw}} kW?" for word in ("Und", "Wie viele", "Zähl")]
    assert not [name for name in named(0, template(phrasings=texts)) if name.startswith("essen")]


def test_a_pick_gives_values_of_the_world_in_their_order() -> None:
    pick = Pick({}, "/data", (), "/name", True, {"eva": "/eva"})
    rows = [{"station": Filling(n, n), "eva": Filling(e, e)} for n, e in (("Süd", "1"), ("Ost", "2"), ("Alt", "3"))]
    found = list(candidates(replace(template(cities=["ulm"], vary={"kw": [22]}), picks={"station": pick}), 1,
                            lambda slot, pick, forms: rows))
    assert [candidate.named for candidate in found] == [
        "ulm, kw=22, station=Ost, eva=2", "ulm, kw=22, station=Alt, eva=3", "ulm, kw=22, station=Süd, eva=1"]


def test_slots_of_a_city_come_with_it() -> None:
    cities = [{"slug": "koeln", "station": "Köln-Mülheim"}, {"slug": "koeln", "station": "Köln West"}]
    texts = [f"{word} {{station}} mit {{kw}} kW?" for word in ("Und", "Wie viele", "Zähl")]
    found = list(candidates(template(cities=cities, phrasings=texts), 1, no_rows))
    assert [candidate.named for candidate in found][:2] == ["koeln, station=Köln West, kw=50",
                                                           "koeln, station=Köln West, kw=150"]
    assert found[0].fillings["city"].text == "Köln"
