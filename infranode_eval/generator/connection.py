"""Connections: the live API, the embedded model of it, or a recording, and what a check against each proves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from infranode_eval.infranode import facts
from infranode_eval.infranode.client import BASE_URL, CONTACT, Client
from infranode_eval.infranode.recording import Recorder, read_recording
from infranode_eval.infranode.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Wish:
    """Where answers shall come from. source: "live" or "snapshot"; rps: requests a second of the live API."""

    source: str = "live"
    replay: str | None = None
    record: str | None = None
    base_url: str = BASE_URL
    rps: float = 1.0
    contact: str = CONTACT


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, what a check against it proves, how the meta file names it, and how to close it."""

    client: Client
    level: str
    described: dict[str, Any]
    close: Callable[[], None]


def connect(wish: Wish) -> Connection:
    """Raise DataError for a broken recording, InfraError where a server of one's own cannot be reached."""
    if wish.replay:
        recording = read_recording(wish.replay)
        client = Client(recording.base_url, rps=None, retries=0, transport=recording.transport())
        level = "snapshot" if recording.level == "snapshot" else "recording"
        made_at = {"recorded": recording.level, "base_url": recording.base_url}
        return Connection(client, level, {"level": level, **made_at}, client.close)
    if wish.source == "snapshot":
        transport, level, base_url = Snapshot().transport(), "snapshot", BASE_URL
        described = {"level": level, "state": facts.DEFAULT_STATE, "world_hash": facts.world_hash()}
    else:
        transport, level, base_url = None, level_at(wish.base_url), wish.base_url
        described = {"level": level, "base_url": base_url}
    return _recorded(wish, transport, level, base_url, described)


def _recorded(wish: Wish, transport: Any, level: str, base_url: str, described: dict[str, Any]) -> Connection:
    """A client of the live API or of the snapshot, with a recorder in between if one is wished for."""
    settings: dict[str, Any] = {"rps": wish.rps, "contact": wish.contact}
    if level == "snapshot":
        settings = {"rps": None, "today": _snapshot_day}
    recorder = None
    if wish.record:
        today = {"today": _snapshot_day} if level == "snapshot" else {}
        recorder = Recorder(wish.record, level, base_url, **today)
        transport = recorder.around(transport)
    client = Client(base_url, transport=transport, **settings)

    def close() -> None:
        client.close()
        if recorder is not None:
            recorder.close()

    return Connection(client, level, described, close)


def _snapshot_day() -> str:
    return facts.raw()["clock"]["local"][:10]


def level_at(base_url: str) -> str:
    """Only the public address is "live"; a server elsewhere says itself if it is our own model, else it is "server"."""
    if base_url.rstrip("/") == BASE_URL:
        return "live"
    with Client(base_url, rps=None, retries=0) as client:
        answer = client.get("/cities")
    return "snapshot" if "infranode-snapshot" in answer.headers.get("server", "") else "server"
