"""Payloads of places, events, holidays, hospitals, offices, tenders and council papers."""

from __future__ import annotations

from infranode_eval.infranode import facts
from infranode_eval.infranode.facts import City
from infranode_eval.infranode.world import Row, World, word_list, words

_SHOWN = 40         # items of a list of places in one answer (modelled)


def _shown(world: World, city: City, key: str) -> tuple[int, int]:
    total = world.value(city, key, "total_available")
    return min(total, _SHOWN), total


def osm_places(world: World, city: City, kind: str) -> Row:
    """Places of one POI type or one OpenStreetMap key: the first 40 of total_available."""
    count, total = _shown(world, city, kind)
    place = f"{city.slug}.{kind}"
    streets = world.values.shuffled(place, "osm", "items.name", word_list("streets"))
    word = words("osm_words")[kind]
    items = []
    for index in range(count):
        name = f"{word} {streets[index % len(streets)]}" + (" II" if index >= len(streets) else "")
        known = world.values.value(place, "osm", "items.name_known", index)
        lat = city.lat + world.values.value(place, "osm", "items.lat", index)
        lon = city.lon + world.values.value(place, "osm", "items.lon", index)
        items.append({"name": name if known else None, "lat": round(lat, 5), "lon": round(lon, 5)})
    return {"poi_type": kind, "count": count, "total_available": total, "truncated": count < total, "items": items}


def heritage(world: World, city: City) -> Row:
    """Listed buildings: the first 40 of total_available."""
    count, total = _shown(world, city, "heritage")
    items = []
    for index in range(count):
        row = world.row(city, "heritage", "items", ("kind", "street"), index)
        items.append({"name": f"{row['kind']} {row['street']}", "kind": row["kind"],
                      **world.point(city, "heritage", "items", index)})
    return {"count": count, "total_available": total, "truncated": count < total, "items": items}


def tree_cadastre(world: World, city: City) -> Row:
    """Street trees: the first 40 of total_available; heights in m."""
    count, total = _shown(world, city, "tree-cadastre")
    fields = ("species", "planted_year", "height_m", "street")
    items = [{**world.row(city, "tree-cadastre", "items", fields, index),
              **world.point(city, "tree-cadastre", "items", index)} for index in range(count)]
    return {"count": count, "total_available": total, "truncated": count < total, "items": items}


def events(world: World, city: City) -> Row | None:
    """Public events by start; None (no_data) outside the 28 fully covered cities (modelled)."""
    if city.coverage != "full":
        return None
    rows = []
    for index in world.indices(city, "events", "events"):
        row = world.row(city, "events", "events", ("title", "days", "hour", "location"), index)
        rows.append({"title": row["title"], "start": f"{world.day(row['days'])}T{row['hour']:02d}:00:00",
                     "location": row["location"]})
    return {"count": len(rows), "events": sorted(rows, key=lambda row: row["start"])}


def health(world: World, city: City) -> Row:
    """Hospitals of the official directory with beds."""
    names = world.names(city, "health", "hospitals.name", "hospitals")
    rows = [{"name": names[index], "beds": world.value(city, "health", "hospitals.beds", index)}
            for index in world.indices(city, "health", "hospitals")]
    return {"count": len(rows), "hospitals": rows}


def holidays(world: World, city: City) -> Row:
    """Public holidays 2026 of the federal state, and its summer and autumn school holidays: facts."""
    file = facts.raw()
    days = [{"date": date, "name": name} for date, name, states in file["holidays"]
            if states == "*" or city.state in states]
    school = [{"name": name, "start": start, "end": end} for name, start, end in file["school_holidays"][city.state]]
    return {"state": city.state, "year": 2026, "holidays": days, "school_holidays": school}


def office_wait_times(world: World, city: City) -> Row:
    """Waiting time in minutes and persons waiting, by office."""
    names = world.names(city, "office-wait-times", "offices.name", "districts")
    rows = [{"name": f"Kundenzentrum {names[index]}",
             **world.row(city, "office-wait-times", "offices", ("wait_minutes", "waiting"), index)}
            for index in world.indices(city, "office-wait-times", "offices")]
    return {"count": len(rows), "offices": rows}


def public_tenders(world: World, city: City) -> Row:
    """The data of public-tenders, which is no record: {"notices", "count"}."""
    rows = []
    for index in world.indices(city, "public-tenders", "notices"):
        row = world.row(city, "public-tenders", "notices", ("notice_id", "title", "days", "status"), index)
        rows.append({"notice_id": row["notice_id"], "title": row["title"], "buyer": f"Stadt {city.name}",
                     "published": world.day(-row["days"]), "status": row["status"]})
    return {"notices": rows, "count": len(rows)}


def council_papers(world: World, city: City) -> Row:
    """The data of council-papers, which is no record: {"papers", "count", "total"}."""
    rows = []
    for index in world.indices(city, "council-papers", "papers"):
        row = world.row(city, "council-papers", "papers", ("paper_id", "name", "paper_type", "days"), index)
        rows.append({"paper_id": row["paper_id"], "name": row["name"], "paper_type": row["paper_type"],
                     "date": world.day(-row["days"])})
    return {"papers": rows, "count": len(rows), "total": world.value(city, "council-papers", "total")}


OSM_KEYS = ("playgrounds", "drinking-water", "public-toilets", "markets", "parcel-lockers", "post-offices",
            "post-boxes", "public-wifi", "recycling-centres", "government-offices", "education")
BUILDERS = {
    "heritage": heritage, "tree-cadastre": tree_cadastre, "events": events, "health": health, "holidays": holidays,
    "office-wait-times": office_wait_times,
}
