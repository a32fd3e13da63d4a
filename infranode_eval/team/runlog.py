"""The order in which runs of sub-agents start and end, as a logical clock: no seconds, only before and after.

A run ends when its result reaches the manager, or the script that waits for it, so that calls of one answer always
overlap, however fast the workers are. Source: specification, team, section 2.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any


class RunLog:
    """Safe to use from many threads. events: {"event": "start"|"end", "run", "subagent", "session", "round"}."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._started: dict[str, Mapping[str, str]] = {}
        self._lock = threading.Lock()

    def start(self, run: str, subagent: str, session: str, round_id: str) -> None:
        with self._lock:
            self._started[run] = {"run": run, "subagent": subagent, "session": session}
            self.events.append({"event": "start", **self._started[run], "round": round_id})

    def end(self, run: str, round_id: str) -> None:
        """Once for each run that was started; of any other nothing is written."""
        with self._lock:
            started = self._started.pop(run, None)
            if started is not None:
                self.events.append({"event": "end", **started, "round": round_id})

    def lines(self) -> str:
        """As a round's check reads it: JSON lines."""
        with self._lock:
            return lines_of(self.events)


def lines_of(events: Iterable[Mapping[str, Any]]) -> str:
    """Events as JSON lines."""
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)
