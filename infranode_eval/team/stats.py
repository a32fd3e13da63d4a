"""How much there is in scenarios: rounds, updates, bytes and estimated tokens by modality."""

from __future__ import annotations

import io
import math
import wave
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infranode_eval.team.kinds import kind_of
from infranode_eval.team.layout import tree
from infranode_eval.team.scenario import Scenario
from infranode_eval.tokens import estimate

OTHER = "other"                     # bytes that no agent perceives
MODALITIES = ("text", "image", "audio", "video", OTHER)
PIXELS_PER_TOKEN = 750              # of a picture, as one large vendor counts; others lie between half and twice that
AUDIO_TOKENS_PER_SECOND = 32        # likewise of a sound


@dataclass(frozen=True, slots=True)
class Amount:
    """Files of one modality. tokens: estimated; of files whose size in pixels or seconds is unknown None, and so of
    a sum that holds one."""

    files: int = 0
    bytes: int = 0
    tokens: int | None = 0

    def __add__(self, other: Amount) -> Amount:
        known = self.tokens is not None and other.tokens is not None
        return Amount(self.files + other.files, self.bytes + other.bytes,
                      self.tokens + other.tokens if known else None)  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Stats:
    """update_groups: ids of the manifest; update_new and update_replace: their files by operation."""

    scenarios: int = 0
    rounds: int = 0
    update_groups: int = 0
    update_new: int = 0
    update_replace: int = 0
    amounts: Mapping[str, Amount] = field(default_factory=dict, hash=False)

    @property
    def update_files(self) -> int:
        return self.update_new + self.update_replace

    @property
    def replace_share(self) -> float | None:
        """Of the files of all updates; None without any. The rest is new."""
        return self.update_replace / self.update_files if self.update_files else None

    def __add__(self, other: Stats) -> Stats:
        amounts = {name: self.amounts.get(name, Amount()) + other.amounts.get(name, Amount()) for name in MODALITIES}
        return Stats(self.scenarios + other.scenarios, self.rounds + other.rounds,
                     self.update_groups + other.update_groups, self.update_new + other.update_new,
                     self.update_replace + other.update_replace, amounts)

    def to_json(self) -> dict[str, object]:
        share = self.replace_share
        return {"scenarios": self.scenarios, "rounds": self.rounds, "update_groups": self.update_groups,
                "update_files": self.update_files, "update_new": self.update_new,
                "update_replace": self.update_replace, "replace_share": share,
                "new_share": None if share is None else 1 - share,
                "modalities": {name: {"files": amount.files, "bytes": amount.bytes, "tokens": amount.tokens}
                               for name, amount in self.amounts.items()}}


def scenario_stats(scenario: Scenario) -> Stats:
    """Of one scenario. Bytes and tokens: of the workspace and of the files that updates lay in, links left out."""
    files = [scenario.template / path for path, kind in tree(scenario.template).items() if kind == "file"]
    changes = [change for update in scenario.updates.values() for change in update]
    amounts = dict.fromkeys(MODALITIES, Amount())
    for path in [*files, *(change.src for change in changes)]:
        name, amount = _measured(path)
        amounts[name] += amount
    new = sum(change.op == "new" for change in changes)
    return Stats(1, len(scenario.rounds), len(scenario.updates), new, len(changes) - new, amounts)


def total_stats(scenarios: Iterable[Scenario]) -> Stats:
    total = Stats(amounts=dict.fromkeys(MODALITIES, Amount()))
    for scenario in scenarios:
        total += scenario_stats(scenario)
    return total


def _measured(path: Path) -> tuple[str, Amount]:
    data = path.read_bytes()
    kind = kind_of(data)
    if kind.modality == "text":
        return "text", Amount(1, len(data), estimate(data.decode("utf-8", "replace")))
    if kind.modality is None:
        return OTHER, Amount(1, len(data), None)
    tokens = {"image/png": _png_tokens, "audio/wav": _wav_tokens}.get(kind.mime, lambda _: None)(data)
    return kind.modality, Amount(1, len(data), tokens)


def _png_tokens(data: bytes) -> int | None:
    """The size stands in the first chunk, IHDR."""
    if len(data) < 24 or data[12:16] != b"IHDR":
        return None
    width, height = (int.from_bytes(data[start:start + 4], "big") for start in (16, 20))
    return math.ceil(width * height / PIXELS_PER_TOKEN)


def _wav_tokens(data: bytes) -> int | None:
    try:
        with wave.open(io.BytesIO(data)) as sound:
            return math.ceil(sound.getnframes() / sound.getframerate() * AUDIO_TOKENS_PER_SECOND)
    except (wave.Error, EOFError, ZeroDivisionError):
        return None
