"""The folder of a scenario: are the files there that its JSON speaks of, and can each update be laid in?"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from infranode_eval.team.finding import ERROR, WARNING, Finding, fault
from infranode_eval.team.shape import SHORT, covers, path_problem, short_enough

if TYPE_CHECKING:
    from infranode_eval.team.scenario import FileChange, Scenario

MAX_ENTRIES, MAX_BYTES = 5_000, 20_000_000      # of one folder of a scenario; of one file, as agents may read it
_SCRIPT = re.compile(r"\$\{scripts\}/([\w./~+%@-]+)")
_THERE = {"file": "it is there", "folder": "a folder is there", "link": "a link is there", "special": "it is there"}


def tree(folder: Path) -> dict[str, str]:
    """All below a folder by relative path, sorted: "file", "folder", "link" (never followed) or "special".

    Of more than MAX_ENTRIES, and of what lies below a path that is too long, only a part.
    """
    found: dict[str, str] = {}
    todo = [""]
    while todo and len(found) <= MAX_ENTRIES:
        above = todo.pop()
        try:
            entries = list(os.scandir(folder / above))
        except OSError:         # not there, or closed
            continue
        for entry in entries:
            relative = f"{above}/{entry.name}" if above else entry.name
            found[relative] = _kind(entry)
            if found[relative] == "folder" and short_enough(relative):
                todo.append(relative)
    return dict(sorted(found.items()))


def _kind(entry: os.DirEntry[str]) -> str:
    mode = entry.stat(follow_symlinks=False).st_mode
    return ("link" if stat.S_ISLNK(mode) else "folder" if stat.S_ISDIR(mode)
            else "file" if stat.S_ISREG(mode) else "special")


def layout_faults(scenario: Scenario) -> Iterator[Finding]:
    """What stands in the way of a run, but for golden answers (golden.py)."""
    manifest = f"{scenario.scenario_id}/manifest.json"
    for key, folder in (("workspace_template", scenario.template), ("scripts", scenario.scripts)):
        if not folder.is_dir() or folder.resolve() != folder:       # a link on the way may lead out of the scenario
            yield fault(manifest, key, folder.relative_to(scenario.folder).as_posix(),
                        "a folder that is there, not by way of a link")
        else:
            yield from entry_faults(scenario, folder)
    updates = scenario.folder / "updates"
    if updates.is_symlink():
        yield Finding(ERROR, scenario.name_of(updates), "", "found a link, expected a folder")
    elif updates.is_dir():
        yield from entry_faults(scenario, updates)
    if scenario.template.is_dir():
        found = tree(scenario.template)
        yield from _view_faults(scenario, manifest, found)
        yield from _update_faults(scenario, manifest, found)
    yield from _script_faults(scenario)


def entry_faults(scenario: Scenario, folder: Path) -> Iterator[Finding]:
    """Only a workspace may hold links, and they stay in it; sockets and the like stand nowhere; all can be copied."""
    found = tree(folder)
    if len(found) > MAX_ENTRIES:
        yield Finding(ERROR, scenario.name_of(folder), "", f"holds more than {MAX_ENTRIES} files and folders, expected "
                      "at most so many")
        return
    if not os.access(folder, os.R_OK | os.X_OK):
        yield Finding(ERROR, scenario.name_of(folder), "", "cannot be read, expected a folder that can")
    for relative, kind in found.items():
        path = folder / relative
        if not short_enough(relative):
            yield fault(f"{scenario.scenario_id}/{folder.name}", "", relative, SHORT)
            continue
        if kind in ("file", "folder") and not os.access(path, os.R_OK | (os.X_OK if kind == "folder" else 0)):
            yield fault(f"{scenario.scenario_id}/{folder.name}", "", relative, f"a {kind} that can be read")
        if kind == "file" and (size := path.lstat().st_size) > MAX_BYTES:
            yield fault(f"{scenario.scenario_id}/{folder.name}", relative, size, f"at most {MAX_BYTES} bytes")
        if not _readable(relative):
            yield fault(f"{scenario.scenario_id}/{folder.name}", "", relative, "a file name in UTF-8, on one line")
        elif kind == "special":
            yield Finding(ERROR, scenario.name_of(path), "", "found neither file nor folder, expected a regular file")
        elif kind == "link" and folder != scenario.template:
            yield Finding(ERROR, scenario.name_of(path), "", "found a link, expected a regular file")
        elif kind == "link":
            yield from _link_faults(path, folder, scenario.name_of(path))


def _readable(name: str) -> bool:
    return not any(ord(sign) < 32 or "\ud800" <= sign <= "\udfff" for sign in name)


def _link_faults(link: Path, workspace: Path, file: str) -> Iterator[Finding]:
    target = os.readlink(link)
    if target.startswith("/"):
        yield fault(file, "", f"link to {target}", "a link with a relative target")
    elif not Path(os.path.realpath(link)).is_relative_to(os.path.realpath(workspace)):
        yield fault(file, "", f"link to {target}", "a link that stays in the workspace")
    elif not link.exists():
        yield fault(file, "", f"link to {target}", "a link to something that is there", WARNING)


def _view_faults(scenario: Scenario, manifest: str, found: Mapping[str, str]) -> Iterator[Finding]:
    """What main may use and grant exists, is no link, and is not all there is."""
    for key in ("accessible", "delegable", "decoys"):
        for place, path in enumerate(getattr(scenario, key)):
            if path not in found:
                yield fault(manifest, f"{key}[{place}]", path, "a file or folder of the workspace")
            elif key != "decoys" and "link" in _kinds(path, found):
                yield fault(manifest, f"{key}[{place}]", path, "a path without a link in it")
    files = [path for path, kind in found.items() if kind == "file"]
    if all(any(covers(grant, path) for grant in scenario.accessible) for path in files):
        yield fault(manifest, "accessible", list(scenario.accessible), "at least one file that main cannot read")


def _kinds(path: str, found: Mapping[str, str]) -> list[str]:
    """Kind of the path and of each folder above it."""
    steps = [path, *(parent.as_posix() for parent in PurePosixPath(path).parents)][:-1]
    return [found[step] for step in steps if step in found]


def _update_faults(scenario: Scenario, manifest: str, found: Mapping[str, str]) -> Iterator[Finding]:
    """Lay all updates in, in the order of the rounds, on a list of what the workspace holds."""
    now = dict(found)
    for row in scenario.rounds:
        for name in row.update_ids:
            for place, change in enumerate(scenario.updates[name]):
                key = f"updates.{name}.files[{place}]"
                if os.path.islink(change.src) or not os.path.isfile(change.src):
                    yield fault(manifest, f"{key}.src", change.src.relative_to(scenario.folder).as_posix(),
                                "a file that is there")
                if expected := _collision(change, now):
                    yield fault(manifest, f"{key}.dst", change.dst, f"{expected} (before {row.id})")
                now[change.dst] = "file"
                now |= {parent.as_posix(): "folder" for parent in PurePosixPath(change.dst).parents}


def _collision(change: FileChange, now: Mapping[str, str]) -> str | None:
    """What the update needs and does not find."""
    there = now.get(change.dst)
    above = [parent.as_posix() for parent in PurePosixPath(change.dst).parents]
    if blocked := [path for path in above if now.get(path, "folder") != "folder"]:
        return f'only folders above it, but "{blocked[0]}" is a {now[blocked[0]]}'
    if change.op == "new":
        return f"a path that does not exist yet for a new file, but {_THERE[there]}" if there else None
    if there == "file":
        return None
    return f"a file to replace, but {'nothing' if there is None else 'a ' + there} is there"


def _script_faults(scenario: Scenario) -> Iterator[Finding]:
    """Every ${scripts}/… of a command is a file of the scripts folder."""
    for place, row in enumerate(scenario.rounds):
        for found in _SCRIPT.finditer(row.check.command):
            path = scenario.scripts / found[1]
            if path_problem(found[1].rstrip("/")) or not os.path.exists(path):
                yield fault(f"{scenario.scenario_id}/{scenario.rounds_file}", f"[{place}].eval.command", found[0],
                            "a file of the scripts folder")
