"""Payloads of road, parking, charging, fuel, bicycles and sharing."""

from __future__ import annotations

from statistics import fmean

from infranode_eval.infranode import facts
from infranode_eval.infranode.facts import City
from infranode_eval.infranode.world import Row, World, tally, word_list, words


def post_code(world: World, city: City, key: str, field: str, index: int) -> str:
    """Five digits: the area of the federal state and three drawn ones (modelled)."""
    return f"{words('plz_areas')[city.state]}{world.value(city, key, field, index)}"


def traffic(world: World, city: City) -> Row:
    """Jams, roadworks and closures on motorways near the city."""
    rows = []
    for index in world.indices(city, "traffic", "events"):
        row = world.row(city, "traffic", "events", ("road", "type", "delay_minutes"), index)
        word = {"roadworks": "Baustelle", "warning": "Stau", "closure": "Sperrung"}[row["type"]]
        rows.append({"road": row["road"], "type": row["type"], "title": f"{row['road']}: {word} bei {city.name}",
                     "delay_minutes": row["delay_minutes"], **world.point(city, "traffic", "events", index)})
    return {"count": len(rows), "events": rows}


def road_events(world: World, city: City) -> Row:
    """Roadworks and closures inside the city."""
    rows = []
    for index in world.indices(city, "road-events", "events"):
        row = world.row(city, "road-events", "events", ("street", "type", "closed", "days_ago", "days_left"), index)
        rows.append({"street": row["street"], "type": row["type"], "closed": row["closed"],
                     "start": world.day(-row["days_ago"]), "end": world.day(row["days_left"])})
    return {"count": len(rows), "events": rows}


def parking(world: World, city: City) -> Row:
    """Car parks: 0 <= free <= total; free is null where it is not reported (always in a static catalogue)."""
    older = facts.covered(facts.DEFAULT_STATE, "parking") or ()
    static = world.state == "august-2026" and city.slug not in older
    first, *others = word_list("car_parks")
    names = [first, *world.values.shuffled(city.slug, "parking", "facilities.name", others)]
    rows = []
    for index in world.indices(city, "parking", "facilities"):
        row = world.row(city, "parking", "facilities",
                        ("street", "house", "total", "occupied_share", "free_known", "state", "lot_type"), index)
        if index == 0:      # the one at the main station always reports, so that it can be asked for
            row.update(lot_type="Parkhaus", state="open", free_known=True)
        known = row["free_known"] and row["state"] == "open" and not static
        free = row["total"] - round(row["total"] * row["occupied_share"]) if known else None
        rows.append({"name": f"{row['lot_type']} {names[index]}", "address": f"{row['street']} {row['house']}",
                     "free": free, "total": row["total"], "state": row["state"], "lot_type": row["lot_type"],
                     **world.point(city, "parking", "facilities", index)})
    return {"count": len(rows), "facilities": rows}


def charging(world: World, city: City) -> Row:
    """Charging sites with power in kW and number of points."""
    rows = []
    for index in world.indices(city, "charging", "stations"):
        row = world.row(city, "charging", "stations", ("operator", "power_kw", "points", "status"), index)
        fast = "Schnellladeeinrichtung" if row["power_kw"] >= 50 else "Normalladeeinrichtung"
        rows.append({"station_id": f"{city.ags[:5]}-{index + 1:04d}", "operator": row["operator"],
                     "power_kw": row["power_kw"], "points": row["points"], "charging_type": fast,
                     "status": row["status"],
                     "plz": post_code(world, city, "charging", "stations.plz_digits", index),
                     **world.point(city, "charging", "stations", index)})
    return {"count": len(rows), "stations": rows}


def charging_status(world: World, city: City) -> Row:
    """Occupancy of charging points; compare leaves out `points`."""
    rows = []
    for index in world.indices(city, "charging-status", "points"):
        row = world.row(city, "charging-status", "points", ("refill_point_id", "status", "minutes"), index)
        rows.append({"refill_point_id": f"DE*{city.state}*E{row['refill_point_id']}", "status": row["status"],
                     "observed_at": world.utc(-row["minutes"])})
    counts = tally(rows, "status", ("AVAILABLE", "CHARGING", "OUTOFORDER", "UNKNOWN"))
    return {"count": len(rows), "counts": counts, "points": rows}


def fuel_prices(world: World, city: City) -> Row:
    """Prices in EUR/l; averages and minima are taken over the open stations. No two stations stand in one street."""
    streets = world.names(city, "fuel-prices", "stations.street", "streets")
    rows = []
    for index in world.indices(city, "fuel-prices", "stations"):
        row = world.row(city, "fuel-prices", "stations",
                        ("brand", "e5", "e10_discount", "diesel", "is_open", "dist_km"), index)
        rows.append({"name": f"{row['brand']} {streets[index]}", "brand": row["brand"], "e5": row["e5"],
                     "e10": round(row["e5"] - row["e10_discount"], 3), "diesel": row["diesel"],
                     "is_open": index == 0 or row["is_open"], "dist_km": row["dist_km"]})
    opened = [row for row in rows if row["is_open"]]
    prices = {fuel: [row[fuel] for row in opened] for fuel in ("e5", "e10", "diesel")}
    return {"station_count": len(rows), "open_count": len(opened),
            **{f"avg_{fuel}": round(fmean(values), 3) for fuel, values in prices.items()},
            **{f"min_{fuel}": min(values) for fuel, values in prices.items()}, "stations": rows}


def sharing(world: World, city: City) -> Row:
    """Bicycles and scooters: the totals are sums over the providers."""
    names = world.names(city, "sharing", "providers.provider", "sharing_providers")
    fields = ("station_count", "docked_available", "free_floating_available")
    rows = [{"provider": names[index], **world.row(city, "sharing", "providers", fields, index)}
            for index in world.indices(city, "sharing", "providers")]
    sums = {field: sum(row[field] for row in rows) for field in fields}
    return {"vehicles_available": sums["free_floating_available"] + sums["docked_available"],
            "free_floating_available": sums["free_floating_available"], "docked_available": sums["docked_available"],
            "station_count": sums["station_count"], "providers": rows}


def bike_counts(world: World, city: City) -> Row:
    """Bicycles counted on the day before the clock, by counter."""
    names = world.names(city, "bike-counts", "counts.station", "streets")
    rows = [{"station": f"Zählstelle {names[index]}", "value": world.value(city, "bike-counts", "counts.value", index),
             "period": world.day(-1)} for index in world.indices(city, "bike-counts", "counts")]
    return {"count": len(rows), "counts": rows}


def _spaces(world: World, city: City, key: str, rows_field: str, number: str, word: str = "") -> Row:
    """Count and a list of named places with one number each: the keys of August (modelled)."""
    names = world.names(city, key, f"{rows_field}.name", "streets")
    rows = [{"name": f"{word}{names[index]}", number: world.value(city, key, f"{rows_field}.{number}", index)}
            for index in world.indices(city, key, rows_field)]
    return {"count": len(rows), rows_field: rows}


def parking_onstreet(world: World, city: City) -> Row:
    """Parking spaces along streets."""
    return _spaces(world, city, "parking-onstreet", "areas", "spaces")


def park_and_ride(world: World, city: City) -> Row:
    """Park and ride sites."""
    return _spaces(world, city, "park-and-ride", "facilities", "spaces", "P+R ")


def mobility_points(world: World, city: City) -> Row:
    """Mobility hubs with the number of services."""
    return _spaces(world, city, "mobility-points", "points", "services")


def bike_parking(world: World, city: City) -> Row:
    """Bicycle parking sites."""
    return _spaces(world, city, "bike-parking", "facilities", "spaces")


BUILDERS = {
    "traffic": traffic, "road-events": road_events, "parking": parking, "charging": charging,
    "charging-status": charging_status, "fuel-prices": fuel_prices, "sharing": sharing, "bike-counts": bike_counts,
    "parking-onstreet": parking_onstreet, "park-and-ride": park_and_ride, "mobility-points": mobility_points,
    "bike-parking": bike_parking,
}
