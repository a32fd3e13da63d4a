"""Payloads of all 84 cities carry the fields that suites rely on and agree with facts and the rule table."""

from __future__ import annotations

import re
from functools import cache

import pytest

from infranode_eval.infranode import facts
from infranode_eval.infranode.payloads import places
from infranode_eval.infranode.snapshot import Snapshot
from tests.infranode.consistency import payloads as payloads_of
from tests.infranode.contract_shape import key_sets
from tests.infranode.field_rules import leaves, rule_of

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


def test_an_empty_board_has_a_filled_one_at_another_level():
    for eva in facts.empty_boards():
        assert get(f"/stations/{eva}/departures")["data"] is None
        assert any(get(f"/stations/{other}/departures")["data"] for other in facts.station_of(eva).other_evas)


def test_no_train_leads_to_a_station_of_its_own_city():
    for city in CITIES:
        names = {station.name for station in facts.stations(city.slug)}
        for station in facts.stations(city.slug):
            data = get(f"/stations/{station.eva}/departures")["data"]
            assert data or station.eva in facts.empty_boards()
            assert not names & {row["destination"] for row in (data["payload"]["departures"] if data else ())}


@BY_CITY
def test_stops_lead_to_departures_of_their_city_only(city):
    stops = [row["payload"] for row in get(f"/cities/{city.slug}/transit")["data"]]
    assert [row["stop_id"] for row in stops] == [stop.stop_id for stop in facts.stops(city.slug)]
    answers = [get(f"/live/{city.slug}/transit/departures?stop_id={row['stop_id']}") for row in stops]
    boards = [answer["data"] and answer["data"]["payload"]["stop_id"] for answer in answers]
    assert all(board in (None, row["stop_id"]) for board, row in zip(boards, stops, strict=True))
    assert any(boards)
    other = "bonn" if city.slug != "bonn" else "koeln"
    foreign = get(f"/live/{other}/transit/departures?stop_id={stops[0]['stop_id']}")
    assert foreign["meta"]["source_status"] == "no_data"


def test_holidays_follow_the_federal_state():
    bavarian = {row["name"] for row in payload("muenchen", "holidays")["holidays"]}
    assert bavarian >= {"Heilige Drei Könige", "Fronleichnam"}
    assert "Reformationstag" not in {row["name"] for row in payload("koeln", "holidays")["holidays"]}
    assert all(len(payload(city.slug, "holidays")["holidays"]) >= 10 for city in CITIES)


def test_power_is_the_same_for_all_cities_of_a_zone_and_price_everywhere():
    assert payload("bonn", "power-load") == payload("koeln", "power-load") != payload("berlin", "power-load")
    assert payload("bonn", "power-price") == payload("berlin", "power-price")


def test_static_catalogues_of_august_have_no_free_spaces():
    new = set(facts.covered("august-2026", "parking")) - set(facts.covered("v1.1.1", "parking"))
    assert len(new) == 14
    assert all(row["free"] is None for slug in new for row in payload(slug, "parking", "august-2026")["facilities"])


# Fields that the suite `chain` computes golds from, by key; every row of a list has them. `board-…` stands for the
# board of one EVA number, transit-departures for the board of one stop, pois for each of its types.
_TRAIN = ("stop_id", "station", "line", "category", "train_number", "long_distance", "planned_time", "platform",
          "delay_minutes", "cancelled", "messages")
_DEPARTURES = ("departure_count", "long_distance_count", *(f"departures[].{field}" for field in _TRAIN),
               "departures[].destination")
_ARRIVALS = ("arrival_count", "long_distance_count", *(f"arrivals[].{field}" for field in _TRAIN), "arrivals[].origin")
_PLACES = ("poi_type", "count", "total_available", "truncated", "items[].name", "items[].lat", "items[].lon")
_AIR = ("station_id", "pm10", "no2", "pm25", "o3", "so2")


def _fields(text: str, rows: str = "", of_rows: str = "") -> tuple[str, ...]:
    return (*text.split(), *(f"{rows}[].{field}" for field in of_rows.split()))


NAMED = {
    "stations": _fields("station_count", "stations", "eva evas name category zip lat lon"),
    "station-departures": _DEPARTURES, "board-departures": _DEPARTURES,
    "station-arrivals": _ARRIVALS, "board-arrivals": _ARRIVALS,
    "transit": _fields("", "stops", "stop_id stop_name location_type parent_station platform_code "
                                    "wheelchair_boarding"),
    "transit-departures": _fields("", "departures", "trip_id route_id delay_s delay_min departure_time minutes_until"),
    "charging": _fields("count", "stations", "station_id operator power_kw points charging_type status plz lat lon"),
    "charging-status": _fields("", "points", "refill_point_id status observed_at"),
    "parking": _fields("", "facilities", "name address free total state lot_type lat lon"),
    "fuel-prices": _fields("station_count open_count avg_e5 avg_e10 avg_diesel min_e5 min_e10 min_diesel", "stations",
                           "name brand e5 e10 diesel is_open dist_km"),
    "sharing": _fields("vehicles_available free_floating_available docked_available station_count", "providers",
                       "provider station_count docked_available free_floating_available"),
    "station-facilities": _fields("count counts.ACTIVE counts.INACTIVE counts.UNKNOWN", "facilities",
                                  "type state description stationnumber distance_km"),
    "weather": _fields("station_id temperature_c humidity wind_speed condition"), "air": _AIR, "air-uba": _AIR,
    "water-level": _fields("station water value unit"),
    "weather-warnings": _fields("count max_level special_warnings", "warnings", "event level headline start end"),
    "unemployment": _fields("dataset reference_year region_name values.arbeitslose values.arbeitslosenquote"),
    "tourism": _fields("dataset reference_year region_name values.uebernachtungen values.ankuenfte"),
    "construction": _fields("dataset reference_year region_name values.wohngebaeude values.wohnungen"),
    "demographics": _fields("population households buildings rent_avg reference_year"),
    "base": _fields("population area_km2"),
    "population-density": _fields("population populated_area_km2 density_per_km2"),
    "accidents": _fields("reference_year total fatal serious light with_bicycle with_pedestrian with_car "
                         "with_motorcycle"),
    "crime-stats": _fields("reference_year", "groups", "key label cases frequency_per_100k clearance_rate_pct"),
    "tax-rates": _fields("gewerbesteuer_hebesatz grundsteuer_a grundsteuer_b grundsteuer_c stichtag"),
    "business-registrations": _fields("anmeldungen abmeldungen saldo jahr"),
    "insolvencies": _fields("unternehmensinsolvenzen uebrige_schuldner_insolvenzen jahr"),
    "vehicle-registrations": _fields("pkw_total electric_share bev_share plugin_hybrid_share bev_estimated"),
    "energy": _fields("count by_type.pv by_type.wind by_type.speicher by_type.biogas total_power_kw power_by_type.pv "
                      "power_by_type.wind power_by_type.speicher power_by_type.biogas"),
    "solar": _fields("annual_yield_kwh_kwp optimal_slope_deg", "monthly", "month yield_kwh"),
    "solar-roofs": _fields("potential_kwp installed_kwp exploitation_pct"),
    "land-values": _fields("brw_min_eur_m2 brw_median_eur_m2 brw_max_eur_m2 zone_count stichtag"),
    "bathing-water": _fields("count counts", "sites", "name quality category distance_km"),
    "bike-counts": _fields("", "counts", "station value period"),
    "pois": _PLACES,
    "holidays": _fields("state year school_holidays", "holidays", "date name"),
}


@cache
def found_payloads() -> dict[str, list]:
    """Key -> its payloads of all cities."""
    found: dict[str, list] = {}
    for city in CITIES:
        for key, row in payloads_of(get, city):
            found.setdefault(key, []).append(row)
    return found


def lacking(value: dict, wanted: tuple[str, ...]) -> set[str]:
    """The wanted paths that some object lacks; a path inside an empty list is not lacking."""
    keys = key_sets(value)
    split = {path: path.rpartition(".") for path in wanted}
    return {path for path, (parent, _, name) in split.items()
            if any(name not in names.split(",") for names in keys.get(parent, ()))}


@pytest.mark.parametrize("key", [*sorted(NAMED), *places.OSM_KEYS])
def test_payloads_carry_the_fields_that_golds_are_computed_from(key):
    wanted, found = NAMED.get(key, _PLACES), found_payloads()[key]
    assert set().union(*(lacking(row, wanted) for row in found)) == set()
    parents = {path.rpartition(".")[0] for path in wanted}
    assert parents <= {path for row in found for path in key_sets(row)}, "and no list is empty everywhere"


def test_a_field_that_one_row_lacks_is_noticed():
    row = {"count": 2, "sites": [{"name": "a"}, {}], "empty": []}
    assert lacking(row, ("count", "sites[].name", "empty[].name", "total")) == {"sites[].name", "total"}


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
    without = set()
    for key in set(facts.keys(state)) - {"overview"}:
        slugs = facts.covered(state, key) or ("berlin", "ulm", "koeln")
        found = set().union(*(leaves(payload) for slug in slugs[:3] for payload in payloads(key, slug, state)), set())
        without |= {(key, path) for path in found - {"kind"} if rule_of(key, path) is None}
    assert without == set()


@pytest.mark.parametrize("key", sorted(set(NAMED) - {"pois"}))
def test_a_field_that_nothing_proves_is_marked_as_modelled(key):
    named = {path.replace("[]", "") for path in NAMED[key]}
    rows = {path: rule_of(key, path) for row in found_payloads()[key] for path in leaves(row) - {"kind", "stops.kind"}}
    assert {path for path, rule in rows.items()
            if rule.proof == "specified" and not {path, path.rpartition(".")[0]} & named} == set()


@pytest.mark.parametrize("state", facts.states())
def test_no_answer_contains_a_number_that_json_cannot_hold_or_a_leftover_rule_name(state):
    for key in facts.keys(state):
        slug = (facts.covered(state, key) or ("berlin",))[0]
        text = snapshot(state).respond("GET", f"/api/v1/cities/{slug}/{key}").body.decode()
        assert not re.search(r"NaN|Infinity|_share\":0\.|occupied|free_known|silent|plz_digits", text), key
