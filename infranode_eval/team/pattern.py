"""Which files a glob pattern means: `*`, `?` and `[…]` in one name, `**` for any number of folders, `{a,b}` for either.

Braces may not stand in each other. A name that begins with a dot is a name like any other. Patterns and paths are
compared name by name, so that no pattern takes longer than the product of their lengths.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from infranode_eval.team.workspace import ToolError

MAX_PATTERN, MAX_NAMES, MAX_CHOICES = 300, 32, 32       # characters, names in a row, texts that braces stand for
_BRACES = re.compile(r"\{([^{}]*)\}")
_MAGIC = re.compile(r"[*?\[{]")
_Name = Callable[[str], object]


def is_magic(text: str) -> bool:
    """Whether the text holds a character that stands for others."""
    return bool(_MAGIC.search(text))


@dataclass(frozen=True, slots=True)
class Pattern:
    """choices: what the braces stand for, each as its names in a row; None is `**`."""

    choices: tuple[tuple[_Name | None, ...], ...]

    @classmethod
    def of(cls, text: str) -> Pattern:
        """Raise ToolError for a pattern that is too long, or that holds "..": a pattern does not climb."""
        if len(text) > MAX_PATTERN:
            raise ToolError(f"das Muster ist länger als {MAX_PATTERN} Zeichen")
        return cls(tuple(_names(choice) for choice in _choices(text)))

    def matches(self, relative: str) -> bool:
        """Does it mean this path, which is relative to the folder that the pattern starts from?"""
        path = relative.split("/")
        return any(_fits(names, path) for names in self.choices)


def _choices(text: str) -> list[str]:
    parts = _BRACES.split(text)         # plain, inside of braces, plain, …
    inner = [part.split(",") for part in parts[1::2]]
    count = 1
    for options in inner:
        count *= len(options)
    if count > MAX_CHOICES:
        raise ToolError(f"die geschweiften Klammern stehen für mehr als {MAX_CHOICES} Muster")
    return ["".join(plain + option for plain, option in zip(parts[::2], (*chosen, ""), strict=True))
            for chosen in product(*inner)]


def _names(choice: str) -> tuple[_Name | None, ...]:
    names: list[_Name | None] = []
    for name in choice.split("/"):
        if name == "..":
            raise ToolError("ein Muster darf kein .. enthalten")
        if name in ("", ".") or (name == "**" and names and names[-1] is None):
            continue
        names.append(None if name == "**" else _matcher(name))
    if len(names) > MAX_NAMES:
        raise ToolError(f"das Muster hat mehr als {MAX_NAMES} Ebenen")
    return tuple(names)


def _matcher(name: str) -> _Name:
    try:
        return re.compile(fnmatch.translate(name)).match
    except re.error:
        raise ToolError("das Muster ist nicht lesbar") from None


def _fits(names: tuple[_Name | None, ...], path: list[str]) -> bool:
    """Walks the path once; `at` holds how many names of the pattern may be used up so far."""
    at = _skipped(names, {0})
    for part in path:
        ahead = set()
        for index in at:
            if index < len(names):
                name = names[index]
                if name is None:
                    ahead.add(index)
                elif name(part):
                    ahead.add(index + 1)
        at = _skipped(names, ahead)
    return len(names) in at


def _skipped(names: tuple[_Name | None, ...], at: set[int]) -> set[int]:
    """`**` may also stand for no folder; two of them never follow each other."""
    return at | {index + 1 for index in at if index < len(names) and names[index] is None}
