"""Payloads of weather, air, water and warnings."""

from __future__ import annotations

from infranode_eval.infranode import facts
from infranode_eval.infranode.facts import City
from infranode_eval.infranode.world import Row, World, tally, word_list


def weather(world: World, city: City) -> Row:
    """Current weather: °C, %, km/h."""
    fields = ("station_id", "temperature_c", "humidity", "wind_speed", "condition")
    return {field: world.value(city, "weather", field) for field in fields}


def air_uba(world: World, city: City) -> Row:
    """Air quality in µg/m³; the key `air` and compare carry the same values."""
    number = world.value(city, "air-uba", "station_number")
    values = {field: world.value(city, "air-uba", field) for field in ("pm10", "no2", "pm25", "o3", "so2")}
    return {"station_id": f"DE{city.state}{number:03d}", **values}


def water_level(world: World, city: City) -> Row | None:
    """Level in cm at the gauge; None (no_data) away from federal waterways."""
    gauge = facts.gauge(city.slug)
    if gauge is None:
        return None
    water, station = gauge
    return {"station": station.upper(), "water": water.upper(), "value": world.value(city, "water-level", "value"),
            "unit": "cm"}


def flood(world: World, city: City) -> Row:
    """Flood warning levels; no active warning is an answer with count 0."""
    gauge = facts.gauge(city.slug)
    rows = []
    for index in world.indices(city, "flood", "warnings"):
        row = world.row(city, "flood", "warnings", ("water", "level", "value_cm"), index)
        row["water"] = gauge[0] if gauge else row["water"]
        rows.append({"gauge": f"{row['water']} {index + 1}", **row})
    return {"count": len(rows), "max_level": max((row["level"] for row in rows), default=0), "warnings": rows}


def pollen_uv(world: World, city: City) -> Row:
    """Pollen levels 0 to 3 by plant, and the UV index of today."""
    levels = {plant: world.value(city, "pollen-uv", "pollen.level", index)
              for index, plant in enumerate(word_list("plants"))}
    return {"region": city.state, "uv_index": world.value(city, "pollen-uv", "uv_index"),
            "pollen": [{"plant": plant, "level": level} for plant, level in levels.items()]}


def fire_danger(world: World, city: City) -> Row:
    """Forest fire and grassland fire index, 1 to 5."""
    return {"station": city.name, "forest_index": world.value(city, "fire-danger", "forest_index"),
            "grassland_index": world.value(city, "fire-danger", "grassland_index")}


def bathing_water(world: World, city: City) -> Row:
    """EU bathing sites around the city with their quality; beaches only where there is a coast."""
    inland = city.slug not in word_list("coast")
    rows = []
    for index in world.indices(city, "bathing-water", "sites"):
        row = world.row(city, "bathing-water", "sites", ("quality", "category", "distance_km"), index)
        if inland and row["category"] == "coastal":
            row["category"] = "lake"
        word = {"lake": "Badesee", "river": "Flussbad", "coastal": "Strand"}[row["category"]]
        rows.append({"name": f"{word} {chr(ord('A') + index)}", **row})
    counts = tally(rows, "quality", ("excellent", "good", "sufficient", "poor"))
    return {"count": len(rows), "counts": counts, "sites": rows}


def weather_warnings(world: World, city: City) -> Row:
    """Warnings of the weather service, ordered as drawn, and special warnings for heat and UV."""
    rows = []
    for index in world.indices(city, "weather-warnings", "warnings"):
        row = world.row(city, "weather-warnings", "warnings", ("event", "level", "start_h", "hours"), index)
        start = row["start_h"] * 60
        rows.append({"event": row["event"], "level": row["level"], "headline": f"Amtliche WARNUNG vor {row['event']}",
                     "start": world.utc(start), "end": world.utc(start + row["hours"] * 60)})
    special = [world.row(city, "weather-warnings", "special_warnings", ("event", "level"), index)
               for index in world.indices(city, "weather-warnings", "special_warnings")]
    return {"count": len(rows), "max_level": max((row["level"] for row in rows), default=0), "warnings": rows,
            "special_warnings": special}


def civil_protection_warnings(world: World, city: City) -> Row:
    """Alerts of civil protection; no active alert is an answer with count 0."""
    rows = []
    for index in world.indices(city, "civil-protection-warnings", "warnings"):
        row = world.row(city, "civil-protection-warnings", "warnings", ("title", "severity", "minutes"), index)
        rows.append({"title": row["title"], "severity": row["severity"], "sent": world.utc(-row["minutes"])})
    return {"count": len(rows), "warnings": rows}


BUILDERS = {
    "weather": weather, "air": air_uba, "air-uba": air_uba, "water-level": water_level, "flood": flood,
    "pollen-uv": pollen_uv, "fire-danger": fire_danger, "bathing-water": bathing_water,
    "weather-warnings": weather_warnings, "civil-protection-warnings": civil_protection_warnings,
}
