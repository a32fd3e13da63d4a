"""The manners of the scripted managers: one script a scenario, seven ways to manage, each wrong in one respect."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from infranode_eval.team.workspace import ROOT
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Call

Gold = Callable[[str], Mapping[str, str]]       # round's id → path in the workspace → text of the golden answer
Turn = tuple[Call, ...]


class Wait:
    """What a script yields to wait for a notice; it receives the notices, task id → text."""

    def __repr__(self) -> str:
        return "WAIT"


WAIT = Wait()
Script = Generator[Turn | Wait, Any, None]      # receives the results of a turn in call order, or the notices


class Desk(Protocol):
    """What a script finds on its desk: the question of the round, and notes that live through the scenario."""

    @property
    def question(self) -> str: ...

    @property
    def notes(self) -> dict[str, Any]: ...


RoundScript = Callable[[Desk], Script]


@dataclass(frozen=True, slots=True)
class Manner:
    """The knobs that a scenario's script asks.

    granted: tools that every sub-agent gets beside those it needs. whole_folders: grants the top folder of each path.
    keys: modality → pool key. decoy: believes the text in the decoy folder instead of the picture or sound. stale:
    ignores the update. alone: writes the golden answers itself. curious: tries in round 1 what it may not.
    """

    name: str
    granted: tuple[str, ...] = ()
    whole_folders: bool = False
    keys: Mapping[str, str] = field(default_factory=lambda: {"text": "llm", "image": "vlm", "audio": "omni"})
    decoy: bool = False
    stale: bool = False
    alone: bool = False
    curious: bool = False
    golden: Gold | None = field(default=None, repr=False)

    def tools(self, *needed: str) -> list[str]:
        """The tools to grant."""
        return list(dict.fromkeys((*needed, *self.granted)))

    def paths(self, *needed: str) -> list[str]:
        """The paths to grant: those asked for, or the folders of the workspace in which they lie."""
        if not self.whole_folders:
            return list(needed)
        return list(dict.fromkeys(f"{ROOT}/{path.removeprefix(ROOT + '/').split('/')[0]}" for path in needed))

    def key(self, modality: str) -> str:
        """The pool key for "text", "image" or "audio"."""
        return self.keys[modality]

    def gold(self, round_id: str) -> Mapping[str, str]:
        """The golden answer: path in the workspace → text. Raise UsageError unless this manner is told it."""
        if self.golden is None:
            raise UsageError(f"the manner {self.name} does not know the golden answers")
        return self.golden(round_id)


MANNERS: Mapping[str, Manner] = {manner.name: manner for manner in (
    Manner("muster"),
    Manner("uebervergabe", granted=("Read", "Write", "Bash", "Grep"), whole_folders=True),
    Manner("falsche_modalitaet", keys={"text": "llm", "image": "llm", "audio": "vlm"}),
    Manner("koeder", decoy=True),
    Manner("veraltet", stale=True),
    Manner("allein", alone=True),
    Manner("neugierig", curious=True),
)}


def manner(name: str, golden: Gold | None = None) -> Manner:
    """The manner of this name; only `allein` is told the golden answers. Raise UsageError for another name."""
    if name not in MANNERS:
        raise UsageError(f"no manager {name!r}; there are {', '.join(MANNERS)}")
    found = MANNERS[name]
    return replace(found, golden=golden) if found.alone else found


def alone(manner: Manner, round_ids: Sequence[str]) -> list[RoundScript]:
    """The scripts of a manager that writes the golden answers itself, one a round."""
    return [_alone(manner, round_id) for round_id in round_ids]


def _alone(manner: Manner, round_id: str) -> RoundScript:
    def script(desk: Desk) -> Script:
        gold = {f"{ROOT}/{path}": text for path, text in manner.gold(round_id).items()}
        yield tuple(Call("Read", {"file_path": path}) for path in gold)     # what is there must be read before a Write
        yield tuple(Call("Write", {"file_path": path, "content": text}) for path, text in gold.items())
    return script
