"""What a fault makes of an answer: a dead upstream, an empty state or another value, in the API's own shapes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from infranode_eval.chain import carriers, pointers
from infranode_eval.chain.carriers import Place
from infranode_eval.chain.declaration import Fault
from infranode_eval.chain.responses import Response
from infranode_eval.infranode import facts
from infranode_eval.infranode.envelope import body_of, refuse
from infranode_eval.infranode.world import World
from lm_eval_task.errors import DataError

Get = Callable[[str], Response]
_RETRY = "Erneut versuchen oder GET /api/v1/health fuer Quellen-Status."
_NO_CACHE = "kein gecachter Wert vorhanden."


def places_hit(fault: Fault, get: Get) -> tuple[Place, ...]:
    """Every place whose record the fault takes away: the answer of its request, under scope "datum" all its carriers.

    get: the answers of the world without faults; asked only for boards, to see which of them share a train.
    """
    own = carriers.whole(fault.request)
    if fault.scope == "path":
        return (own,)
    asked = carriers.asked_by(fault.request)
    if asked.kind == "record":
        found = (*carriers.places_of(asked.slug, asked.key), *_boards(asked.slug, asked.key))
    elif asked.kind == "board":
        found = tuple(candidate.place for candidate in carriers.of_board(asked.slug, asked.key))
    else:
        found = (own,)
    shared = {"station-departures": "departures", "station-arrivals": "arrivals"}.get(asked.key, asked.key)
    if shared not in ("departures", "arrivals"):
        return found
    trains = _trains(own, shared, get)
    return tuple(place for place in found if place == own or _trains(place, shared, get) & trains)


def _boards(slug: str, key: str) -> tuple[Place, ...]:
    return carriers.boards_of(slug, carriers.CITY_BOARDS[key]) if key in carriers.CITY_BOARDS else ()


def _trains(place: Place, direction: str, get: Get) -> set[str]:
    rows = pointers.at(place.look(get(place.request).body), f"/payload/{direction}")
    return {row["stop_id"] for row in rows if "stop_id" in row} if isinstance(rows, list) else set()


def hits(fault: Fault, places: tuple[Place, ...], response: Response) -> bool:
    """Does the fault change this answer?"""
    return any(_hit(place, response) for place in places)


def _hit(place: Place, response: Response) -> bool:
    if place.resource is None:
        return response.request == place.request
    asked = carriers.asked_by(response.request)
    return asked.kind == "compare" and asked.key == place.resource and _index(place, response.body) is not None


def changed(fault: Fault, places: tuple[Place, ...], response: Response) -> tuple[int, Mapping[str, Any]]:
    """Status and body under the fault; bodies are copied where they change, never changed in place.

    Raise DataError where a value is to be set at a pointer that leads nowhere.
    """
    if fault.at is not None:
        try:
            return response.status, pointers.replaced(response.body, fault.at, fault.value)
        except DataError as error:
            raise DataError(f"fault of {fault.request}: {error}") from None
    hit = [place for place in places if _hit(place, response)]
    if any(place.resource is None and place.highlight is None for place in hit):
        return _dead(fault, response) if fault.status else (200, _empty(fault, response))
    body = response.body
    for place in hit:
        row = {"data": None, "source_status": "error" if fault.status else fault.source_status}
        if place.highlight is not None:
            body = pointers.replaced(body, f"/data/highlights/{place.highlight}", row)
        else:
            body = pointers.replaced(body, f"/data/{_index(place, body)}", {"city": place.city, **row})
    return response.status, body


def _index(place: Place, body: Any) -> int | None:
    """The row of a city in a body of /compare."""
    rows = pointers.at(body, "/data")
    rows = rows if isinstance(rows, list) else []
    return next((index for index, row in enumerate(rows) if place.where[0].holds(row)), None)


def _dead(fault: Fault, response: Response) -> tuple[int, Mapping[str, Any]]:
    tail = facts.raw()["dead_tail"].get(fault.source, _NO_CACHE)
    answer = refuse(503, "upstream_unavailable", f"Quelle '{fault.source}' voruebergehend nicht erreichbar, {tail}",
                    _RETRY)
    correlation_id = pointers.at(response.body, "/meta/correlation_id")
    return 503, json.loads(body_of(answer, correlation_id if isinstance(correlation_id, str) else "",
                                   _moment(response.body)))


def _moment(body: Any) -> str:
    """The time of an answer, as errors write it: when its record was retrieved, else the clock of the snapshot."""
    found = next(_named(body, "retrieved_at"), None)
    return found[:-1] + "+00:00" if isinstance(found, str) else World.of().utc()[:-1] + ".000000+00:00"


def _named(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        if name in value:
            yield value[name]
        for inner in value.values():
            yield from _named(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner, name)


def _empty(fault: Fault, response: Response) -> Mapping[str, Any]:
    """An answer without data, in the order in which the API writes its meta."""
    old = response.body.get("meta") or {}
    meta = {"correlation_id": old.get("correlation_id"), "source_status": fault.source_status}
    if fault.source_status == "no_data" and "cache_status" in old:
        meta["cache_status"] = old["cache_status"]
    if "refresh_seconds" in old:        # every answer under /live says how old it is
        meta |= {"as_of": None, "refresh_seconds": old["refresh_seconds"]}
    return {"data": None, "meta": meta}
