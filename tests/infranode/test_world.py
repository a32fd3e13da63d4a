"""A world is its seed: other seeds move what is drawn and nothing else, the same seed gives the same bytes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.infranode import facts
from infranode_eval.infranode.snapshot import Snapshot
from tests.infranode.consistency import Get, at, payloads
from tests.infranode.field_rules import leaves, rule_of, values_at

ROOT = Path(__file__).resolve().parents[2]
CITIES = facts.cities()

# Version of the rule table -> sha256 over all answers of the default world. Golds of other suites are computed from
# these bytes: where code or rules move them, raise the version, so that the world hash moves too. (Facts stand in the
# world hash themselves: a changed fact changes the second value only.)
ANSWERS = {"2": "a085d626d3b93669b462e358178798112434c1e7fd8bf8f929980c35ef043585"}

# Fields that are computed or drawn and yet the same in every world.
FIXED = {
    ("demographics", "series.year"): "the last three years",
    ("stations", "station_count"): "the stations are facts",
    ("office-wait-times", "count"): "one city with four to nine offices",
    ("district-heating", "count"): "three cities with few networks",
    **{(key, field): "there are more than the 40 that are shown"
       for key in ("education", "heritage", "playgrounds", "post-boxes", "tree-cadastre")
       for field in ("count", "truncated")},
    ("recycling-centres", "truncated"): "few enough everywhere",
}


@cache
def reader(seed: str) -> Get:
    snapshot = Snapshot(seed=seed)

    @cache
    def get(request: str) -> Any:
        return snapshot.respond("GET", f"/api/v1{request}").json()

    return get


@cache
def by_key(seed: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for city in CITIES:
        for key, payload in payloads(reader(seed), city):
            found.setdefault(key, []).append(payload)
    return found


def requests() -> Iterator[str]:
    """Every request that has one answer, without spellings and paging."""
    yield from ("/cities?limit=200", "/sources?limit=200", "/health", "/cities/giessen", "/cities/bonn/schwimmbad",
                "/compare?resource=parking&cities=bonn", "/stations/80002/departures", "/cities/bonn/pois?type=zoo")
    for city in CITIES:
        yield f"/cities/{city.slug}"
        yield from (f"/cities/{city.slug}/{key}" for key in facts.keys(facts.DEFAULT_STATE))
        yield from (f"/cities/{city.slug}/pois?type={kind}" for kind in facts.poi_types())
        yield from (f"/compare?resource={name}&cities={city.slug}" for name in facts.compare_resources())
        yield from (f"/stations/{eva}/{noun}" for station in facts.stations(city.slug) for eva in station.evas
                    for noun in ("departures", "arrivals"))
        yield from (f"/live/{city.slug}/transit/departures?stop_id={stop.stop_id}" for stop in facts.stops(city.slug))


def test_another_seed_moves_every_field_that_is_no_fact():
    first, second = by_key("s1"), by_key("s2")
    fixed = {(key, path) for key, found in first.items() for path in set().union(*map(leaves, found)) - {"kind"}
             if (rule := rule_of(key, path)) and rule.kind != "fact"
             and values_at(found, path) == values_at(second[key], path)}
    assert fixed == FIXED.keys()


@pytest.mark.parametrize("key", sorted(set(facts.keys(facts.DEFAULT_STATE)) - {"overview", "base", "geo", "holidays"}))
def test_another_seed_moves_the_answers_of_most_cities(key):
    least = {"civil-protection-warnings": 0.3, "weather-warnings": 0.6, "fire-danger": 0.9}.get(key, 1)
    pairs = [[reader(seed)(f"/cities/{city.slug}/{key}")["data"] for seed in ("s1", "s2")] for city in CITIES]
    known = [pair for pair in pairs if pair != [None, None]]
    assert sum(first != second for first, second in known) >= least * len(known)


@pytest.mark.parametrize(("request_", "pointer"), [
    ("/cities?limit=200", "/data"), ("/sources?limit=200", "/data"), ("/cities/{slug}", "/data"),
    ("/cities/{slug}/base", "/data"), ("/cities/{slug}/geo", "/data"), ("/cities/{slug}/holidays", "/data"),
    ("/cities/{slug}/overview", "/data/data_types"), ("/cities/{slug}/overview", "/data/city"),
    ("/cities/{slug}/demographics", "/data/payload/population"),
    ("/cities/{slug}/parking", "/meta/covered_cities"), ("/cities/{slug}/solar-roofs", "/meta/covered_cities"),
])
def test_public_facts_are_the_same_in_every_world(request_, pointer):
    for city in CITIES:
        asked = request_.format(slug=city.slug)
        first, second = (reader(seed)(asked) for seed in ("s1", "s2"))
        if "covered_cities" in pointer and facts.is_covered(facts.DEFAULT_STATE, asked.split("/")[-1], city.slug):
            continue
        assert at(first, pointer) == at(second, pointer) is not None


def test_stations_keep_their_numbers_and_names_in_every_world():
    for city in CITIES:
        first, second = ([(row["eva"], row["evas"], row["name"], row["category"]) for row in
                          reader(seed)(f"/cities/{city.slug}/stations")["data"]["payload"]["stations"]]
                         for seed in ("s1", "s2"))
        assert first == second


def test_stop_ids_are_of_their_world():
    shared = total = 0
    for city in CITIES:
        first, second = ({row["payload"]["stop_id"] for row in reader(seed)(f"/cities/{city.slug}/transit")["data"]}
                         for seed in ("s1", "s2"))
        assert first != second
        shared, total = shared + len(first & second), total + len(first)
    assert shared < 0.03 * total, "an id of one world is hardly ever one of the other"


def test_no_answer_says_that_it_is_invented():
    words = re.compile(r"erfund|invent|fiktiv|fictio|synthe|simul|modell|snapshot|fake|mock|offline|embedded|dummy|"
                       r"künstlich|artifici|\bseed|\btest", re.IGNORECASE)
    assert words.search(" ".join(facts.rules_file()["_about"])), "the file itself does say so"
    texts = {request: json.dumps(reader("s1")(request), ensure_ascii=False) for request in requests()}
    assert [request for request, text in texts.items() if words.search(text)] == []


def test_a_correlation_id_is_a_hash_of_the_request_in_its_world():
    def identity(request: str, method: str = "GET", **world: str) -> str:
        response = Snapshot(**world).respond(method, f"/api/v1{request}")
        identity = response.json()["meta"]["correlation_id"]
        assert identity == response.headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{32}", identity)
        return identity

    ids = [identity("/cities/bonn/weather"), identity("/cities/ulm/weather"), identity("/cities/bonn/air"),
           identity("/cities/bonn/weather?limit=1"), identity("/cities/bonn/weather", "POST"),
           identity("/cities/bonn/weather", seed="s2"), identity("/cities/bonn/weather", state="july-1")]
    assert len(set(ids)) == len(ids)
    assert ids[0] == identity("/cities/bonn/weather")


def test_answers_move_with_the_version_of_the_rules_only():
    snapshot, digest = Snapshot(), sha256()
    for request in requests():
        digest.update(snapshot.respond("GET", f"/api/v1{request}").body)
    assert digest.hexdigest() == ANSWERS[facts.rules_file()["version"]]


THREADS = """
import sys, threading
from hashlib import sha256
from infranode_eval.infranode.snapshot import Snapshot
paths = [f"/api/v1{line}" for line in sys.stdin.read().split()]
count = int(sys.argv[1])
shared = Snapshot()
gate = threading.Barrier(count)
found = [""] * count
def ask(number):
    gate.wait()
    order = paths[number:] + paths[:number]
    bodies = {path: shared.respond("GET", path).body for path in order}
    found[number] = sha256(b"".join(bodies[path] for path in paths)).hexdigest()
threads = [threading.Thread(target=ask, args=(number,)) for number in range(count)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(*set(found), shared.world_hash())
"""


def test_threads_that_ask_a_cold_world_at_once_get_the_same_bytes():
    """In processes of their own, so that every cache is empty when the threads start."""
    asked = [request for request in requests() if re.search("/bonn|/koeln|/stations/80000", request)]
    one, eight = (subprocess.run([sys.executable, "-c", THREADS, str(number)], input="\n".join(asked), text=True,
                                 capture_output=True, cwd=ROOT, check=True).stdout.split() for number in (1, 8))
    assert one == eight
    assert len(one) == 2
    assert one[1] == facts.world_hash(), "answering changes no cached fact"
