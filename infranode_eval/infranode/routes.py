"""From a request to an answer: the routes of the REST contract, in the API's own order of checks.

City (404), then coverage and switches, then parameters, then the data. Messages and hints are the API's own, as
recorded, because an agent reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from urllib.parse import parse_qsl, unquote

from infranode_eval.infranode import facts, listings
from infranode_eval.infranode.envelope import Answer, city_entry, refuse
from infranode_eval.infranode.facts import City, Key
from infranode_eval.infranode.payloads import catalogue
from infranode_eval.infranode.resources import Outcome, Resources
from infranode_eval.infranode.spelling import city_of, near_miss
from infranode_eval.infranode.world import Row

PREFIX = "/api/v1"
_DIGITS = re.compile(r"[0-9]{1,9}")
_EVA = re.compile(r"[0-9]{6,8}")
_STOP_ID = re.compile(r"de:[0-9]+:\S+|[0-9]+")
_CITY_LIST = "Nutze GET /api/v1/cities fuer alle unterstuetzten Staedte."
_RETRY = "Erneut versuchen oder GET /api/v1/health fuer Quellen-Status."
_SUCCESSORS = frozenset(("air-uba", "flood"))       # answers that name a newer path in a header
_ROW_LISTS = {"charging": "stations", "events": "events"}
_CHOICES = {"status": ("active", "complete"), "match": ("buyer_city", "place_of_performance")}
_LIST_CAPS = {"public-tenders": 200, "council-papers": 100}

Query = Mapping[str, str]


def split_target(target: str) -> tuple[tuple[str, ...] | None, Query]:
    """Decoded path segments after the prefix (None outside it) and the query; a repeated parameter counts last."""
    path, _, text = target.partition("?")
    path = unquote(path)
    query = dict(parse_qsl(text, keep_blank_values=True))
    if path != PREFIX and not path.startswith(PREFIX + "/"):
        return None, query
    return tuple(path[len(PREFIX):].split("/")[1:]), query


def answer(resources: Resources, method: str, segments: tuple[str, ...] | None, query: Query) -> Answer:
    """Answer one request."""
    route = _route(resources, segments) if segments else None
    if route is None:
        return refuse(404, "not_found", "Die angeforderte Ressource wurde nicht gefunden.",
                      "Pfad prüfen oder GET /api/v1/openapi.yaml für die Routenliste.")
    if method.upper() != "GET":
        return refuse(405, "method_not_allowed", "Die HTTP-Methode ist für diese Ressource nicht erlaubt.",
                      "Erlaubte Methoden: GET.")
    return route(query)


def _route(resources: Resources, segments: tuple[str, ...]) -> Callable[[Query], Answer] | None:
    match segments:
        case ("health",):
            version = "1.0.0" if resources.world.state == "july-1" else "1.1.1"
            return lambda query: Answer(200, plain={"status": "ok", "version": version, "redis": True})
        case ("sources",):
            return lambda query: listings.sources(resources, query)
        case ("compare",):
            return lambda query: listings.compare(resources, query)
        case ("cities",):
            return lambda query: Answer(200, [city_entry(city) for city in facts.cities()])
        case ("cities", slug) if slug:
            return lambda query: _with_city(resources, slug, lambda city: Answer(200, city_entry(city)))
        case ("cities", slug, name) if slug and resources.key(name):
            return lambda query: _with_city(resources, slug, lambda city: _resource(resources, name, city, query))
        case ("stations", eva, ("departures" | "arrivals") as direction) if eva:
            return lambda query: _board(resources, eva, direction == "arrivals")
        case ("live", slug, "transit", "departures") if slug:
            return lambda query: _with_city(resources, slug, lambda city: _stop_board(resources, city, query))
    return None


def _with_city(resources: Resources, slug: str, then: Callable[[City], Answer]) -> Answer:
    city = city_of(slug, resources.world.state)
    if city is not None:
        return then(city)
    hint = _CITY_LIST
    near = near_miss(slug, resources.world.state)
    if resources.key(slug):
        hint = (f"'{slug}' ist eine Datenart, keine Stadt. Du hast vermutlich den Stadt-Slug vergessen, "
                f"z.B. GET /api/v1/cities/berlin/{slug}. {_CITY_LIST}")
    elif near:
        hint = f"Meintest du '{near}'? {_CITY_LIST}"
    return refuse(404, "not_found", f"Unbekannte Stadt '{slug}'.", hint)


def _resource(resources: Resources, name: str, city: City, query: Query) -> Answer:
    if name == "overview":
        return listings.overview(resources, city)
    if name == "pois":
        return _pois(resources, city, query)
    if name == "council-papers" and not facts.is_covered(resources.world.state, name, city.slug):
        slugs = ", ".join(facts.covered(resources.world.state, name) or ())
        return refuse(404, "not_found", f"Keine Ratsunterlagen fuer '{city.slug}'.", f"Verfuegbar fuer: {slugs}.")
    problem = _parameter_problem(name, query)
    if problem:
        return problem
    return _answer_of(resources, facts.all_keys()[name], resources.city_data(name, city), query)


def _pois(resources: Resources, city: City, query: Query) -> Answer:
    """The upstream's state is found out last: a wrong type is refused even where no upstream is reachable."""
    key = facts.all_keys()["pois"]
    if "type" not in query:
        return refuse(400, "invalid_request", "Request validation failed", "query.type: missing")
    types = facts.poi_types()
    if query["type"] not in types:
        return refuse(422, "unprocessable", f"Unbekannter POI-Typ '{query['type']}'.",
                      f"Erlaubte Typen: {', '.join(types)}.")
    outcome = resources.hindrance(key, city) or resources.pois(city, query["type"])
    return _answer_of(resources, key, outcome, query)


def _board(resources: Resources, eva: str, arrivals: bool) -> Answer:
    if not _EVA.fullmatch(eva):
        return refuse(422, "unprocessable", f"Ungueltige EVA-Nummer '{eva}': erwartet eine 6-8-stellige Zahl.",
                      "EVA-Nummern stehen im Katalog GET /api/v1/cities/{slug}/stations.")
    key = facts.all_keys()["station-arrivals" if arrivals else "station-departures"]
    return _answer_of(resources, key, resources.board(eva, arrivals), {})


def _stop_board(resources: Resources, city: City, query: Query) -> Answer:
    if resources.profile == "bare":
        return Answer(200, None, {"source_status": "disabled", "as_of": None, "refresh_seconds": 45})
    stop_id = query.get("stop_id", "")
    if not _STOP_ID.fullmatch(stop_id):
        return refuse(400, "invalid_request", "Ungueltige oder fehlende stop_id.",
                      "Erwartet wird eine Halt-ID im DELFI-Muster 'de:<AGS>:<id>' oder eine numerische "
                      "gtfs.de-Halt-ID.")
    if resources.profile == "dead":
        return _unavailable("gtfs_rt")
    outcome = resources.stop_board(city, stop_id)
    return Answer(200, outcome.data, {"source_status": outcome.source_status, **outcome.extras})


def _unavailable(source: str) -> Answer:
    tail = facts.raw()["dead_tail"].get(source, "kein gecachter Wert vorhanden.")
    return refuse(503, "upstream_unavailable", f"Quelle '{source}' voruebergehend nicht erreichbar, {tail}", _RETRY)


def _answer_of(resources: Resources, key: Key, outcome: Outcome, query: Query) -> Answer:
    if outcome.source_status == "error":
        return _unavailable(outcome.source)
    data, meta = outcome.data, {"source_status": outcome.source_status, **outcome.extras}
    if data is not None and key.key == "stations":
        data = _with_payload(data, _station_rows(data["payload"], query))
    if data is not None and catalogue.paged(key.key) and resources.world.state != "july-1":
        data, pagination = _paginated(key.key, data, query)
        if pagination:
            meta["pagination"] = pagination
    links = {"deprecation": "true", "link": f'</api/v1/live/{{slug}}/{key.key}>; rel="successor-version"'}
    return Answer(200, data, meta, headers=links if key.key in _SUCCESSORS else {})


def _with_payload(record: Row, payload: Row) -> Row:
    return {**record, "payload": payload}


def _station_rows(payload: Row, query: Query) -> Row:
    """`q` keeps the stations whose name holds the text, `limit` (at most 100) the first ones."""
    rows = [row for row in payload["stations"] if query.get("q", "").lower() in row["name"].lower()]
    limit = _whole(query.get("limit"))
    if limit:
        rows = rows[: min(limit, 100)]
    return {**payload, "station_count": len(rows), "stations": rows}


def _paginated(name: str, data: Any, query: Query) -> tuple[Any, Row | None]:
    """Cut the list of a list type to limit and offset (all without a limit) and describe the cut."""
    if isinstance(data, list):
        rows, pagination = _window(data, query)
        return rows, pagination
    field = _ROW_LISTS.get(name, "items")
    payload = data["payload"]
    if field not in payload:
        return data, None
    rows, pagination = _window(payload[field], query)
    if len(rows) == len(payload[field]):
        return data, pagination
    changed = {**payload, "count": len(rows), field: rows}
    if "truncated" in payload:
        changed["truncated"] = len(rows) < payload["total_available"]
    return _with_payload(data, changed), pagination


def _window(rows: list[Any], query: Query) -> tuple[list[Any], Row]:
    limit = None if query.get("all") == "1" else _whole(query.get("limit")) or None
    offset = _whole(query.get("offset")) or 0
    shown = rows[offset:] if limit is None else rows[offset:offset + limit]
    return shown, {"total": len(rows), "returned": len(shown), "limit": limit, "offset": offset,
                   "truncated": offset + len(shown) < len(rows)}


def _parameter_problem(name: str, query: Query) -> Answer | None:
    """The own parameters of tenders and council papers; their filters do not change the answer here (modelled)."""
    if name not in _LIST_CAPS:
        return None
    for parameter, allowed in _CHOICES.items():
        if name == "public-tenders" and query.get(parameter, allowed[0]) not in allowed:
            return refuse(422, "unprocessable", f"Ungueltiger Wert fuer '{parameter}': '{query[parameter]}'.",
                          f"Erlaubt: {', '.join(allowed)}.")
    text = query.get("limit")
    if text is not None and not 1 <= (_whole(text) or 0) <= _LIST_CAPS[name]:
        return refuse(422, "unprocessable", f"Ungueltiges limit '{text}'.", f"Erlaubt: 1 bis {_LIST_CAPS[name]}.")
    if not _is_date(query.get("since", "2026-01-01")):
        return refuse(422, "unprocessable", f"Ungueltiges Datum '{query['since']}'.", "Erwartet: JJJJ-MM-TT.")
    return None


def _whole(text: str | None) -> int | None:
    """A whole number of plain digits; None for anything else, which these parameters ignore."""
    return int(text) if text and _DIGITS.fullmatch(text) else None


def _is_date(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text)) and len(text) == 10
    except ValueError:
        return False
