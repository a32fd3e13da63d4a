"""Payloads of railway stations, their boards and lifts, and of stops of local transport."""

from __future__ import annotations

from functools import cache

from infranode_eval.infranode import facts
from infranode_eval.infranode.facts import City, Station
from infranode_eval.infranode.payloads.mobility import post_code
from infranode_eval.infranode.world import Row, World, tally

_PLATFORMS = {1: 14, 2: 9, 3: 6}
_CITY_BOARD_ROWS = 18       # a city board shows the next trains of all its stations (modelled)


def stations(world: World, city: City) -> Row:
    """The known stations, by category, then name. August adds station_category and post_code."""
    rows = []
    for index, station in enumerate(facts.stations(city.slug)):
        zip_code = post_code(world, city, "stations", "stations.zip_digits", index)
        row = {"eva": station.eva, "evas": list(station.evas), "name": station.name, "category": station.category,
               **world.point(city, "stations", "stations", index), "zip": zip_code, "ags": city.ags}
        if world.state == "august-2026":
            row.update(station_category=station.category, post_code=zip_code)
        rows.append(row)
    return {"station_count": len(rows), "stations": rows}


def board_rows(world: World, eva: str, arrivals: bool) -> list[Row]:
    """The trains at one EVA number after the clock by planned time; [] where the board is empty or unknown."""
    station = facts.station_of(eva)
    if station is None or eva in facts.empty_boards():
        return []
    place = f"{eva}-arrivals" if arrivals else eva
    rule = world.values.rule("board", "rows")       # small stations have `low` rows, those of category 1 up to `high`
    half = int((rule.high - rule.low) * (4 - min(station.category, 4)) // 6)
    count = int(rule.low) + half + int(world.values.fraction(place, "board", "rows") * (half + 1))
    rows: list[Row] = []
    minutes = 0
    for index in range(count):
        minutes += world.values.value(place, "board", "gap", index)
        rows.append(_board_row(world, station, place, index, minutes, arrivals))
    return rows


def _board_row(world: World, station: Station, place: str, index: int, minutes: int, arrivals: bool) -> Row:
    def value(field: str) -> object:
        return world.values.value(place, "board", field, index)

    long_distance = bool(value(f"long_{min(station.category, 4)}"))
    category = value("long_category" if long_distance else "category")
    number = value("train_number")
    line = f"{category} {number}" if long_distance else f"{category}{value('line_number')}"
    planned = world.local(minutes)
    cancelled = bool(value("cancelled"))
    platforms = _PLATFORMS.get(station.category, 3)
    stamp = planned[2:16].translate(str.maketrans("", "", "-T:"))
    id_field = "trip_stop_id" if world.state == "august-2026" else "stop_id"
    row = {id_field: f"{value('stop_digits')}-{stamp}-{index + 1}", "station": station.name, "line": line,
           "category": category, "train_number": str(number), "long_distance": long_distance}
    others = _other_stations(station.slug, long_distance)
    other = others[int(world.values.fraction(place, "board", "direction", index) * len(others))]
    tail = {"planned_time": planned, "platform": str(1 + int(platforms * float(value("platform_share")))),
            "delay_minutes": None if cancelled else value("delay_minutes"), "cancelled": cancelled,
            "messages": [_cancelled_message(world)] if cancelled else []}
    return {**row, **tail, "origin": other} if arrivals else {**row, "destination": other, **tail}


def _cancelled_message(world: World) -> Row:
    return {"type": "h", "code": None, "category": "Störung", "timestamp": world.local(-40)}


@cache
def _other_stations(slug: str, long_distance: bool) -> tuple[str, ...]:
    """Main stations of other cities: big ones for long-distance trains, else those of the same state if any."""
    here = facts.city(slug)
    others = [city for city in facts.cities() if city.slug != slug]
    near = [city for city in others if here and city.state == here.state] or others
    chosen = [city for city in others if city.coverage == "full"] if long_distance else near
    return tuple(station.name for city in chosen if (station := facts.main_station(city.slug)))


def _board(rows: list[Row], arrivals: bool) -> Row | None:
    if not rows:
        return None
    noun = "arrival" if arrivals else "departure"
    return {f"{noun}_count": len(rows), "long_distance_count": sum(row["long_distance"] for row in rows),
            f"{noun}s": rows}


def station_board(world: World, eva: str, arrivals: bool) -> Row | None:
    """The board of one EVA number; None (no_data) where nothing stands on it."""
    return _board(board_rows(world, eva, arrivals), arrivals)


def _city_board(world: World, city: City, arrivals: bool) -> Row | None:
    """The next trains of the city's main stations, taken from the same rows as the boards by EVA.

    An empty level is replaced by the first level of the same station that has trains.
    """
    rows: list[Row] = []
    for eva in facts.board_evas(city.slug):
        station = facts.station_of(eva)
        levels = (eva, *station.evas) if station else (eva,)
        rows += next((found for level in levels if (found := board_rows(world, level, arrivals))), [])
    rows.sort(key=lambda row: row["planned_time"])
    return _board(rows[:_CITY_BOARD_ROWS], arrivals)


def station_departures(world: World, city: City) -> Row | None:
    """Departures at the city's main stations."""
    return _city_board(world, city, arrivals=False)


def station_arrivals(world: World, city: City) -> Row | None:
    """Arrivals at the city's main stations."""
    return _city_board(world, city, arrivals=True)


def station_facilities(world: World, city: City) -> Row:
    """Lifts and escalators with their state."""
    fields = ("type", "state", "description", "stationnumber", "distance_km")
    rows = [world.row(city, "station-facilities", "facilities", fields, index)
            for index in world.indices(city, "station-facilities", "facilities")]
    return {"count": len(rows), "counts": tally(rows, "state", ("ACTIVE", "INACTIVE", "UNKNOWN")), "facilities": rows}


def transit(world: World, city: City) -> list[Row]:
    """One payload a stop; the ids are those of facts.stops for the world's seed."""
    rows = []
    for index, stop in enumerate(facts.stops(city.slug, world.values.seed)):
        fields = {field: world.value(city, "transit", field, index)
                  for field in ("location_type", "platform_code", "wheelchair_boarding")}
        rows.append({"stop_id": stop.stop_id, "stop_name": stop.name, "location_type": fields["location_type"],
                     "parent_station": None, "platform_code": fields["platform_code"],
                     "wheelchair_boarding": fields["wheelchair_boarding"]})
    return rows


def transit_departures(world: World, city: City, stop_id: str) -> Row | None:
    """Realtime departures at one stop of the city; None (no_data) for a foreign, an unknown or a silent stop."""
    stop = next((stop for stop in facts.stops(city.slug, world.values.seed) if stop.stop_id == stop_id), None)
    values, key = world.values, "transit-departures"
    if stop is None or values.value(stop_id, key, "silent"):
        return None
    rows: list[Row] = []
    minutes = 0
    for index in range(values.value(stop_id, key, "departures", 0, city.population)):
        minutes += values.value(stop_id, key, "departures.gap", index)
        delay = values.value(stop_id, key, "departures.delay_s", index)
        timed = values.value(stop_id, key, "departures.timed", index)
        rows.append({"trip_id": values.value(stop_id, key, "departures.trip_id", index),
                     "route_id": str(values.value(stop_id, key, "departures.route_id", index)), "delay_s": delay,
                     "delay_min": round(delay / 60), "departure_time": world.utc(minutes) if timed else None,
                     "minutes_until": minutes if timed else None})
    return {"stop_id": stop_id, "departure_count": len(rows), "departures": rows}


BUILDERS = {
    "stations": stations, "station-departures": station_departures, "station-arrivals": station_arrivals,
    "station-facilities": station_facilities,
}
