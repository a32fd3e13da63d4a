"""Sources of a world: the embedded model, a recording, or the live API with or without a recording made on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from infranode_eval.chain.responses import Response
from infranode_eval.chain.worlds import RecordingWorld, World, open_world
from infranode_eval.generator import connection
from infranode_eval.infranode import facts
from infranode_eval.infranode.client import BASE_URL
from infranode_eval.infranode.recording import Recorder, read_recording
from infranode_eval.infranode.snapshot import Snapshot

_NUMBER = re.compile(r"[0-9]+")
_ZONE = "Europe/Berlin"


@dataclass(frozen=True, slots=True)
class Wish:
    """Where the world shall come from. source: "snapshot" or "live"; rps: requests a second of the live API."""

    source: str = "snapshot"
    replay: str | None = None
    record: str | None = None
    seed: str = facts.DEFAULT_SEED
    base_url: str = BASE_URL
    rps: float = 1.0


def world_of(wish: Wish, read: Callable[[World], Any]) -> World:
    """The world that rows are built in.

    A recording is made by reading the source once (`read` asks whatever golds and proofs need), and is then the world.
    Raise DataError for a broken recording, ProviderError where the API does not answer.
    """
    if wish.record:
        _record(wish, wish.record, read)
    recorded = wish.replay or wish.record
    if recorded:
        return RecordingWorld(read_recording(recorded))
    if wish.source == "live":
        return Kept(open_world({"kind": "live", "name": wish.base_url}, rps=wish.rps))
    return open_world({"kind": "snapshot", "name": seed_name(wish.seed)})


def seed_name(seed: str) -> str:
    """"7" and "s7" name the same world."""
    return f"s{seed}" if _NUMBER.fullmatch(seed) else seed


def _record(wish: Wish, path: str, read: Callable[[World], Any]) -> None:
    level = connection.level_at(wish.base_url) if wish.source == "live" else "snapshot"
    inner = None if wish.source == "live" else Snapshot(seed=seed_name(wish.seed)).transport()
    day = {"today": _snapshot_day} if level == "snapshot" else {}
    recorder = Recorder(path, level, wish.base_url, **day)
    try:
        rps = wish.rps if inner is None else None
        read(Kept(open_world({"kind": "live", "name": wish.base_url}, recorder.around(inner), rps)))
    finally:
        recorder.close()


def _snapshot_day() -> str:
    return facts.raw()["clock"]["local"][:10]


class Kept:
    """A world whose answers are asked for once."""

    def __init__(self, world: World) -> None:
        self.kind, self.name, self.sha256 = world.kind, world.name, world.sha256
        self._world: World = world
        self._known: dict[str, Response] = {}

    def answer(self, request: str) -> Response:
        found = self._known.get(request)
        if found is None:
            found = self._known[request] = self._world.answer(request)
        return found


def clock_of(world: World) -> str | None:
    """The local time that a model in this world is told: of a recording, when its last record was retrieved; of the
    live API, now; None in the embedded model, which has a clock of its own."""
    if world.kind == "snapshot":
        return None
    moment = datetime.now(timezone.utc)
    if world.kind == "recording":
        recording = read_recording(world.name)
        moments = [moment for found in recording.responses.values() for moment in _retrieved(found.body)]
        days = [found.date for found in recording.responses.values()]
        moment = max(moments, default=None) or datetime.fromisoformat(f"{max(days)}T10:00:00+00:00")
    return _local(moment).replace(tzinfo=None).isoformat(timespec="seconds")


def _retrieved(value: Any) -> Iterator[datetime]:
    if isinstance(value, Mapping):
        text = value.get("retrieved_at")
        if isinstance(text, str):
            yield datetime.fromisoformat(text.replace("Z", "+00:00"))
        for inner in value.values():
            yield from _retrieved(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _retrieved(inner)


def _local(moment: datetime) -> datetime:
    """German time; where the system knows no time zones, that of the machine."""
    try:
        return moment.astimezone(ZoneInfo(_ZONE))
    except ZoneInfoNotFoundError:
        return moment.astimezone()
