"""The embedded offline API: answers the requests of the InfraNode REST contract from facts and invented values.

In-process: ``Snapshot().respond("GET", "/api/v1/cities/koeln/weather")``, or an httpx client with
``transport=Snapshot().transport()``.
As a server on loopback:

    python -m infranode_eval.infranode.snapshot --port 8765 [--state S] [--profile P] [--seed SEED] [--throttle]

It is a model of the API: it proves that calls fit the contract, never that the live API answers so today.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from infranode_eval.infranode import facts, openapi, routes
from infranode_eval.infranode.envelope import Answer, Response, body_of, etag_of, refuse
from infranode_eval.infranode.resources import PROFILES, Resources
from infranode_eval.infranode.throttle import Reading, Throttle, unthrottled
from infranode_eval.infranode.transport import load_httpx
from infranode_eval.infranode.world import World
from infranode_eval.terminal import Parser
from lm_eval_task.errors import BenchError

if TYPE_CHECKING:
    import httpx

_SIX_HOURS, _HALF_HOUR, _TEN_MINUTES, _FIVE_MINUTES = 21_600, 1_800, 600, 300
_LIVE_KEYS = frozenset(("traffic", "road-events", "webcams", "parking", "charging-status", "sharing", "fuel-prices",
                        "water-level", "flood", "weather-warnings", "civil-protection-warnings", "station-departures",
                        "station-arrivals", "station-facilities", "office-wait-times", "overview", "power-load",
                        "power-price", "bike-counts", "fire-danger", "pollen-uv"))


class Responder(Protocol):
    """Anything that answers a request: a Snapshot, or an object around one that adds faults."""

    def respond(self, method: str, target: str, headers: Mapping[str, str] | None = None) -> Response:
        """Answer `method` on `target` (path with query)."""


class Snapshot:
    """One world of the API. Same request, same bytes; only throttling has a state, and it is off unless asked for.

    `throttle=True` counts with the real clock; a Throttle of your own brings its clock along.
    Raises UsageError for an unknown state or profile.
    """

    def __init__(self, state: str = facts.DEFAULT_STATE, profile: str = "default", seed: str = facts.DEFAULT_SEED,
                 throttle: Throttle | bool = False) -> None:
        self.world = World.of(state, seed)
        self.profile = profile
        self._resources = Resources.of(self.world, profile)
        self._throttle = Throttle(time.time) if throttle is True else throttle or None
        self._name = f"{state}|{profile}|{seed}"

    def world_hash(self) -> str:
        """sha256 hex over facts file, seed, clock and version of the rules."""
        return facts.world_hash(self.world.values.seed)

    def respond(self, method: str, target: str, headers: Mapping[str, str] | None = None) -> Response:
        """Answer one request. `target` is path with query, e.g. "/api/v1/compare?resource=air&cities=bonn,ulm"."""
        if target.partition("?")[0] == openapi.PATH:
            answer = openapi.answer(self.world.state, method)
            return self._finish(answer, unthrottled(self.world.epoch()), self._request_id(method, target), None,
                                headers or {})
        segments, query = routes.split_target(target)
        scope = segments[0] if segments and segments[0] in ("compare", "sources") else "default"
        reading = self._throttle.count(scope) if self._throttle else unthrottled(self.world.epoch())
        if reading.allowed:
            answer = routes.answer(self._resources, method, segments, query)
        else:
            answer = refuse(429, "rate_limited", "Rate limit exceeded.",
                            "Bitte etwas warten und spaeter erneut versuchen (RateLimit-Header beachten).")
        return self._finish(answer, reading, self._request_id(method, target), segments, headers or {})

    def _request_id(self, method: str, target: str) -> str:
        return sha256(f"{self._name}|{method.upper()}|{target}".encode()).hexdigest()[:32]

    def transport(self) -> httpx.BaseTransport:
        """An httpx transport that never leaves the process."""
        return transport(self)

    def _finish(self, answer: Answer, reading: Reading, request_id: str, segments: Sequence[str] | None,
                asked: Mapping[str, str]) -> Response:
        headers = {"content-type": "application/json", "access-control-allow-origin": "*", "x-request-id": request_id}
        if answer.limited:
            headers.update(reading.headers())
        status = answer.status
        body = body_of(answer, request_id, self.world.utc()[:-1] + ".000000+00:00").encode()
        if status == 200:
            etag = etag_of(answer)
            headers.update(answer.headers, etag=etag)
            headers["cache-control"] = self._cache_control(segments or ())
            wanted = next((value for name, value in asked.items() if name.lower() == "if-none-match"), None)
            if wanted == etag:
                status, body = 304, b""
        if status != 304:
            headers["content-length"] = str(len(body))
        return Response(status, headers, body)

    def _cache_control(self, segments: Sequence[str]) -> str:
        if segments[:1] == ("live",):
            return "no-store"
        seconds = _FIVE_MINUTES
        if self.world.state == "august-2026" and len(segments) == 3 and segments[0] == "cities":
            seconds = _august_seconds(segments[2])
        return f"public, max-age={seconds}, stale-while-revalidate={seconds}, stale-if-error={seconds}"


def _august_seconds(key: str) -> int:
    """Lifetimes of August by type: 6 h statistics and places, 30 min weather, 10 min air, 300 s the rest."""
    if key == "weather":
        return _HALF_HOUR
    if key in ("air", "air-uba"):
        return _TEN_MINUTES
    return _FIVE_MINUTES if key in _LIVE_KEYS else _SIX_HOURS


def transport(responder: Responder) -> httpx.BaseTransport:
    """An httpx transport around any responder; httpx is imported here, as in-process use needs none of it."""
    httpx = load_httpx()

    class InProcess(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            found = responder.respond(request.method, request.url.raw_path.decode("ascii"), request.headers)
            return httpx.Response(found.status, headers=dict(found.headers), content=found.body, request=request)

    return InProcess()


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("python -m infranode_eval.infranode.snapshot", "Serve the embedded offline API on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=8765, help="0 picks a free one (default: 8765)")
    parser.add_argument("--state", choices=facts.states(), default=facts.DEFAULT_STATE)
    parser.add_argument("--profile", choices=PROFILES, default="default")
    parser.add_argument("--seed", default=facts.DEFAULT_SEED, help="of the invented values (default: s1)")
    parser.add_argument("--throttle", action="store_true", help="answer 429 beyond 300 requests a minute, 6000 an hour")
    return parser.parse_args(arguments)


def _announce(url: str) -> None:
    print(url, flush=True)


def main(arguments: Sequence[str] | None = None, announce: Callable[[str], Any] = _announce) -> int:
    """Serve until Ctrl-C. Exit 0, or 2 with one line where the port cannot be had."""
    from infranode_eval.infranode.server import serve  # late: in-process use needs no server

    try:
        chosen = _arguments(arguments)
        snapshot = Snapshot(chosen.state, chosen.profile, chosen.seed, chosen.throttle)
        serve(snapshot, chosen.port, announce)
    except BenchError as error:
        print(f"snapshot: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
