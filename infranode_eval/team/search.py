"""The tool Grep: what may be searched is decided here, the search itself runs in a child process with a time limit.

Source: specification, team, T11. Only regular files in the agent's scope are ever given to the child (`searcher`),
which looks again where each of them lies. The workspace's lock is not held: a search of five seconds blocks nobody.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from infranode_eval.team import process
from infranode_eval.team.agent import Agent, Result
from infranode_eval.team.arguments import choice, flag, given, only, text, whole
from infranode_eval.team.pattern import Pattern
from infranode_eval.team.workspace import ROOT, ToolError, Workspace, locate, reachable, readable

LIMIT_S = 5.0
CAP = 30_000                # characters of a result
MAX_PATTERN, MAX_CONTEXT, MAX_HEAD = 1_000, 1_000, 100_000
_MODES = ("files", "content", "count")
_SEARCHER = Path(__file__).with_name("searcher.py")
_BAD_PATTERN = 3


def grep(agent: Agent, workspace: Workspace, arguments: Mapping[str, Any], limit_s: float = LIMIT_S,
         cancel: threading.Event | None = None) -> Result:
    """The lines, files or counts of a regular expression's hits, by path; binary files are passed over.

    Raise ToolError for wrong arguments, a pattern that is none, and a search that takes longer than limit_s seconds;
    Forbidden for a `path` outside the scope.
    """
    only(arguments, "pattern", "path", "glob", "output_mode", "-i", "-n", "-A", "-B", "-C", "head_limit")
    pattern = text(arguments, "pattern")
    if len(pattern) > MAX_PATTERN:
        raise ToolError(f"pattern ist länger als {MAX_PATTERN} Zeichen")
    around = whole(arguments, "-C", 0, high=MAX_CONTEXT)
    wanted = {
        "pattern": pattern, "mode": choice(arguments, "output_mode", _MODES, "files"),
        "ignore_case": flag(arguments, "-i"), "numbers": flag(arguments, "-n"),
        "before": whole(arguments, "-B", around, high=MAX_CONTEXT),
        "after": whole(arguments, "-A", around, high=MAX_CONTEXT),
        "head": whole(arguments, "head_limit", 0, high=MAX_HEAD), "cap": CAP, "seconds": math.ceil(limit_s) + 1}
    path = text(arguments, "path", ROOT)
    chosen = _chosen(text(arguments, "glob")) if given(arguments, "glob") else None
    wanted["files"] = _files(agent, workspace, path, chosen)
    return Result(_answer(wanted, limit_s, cancel) or "Kein Treffer.")


def _files(agent: Agent, workspace: Workspace, path: str,
           chosen: Callable[[str, str], bool] | None) -> list[tuple[str, str]]:
    """(real path, path as shown) of each file to search, sorted by the latter."""
    top = locate(workspace, agent.scope, path, parents=True)
    if not os.path.lexists(top):
        raise ToolError(f"{path} gibt es nicht")
    below = workspace.relative(top)
    names = [name for name, _ in reachable(workspace, agent.scope, below) if chosen is None or chosen(name, below)]
    return sorted(((os.fspath(workspace.real / name), f"{ROOT}/{readable(name)}") for name in names),
                  key=lambda file: file[1])


def _chosen(glob: str) -> Callable[[str, str], bool]:
    """Does a glob mean a file (its relative path, and the folder that is searched)? One without a slash means its name,
    any other the path from the searched folder or from the root."""
    pattern = Pattern.of(glob.removeprefix(f"{ROOT}/"))

    def means(name: str, below: str) -> bool:
        if "/" not in glob:
            return pattern.matches(name.rpartition("/")[2])
        inner = name[len(below) + 1:] if below and name != below else name
        return pattern.matches(name) or pattern.matches(inner)

    return means


def _answer(wanted: dict[str, Any], limit_s: float, cancel: threading.Event | None) -> str:
    try:
        child = process.start([sys.executable, "-I", "-S", "-X", "utf8", os.fspath(_SEARCHER)], {}, merge=False,
                              talk=True)
    except OSError:
        raise ToolError("die Suche ließ sich gerade nicht starten") from None
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(json.dumps(wanted).encode("ascii"))
        child.stdin.close()
    ended = process.collect(child, limit_s, CAP, cancel)
    if ended.reason == "timeout":
        raise ToolError(f"die Suche wurde nach {limit_s:g} s beendet; nimm ein einfacheres Muster")
    if ended.reason == "cancelled":
        raise ToolError("die Suche wurde abgebrochen")
    if ended.exit == _BAD_PATTERN:
        raise ToolError(f"pattern ist kein gültiger regulärer Ausdruck: {ended.output.strip()}")
    if ended.exit != 0:
        raise ToolError("die Suche ist gescheitert; nimm ein einfacheres Muster")
    return ended.output
