"""A scenario before it is written: what its author says, as records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infranode_eval.generator.team.leak import Secret

CORRECT = "Die Prüfung der letzten Aufgabe war erfolgreich."
INCORRECT = "Die Prüfung der letzten Aufgabe ist fehlgeschlagen."


@dataclass(frozen=True, slots=True)
class Asset:
    """A picture or a sound. modality: "image" or "audio". text: what someone who perceives it reports, with every
    fact in digits. make: gives its bytes, and is called only when they are needed."""

    modality: str
    text: str
    make: Callable[[], bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Change:
    """A file that an update brings. op: "new" or "replace"; dst: relative to the workspace."""

    op: str
    dst: str
    content: str | Asset


@dataclass(frozen=True, slots=True)
class Wrong:
    """An answer that must fail, and why. answer: what its JSON holds; files: further files, workspace path → text.

    from_: the decoy file that says so; stale_of: the update before which it was right; built_on: the round whose wrong
    answer it follows from.
    """

    why: str
    answer: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    from_: str | None = None
    stale_of: str | None = None
    built_on: str | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """A command that main's sandbox runs before the check (programs that the agent wrote), and what it must print.

    command may hold ${workspace}; output is compared without blank lines and blanks at the ends of lines.
    """

    command: str
    output: str


@dataclass(frozen=True, slots=True)
class RoundDraft:
    """One round. question: German, may hold ${workspace}; it names the file and each of its keys.

    answer: what ausgabe/<id>.json must hold; a number must be a number, a text is compared without blanks around it.
    accept: dotted path of a key → further values that are right. files: other files of the golden answer.
    overlap: as many runs of this round must have been under way at once (C6; 0: not looked at).
    only_in_session: texts that stood in the workspace in the round that C7 names, and stand in no file now.
    """

    id: str
    question: str
    answer: Mapping[str, Any]
    wrongs: Sequence[Wrong]
    covers: Sequence[str] = ()
    tags: Sequence[str] = ()
    update_ids: Sequence[str] = ()
    accept: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    overlap: int = 0
    before: Before | None = None
    only_in_session: Sequence[str] = ()
    feedback: tuple[str, str] = (CORRECT, INCORRECT)


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole scenario. workspace: path → text or asset; accessible, delegable, decoys: folders or files in it.

    secrets: asset's path → what no text may tell.
    """

    scenario_id: str
    title: str
    domain: str
    accessible: Sequence[str]
    delegable: Sequence[str]
    decoys: Sequence[str]
    workspace: Mapping[str, str | Asset]
    updates: Mapping[str, Sequence[Change]]
    rounds: Sequence[RoundDraft]
    secrets: Mapping[str, Sequence[Secret]]
    version: int = 1
    needs: Sequence[str] = ("python3",)

    @property
    def assets(self) -> dict[str, Asset]:
        """Every picture and sound by its path in the scenario's folder."""
        found = {f"workspace/{path}": content for path, content in self.workspace.items() if isinstance(content, Asset)}
        for name, changes in self.updates.items():
            found |= {source_of(name, c): c.content for c in changes if isinstance(c.content, Asset)}
        return found


def source_of(update: str, change: Change) -> str:
    """Where a change's content lies in the scenario's folder."""
    return f"updates/{update}/{change.dst}"
