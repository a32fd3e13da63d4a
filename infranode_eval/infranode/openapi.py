"""The description of the embedded API at the site root, /openapi.json: its paths, and the parameters that have an enum.

Modelled: the paths, keys and resources of a state are facts; the document around them is ours and far shorter than the
API's. Like the API's of 22 July 2026 it lists the resources of /compare and says nothing of the types of pois.
"""

from __future__ import annotations

from collections.abc import Sequence

from infranode_eval.infranode import facts
from infranode_eval.infranode.envelope import Answer, refuse
from infranode_eval.infranode.routes import PREFIX
from infranode_eval.infranode.world import Row

PATH = "/openapi.json"
_VERSIONS = {"july-1": "1.0.0"}
_ABOUT = "Modelled by the embedded offline API: paths and enums of a state, no description of the real document."


def answer(state: str, method: str) -> Answer:
    """The document for GET, 405 for anything else; it counts against no limit."""
    if method.upper() != "GET":
        return refuse(405, "method_not_allowed", "Die HTTP-Methode ist für diese Ressource nicht erlaubt.",
                      "Erlaubte Methoden: GET.", limited=None)
    return Answer(200, plain=document(state), limited=None)


def document(state: str) -> Row:
    """What a state serves. Raise UsageError for an unknown state."""
    names = (*facts.keys(state), "pois")
    slug = _parameter("slug", "path")
    paths: Row = {
        f"{PREFIX}/health": _get(), f"{PREFIX}/sources": _get(), f"{PREFIX}/cities": _get(),
        f"{PREFIX}/cities/{{slug}}": _get(slug),
        f"{PREFIX}/compare": _get(_parameter("cities", "query"),
                                  _parameter("resource", "query", facts.compare_resources(state))),
        **{f"{PREFIX}/cities/{{slug}}/{name}": _get(slug, *([_parameter("type", "query")] if name == "pois" else []))
           for name in sorted(names)},
        f"{PREFIX}/stations/{{eva}}/departures": _get(_parameter("eva", "path")),
        f"{PREFIX}/stations/{{eva}}/arrivals": _get(_parameter("eva", "path")),
        f"{PREFIX}/live/{{city}}/transit/departures": _get(_parameter("city", "path"), _parameter("stop_id", "query")),
    }
    return {"openapi": "3.1.0", "x-modelled": True,
            "info": {"title": "InfraNode (embedded model)", "version": _VERSIONS.get(state, "1.1.1"),
                     "description": _ABOUT}, "paths": paths}


def _get(*parameters: Row) -> Row:
    return {"get": {"parameters": list(parameters), "responses": {"200": {"description": "answer"}}}}


def _parameter(name: str, place: str, enum: Sequence[str] | None = None) -> Row:
    schema: Row = {"type": "string"} | ({"enum": list(enum)} if enum is not None else {})
    return {"name": name, "in": place, "required": True, "schema": schema}
