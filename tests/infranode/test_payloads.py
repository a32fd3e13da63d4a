"""Payloads of all 84 cities agree with themselves, with each other, and with the rule table."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from infranode_eval.infranode import facts
from infranode_eval.infranode.snapshot import Snapshot

CITIES = facts.cities()
BY_CITY = pytest.mark.parametrize("city", CITIES, ids=lambda city: city.slug)


@cache
def snapshot(state: str = "v1.1.1") -> Snapshot:
    return Snapshot(state)


def get(target: str, state: str = "v1.1.1") -> dict:
    response = snapshot(state).respond("GET", f"/api/v1{target}")
    assert response.status == 200, (target, response.body)
    return response.json()


def payload(slug: str, key: str, state: str = "v1.1.1") -> dict:
    """The payload of an ok answer; {} where there are no data for this city."""
    body = get(f"/cities/{slug}/{key}", state)
    return body["data"]["payload"] if body["meta"]["source_status"] == "ok" else {}


# (key, length field, list field): the count of a list is its length.
COUNTS = [
    ("stations", "station_count", "stations"), ("charging", "count", "stations"),
    ("charging-status", "count", "points"), ("parking", "count", "facilities"),
    ("fuel-prices", "station_count", "stations"), ("station-facilities", "count", "facilities"),
    ("weather-warnings", "count", "warnings"), ("civil-protection-warnings", "count", "warnings"),
    ("bathing-water", "count", "sites"), ("bike-counts", "count", "counts"), ("flood", "count", "warnings"),
    ("traffic", "count", "events"), ("road-events", "count", "events"), ("events", "count", "events"),
    ("health", "count", "hospitals"), ("heritage", "count", "items"), ("tree-cadastre", "count", "items"),
    ("playgrounds", "count", "items"), ("education", "count", "items"), ("district-heating", "count", "networks"),
    ("office-wait-times", "count", "offices"), ("station-departures", "departure_count", "departures"),
    ("station-arrivals", "arrival_count", "arrivals"),
]


@BY_CITY
def test_counts_are_the_lengths_of_their_lists(city):
    for key, count, rows in COUNTS:
        if key == "health":
            found = get(f"/cities/{city.slug}/health")["data"]["hospital"]["payload"]
        else:
            found = payload(city.slug, key)
        assert not found or found[count] == len(found[rows]), key
        assert "truncated" not in found or found["truncated"] == (found["count"] < found["total_available"]), key


@BY_CITY
def test_tallies_sum_up_to_their_counts(city):
    for key in ("charging-status", "station-facilities", "bathing-water"):
        found = payload(city.slug, key)
        assert sum(found["counts"].values()) == found["count"], key


@BY_CITY
def test_sums_add_up(city):
    sharing = payload(city.slug, "sharing")
    if sharing:
        assert sharing["vehicles_available"] == sharing["free_floating_available"] + sharing["docked_available"]
        for field in ("station_count", "docked_available", "free_floating_available"):
            assert sharing[field] == sum(row[field] for row in sharing["providers"])
    accidents = payload(city.slug, "accidents")
    assert accidents["total"] == accidents["fatal"] + accidents["serious"] + accidents["light"]
    assert all(0 < accidents[field] <= accidents["total"] for field in accidents if field.startswith("with_"))
    business = payload(city.slug, "business-registrations")
    assert business["saldo"] == business["anmeldungen"] - business["abmeldungen"]
    energy = payload(city.slug, "energy")
    assert energy["count"] == sum(energy["by_type"].values())
    assert energy["total_power_kw"] == pytest.approx(sum(energy["power_by_type"].values()))
    assert energy["by_type"].keys() == energy["power_by_type"].keys() == {"pv", "wind", "speicher", "biogas"}
    solar = payload(city.slug, "solar")
    assert solar["annual_yield_kwh_kwp"] == pytest.approx(sum(row["yield_kwh"] for row in solar["monthly"]))
    cars = payload(city.slug, "vehicle-registrations")
    assert cars["electric_share"] == pytest.approx(cars["bev_share"] + cars["plugin_hybrid_share"])
    crime = payload(city.slug, "crime-stats")
    assert crime["total_cases"] == sum(row["cases"] for row in crime["groups"])
    election = payload(city.slug, "election")
    assert election["valid_votes"] == sum(row["votes"] for row in election["results"])


@BY_CITY
def test_bounds_hold(city):
    for row in payload(city.slug, "parking").get("facilities", ()):
        assert row["free"] is None or 0 <= row["free"] <= row["total"]
    land = payload(city.slug, "land-values")
    assert not land or land["brw_min_eur_m2"] <= land["brw_median_eur_m2"] <= land["brw_max_eur_m2"]
    roofs = payload(city.slug, "solar-roofs")
    assert not roofs or 0 < roofs["installed_kwp"] <= roofs["potential_kwp"]
    density = payload(city.slug, "population-density")
    assert 0 < density["populated_area_km2"] <= city.area_km2
    assert density["density_per_km2"] == round(city.population / density["populated_area_km2"])
    fuel = payload(city.slug, "fuel-prices")
    opened = [row for row in fuel["stations"] if row["is_open"]]
    assert fuel["open_count"] == len(opened) > 0
    for kind in ("e5", "e10", "diesel"):
        assert fuel[f"min_{kind}"] == min(row[kind] for row in opened) <= fuel[f"avg_{kind}"]
    assert all(row["e10"] < row["e5"] for row in fuel["stations"])
    warnings = payload(city.slug, "weather-warnings")
    assert warnings["max_level"] == max((row["level"] for row in warnings["warnings"]), default=0)


@BY_CITY
@pytest.mark.parametrize("direction", ["departures", "arrivals"])
def test_boards_are_sorted_start_after_the_clock_and_agree_between_city_and_eva(city, direction):
    whole = payload(city.slug, f"station-{direction}")
    rows = whole[direction]
    times = [row["planned_time"] for row in rows]
    assert times == sorted(times)
    assert times[0] > "2026-07-06T10:00:00"
    assert whole["long_distance_count"] == sum(row["long_distance"] for row in rows)
    evas = {eva for board in facts.board_evas(city.slug) for eva in facts.station_of(board).evas}
    known: list = []
    for eva in evas:
        body = get(f"/stations/{eva}/{direction}")
        known += body["data"]["payload"][direction] if body["data"] else []
    assert all(row in known for row in rows)
    assert all((row["category"] in ("ICE", "IC", "EC")) == row["long_distance"] for row in rows)
    assert all(row["cancelled"] == bool(row["messages"]) for row in rows)


def test_the_board_of_every_station_is_ascending_without_equal_times():
    for city in CITIES:
        for station in facts.stations(city.slug):
            data = get(f"/stations/{station.eva}/departures")["data"]
            if station.eva in facts.empty_boards():
                assert data is None
                assert any(get(f"/stations/{eva}/departures")["data"] for eva in station.other_evas)
                continue
            times = [row["planned_time"] for row in data["payload"]["departures"]]
            assert times == sorted(set(times))
            assert times[0] > "2026-07-06T10:00:00"
            assert all(city.name != row["destination"] for row in data["payload"]["departures"])


@BY_CITY
def test_one_datum_has_one_value_wherever_it_stands(city):
    base, entry = payload(city.slug, "base"), get(f"/cities/{city.slug}")["data"]
    overview = get(f"/cities/{city.slug}/overview")["data"]
    listed = next(row for row in get("/cities")["data"] if row["slug"] == city.slug)
    populations = {base["population"], entry["population"], listed["population"], overview["city"]["population"],
                   payload(city.slug, "demographics")["population"],
                   payload(city.slug, "population-density")["population"],
                   payload(city.slug, "demographics")["series"][-1]["population"]}
    assert populations == {city.population}
    assert base["area_km2"] == payload(city.slug, "geo")["area_km2"] == city.area_km2
    compared = {resource: get(f"/compare?resource={resource}&cities={city.slug}")["data"][0]["data"]
                for resource in facts.compare_resources()}
    air = payload(city.slug, "air-uba")
    assert air == payload(city.slug, "air") == compared["air"]["payload"]
    assert air == overview["highlights"]["air"]["data"]["payload"]
    assert payload(city.slug, "weather") == compared["weather"]["payload"]
    assert payload(city.slug, "weather") == overview["highlights"]["weather"]["data"]["payload"]
    departures = overview["highlights"]["departures"]["data"]["payload"]
    assert departures == payload(city.slug, "station-departures")
    for key in ("indicators", "demographics", "unemployment", "tourism", "weather-warnings"):
        assert compared[key]["payload"] == payload(city.slug, key), key
    status = payload(city.slug, "charging-status")
    assert compared["charging-status"]["payload"] == {key: status[key] for key in status if key != "points"}


@BY_CITY
def test_unemployment_and_tourism_follow_from_their_rates(city):
    work = payload(city.slug, "unemployment")["values"]
    assert 3 <= work["arbeitslosenquote"] <= 14
    assert 0.48 <= work["arbeitslose"] / city.population / work["arbeitslosenquote"] * 100 <= 0.57
    stays = payload(city.slug, "tourism")["values"]
    assert stays["ankuenfte"] < stays["uebernachtungen"]


@BY_CITY
def test_stops_lead_to_departures_of_their_city_only(city):
    stops = [row["payload"] for row in get(f"/cities/{city.slug}/transit")["data"]]
    assert [row["stop_id"] for row in stops] == [stop.stop_id for stop in facts.stops(city.slug)]
    answers = [get(f"/live/{city.slug}/transit/departures?stop_id={row['stop_id']}") for row in stops]
    boards = [answer["data"]["payload"]["departures"] for answer in answers if answer["data"]]
    assert boards
    for rows in boards:
        times = [row["departure_time"] for row in rows if row["departure_time"]]
        assert times == sorted(set(times))
        assert all((row["minutes_until"] is None) == (row["departure_time"] is None) for row in rows)
        assert all(row["delay_min"] == round(row["delay_s"] / 60) for row in rows)
    other = "bonn" if city.slug != "bonn" else "koeln"
    foreign = get(f"/live/{other}/transit/departures?stop_id={stops[0]['stop_id']}")
    assert foreign["meta"]["source_status"] == "no_data"


def test_holidays_follow_the_federal_state():
    bavarian = {row["name"] for row in payload("muenchen", "holidays")["holidays"]}
    assert bavarian >= {"Heilige Drei Könige", "Fronleichnam"}
    assert "Reformationstag" not in {row["name"] for row in payload("koeln", "holidays")["holidays"]}
    for city in CITIES:
        dates = [row["date"] for row in payload(city.slug, "holidays")["holidays"]]
        assert dates == sorted(dates)
        assert len(dates) >= 10


def test_power_is_the_same_for_all_cities_of_a_zone_and_price_everywhere():
    assert payload("bonn", "power-load") == payload("koeln", "power-load") != payload("berlin", "power-load")
    assert payload("bonn", "power-price") == payload("berlin", "power-price")


def test_static_catalogues_of_august_have_no_free_spaces():
    new = set(facts.covered("august-2026", "parking")) - set(facts.covered("v1.1.1", "parking"))
    assert len(new) == 14
    assert all(row["free"] is None for slug in new for row in payload(slug, "parking", "august-2026")["facilities"])


# Fields that the specification of the suite `chain` names, by key: golds are computed from them.
NAMED = {
    "stations": "station_count stations[].eva stations[].evas stations[].name stations[].category stations[].zip "
                "stations[].lat stations[].lon",
    "station-departures": "departure_count long_distance_count departures[].stop_id departures[].station "
                          "departures[].line departures[].category departures[].train_number "
                          "departures[].long_distance departures[].destination departures[].planned_time "
                          "departures[].platform departures[].delay_minutes departures[].cancelled "
                          "departures[].messages",
    "station-arrivals": "arrival_count long_distance_count arrivals[].origin arrivals[].planned_time",
    "charging": "count stations[].station_id stations[].operator stations[].power_kw stations[].points "
                "stations[].charging_type stations[].status stations[].plz stations[].lat stations[].lon",
    "charging-status": "points[].refill_point_id points[].status points[].observed_at",
    "parking": "facilities[].name facilities[].address facilities[].free facilities[].total facilities[].state "
               "facilities[].lot_type facilities[].lat facilities[].lon",
    "fuel-prices": "station_count open_count avg_e5 avg_e10 avg_diesel min_e5 min_e10 min_diesel stations[].name "
                   "stations[].brand stations[].e5 stations[].e10 stations[].diesel stations[].is_open "
                   "stations[].dist_km",
    "sharing": "vehicles_available free_floating_available docked_available station_count providers[].provider "
               "providers[].station_count providers[].docked_available providers[].free_floating_available",
    "station-facilities": "count counts.ACTIVE counts.INACTIVE counts.UNKNOWN facilities[].type facilities[].state "
                          "facilities[].description facilities[].stationnumber facilities[].distance_km",
    "weather": "station_id temperature_c humidity wind_speed condition",
    "air-uba": "station_id pm10 no2 pm25 o3 so2",
    "water-level": "station water value unit",
    "weather-warnings": "count max_level warnings[].event warnings[].level warnings[].headline warnings[].start "
                        "warnings[].end special_warnings",
    "unemployment": "dataset reference_year region_name values.arbeitslose values.arbeitslosenquote",
    "tourism": "dataset reference_year region_name values.uebernachtungen values.ankuenfte",
    "construction": "dataset reference_year region_name values.wohngebaeude values.wohnungen",
    "demographics": "population households buildings rent_avg reference_year",
    "base": "population area_km2",
    "population-density": "population populated_area_km2 density_per_km2",
    "accidents": "reference_year total fatal serious light with_bicycle with_pedestrian with_car with_motorcycle",
    "crime-stats": "reference_year groups[].key groups[].label groups[].cases groups[].frequency_per_100k "
                   "groups[].clearance_rate_pct",
    "tax-rates": "gewerbesteuer_hebesatz grundsteuer_a grundsteuer_b grundsteuer_c stichtag",
    "business-registrations": "anmeldungen abmeldungen saldo jahr",
    "insolvencies": "unternehmensinsolvenzen uebrige_schuldner_insolvenzen jahr",
    "vehicle-registrations": "pkw_total electric_share bev_share plugin_hybrid_share bev_estimated",
    "energy": "count by_type.pv by_type.wind by_type.speicher by_type.biogas total_power_kw power_by_type.pv",
    "solar": "annual_yield_kwh_kwp optimal_slope_deg monthly[].month monthly[].yield_kwh",
    "solar-roofs": "potential_kwp installed_kwp exploitation_pct",
    "land-values": "brw_min_eur_m2 brw_median_eur_m2 brw_max_eur_m2 zone_count stichtag",
    "bathing-water": "count counts sites[].name sites[].quality sites[].category sites[].distance_km",
    "bike-counts": "counts[].station counts[].value counts[].period",
    "playgrounds": "poi_type count total_available truncated items[].name items[].lat items[].lon",
    "holidays": "state year holidays[].date holidays[].name school_holidays",
}


def paths(value: object, where: str = "") -> set[str]:
    """All paths of keys in a payload, "[]" for entries of a list."""
    if isinstance(value, dict):
        found = {f"{where}.{key}".lstrip(".") for key in value}
        return found.union(*(paths(child, f"{where}.{key}".lstrip(".")) for key, child in value.items()))
    if isinstance(value, list):
        return set().union(*(paths(child, f"{where}[]") for child in value)) if value else set()
    return set()


@pytest.mark.parametrize("key", sorted(NAMED))
def test_payloads_carry_the_fields_that_golds_are_computed_from(key):
    seen: set[str] = set()
    for city in CITIES:
        seen |= paths(payload(city.slug, key))
    assert set(NAMED[key].split()) <= seen


OSM = dict.fromkeys(("playgrounds", "drinking-water", "public-toilets", "markets", "parcel-lockers", "post-offices",
                     "post-boxes", "public-wifi", "recycling-centres", "government-offices", "education"), "osm")
SERIES = dict.fromkeys(("sustainability", "population-structure", "population-trend", "municipal-finance",
                        "labour-market", "integration", "childcare", "education-stats", "social-situation", "care"),
                       "series")
TABLE_KEYS = {"air": "air-uba", **OSM, **SERIES}


def leaves(value: object, where: str = "") -> set[str]:
    """Paths of all values that are neither object nor list, without "[]"."""
    if isinstance(value, dict):
        return set().union(*(leaves(child, f"{where}.{key}".lstrip(".")) for key, child in value.items()))
    if isinstance(value, list):
        return set().union(*(leaves(child, where) for child in value)) if value else set()
    return {where}


def payloads(key: str, slug: str, state: str) -> list:
    """What a key answers without the envelope of its records."""
    data = get(f"/cities/{slug}/{key}", state)["data"]
    if data is None:
        return []
    if key in ("public-tenders", "council-papers"):
        return [{name: data[name] for name in data if name in ("notices", "papers", "count", "total")}]
    records = data if isinstance(data, list) else [data["hospital"] if key == "health" else data]
    return [record["payload"] for record in records]


@pytest.mark.parametrize("state", facts.states())
def test_every_field_of_a_payload_has_a_row_in_the_rule_table(state):
    rules = facts.rules()
    without = set()
    for key in set(facts.keys(state)) - {"overview"}:
        slugs = facts.covered(state, key) or ("berlin", "ulm", "koeln")
        found = set().union(*(leaves(payload) for slug in slugs[:3] for payload in payloads(key, slug, state)), set())
        for path in found - {"kind"}:
            table_key, field = TABLE_KEYS.get(key, key), path
            if key in ("station-departures", "station-arrivals") and "." in path:
                table_key, field = "board", path.split(".")[1]
            parent = field.rpartition(".")[0]
            if not {(table_key, field), (table_key, parent)} & rules.keys():
                without.add((key, path))
    assert without == set()


@pytest.mark.parametrize("key", ["weather", "unemployment", "charging", "parking", "fuel-prices"])
def test_another_seed_gives_other_values_in_the_same_shape(key):
    slug = (facts.covered("v1.1.1", key) or ("dresden",))[0]
    first, second = (json.loads(Snapshot(seed=seed).respond("GET", f"/api/v1/cities/{slug}/{key}").body)["data"]
                     for seed in ("s1", "s2"))
    assert first["payload"] != second["payload"]
    assert first.keys() == second.keys()


@pytest.mark.parametrize("state", facts.states())
def test_no_answer_contains_a_number_that_json_cannot_hold_or_a_leftover_rule_name(state):
    for key in facts.keys(state):
        slug = (facts.covered(state, key) or ("berlin",))[0]
        text = snapshot(state).respond("GET", f"/api/v1/cities/{slug}/{key}").body.decode()
        assert not re.search(r"NaN|Infinity|_share\":0\.|occupied|free_known|silent|plz_digits", text), key
