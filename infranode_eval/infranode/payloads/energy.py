"""Payloads of power plants, grid, prices, sun and heat."""

from __future__ import annotations

from infranode_eval.infranode.facts import City
from infranode_eval.infranode.world import Row, World, word_list, words

_PLANTS = ("pv", "wind", "speicher", "biogas")


def energy(world: World, city: City) -> Row:
    """Registered plants: count = sum of by_type, total_power_kw = sum of power_by_type."""
    counts = {kind: world.value(city, "energy", f"by_type.{kind}") for kind in _PLANTS}
    power = {kind: round(counts[kind] * world.value(city, "energy", f"size.{kind}"), 1) for kind in _PLANTS}
    return {"count": sum(counts.values()), "by_type": counts, "total_power_kw": round(sum(power.values()), 1),
            "power_by_type": power}


def power_load(world: World, city: City) -> Row:
    """Daily load of the control zone in MWh, last five days: the same for all cities of a zone."""
    zone = next(name for name, states in words("zones").items() if city.state in states)
    rows = [{"date": world.day(-index), "value": world.values.value(zone, "power-load", "values.value", index)}
            for index in range(5, 0, -1)]
    return {"control_zone": zone, "unit": "MWh", "values": rows}


def power_price(world: World, city: City) -> Row:
    """Hourly day-ahead price of today in EUR/MWh: the same for all cities."""
    rows = [{"hour": hour, "value": world.values.value("DE-LU", "power-price", "values.value", hour)}
            for hour in range(24)]
    return {"zone": "DE-LU", "date": world.day(), "unit": "EUR/MWh", "values": rows}


def solar(world: World, city: City) -> Row:
    """Yield of one kWp by month; the year is their sum."""
    rows = [{"month": month, "yield_kwh": round(mean * world.value(city, "solar", "monthly.factor", month), 1)}
            for month, mean in enumerate(word_list("solar_months"), start=1)]
    return {"annual_yield_kwh_kwp": round(sum(row["yield_kwh"] for row in rows), 1),
            "optimal_slope_deg": world.value(city, "solar", "optimal_slope_deg"), "monthly": rows}


def solar_roofs(world: World, city: City) -> Row:
    """Potential and installed power on roofs in kWp, and the used share in per cent."""
    potential = world.value(city, "solar-roofs", "potential_kwp")
    installed = round(potential * world.value(city, "solar-roofs", "installed_share"))
    return {"potential_kwp": potential, "installed_kwp": installed,
            "exploitation_pct": round(installed / potential * 100, 1)}


def district_heating(world: World, city: City) -> Row:
    """Heat networks with operator, length in km and area in km²."""
    names = world.names(city, "district-heating", "networks.name", "districts")
    rows = [{"name": f"Wärmenetz {names[index]}",
             **world.row(city, "district-heating", "networks", ("operator", "length_km", "area_km2"), index)}
            for index in world.indices(city, "district-heating", "networks")]
    return {"count": len(rows), "networks": rows}


BUILDERS = {
    "energy": energy, "power-load": power_load, "power-price": power_price, "solar": solar,
    "solar-roofs": solar_roofs, "district-heating": district_heating,
}
