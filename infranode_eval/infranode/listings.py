"""Answers that span keys, cities or sources: the overview of a city, /compare and /sources."""

from __future__ import annotations

from collections.abc import Mapping

from infranode_eval.infranode import facts
from infranode_eval.infranode.envelope import Answer, city_entry, refuse
from infranode_eval.infranode.facts import City
from infranode_eval.infranode.resources import Outcome, Resources
from infranode_eval.infranode.spelling import city_of
from infranode_eval.infranode.world import Row

COMPARE_AT_MOST = 28        # further cities are dropped without a word
_PAGE_CAP = 200
_GROWING = "InfraNode wächst laufend: weitere Datenarten und Städte kommen regelmäßig dazu."


def overview(resources: Resources, city: City) -> Answer:
    """Catalogue of all data types of the city, a small live extract, and a summary. source_status is always ok."""
    rows = [_catalogue_row(resources, name, city) for name in _catalogue(resources)]
    departures = resources.city_data("station-departures", city)
    if departures.data:
        departures = Outcome(departures.source_status, {**departures.data, "geo": None}, departures.extras)
    highlights = {"weather": _status_row(resources.city_data("weather", city)),
                  "air": _status_row(resources.city_data("air-uba", city)), "departures": _status_row(departures)}
    summary = {"data_types_total": len(rows), "data_types_available": sum(row["available"] for row in rows),
               "cities_total": len(facts.cities()), "note": _GROWING}
    data = {"city": city_entry(city), "data_types": rows, "highlights": highlights, "summary": summary}
    return Answer(200, data, {"source_status": "ok"})


def _catalogue(resources: Resources) -> list[str]:
    """Keys of the catalogue in its order: all of the state with pois, without overview itself."""
    state = resources.world.state
    hidden = facts.raw()["uncatalogued"].get(state, ())
    return [key.key for key in facts.all_keys().values()
            if state in key.states and key.key != "overview" and key.key not in hidden]


def _catalogue_row(resources: Resources, name: str, city: City) -> Row:
    key = facts.all_keys()[name]
    row: Row = {"type": name, "label": key.label, "label_en": key.label_en, "tool": key.tool,
                "path": f"/api/v1/cities/{city.slug}/{name}", "available": True}
    slugs = facts.covered(resources.world.state, name)
    if slugs is not None and city.slug not in slugs:
        row.update(available=False, covered_cities=list(slugs),
                   note=f"Für {city.slug} noch nicht verfügbar (aktuell {len(slugs)} Städte). "
                        "Wir bauen die Abdeckung laufend aus.")
    return row


def _status_row(outcome: Outcome) -> Row:
    """data and source_status, with cache_status and fallback where there are data."""
    row: Row = {"data": outcome.data, "source_status": outcome.source_status}
    if outcome.data is not None:
        row.update({name: outcome.extras[name] for name in ("cache_status", "fallback") if name in outcome.extras})
    return row


def compare(resources: Resources, query: Mapping[str, str]) -> Answer:
    """Rows of one resource for up to 28 cities in the order of the request; unknown slugs become rows not_found."""
    missing = [f"query.{name}: missing" for name in ("cities", "resource") if name not in query]
    problem = _page_problem(query, missing)
    if problem:
        return problem
    allowed = facts.compare_resources(resources.world.state)
    if query["resource"] not in allowed:
        return _bad(f"Unbekannte resource '{query['resource']}'.", f"Erlaubt: {', '.join(allowed)}.")
    slugs = [slug.strip() for slug in query["cities"].split(",") if slug.strip()][:COMPARE_AT_MOST]
    if not slugs:
        return _bad("Parameter 'cities' darf nicht leer sein.", "Beispiel: cities=berlin,koeln,hamburg.")
    problem = _order_problem(query, ("city", "source_status"))
    if problem:
        return problem
    rows = [_compare_row(resources, query["resource"], slug) for slug in slugs]
    rows = _sorted(rows, query)
    meta = {"resource": query["resource"], "total": len(rows)}
    return Answer(200, _page(rows, query)[0], meta, limited="compare")


def _compare_row(resources: Resources, resource: str, slug: str) -> Row:
    city = city_of(slug, resources.world.state)
    if city is None:
        return {"city": slug, "data": None, "source_status": "not_found"}
    outcome = resources.city_data("air-uba" if resource == "air" else resource, city)
    row = _status_row(outcome)
    if resource == "charging-status" and row["data"]:
        payload = {name: value for name, value in row["data"]["payload"].items() if name != "points"}
        row["data"] = {**row["data"], "payload": payload}
    return {"city": city.slug, **row}


def sources(resources: Resources, query: Mapping[str, str]) -> Answer:
    """All data sources with licence, attribution and state."""
    problem = _page_problem(query, []) or _order_problem(query, ("enabled", "license", "source"))
    if problem:
        return problem
    production = resources.profile != "bare"
    switched_on = facts.raw()["production_enabled"]
    rows: list[Row] = []
    for row in facts.sources(resources.world.state):
        enabled = row.enabled or production and row.source in switched_on
        rows.append({"source": row.source, "enabled": enabled,
                     "breaker_state": "CLOSED" if resources.profile == "default" else row.breaker_state,
                     "license": row.license, "attribution": row.attribution})
    rows = _sorted(rows, query)
    shown, page, limit, offset = _page(rows, query)
    meta = {"page": page, "limit": limit, "offset": offset, "total": len(rows)}
    return Answer(200, shown, meta, limited="sources")


def _bad(message: str, hint: str) -> Answer:
    return refuse(400, "invalid_request", message, hint, limited=None)


def _page_problem(query: Mapping[str, str], found: list[str]) -> Answer | None:
    """The framework's check: missing and badly typed parameters, all in one hint."""
    for name, least in (("page", 1), ("limit", 1), ("offset", 0)):
        text = query.get(name)
        if text is None:
            continue
        try:
            if int(text) < least:
                found.append(f"query.{name}: greater_than_equal")
        except ValueError:
            found.append(f"query.{name}: int_parsing")
    return _bad("Request validation failed", "; ".join(found)) if found else None


def _order_problem(query: Mapping[str, str], fields: tuple[str, ...]) -> Answer | None:
    if "sort" in query and query["sort"] not in fields:
        return _bad(f"Unbekanntes sort-Feld '{query['sort']}'.", f"Erlaubt: {', '.join(fields)}.")
    if query.get("order", "asc") not in ("asc", "desc"):
        return _bad("order muss 'asc' oder 'desc' sein.", "Erlaubt: asc, desc.")
    return None


def _sorted(rows: list[Row], query: Mapping[str, str]) -> list[Row]:
    if "sort" not in query:
        return rows
    return sorted(rows, key=lambda row: row[query["sort"]], reverse=query.get("order") == "desc")


def _page(rows: list[Row], query: Mapping[str, str]) -> tuple[list[Row], int, int, int]:
    """The rows of a page with page, limit (at most 200) and offset; an offset wins over a page."""
    page, limit = int(query.get("page", 1)), min(int(query.get("limit", 50)), _PAGE_CAP)
    offset = int(query.get("offset", 0))
    start = offset or (page - 1) * limit
    return rows[start:start + limit], page, limit, offset
