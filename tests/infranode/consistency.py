"""What must hold inside a payload and between the answers of a city: each rule returns what breaks it, in words.

A rule of one payload takes (key, payload); a rule between answers takes (get, city), where `get` gives the body of a
request without /api/v1. The tables are what suites may rely on when they compute golds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.infranode import facts
from infranode_eval.infranode.facts import City

Row = Mapping[str, Any]
Get = Callable[[str], Mapping[str, Any]]
CLOCK = "2026-07-06T10:00:00"
CLOCK_UTC = "2026-07-06T08:00:00Z"
LONG_DISTANCE = ("ICE", "IC", "EC")

# key -> (number, list): the number is the length of the list. `board` stands for the board of one EVA number.
COUNTS = {
    "stations": ("station_count", "stations"), "charging": ("count", "stations"),
    "charging-status": ("count", "points"), "parking": ("count", "facilities"),
    "fuel-prices": ("station_count", "stations"), "station-facilities": ("count", "facilities"),
    "weather-warnings": ("count", "warnings"), "civil-protection-warnings": ("count", "warnings"),
    "bathing-water": ("count", "sites"), "bike-counts": ("count", "counts"), "flood": ("count", "warnings"),
    "traffic": ("count", "events"), "road-events": ("count", "events"), "events": ("count", "events"),
    "heritage": ("count", "items"), "tree-cadastre": ("count", "items"), "health": ("count", "hospitals"),
    "district-heating": ("count", "networks"), "office-wait-times": ("count", "offices"),
    "station-departures": ("departure_count", "departures"), "station-arrivals": ("arrival_count", "arrivals"),
    "board-departures": ("departure_count", "departures"), "board-arrivals": ("arrival_count", "arrivals"),
    "transit-departures": ("departure_count", "departures"), "public-tenders": ("count", "notices"),
    **dict.fromkeys(("playgrounds", "drinking-water", "public-toilets", "markets", "parcel-lockers", "post-offices",
                     "post-boxes", "public-wifi", "recycling-centres", "government-offices", "education", "pois"),
                    ("count", "items")),
}
# key -> (tally, list, field): the tally counts the rows by the field's value.
TALLIES = {
    "charging-status": ("counts", "points", "status"), "station-facilities": ("counts", "facilities", "state"),
    "bathing-water": ("counts", "sites", "quality"),
}


def total(rows: Iterable[Row], field: str) -> Any:
    return sum(row[field] for row in rows)


def opened(payload: Row) -> list[Row]:
    return [row for row in payload["stations"] if row["is_open"]]


def mean(rows: Sequence[Row], field: str) -> float:
    return total(rows, field) / len(rows)


# (key, field) -> (formula, half a unit of the last decimal): the field follows from others of the payload.
DERIVED: dict[tuple[str, str], tuple[Callable[[Row], float], float]] = {
    ("sharing", "vehicles_available"): (lambda p: p["free_floating_available"] + p["docked_available"], 0),
    ("sharing", "free_floating_available"): (lambda p: total(p["providers"], "free_floating_available"), 0),
    ("sharing", "docked_available"): (lambda p: total(p["providers"], "docked_available"), 0),
    ("sharing", "station_count"): (lambda p: total(p["providers"], "station_count"), 0),
    ("accidents", "total"): (lambda p: p["fatal"] + p["serious"] + p["light"], 0),
    ("business-registrations", "saldo"): (lambda p: p["anmeldungen"] - p["abmeldungen"], 0),
    ("energy", "count"): (lambda p: sum(p["by_type"].values()), 0),
    ("energy", "total_power_kw"): (lambda p: sum(p["power_by_type"].values()), 0.05),
    ("solar", "annual_yield_kwh_kwp"): (lambda p: total(p["monthly"], "yield_kwh"), 0.05),
    ("solar-roofs", "exploitation_pct"): (lambda p: p["installed_kwp"] / p["potential_kwp"] * 100, 0.05),
    ("vehicle-registrations", "electric_share"): (lambda p: p["bev_share"] + p["plugin_hybrid_share"], 0.05),
    ("vehicle-registrations", "bev_estimated"): (lambda p: p["pkw_total"] * p["bev_share"] / 100, 0.5),
    ("population-density", "density_per_km2"): (lambda p: p["population"] / p["populated_area_km2"], 0.5),
    ("demographics", "population"): (lambda p: p["series"][-1]["population"], 0),
    ("crime-stats", "total_cases"): (lambda p: total(p["groups"], "cases"), 0),
    ("election", "valid_votes"): (lambda p: total(p["results"], "votes"), 0),
    ("weather-warnings", "max_level"): (lambda p: max((row["level"] for row in p["warnings"]), default=0), 0),
    ("flood", "max_level"): (lambda p: max((row["level"] for row in p["warnings"]), default=0), 0),
    ("fuel-prices", "open_count"): (lambda p: len(opened(p)), 0),
    **{("fuel-prices", f"avg_{fuel}"): (lambda p, fuel=fuel: mean(opened(p), fuel), 0.0005)
       for fuel in ("e5", "e10", "diesel")},
    **{("fuel-prices", f"min_{fuel}"): (lambda p, fuel=fuel: min(row[fuel] for row in opened(p)), 0)
       for fuel in ("e5", "e10", "diesel")},
    **{(f"{place}-{noun}", "long_distance_count"): (lambda p, noun=noun: total(p[noun], "long_distance"), 0)
       for place in ("station", "board") for noun in ("departures", "arrivals")},
}
# (key, list or "" for the payload itself, fields in ascending order; a number stands for itself, null for anything).
ORDERS: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    ("parking", "facilities", (0, "free", "total")),
    ("land-values", "", (0, "brw_min_eur_m2", "brw_median_eur_m2", "brw_max_eur_m2")),
    ("solar-roofs", "", (0, "installed_kwp", "potential_kwp")),
    ("fuel-prices", "", (0, "min_e5", "avg_e5")), ("fuel-prices", "", (0, "min_e10", "avg_e10")),
    ("fuel-prices", "", (0, "min_diesel", "avg_diesel")), ("fuel-prices", "stations", (0, "e10", "e5")),
    ("fuel-prices", "", (1, "open_count", "station_count")),
    *(("accidents", "", (0, f"with_{kind}", "total")) for kind in ("bicycle", "pedestrian", "car", "motorcycle")),
    ("unemployment", "values", (1, "arbeitslosenquote", 20)),
    ("tourism", "values", (1, "ankuenfte", "uebernachtungen")),
    ("construction", "values", (1, "wohngebaeude", "wohnungen")),
    ("demographics", "", (1, "buildings", "households", "population")),
    ("weather-warnings", "warnings", (CLOCK_UTC, "start", "end")),
    ("holidays", "school_holidays", ("2026-01-01", "start", "end", "2027-01-31")),
    *((key, "", (0, "count", "total_available")) for key in ("heritage", "tree-cadastre", "playgrounds", "pois")),
)
# (key, list or object or "", field): a share in per cent.
PERCENT = (
    ("weather", "", "humidity"), ("unemployment", "values", "arbeitslosenquote"),
    ("crime-stats", "groups", "clearance_rate_pct"), ("vehicle-registrations", "", "electric_share"),
    ("vehicle-registrations", "", "bev_share"), ("vehicle-registrations", "", "plugin_hybrid_share"),
    ("solar-roofs", "", "exploitation_pct"), ("election", "", "turnout_pct"), ("election", "results", "share_pct"),
    ("indicators", "values", "auslaenderanteil_pct"), ("indicators", "values", "beschaeftigtenquote_pct"),
)
# (key, list, field): people ask for a row by this name, so no two rows of a city share it.
NAMES = (
    ("parking", "facilities", "name"), ("fuel-prices", "stations", "name"), ("bathing-water", "sites", "name"),
    ("bike-counts", "counts", "station"), ("stations", "stations", "name"), ("stations", "stations", "eva"),
    ("charging", "stations", "station_id"), ("charging-status", "points", "refill_point_id"),
    ("sharing", "providers", "provider"), ("crime-stats", "groups", "key"), ("crime-stats", "groups", "label"),
    ("solar", "monthly", "month"), ("holidays", "holidays", "name"), ("holidays", "school_holidays", "name"),
    ("health", "hospitals", "name"), ("office-wait-times", "offices", "name"),
    ("district-heating", "networks", "name"), ("transit", "stops", "stop_id"), ("transit", "stops", "stop_name"),
    ("transit-departures", "departures", "trip_id"), ("station-departures", "departures", "stop_id"),
    ("station-arrivals", "arrivals", "stop_id"), ("board-departures", "departures", "stop_id"),
    ("board-arrivals", "arrivals", "stop_id"),
)


def rows_at(payload: Row, place: str) -> Sequence[Row]:
    """The rows of a list, an object as one row, or the payload itself where `place` is empty."""
    found = payload[place] if place else payload
    return found if isinstance(found, list) else [found]


def counts(key: str, payload: Row) -> list[str]:
    """A number of rows is the length of the list; `truncated` says whether there are more."""
    if key not in COUNTS:
        return []
    number, rows = COUNTS[key]
    broken = [] if payload[number] == len(payload[rows]) else [f"{number} is not the length of {rows}"]
    if "truncated" in payload and payload["truncated"] != (payload[number] < payload["total_available"]):
        broken.append("truncated does not follow from total_available")
    return broken


def tallies(key: str, payload: Row) -> list[str]:
    """A tally counts its rows by value, zeros included."""
    if key not in TALLIES:
        return []
    tally, rows, field = TALLIES[key]
    found = Counter(row[field] for row in payload[rows])
    return [f"{tally}.{value} is not the number of rows" for value in {*payload[tally], *found}
            if payload[tally].get(value) != found[value]]


def derived(key: str, payload: Row) -> list[str]:
    """A computed field follows from the others within rounding."""
    return [f"{field} does not follow" for (name, field), (formula, slack) in DERIVED.items()
            if name == key and abs(payload[field] - formula(payload)) > slack + 1e-6]


def orders(key: str, payload: Row) -> list[str]:
    """min <= median <= max, free <= total, start <= end and the like."""
    broken = []
    for name, place, fields in ORDERS:
        for row in rows_at(payload, place) if name == key else ():
            values = [row.get(field, field) for field in fields]
            known = [value for value in values if value is not None]
            if known != sorted(known):
                broken.append(f"{place}: {fields} are {values}")
    return broken


def percentages(key: str, payload: Row) -> list[str]:
    """A share lies between 0 and 100."""
    return [f"{field} is {row[field]} %" for name, place, field in PERCENT if name == key
            for row in rows_at(payload, place) if not 0 <= row[field] <= 100]


def names(key: str, payload: Row) -> list[str]:
    """No two rows of a city share the name by which people ask for a row."""
    broken = []
    for name, rows, field in NAMES:
        if name == key:
            seen = Counter(row[field] for row in payload[rows])
            broken += [f"{field} {value!r} stands twice" for value, times in seen.items() if times > 1]
    return broken


def boards(key: str, payload: Row) -> list[str]:
    """A board is sorted and starts after the clock; on the board of one EVA number no two trains share a time."""
    noun = key.partition("-")[2]
    if key not in ("station-departures", "station-arrivals", "board-departures", "board-arrivals"):
        return []
    rows = payload[noun]
    times = [row["planned_time"] for row in rows]
    broken = [] if times == sorted(times) else ["planned_time is not ascending"]
    if key.startswith("board") and len(set(times)) < len(times):
        broken.append("planned_time stands twice")
    if min(times) <= CLOCK:
        broken.append("planned_time is not after the clock")
    for row in rows:
        if row["long_distance"] != (row["category"] in LONG_DISTANCE):
            broken.append(f"long_distance of {row['line']} against its category")
        if row["cancelled"] != bool(row["messages"]) or row["cancelled"] and row["delay_minutes"] is not None:
            broken.append(f"cancelled of {row['line']} against its messages or delay")
        if not row["line"].startswith(row["category"]):
            broken.append(f"line {row['line']} against its category")
    return broken


def stop_boards(key: str, payload: Row) -> list[str]:
    """Known times at a stop ascend after the clock; minutes agree with times and seconds."""
    if key != "transit-departures":
        return []
    rows = payload["departures"]
    times = [row["departure_time"] for row in rows if row["departure_time"]]
    broken = [] if times == sorted(set(times)) and min(times, default="9") > CLOCK_UTC else ["departure_time"]
    for row in rows:
        if row["delay_min"] != round(row["delay_s"] / 60):
            broken.append("delay_min against delay_s")
        if (row["minutes_until"] is None) != (row["departure_time"] is None) or row["departure_time"] and (
                row["departure_time"] != clock_utc_plus(row["minutes_until"])):
            broken.append("minutes_until against departure_time")
    return broken


def clock_utc_plus(minutes: int) -> str:
    return f"2026-07-06T{8 + minutes // 60:02d}:{minutes % 60:02d}:00Z"


def calendars(key: str, payload: Row) -> list[str]:
    """Holidays stand in the order of their dates, all in the year of the answer."""
    if key != "holidays":
        return []
    dates = [row["date"] for row in payload["holidays"]]
    year = f"{payload['year']}-"
    return [] if dates == sorted(set(dates)) and all(date.startswith(year) for date in dates) else ["date"]


PAYLOAD_RULES = (counts, tallies, derived, orders, percentages, names, boards, stop_boards, calendars)

# datum -> the answers that carry it: (request, JSON pointer). {slug} is the city, {index} its place in /cities.
_CARRIED: dict[str, tuple[tuple[str, str], ...]] = {
    "population": (
        ("/cities/{slug}/base", "/data/payload/population"), ("/cities/{slug}", "/data/population"),
        ("/cities?limit=200", "/data/{index}/population"), ("/cities/{slug}/overview", "/data/city/population"),
        ("/cities/{slug}/demographics", "/data/payload/population"),
        ("/cities/{slug}/demographics", "/data/payload/series/2/population"),
        ("/cities/{slug}/population-density", "/data/payload/population"),
        ("/compare?resource=demographics&cities={slug}", "/data/0/data/payload/population")),
    "area": (("/cities/{slug}/base", "/data/payload/area_km2"), ("/cities/{slug}/geo", "/data/payload/area_km2")),
    "registry entry": (
        ("/cities/{slug}", "/data"), ("/cities?limit=200", "/data/{index}"), ("/cities/{slug}/overview", "/data/city")),
    "name": (("/cities/{slug}", "/data/name_de"), ("/cities/{slug}/geo", "/data/payload/name")),
    "ags": (("/cities/{slug}", "/data/ags"), ("/cities/{slug}/geo", "/data/payload/ags"),
            ("/cities/{slug}/weather", "/data/ags"), ("/cities/{slug}/stations", "/data/payload/stations/0/ags")),
    "state": (("/cities/{slug}", "/data/state"), ("/cities/{slug}/holidays", "/data/payload/state")),
    "air": (
        ("/cities/{slug}/air-uba", "/data/payload"), ("/cities/{slug}/air", "/data/payload"),
        ("/compare?resource=air&cities={slug}", "/data/0/data/payload"),
        ("/cities/{slug}/overview", "/data/highlights/air/data/payload")),
    "weather": (
        ("/cities/{slug}/weather", "/data/payload"),
        ("/compare?resource=weather&cities={slug}", "/data/0/data/payload"),
        ("/cities/{slug}/overview", "/data/highlights/weather/data/payload")),
    "departures": (
        ("/cities/{slug}/station-departures", "/data/payload"),
        ("/cities/{slug}/overview", "/data/highlights/departures/data/payload")),
    **{key: ((f"/cities/{{slug}}/{key}", "/data/payload"),
             (f"/compare?resource={key}&cities={{slug}}", "/data/0/data/payload"))
       for key in ("unemployment", "tourism", "demographics", "indicators", "weather-warnings")},
    **{f"charging-status {field}": (("/cities/{slug}/charging-status", f"/data/payload/{field}"),
                                    ("/compare?resource=charging-status&cities={slug}",
                                     f"/data/0/data/payload/{field}")) for field in ("count", "counts")},
}


def carried(city: City) -> dict[str, list[tuple[str, str]]]:
    """Datum -> (request, pointer) of each answer that carries it, for one city."""
    place = {"slug": city.slug, "index": facts.cities().index(city)}
    return {datum: [(request.format(**place), pointer.format(**place)) for request, pointer in answers]
            for datum, answers in _CARRIED.items()}


def at(body: Any, pointer: str) -> Any:
    """What stands at a JSON pointer."""
    for part in pointer.split("/")[1:]:
        body = body[int(part)] if isinstance(body, list) else body[part]
    return body


def carriers(get: Get, city: City) -> list[str]:
    """The same datum has the same value in every answer that carries it."""
    broken = []
    for datum, answers in carried(city).items():
        (first, *_), first_value, *others = answers[0], *(at(get(request), pointer) for request, pointer in answers)
        broken += [f"{datum}: {request}{pointer} differs from {first}"
                   for (request, pointer), value in zip(answers[1:], others, strict=True) if value != first_value]
    return broken


def rates(get: Get, city: City) -> list[str]:
    """Cases per 100,000 inhabitants and persons out of work follow from the population of /base."""
    population = get(f"/cities/{city.slug}/base")["data"]["payload"]["population"]
    broken = [f"frequency_per_100k of {row['key']}"
              for row in get(f"/cities/{city.slug}/crime-stats")["data"]["payload"]["groups"]
              if abs(row["frequency_per_100k"] - row["cases"] / population * 100_000) > 0.5 + 1e-6]
    work = get(f"/cities/{city.slug}/unemployment")["data"]["payload"]["values"]
    labour_force = work["arbeitslose"] / work["arbeitslosenquote"] * 100
    if not 0.45 <= labour_force / population <= 0.6:
        broken.append("arbeitslose do not fit arbeitslosenquote and population")
    area = get(f"/cities/{city.slug}/population-density")["data"]["payload"]["populated_area_km2"]
    if not 0 < area <= get(f"/cities/{city.slug}/base")["data"]["payload"]["area_km2"]:
        broken.append("populated_area_km2 exceeds area_km2")
    return broken


def city_boards(get: Get, city: City) -> list[str]:
    """The board of a city shows the next trains of its EVA boards: no other rows, and none left out before the last."""
    broken = []
    for noun in ("departures", "arrivals"):
        shown = get(f"/cities/{city.slug}/station-{noun}")["data"]["payload"][noun]
        waiting = [row for eva in facts.board_evas(city.slug) for row in _first_filled(get, eva, noun)]
        if [row for row in shown if row not in waiting]:
            broken.append(f"{noun}: a row stands on no EVA board")
        last = shown[-1]["planned_time"]
        if [row for row in waiting if row["planned_time"] < last and row not in shown]:
            broken.append(f"{noun}: an earlier row of an EVA board is missing")
    return broken


def _first_filled(get: Get, eva: str, noun: str) -> list[Row]:
    """The rows of one EVA number, or of the first level of its station that has trains."""
    station = facts.station_of(eva)
    bodies = (get(f"/stations/{level}/{noun}") for level in (eva, *(station.evas if station else ())))
    return next((body["data"]["payload"][noun] for body in bodies if body["data"]), [])


def coverage(get: Get, city: City) -> list[str]:
    """A key is available in the overview exactly where it does not answer not_covered, with the same cities."""
    broken = []
    for row in get(f"/cities/{city.slug}/overview")["data"]["data_types"]:
        if row["type"] == "pois":       # covers every city and needs a type
            continue
        meta = get(f"/cities/{city.slug}/{row['type']}")["meta"]
        if row["available"] != (meta["source_status"] != "not_covered"):
            broken.append(f"{row['type']}: available differs from source_status")
        if row.get("covered_cities") != meta.get("covered_cities"):
            broken.append(f"{row['type']}: covered_cities differ")
    return broken


ANSWER_RULES = (carriers, rates, city_boards, coverage)


def payloads(get: Get, city: City) -> Iterable[tuple[str, Row]]:
    """(key, payload) of everything that has data for a city: its keys, POI types, EVA boards and stop boards."""
    for key in facts.keys(facts.DEFAULT_STATE):
        data = get(f"/cities/{city.slug}/{key}").get("data")
        if key == "transit":
            yield key, {"stops": [record["payload"] for record in data]}
            for record in data:
                request = f"/live/{city.slug}/transit/departures?stop_id={record['payload']['stop_id']}"
                yield from _present("transit-departures", get(request)["data"])
        elif key == "public-tenders":       # its data are no record
            yield key, data
        elif key == "health":
            yield key, data["hospital"]["payload"]
        elif key != "overview":
            yield from _present(key, data)
    for kind in facts.poi_types():
        yield from _present("pois", get(f"/cities/{city.slug}/pois?type={kind}")["data"])
    for eva in (eva for station in facts.stations(city.slug) for eva in station.evas):
        for noun in ("departures", "arrivals"):
            yield from _present(f"board-{noun}", get(f"/stations/{eva}/{noun}")["data"])


def _present(key: str, record: Row | None) -> list[tuple[str, Row]]:
    return [(key, record["payload"])] if record else []


def broken_in(payload_of_key: tuple[str, Row]) -> list[str]:
    """What one payload breaks, each line beginning with its key."""
    key, payload = payload_of_key
    return [f"{key}: {text}" for rule in PAYLOAD_RULES for text in rule(key, payload)]
