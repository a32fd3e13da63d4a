"""What a report needs to know of a panel: its questions, how they were graded, and what routers that read words find.

Read without its databases, since tables need none: playing and judging check every hash, this checks those of the
files that it reads. Source: specification, db_routing, sections 1, 2 (44, 74) and 8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.definitions import Definition, Facts, definitions
from infranode_eval.db_routing.lexical import ROUTERS, best
from infranode_eval.db_routing.panel import (
    DESCRIPTIONS,
    FOLDER,
    MANIFEST,
    QUESTIONS,
    panel_sha256,
    text_sha256,
)
from infranode_eval.db_routing.textfiles import read_json, read_text
from lm_eval_task.errors import DataError
from lm_eval_task.records import Task, calls_from_json, fingerprint

_OWN = ("task_id", "set", "category", "question", "expected")
_KNOWN: dict[str, Path] = {}        # panel hash → folder, of every panel that a report was shown


@dataclass(frozen=True)
class PanelFacts:
    """manifest: as stored. tasks: in the order of a run. folder: where it lies."""

    folder: Path
    manifest: Mapping[str, Any]
    tasks: Mapping[str, Task]

    @property
    def sha256(self) -> str:
        return str(self.manifest["panel_sha256"])

    @property
    def aliases(self) -> Mapping[str, str]:
        """Alias → name."""
        return self.manifest["aliases"]

    @cached_property
    def questions_sha256(self) -> str:
        """The hash of tasks that results of this panel hold."""
        return fingerprint([[task.task_id, task.question, task.extra["database"], task.extra["gold_sql"]]
                            for task in sorted(self.tasks.values(), key=lambda task: task.task_id)])

    @cached_property
    def lexical(self) -> Mapping[str, Mapping[str, bool]]:
        """Router → task → is the paragraph that it likes best the right one? Deterministic, without a model."""
        paragraphs = read_json(self.folder / DESCRIPTIONS)["databases"]
        shown = {alias: paragraphs[name] for alias, name in self.aliases.items()}
        found = {}
        for name, router in ROUTERS.items():
            scores = router(shown)
            found[name] = {task_id: self.aliases[best(scores(task.question), self.manifest["seed"], task_id)]
                           == task.extra["database"] for task_id, task in self.tasks.items()}
        return found


_OF_A_PANEL = ("neighbours", "authored", "cosine")      # sentences that hang on a manifest


def definitions_of(panel: PanelFacts | None, votes: bool) -> tuple[Definition, ...]:
    """The sentences that hold for results over a panel; without it those that hold for every one.

    votes: do the buckets of the results know of votes?
    """
    if panel is not None:
        return definitions(Facts.of(panel.manifest, votes))
    return tuple(one for one in definitions(Facts("", 0, 0, 0.0, votes)) if one.id not in _OF_A_PANEL)


def holds_panel(path: str | Path) -> bool:
    """Is this the folder of a panel, or a file in one?"""
    path = Path(path)
    return (path / MANIFEST).is_file() if path.is_dir() else \
        path.name in (MANIFEST, QUESTIONS) and (path.parent / MANIFEST).is_file()


def read_panel(path: str | Path | None = None) -> PanelFacts:
    """A panel's facts (the project's own without a path). Raise DataError for a file that was changed."""
    folder = FOLDER if path is None else Path(path)
    found = _read(folder if folder.is_dir() else folder.parent)
    _KNOWN[found.sha256] = found.folder
    return found


@lru_cache(maxsize=8)
def _read(folder: Path) -> PanelFacts:
    manifest = read_json(folder / MANIFEST)
    try:
        _check(panel_sha256(manifest), manifest["panel_sha256"], folder / MANIFEST)
        for name, key in ((QUESTIONS, "questions_sha256"), (DESCRIPTIONS, "descriptions_sha256")):
            _check(text_sha256(read_text(folder / name)), manifest[key], folder / name)
        rows = {row["task_id"]: row for row in map(json.loads, read_text(folder / QUESTIONS).splitlines())}
        return PanelFacts(folder, manifest, {key: _task(rows[key]) for key in manifest["order"]})
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"is no panel ({error!r})", folder) from None


def _check(found: str, expected: str, path: Path) -> None:
    if found != expected:
        raise DataError(f"has sha256 {found}, expected {expected}; the panel was changed after it was built", path)


def _task(row: Mapping[str, Any]) -> Task:
    return Task(row["task_id"], row["question"], calls_from_json(row["expected"]), (), row["category"], row["set"],
                None, {key: row[key] for key in row if key not in _OWN and key != "why_not"})


def panel_of(sha256: str | None) -> PanelFacts | None:
    """The panel with this hash among the project's own and those that were read; None if it is not known."""
    if sha256 is None:
        return None
    for folder in (_KNOWN.get(sha256), FOLDER):
        if folder is not None and (folder / MANIFEST).is_file():
            try:
                found = _read(folder)
            except DataError:
                continue
            if found.sha256 == sha256:
                return found
    return None
