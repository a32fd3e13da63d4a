"""How long a play may go on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """turns: messages of the manager a round. context: tokens of its conversation. worker_turns: messages of a
    sub-agent a run. runs, subagents: in a scenario. wall_s: seconds a scenario, without pauses of endpoints.

    Source: specification, team, section 2.
    """

    turns: int = 40
    context: int = 128_000
    worker_turns: int = 30
    runs: int = 200
    subagents: int = 64
    wall_s: float = 3600.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
