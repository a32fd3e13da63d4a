"""Worlds that answer the requests of a play: the embedded API, a recording, or the live API; and a session in one."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from infranode_eval.chain import faults as faulty
from infranode_eval.chain.declaration import Fault, faults_from_json
from infranode_eval.chain.responses import Response
from infranode_eval.infranode import facts
from infranode_eval.infranode.recording import Recording, read_recording
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.errors import DataError, InfraError, RateLimitedError, RefusedRequestError
from lm_eval_task.records import fingerprint

KINDS = ("snapshot", "recording", "live")
_PREFIX = "/api/v1"
_MOST = 20_000      # answers kept a world: a model may invent requests without end


class World(Protocol):
    """Answers requests. `sha256` says which world it is, None where nobody can say (live)."""

    kind: str
    name: str
    sha256: str | None

    def answer(self, request: str) -> Response:
        """The answer to "/cities/bonn/weather"; safe in any number of threads. Raise what the source raises."""
        ...


class Transport(Protocol):
    """An httpx transport, which this module needs for the network only."""

    def handle_request(self, request: Any) -> Any: ...

    def close(self) -> None: ...


class _Cache:
    """Answers by request; asking twice gives the same object. For sources that always answer the same."""

    def __init__(self, ask: Callable[[str], Response]) -> None:
        self._ask, self._known = ask, {}

    def answer(self, request: str) -> Response:
        found = self._known.get(request)
        if found is None:
            found = self._ask(request)
            if len(self._known) < _MOST:
                found = self._known.setdefault(request, found)
        return found


class SnapshotWorld(_Cache):
    """The embedded API in its default state; its name is the seed of its values."""

    kind = "snapshot"

    def __init__(self, seed: str) -> None:
        self.name, self.sha256, self._snapshot = seed, facts.world_hash(seed), Snapshot(seed=seed)
        super().__init__(self._request)

    def _request(self, request: str) -> Response:
        found = self._snapshot.respond("GET", _PREFIX + request)
        text = found.body.decode("utf-8")
        return Response(request, found.status, json.loads(text), text)


class RecordingWorld(_Cache):
    """The answers of a recording; its name is the path. An unrecorded request is a DataError that names it."""

    kind = "recording"

    def __init__(self, recording: Recording) -> None:
        self.name, self._recording = str(recording.path), recording
        self.sha256 = fingerprint([[found.request, found.status, found.body] for found in sorted(
            recording.responses.values(), key=lambda found: found.request)])
        super().__init__(self._request)

    def _request(self, request: str) -> Response:
        found = self._recording.response_to(request)
        if not isinstance(found.body, dict):
            raise DataError(f"the answer to GET {request} is no envelope; record it again", self._recording.path)
        return Response(request, found.status, found.body)


class LiveWorld:
    """The API over the network; its name is the base URL. Answers are not kept: a session keeps its own.

    transport, rps, sleep: as the client takes them.
    """

    kind, sha256 = "live", None

    def __init__(self, base_url: str, transport: Transport | None = None, rps: float | None = 1.0,
                 sleep: Callable[[float], None] = time.sleep) -> None:
        from infranode_eval.infranode.client import Client  # late: the other worlds need no client

        self.name, self._lock = base_url.rstrip("/"), threading.Lock()
        self._last: list[tuple[int, bytes]] = []
        self._client = Client(base_url, rps=rps, transport=_listening(transport, self._last), sleep=sleep)

    def answer(self, request: str) -> Response:
        """Also a refusal or a dead upstream is an answer, as long as it is the API's own.

        Raise InfraError, RateLimitedError or AuthError where the client gives up without such an answer.
        """
        with self._lock:
            self._last.clear()
            try:
                found = self._client.get(request)
                return Response(request, found.status, found.body)
            except (RefusedRequestError, RateLimitedError, InfraError):
                refusal = _refusal(request, self._last)
                if refusal is None:
                    raise
                return refusal


def _listening(inner: Transport | None, last: list[tuple[int, bytes]]) -> Transport:
    """An httpx transport that keeps the last answer, because the client raises for all but status 200."""
    from infranode_eval.infranode.transport import load_httpx  # late: only the network needs it

    httpx = load_httpx()
    inner = httpx.HTTPTransport() if inner is None else inner

    class Listening(httpx.BaseTransport):
        def handle_request(self, request: Any) -> Any:
            last.clear()
            response = inner.handle_request(request)
            response.read()
            last.append((response.status_code, response.content))
            return response

        def close(self) -> None:
            inner.close()

    return Listening()


def _refusal(request: str, last: Sequence[tuple[int, bytes]]) -> Response | None:
    for status, content in last[-1:]:
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            return None
        if isinstance(body, dict) and isinstance(body.get("error"), dict) and status != 200:
            return Response(request, status, body)
    return None


def open_world(value: Mapping[str, Any], transport: Transport | None = None,
               rps: float | None = 1.0) -> World:
    """The world that {"kind", "name", "sha256"} names; one per process, as long as no transport is given.

    transport, rps: for `live` (requests a second, None = no pace; a row's own "rps" goes before). Raise DataError for a
    kind that is unknown, and, with both hashes, for a world that is not the one whose sha256 is given.
    """
    kind, name = (value.get("kind"), value.get("name")) if isinstance(value, Mapping) else (None, None)
    if kind not in KINDS or not isinstance(name, str) or not name:
        raise DataError(f'a world is {{"kind": {"|".join(KINDS)}, "name": str, "sha256": str}}, found {value!r}')
    if kind == "live":
        rps = value.get("rps", rps)
        return LiveWorld(name, transport, rps) if transport else _live(name, rps)
    world = _snapshot(name) if kind == "snapshot" else _recording(name)
    expected = value.get("sha256")
    if expected is not None and expected != world.sha256:
        raise DataError(f"world {kind} {name}: the tasks were made in sha256 {expected}, here it is {world.sha256}; "
                        + _ADVICE[kind].format(name=name))
    return world


_ADVICE = {"snapshot": "rebuild them with generate.py --suite chain --world-seed {name}, or use the version of this "
                       "project that made them",
           "recording": "use the recording that belongs to the tasks, or rebuild them from this one"}


@cache
def _snapshot(seed: str) -> SnapshotWorld:
    return SnapshotWorld(seed)


@cache
def _recording(path: str) -> RecordingWorld:
    return RecordingWorld(read_recording(path))


@cache
def _live(base_url: str, rps: float | None) -> LiveWorld:
    return LiveWorld(base_url, rps=rps)


class Session:
    """A world as one play sees it: same request, same answer, but for the faults of the task. For one thread."""

    def __init__(self, world: World, faults: Sequence[Fault] = ()) -> None:
        self.world, self.faults = world, tuple(faults)
        self._plain: dict[str, Response] = {}
        self._faulty: dict[tuple[str, tuple[int, ...]], Response] = {}
        self._hits: Counter[int] = Counter()
        self._places = [faulty.places_hit(fault, self._without_faults) for fault in self.faults]

    def get(self, request: str) -> Response:
        """The answer to a request; a fault with `times` counts it. Raise what the world raises."""
        response = self._without_faults(request)
        active = []
        for index, (fault, places) in enumerate(zip(self.faults, self._places, strict=True)):
            if faulty.hits(fault, places, response):
                self._hits[index] += 1
                if fault.times is None or self._hits[index] <= fault.times:
                    active.append(index)
        return self._changed(response, tuple(active)) if active else response

    def _without_faults(self, request: str) -> Response:
        found = self._plain.get(request)
        if found is None:
            found = self._plain[request] = self.world.answer(request)
        return found

    def _changed(self, response: Response, active: tuple[int, ...]) -> Response:
        known = self._faulty.get((response.request, active))
        if known is None:
            known = response
            for index in active:
                status, body = faulty.changed(self.faults[index], self._places[index], known)
                known = Response(response.request, status, body)
            self._faulty[response.request, active] = known
        return known


def session_of(row: Mapping[str, Any]) -> Session:
    """The session of a task row: its world, its faults. Raise DataError."""
    return Session(open_world(row.get("world") or {}), faults_from_json(row.get("faults", [])))
