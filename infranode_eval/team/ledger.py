"""Who did what in a play: the numbers that the metrics are made of, counted as things happen."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infranode_eval.providers.protocol import Answer
from infranode_eval.providers.token_usage import NAMES, normal_usage
from infranode_eval.team.agent import MAIN, MEDIA, Agent, Result
from infranode_eval.team.metrics import INVOCATIONS


@dataclass(slots=True)
class Deeds:
    """One sub-agent's. files: reachable at its creation. touched: virtual paths. media: modality → attachments sent."""

    key: str
    granted: tuple[str, ...]
    paths: tuple[str, ...]
    files: int
    used: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    media: Counter[str] = field(default_factory=Counter)
    refused: int = 0

    def to_json(self, name: str) -> dict[str, Any]:
        """One of a row's `subagents`."""
        return {"name": name, "model_key": self.key, "granted": list(self.granted), "used": sorted(self.used),
                "paths": list(self.paths), "files": self.files, "touched": sorted(self.touched),
                "media": {modality: self.media[modality] for modality in MEDIA},
                "refused": self.refused}


class Ledger:
    """Safe to use from many threads. round: the id of the round that is played."""

    def __init__(self) -> None:
        self.round = ""
        self.invocations: Counter[str] = Counter(dict.fromkeys(INVOCATIONS, 0))
        self._deeds: dict[str, Deeds] = {}
        self._refusals: list[dict[str, str]] = []
        self._tokens: dict[str, Counter[str]] = {}
        self._lock = threading.Lock()

    def created(self, agent: Agent, paths: tuple[str, ...], files: int) -> None:
        with self._lock:
            self._deeds[agent.name] = Deeds(agent.key, agent.tools, paths, files)

    def called(self, agent: Agent, tool: str, result: Result) -> None:
        """A call that returned. Without error or refusal it is a use."""
        with self._lock:
            deeds = self._deeds.get(agent.name)
            if result.refused is not None:
                self._refusals.append({"agent": agent.name, "tool": tool, "path": result.refused, "round": self.round})
                if deeds:
                    deeds.refused += 1
            elif deeds and not result.error:
                deeds.used.add(tool)
                if result.touched is not None:
                    deeds.touched.add(result.touched)

    def perceived(self, agent: Agent, media: Counter[str]) -> None:
        """Attachments that stood in requests, counted since the last call."""
        with self._lock:
            if agent.name in self._deeds:
                self._deeds[agent.name].media.update(media)

    def invoked(self, kind: str) -> None:
        with self._lock:
            self.invocations[kind] += 1

    def answered(self, role: str, answer: Answer) -> Mapping[str, int | None]:
        """One reply of a role; its token counts, {} where the endpoint does not count."""
        usage = normal_usage(answer.usage) or {}
        with self._lock:
            tokens = self._tokens.setdefault(role, Counter())
            tokens["requests"] += 1
            tokens.update({name: count for name in NAMES if (count := usage.get(name))})
        return usage

    def subagents(self) -> list[dict[str, Any]]:
        """In the order of their creation."""
        with self._lock:
            return [deeds.to_json(name) for name, deeds in self._deeds.items()]

    def refusals(self, rounds: Mapping[str, int]) -> list[dict[str, str]]:
        """By round, agent, tool and path, since threads have no order. rounds: id → place."""
        with self._lock:
            return sorted(self._refusals, key=lambda one: (rounds.get(one["round"], -1), one["agent"] != MAIN,
                                                           one["agent"], one["tool"], one["path"]))

    def usage(self) -> dict[str, dict[str, int]]:
        """role → token counts and number of requests."""
        with self._lock:
            return {role: dict(self._tokens.get(role, {})) for role in (MAIN, "llm", "vlm", "omni")}
