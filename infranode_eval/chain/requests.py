"""The REST request of a call in a play: also of one that the API, not its client, refuses."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from lm_eval_task.records import Call
from lm_eval_task.tools import SLUG_REFUSED, request_of

_BOARDS = {"station_board_departures": "departures", "station_board_arrivals": "arrivals"}


def request_for(call: Call) -> str | None:
    """Path and query (without /api/v1) of the GET request that a call of the twelve tools causes.

    As `request_of`, and besides: an EVA number or a stop id of a wrong form is sent, and so is a missing stop id
    (null), so that the API says what is wrong with it. Every value stays in its segment or its parameter. None:
    another tool, or a call that its client refuses.
    """
    request = _sent_as_it_is(call) if (known := request_of(call)) is None else _with_cities_quoted(known)
    return None if request is None or _climbs(request) else request


def _with_cities_quoted(request: str) -> str:
    """The cities of a comparison cannot bring further parameters along."""
    head, cities, names = request.partition("&cities=")
    return f"{head}{cities}{quote(names, safe=',')}"


def _climbs(request: str) -> bool:
    """Is a segment of the path "." or ".."? A client would take it for a step in the path."""
    return any(segment and not segment.strip(".") for segment in request.partition("?")[0].split("/"))


def _sent_as_it_is(call: Call) -> str | None:
    """The request of a board or a stop with a value of a wrong form."""
    if call.name in _BOARDS:
        eva = _sendable(call.arguments.get("eva"))
        return f"/stations/{eva}/{_BOARDS[call.name]}" if eva else None
    if call.name != "transit_departures":
        return None
    slug, stop_id = call.arguments.get("slug"), call.arguments.get("stop_id")
    if not isinstance(slug, str) or SLUG_REFUSED.search(slug) or not _sendable(slug):
        return None
    path = f"/live/{_sendable(slug).lower()}/transit/departures"
    if stop_id is None:
        return path
    return None if _sendable(stop_id) is None else f"{path}?stop_id={_sendable(stop_id)}"


def _sendable(value: Any) -> str | None:
    """The text as a URL holds it; None for no text and for half a surrogate pair."""
    if not isinstance(value, str):
        return None
    try:
        return quote(value, safe=":,")
    except UnicodeEncodeError:
        return None
