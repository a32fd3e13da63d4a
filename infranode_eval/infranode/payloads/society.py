"""Payloads of population, economy, safety and other yearly statistics."""

from __future__ import annotations

from infranode_eval.infranode.facts import City
from infranode_eval.infranode.world import Row, World, word_list, words

_YEAR = 2025


def base(world: World, city: City) -> Row:
    """Inhabitants and area in km²: facts, the same wherever they stand."""
    return {"population": city.population, "area_km2": city.area_km2}


def demographics(world: World, city: City) -> Row:
    """Population (the registry's), households, buildings, mean rent in EUR/m², and three years of population."""
    def value(field: str) -> float:
        return world.value(city, "demographics", field)

    growth = [1 + value("series.growth") / 100, 1 + world.value(city, "demographics", "series.growth", 1) / 100]
    earlier = round(city.population / growth[0])
    series = [round(earlier / growth[1]), earlier, city.population]
    return {"population": city.population, "households": round(city.population / value("persons_per_household")),
            "buildings": round(city.population / value("persons_per_building")), "rent_avg": value("rent_avg"),
            "reference_year": _YEAR,
            "series": [{"year": _YEAR - 2 + index, "population": count} for index, count in enumerate(series)]}


def registry_demographics(world: World, city: City) -> Row:
    """What a server without a statistics store answers: the registry's population and nothing else."""
    return {"population": city.population, "households": None, "buildings": None, "rent_avg": None,
            "reference_year": None, "series": []}


def indicators(world: World, city: City) -> Row:
    """A bundle of regional indicators."""
    names = ("haushaltseinkommen_eur", "kaufkraft_index", "bip_je_einwohner_eur", "lebenserwartung_jahre",
             "pendlersaldo_je_1000", "auslaenderanteil_pct", "beschaeftigtenquote_pct")
    return {"reference_year": 2023, "values": world.row(city, "indicators", "values", names, 0)}


def _regional(city: City, dataset: str, values: Row) -> Row:
    return {"dataset": dataset, "reference_year": _YEAR, "region_name": city.name, "values": values}


def unemployment(world: World, city: City) -> Row:
    """Rate in per cent and the number of persons that follows from it."""
    rate = world.value(city, "unemployment", "values.arbeitslosenquote")
    share = world.value(city, "unemployment", "labour_share")
    return _regional(city, "13211-02-05-4",
                     {"arbeitslose": round(city.population * share * rate / 100), "arbeitslosenquote": rate})


def tourism(world: World, city: City) -> Row:
    """Arrivals and overnight stays of a year."""
    arrivals = world.value(city, "tourism", "values.ankuenfte")
    nights = round(arrivals * world.value(city, "tourism", "nights"))
    return _regional(city, "45412-01-02-4", {"uebernachtungen": nights, "ankuenfte": arrivals})


def construction(world: World, city: City) -> Row:
    """Building permits of a year."""
    buildings = world.value(city, "construction", "values.wohngebaeude")
    flats = round(buildings * world.value(city, "construction", "flats_per_building"))
    return _regional(city, "31111-01-02-4", {"wohngebaeude": buildings, "wohnungen": flats})


def accidents(world: World, city: City) -> Row:
    """Road accidents with injuries: total = fatal + serious + light."""
    parts = {field: world.value(city, "accidents", field) for field in ("fatal", "serious", "light")}
    total = sum(parts.values())
    shares = {f"with_{kind}": round(total * world.value(city, "accidents", f"{kind}_share"))
              for kind in ("bicycle", "pedestrian", "car", "motorcycle")}
    return {"reference_year": _YEAR, "total": total, **parts, **shares}


def crime_stats(world: World, city: City) -> Row:
    """Recorded crime by group: cases, per 100,000 inhabitants, and clearance rate in per cent."""
    rows = []
    for index, (key, label) in enumerate(word_list("crime_groups")):
        cases = world.value(city, "crime-stats", "groups.cases", index)
        rows.append({"key": key, "label": label, "cases": cases,
                     "frequency_per_100k": round(cases / city.population * 100_000),
                     "clearance_rate_pct": world.value(city, "crime-stats", "groups.clearance_rate_pct", index)})
    return {"reference_year": _YEAR, "total_cases": sum(row["cases"] for row in rows), "groups": rows}


def vehicle_registrations(world: World, city: City) -> Row:
    """Registered cars and electric shares in per cent."""
    total, bev, plugin = (world.value(city, "vehicle-registrations", field)
                          for field in ("pkw_total", "bev_share", "plugin_hybrid_share"))
    return {"reference_date": "2026-01-01", "pkw_total": total, "electric_share": round(bev + plugin, 1),
            "bev_share": bev, "plugin_hybrid_share": plugin, "bev_estimated": round(total * bev / 100)}


def election(world: World, city: City) -> Row:
    """Second votes of the last federal election; votes sum up to valid_votes."""
    turnout = world.value(city, "election", "turnout_pct")
    parties = word_list("parties")
    weights = [world.value(city, "election", "results.weight", index) for index in range(len(parties))]
    electorate = city.population * 0.74 * turnout / 100
    votes = [round(electorate * weight / sum(weights)) for weight in weights]
    rows = [{"party": party, "votes": count, "share_pct": round(count / sum(votes) * 100, 1)}
            for party, count in zip(parties, votes, strict=True)]
    return {"election": "Bundestagswahl 2025", "turnout_pct": turnout, "valid_votes": sum(votes),
            "results": sorted(rows, key=lambda row: -row["votes"])}


def business_registrations(world: World, city: City) -> Row:
    """Business registrations and deregistrations: saldo = anmeldungen - abmeldungen."""
    opened = world.value(city, "business-registrations", "anmeldungen")
    closed = world.value(city, "business-registrations", "abmeldungen")
    return {"anmeldungen": opened, "abmeldungen": closed, "saldo": opened - closed, "jahr": _YEAR}


def insolvencies(world: World, city: City) -> Row:
    """Insolvencies of companies and of other debtors."""
    fields = ("unternehmensinsolvenzen", "uebrige_schuldner_insolvenzen")
    return {**{field: world.value(city, "insolvencies", field) for field in fields}, "jahr": _YEAR}


def tax_rates(world: World, city: City) -> Row:
    """Tax multipliers in per cent; grundsteuer_c is null where the city does not levy it."""
    fields = ("gewerbesteuer_hebesatz", "grundsteuer_a", "grundsteuer_b", "grundsteuer_c")
    return {**{field: world.value(city, "tax-rates", field) for field in fields}, "stichtag": "2025-12-31"}


def land_values(world: World, city: City) -> Row:
    """Standard land values in EUR/m²: min <= median <= max."""
    median, low, high, zones = (world.value(city, "land-values", field) for field in
                                ("brw_median_eur_m2", "low_share", "high_share", "zone_count"))
    return {"brw_min_eur_m2": round(median * low), "brw_median_eur_m2": median, "brw_max_eur_m2": round(median * high),
            "zone_count": zones, "stichtag": "2026-01-01"}


def geo(world: World, city: City) -> Row:
    """The administrative unit; area as in base. There is no polygon."""
    return {"name": city.name, "ags": city.ags, "level": "Gemeinde", "area_km2": city.area_km2}


def population_density(world: World, city: City) -> Row:
    """Inhabitants per km² of inhabited area."""
    area = round(city.area_km2 * world.value(city, "population-density", "populated_share"), 2)
    return {"population": city.population, "populated_area_km2": area,
            "density_per_km2": round(city.population / area)}


def series(key: str, world: World, city: City) -> Row:
    """Yearly values 2019 to 2024 of the keys that came in August (modelled)."""
    years = range(2019, 2025)
    rows = []
    for name in words("series")[key]:
        place = f"{city.slug}.{key}.{name}"
        rows += [{"indicator": name, "year": year, "value": world.values.value(place, "series", "series.value", year)}
                 for year in years]
    return {"reference_year": years[-1], "series": rows}


BUILDERS = {
    "base": base, "demographics": demographics, "indicators": indicators, "unemployment": unemployment,
    "tourism": tourism, "construction": construction, "accidents": accidents, "crime-stats": crime_stats,
    "vehicle-registrations": vehicle_registrations, "election": election,
    "business-registrations": business_registrations, "insolvencies": insolvencies, "tax-rates": tax_rates,
    "land-values": land_values, "geo": geo, "population-density": population_density,
}
SERIES_KEYS = ("sustainability", "population-structure", "population-trend", "municipal-finance", "labour-market",
               "integration", "childcare", "education-stats", "social-situation", "care")
