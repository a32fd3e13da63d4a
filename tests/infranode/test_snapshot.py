"""What the embedded API answers to which request: status, error, coverage, spelling, paging, states, profiles."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranode_eval.infranode import facts
from infranode_eval.infranode.envelope import Response
from infranode_eval.infranode.snapshot import Snapshot, transport
from lm_eval_task.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
FUZZED = Snapshot()
CITY_LIST = "Nutze GET /api/v1/cities fuer alle unterstuetzten Staedte."


def ask(path: str, state: str = "v1.1.1", profile: str = "default", method: str = "GET") -> Response:
    return Snapshot(state, profile).respond(method, "/api/v1" + path)


@pytest.mark.parametrize(("path", "status", "code", "hint", "why"), [
    ("/cities/atlantis", 404, "not_found", CITY_LIST, "unknown city"),
    ("/cities/frankfurt/base", 404, "not_found", CITY_LIST, "July knows no short forms"),
    ("/cities/M%C3%BCnchen/base", 404, "not_found", CITY_LIST, "July knows no umlauts"),
    ("/cities/weather", 404, "not_found", "'weather' ist eine Datenart, keine Stadt. Du hast vermutlich den Stadt-Slug "
     f"vergessen, z.B. GET /api/v1/cities/berlin/weather. {CITY_LIST}", "a key where the city belongs"),
    ("/cities/bonn/schwimmbad", 404, "not_found",
     "Pfad prüfen oder GET /api/v1/openapi.yaml für die Routenliste.", "unknown key"),
    ("/cities/bonn/care", 404, "not_found", "Pfad prüfen oder GET /api/v1/openapi.yaml für die Routenliste.",
     "a key of August in July"),
    ("/stadt", 404, "not_found", "Pfad prüfen oder GET /api/v1/openapi.yaml für die Routenliste.", "unknown path"),
    ("/cities/bonn/pois", 400, "invalid_request", "query.type: missing", "type is required"),
    ("/cities/bonn/pois?type=zoo", 422, "unprocessable",
     "Erlaubte Typen: hospital, kindergarten, pharmacy, police, restaurant, school.", "type outside the six"),
    ("/stations/80002/departures", 422, "unprocessable",
     "EVA-Nummern stehen im Katalog GET /api/v1/cities/{slug}/stations.", "five digits"),
    ("/stations/800020901/arrivals", 422, "unprocessable",
     "EVA-Nummern stehen im Katalog GET /api/v1/cities/{slug}/stations.", "nine digits"),
    ("/live/bonn/transit/departures?stop_id=Bonn%20Hbf", 400, "invalid_request",
     "Erwartet wird eine Halt-ID im DELFI-Muster 'de:<AGS>:<id>' oder eine numerische gtfs.de-Halt-ID.", "a name"),
    ("/compare?resource=parking&cities=bonn", 400, "invalid_request",
     "Erlaubt: air, charging-status, demographics, indicators, tourism, unemployment, weather, weather-warnings.",
     "a ninth resource; the hint names the eight"),
    ("/compare?resource=air-uba&cities=bonn", 400, "invalid_request",
     "Erlaubt: air, charging-status, demographics, indicators, tourism, unemployment, weather, weather-warnings.",
     "compare calls it air"),
    ("/compare?resource=air&cities=%20,%20", 400, "invalid_request", "Beispiel: cities=berlin,koeln,hamburg.",
     "nothing between the commas"),
    ("/compare", 400, "invalid_request", "query.cities: missing; query.resource: missing", "both missing"),
    ("/sources?limit=viele", 400, "invalid_request", "query.limit: int_parsing", "limit is no number"),
    ("/sources?sort=name", 400, "invalid_request", "Erlaubt: enabled, license, source.", "unknown sort field"),
    ("/cities/bonn/public-tenders?status=offen", 422, "unprocessable", "Erlaubt: active, complete.", "status"),
    ("/cities/bonn/public-tenders?limit=500", 422, "unprocessable", "Erlaubt: 1 bis 200.", "limit"),
    ("/cities/bonn/public-tenders?since=gestern", 422, "unprocessable", "Erwartet: JJJJ-MM-TT.", "date"),
])
def test_errors(path, status, code, hint, why):
    response = ask(path)
    error = response.json()["error"]
    assert (response.status, error["code"], error["hint"]) == (status, code, hint), why
    assert set(response.json()) == {"error", "meta"}
    assert set(response.json()["meta"]) == {"correlation_id", "generated_at"}


@pytest.mark.parametrize("path", ["/cities", "/api/v2/cities", "/", "", "/api/v1", "/api/v1/cities/",
                                  "/api/v1//cities", "//[", "https://infranode.dev/api/v1/cities"])
def test_paths_outside_the_contract_are_404(path):
    assert Snapshot().respond("GET", path).status == 404


PIECES = st.sampled_from([
    "/api/v1", "/cities", "/bonn", "/pois", "/charging", "/stations", "/public-tenders", "/compare", "/sources",
    "/live/bonn/transit/departures", "?", "&", "=", "limit=", "cities=", "since=", "resource=air", "offset=", "page=",
    "²", "%ff", "٣", "9" * 5000, "-1", "type=", "#", "[", "//"])


@given(st.lists(PIECES | st.text(max_size=4), max_size=9).map("".join))
def test_any_target_gets_an_answer_of_the_contract(tail):
    response = FUZZED.respond("GET", "/api/v1/" + tail)
    assert response.status in (200, 400, 404, 422)
    assert isinstance(response.json(), dict)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_only_get_is_allowed(method):
    response = ask("/cities/bonn/weather", method=method)
    assert (response.status, response.json()["error"]["code"]) == (405, "method_not_allowed")
    assert ask("/stadt", method=method).status == 404


@pytest.mark.parametrize(("key", "slug", "status", "why"), [
    ("weather", "reutlingen", "ok", "nationwide"),
    ("parking", "dresden", "ok", "covered"),
    ("parking", "bonn", "not_covered", "not among the 17"),
    ("bike-counts", "koeln", "ok", "new in the release"),
    ("water-level", "koeln", "ok", "at the Rhein"),
    ("water-level", "leipzig", "no_data", "no federal waterway"),
    ("events", "koeln", "ok", "full coverage"),
    ("events", "aachen", "no_data", "automatic coverage has no feed"),
    ("webcams", "koeln", "no_data", "the motorway source is empty"),
    ("icu-live", "koeln", "disabled", "switched off"),
    ("hospitals-atlas", "koeln", "disabled", "switched off"),
    ("office-wait-times", "koeln", "ok", "the only city"),
    ("office-wait-times", "bonn", "not_covered", "any other city"),
])
def test_source_status_of_the_default_profile(key, slug, status, why):
    body = ask(f"/cities/{slug}/{key}").json()
    assert body["meta"]["source_status"] == status, why
    assert (body["data"] is not None) == (status == "ok")


def test_every_key_of_every_city_answers_as_its_coverage_says():
    snapshot = Snapshot()
    seen = set()
    for city in facts.cities():
        for key in facts.keys("v1.1.1"):
            body = snapshot.respond("GET", f"/api/v1/cities/{city.slug}/{key}").json()
            status, covered = body["meta"]["source_status"], facts.covered("v1.1.1", key)
            seen.add(status)
            if covered is not None and city.slug not in covered:
                assert (status, body["meta"]["covered_cities"]) == ("not_covered", list(covered)), (city.slug, key)
            else:
                exempt = ("icu-live", "hospitals-atlas", "webcams", "events", "water-level")
                assert status == "ok" or key in exempt, (city.slug, key, status)
    assert seen == {"ok", "no_data", "not_covered", "disabled"}


@pytest.mark.parametrize(("spelling", "slug", "why"), [
    ("MUENCHEN", "muenchen", "ASCII case is ignored"), ("Koeln", "koeln", "ASCII case is ignored"),
    ("KÖLN", None, "an umlaut"), ("koeln ", None, "a blank"), ("köln", None, "an umlaut"),
    ("halle", None, "a short form"), ("Frankfurt am Main", None, "blanks"), ("cologne", None, "an exonym"),
])
def test_july_ignores_nothing_but_ascii_case(spelling, slug, why):
    response = ask(f"/cities/{quote(spelling)}")
    if slug:
        assert response.json()["data"]["slug"] == slug, why
    else:
        assert response.json()["error"]["message"] == f"Unbekannte Stadt '{spelling}'.", why


@pytest.mark.parametrize(("spelling", "slug"), [
    ("München", "muenchen"), ("Munchen", "muenchen"), ("cologne", "koeln"), ("Frankfurt am Main", "frankfurt-am-main"),
    ("freiburg", "freiburg-im-breisgau"), ("Halle (Saale)", "halle-saale"), ("muelheim", "muelheim-an-der-ruhr"),
])
def test_august_resolves_german_names_short_forms_and_exonyms(spelling, slug):
    assert ask(f"/cities/{quote(spelling)}", "august-2026").json()["data"]["slug"] == slug
    rows = ask(f"/compare?resource=weather&cities={quote(spelling)}", "august-2026").json()["data"]
    assert [row["city"] for row in rows] == [slug]


def test_august_hints_at_a_near_miss_and_does_not_follow_it():
    response = ask("/cities/dortmnd", "august-2026")
    assert (response.status, response.json()["error"]["hint"]) == (404, f"Meintest du 'dortmund'? {CITY_LIST}")


@pytest.mark.parametrize(("state", "path", "status", "why"), [
    ("july-1", "/cities/bonn/charging-status", 404, "came on 3 July"),
    ("august-2026", "/cities/bonn/icu-live", 404, "removed on 11 August"),
    ("august-2026", "/cities/bonn/care", 200, "a key of August"),
    ("august-2026", "/cities/berlin/council-papers", 404, "uncovered council papers are 404, not not_covered"),
    ("august-2026", f"/cities/{facts.covered('august-2026', 'council-papers')[0]}/council-papers", 200, "covered"),
    ("july-1", "/compare?resource=tourism&cities=bonn", 400, "two resources on 1 July"),
    ("august-2026", "/compare?resource=tourism&cities=bonn", 200, "eight since 4 July"),
])
def test_states_differ(state, path, status, why):
    assert ask(path, state).status == status, why


def test_a_city_with_many_platform_levels_has_trains_on_another_eva_than_the_main_one():
    empty, filled = ask("/stations/8011113/departures").json(), ask("/stations/8089067/departures").json()
    assert (empty["data"], empty["meta"]["source_status"]) == (None, "no_data")
    assert filled["data"]["payload"]["departures"][0]["station"] == "Berlin Südkreuz"
    assert filled["data"]["city_slug"] == "8089067"


def test_an_eva_number_that_no_station_has_is_no_data():
    assert ask("/stations/9999999/departures").json()["meta"]["source_status"] == "no_data"


def test_compare_keeps_the_order_marks_unknown_cities_and_trims_blanks():
    body = ask("/compare?resource=unemployment&cities=ulm,%20Bonn%20,atlantis,,trier").json()
    assert [(row["city"], row["source_status"]) for row in body["data"]] == [
        ("ulm", "ok"), ("bonn", "ok"), ("atlantis", "not_found"), ("trier", "ok")]
    assert body["meta"] == {"correlation_id": body["meta"]["correlation_id"], "resource": "unemployment", "total": 4}


def test_compare_drops_what_comes_after_28_cities_without_a_word():
    slugs = [city.slug for city in facts.cities()][:30]
    body = ask(f"/compare?resource=weather&cities={','.join(slugs)}").json()
    assert [row["city"] for row in body["data"]] == slugs[:28]
    assert body["meta"]["total"] == 28


@pytest.mark.parametrize(("query", "cities"), [
    ("&limit=2", ["ulm", "bonn"]), ("&limit=2&page=2", ["trier"]), ("&offset=1", ["bonn", "trier"]),
    ("&sort=city", ["bonn", "trier", "ulm"]), ("&sort=city&order=desc", ["ulm", "trier", "bonn"]),
    ("&limit=9999", ["ulm", "bonn", "trier"]),
])
def test_compare_pages_and_sorts(query, cities):
    body = ask(f"/compare?resource=weather&cities=ulm,bonn,trier{query}").json()
    assert [row["city"] for row in body["data"]] == cities
    assert body["meta"]["total"] == 3


def test_charging_status_rows_of_compare_have_no_points():
    row = ask("/compare?resource=charging-status&cities=bonn").json()["data"][0]
    assert "points" not in row["data"]["payload"]
    assert row["data"]["payload"]["count"] > 0


@pytest.mark.parametrize(("state", "profile", "total"), [("july-1", "bare", 73), ("v1.1.1", "default", 76)])
def test_sources_are_listed_with_their_state(state, profile, total):
    body = ask("/sources?limit=200", state, profile).json()
    assert (len(body["data"]), body["meta"]["total"]) == (total, total)
    assert len(ask("/sources", state, profile).json()["data"]) == 50
    enabled = {row["source"]: row["enabled"] for row in body["data"]}
    assert enabled["genesis"] == (profile == "default")
    assert not enabled["klinik_atlas"]


def test_every_record_names_a_source_that_is_listed_and_enabled():
    snapshot = Snapshot()
    listed = {row["source"] for row in snapshot.respond("GET", "/api/v1/sources?limit=200").json()["data"]
              if row["enabled"]} | {"osm"}
    for key in facts.keys("v1.1.1"):
        slug = (facts.covered("v1.1.1", key) or ("koeln",))[0]
        data = snapshot.respond("GET", f"/api/v1/cities/{slug}/{key}").json()["data"]
        if isinstance(data, dict) and "source" in data:
            assert data["source"] in listed, key


def test_the_overview_lists_all_types_with_coverage():
    data = ask("/cities/bonn/overview").json()["data"]
    rows = {row["type"]: row for row in data["data_types"]}
    assert rows.keys() == set(facts.keys()) - {"overview"} | {"pois"}
    assert data["summary"]["data_types_total"] == len(rows) == 67
    assert data["summary"]["data_types_available"] == sum(row["available"] for row in rows.values())
    assert rows["parking"]["covered_cities"] == list(facts.covered("v1.1.1", "parking"))
    assert "aktuell 17 Städte" in rows["parking"]["note"]
    assert set(data["highlights"]) == {"weather", "air", "departures"}


def test_an_overview_fits_a_tool_result_of_24_000_characters():
    snapshot = Snapshot()
    sizes = [len(snapshot.respond("GET", f"/api/v1/cities/{city.slug}/overview").body.decode())
             for city in facts.cities()]
    assert max(sizes) < 24_000
    assert len(snapshot.respond("GET", "/api/v1/cities?limit=200").body.decode()) < 24_000


@pytest.mark.parametrize(("query", "returned", "truncated"), [
    ("", None, False), ("?limit=5", 5, True), ("?limit=all", None, False), ("?limit=5&all=1", None, False),
    ("?limit=5&offset=3", 5, True), ("?limit=50", None, False),
])
def test_list_types_page(query, returned, truncated):
    body = ask(f"/cities/dresden/charging{query}").json()
    payload, pagination = body["data"]["payload"], body["meta"]["pagination"]
    assert payload["count"] == len(payload["stations"]) == pagination["returned"]
    assert pagination["returned"] == (returned or pagination["total"])
    assert pagination["truncated"] == truncated


@pytest.mark.parametrize(("query", "names"), [
    ("?q=beuel", ["Bonn-Beuel"]), ("?limit=1", ["Bonn Hbf"]), ("?q=nirgends", []),
])
def test_stations_can_be_searched(query, names):
    payload = ask(f"/cities/bonn/stations{query}").json()["data"]["payload"]
    assert [row["name"] for row in payload["stations"]] == names
    assert payload["station_count"] == len(names)


def test_stations_come_by_category_then_name():
    for city in facts.cities():
        rows = ask(f"/cities/{city.slug}/stations").json()["data"]["payload"]["stations"]
        order = [(row["category"], row["name"]) for row in rows]
        assert order == sorted(order)


@pytest.mark.parametrize(("key", "status", "source_status"), [
    ("weather", 503, None), ("charging", 200, "not_ingested"), ("tourism", 200, "disabled"),
    ("holidays", 200, "no_data"), ("demographics", 200, "ok"), ("parking", 200, "not_covered"),
    ("overview", 200, "ok"),
])
def test_the_bare_profile_has_no_upstreams_stores_and_credentials(key, status, source_status):
    response = ask(f"/cities/bonn/{key}", profile="bare")
    assert response.status == status
    assert response.json()["meta"].get("source_status") == source_status


def test_a_bare_overview_and_a_bare_comparison_carry_errors_inside():
    highlights = ask("/cities/bonn/overview", profile="bare").json()["data"]["highlights"]
    assert {name: row["source_status"] for name, row in highlights.items()} == {
        "weather": "error", "air": "error", "departures": "disabled"}
    rows = ask("/compare?resource=weather&cities=bonn,atlantis", profile="bare").json()["data"]
    assert [row["source_status"] for row in rows] == ["error", "not_found"]


@pytest.mark.parametrize(("state", "path", "expected"), [
    ("v1.1.1", "/cities/bonn/weather", "public, max-age=300, stale-while-revalidate=300, stale-if-error=300"),
    ("august-2026", "/cities/bonn/weather", "public, max-age=1800, stale-while-revalidate=1800, stale-if-error=1800"),
    ("august-2026", "/cities/bonn/air", "public, max-age=600, stale-while-revalidate=600, stale-if-error=600"),
    ("august-2026", "/cities/bonn/tourism", "public, max-age=21600, stale-while-revalidate=21600, "
                                            "stale-if-error=21600"),
    ("august-2026", "/cities/bonn/traffic", "public, max-age=300, stale-while-revalidate=300, stale-if-error=300"),
    ("v1.1.1", "/live/bonn/transit/departures?stop_id=1", "no-store"),
])
def test_cache_control(state, path, expected):
    assert ask(path, state).headers["cache-control"] == expected


def test_an_etag_is_honoured_and_ignores_the_correlation_id():
    first, other = ask("/cities/bonn/weather"), ask("/cities/BONN/weather")
    assert first.headers["etag"] == other.headers["etag"]
    assert first.json()["meta"]["correlation_id"] != other.json()["meta"]["correlation_id"]
    again = Snapshot().respond("GET", "/api/v1/cities/bonn/weather", {"if-none-match": first.headers["etag"]})
    assert (again.status, again.body, again.json()) == (304, b"", None)


def test_the_same_request_gives_the_same_bytes_and_times_follow_the_clock():
    first, second = ask("/cities/bonn/station-departures"), ask("/cities/bonn/station-departures")
    assert first == second
    assert first.json()["data"]["retrieved_at"] == "2026-07-06T08:00:00.000000Z"
    row = first.json()["data"]["payload"]["departures"][0]
    assert row["planned_time"].startswith("2026-07-06T10:")
    assert len(row["planned_time"]) == 19


def test_august_times_carry_an_offset_and_stops_another_name():
    row = ask("/cities/bonn/station-departures", "august-2026").json()["data"]["payload"]["departures"][0]
    assert row["planned_time"].endswith("+02:00")
    assert "trip_stop_id" in row
    assert "stop_id" not in row


@pytest.mark.parametrize(("arguments", "what"), [
    ({"state": "v3"}, "unknown state 'v3'"), ({"profile": "empty"}, "unknown profile 'empty'"),
])
def test_an_unknown_state_or_profile_is_refused(arguments, what):
    with pytest.raises(UsageError, match=what):
        Snapshot(**arguments)


def test_an_httpx_client_can_use_it_without_a_network():
    with httpx.Client(transport=Snapshot().transport(), base_url="https://infranode.dev/api/v1") as client:
        response = client.get("/compare", params={"resource": "air", "cities": "bonn,köln"})
        assert [row["source_status"] for row in response.json()["data"]] == ["ok", "not_found"]
        assert response.headers["RateLimit-Limit"] == "300"
        assert client.get("/cities/bonn/weather").json() == ask("/cities/bonn/weather").json()


def test_a_wrapped_snapshot_can_add_faults():
    class Faulty:
        """Answers 503 where the snapshot would answer the weather."""

        def respond(self, method, target, headers=None):
            inner = Snapshot("v1.1.1", "dead" if "weather" in target else "default")
            return inner.respond(method, target, headers)

    with httpx.Client(transport=transport(Faulty()), base_url="https://infranode.dev/api/v1") as client:
        assert client.get("/cities/bonn/weather").status_code == 503
        assert client.get("/cities/bonn/air").status_code == 200


def test_the_world_hash_is_that_of_the_facts_and_the_seed():
    assert Snapshot(seed="s7").world_hash() == facts.world_hash("s7")


def test_in_process_use_needs_the_standard_library_only():
    script = ("import sys; before = set(sys.modules); from infranode_eval.infranode.snapshot import Snapshot; "
              "Snapshot().respond('GET', '/api/v1/cities/bonn/weather'); "
              "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
              "print(sorted(new - set(sys.stdlib_module_names) - {'infranode_eval', 'lm_eval_task'}))")
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert found.stdout.strip() == "[]"


def test_bodies_are_utf_8_json_of_the_stated_length():
    response = ask("/cities/muenchen/overview")
    assert response.headers["content-length"] == str(len(response.body))
    assert "München".encode() in response.body
    assert json.loads(response.body) == response.json()
