"""The files of one play: what an agent names, where it really lies, and whether it may be touched.

Source: specification, team, T13 to T15 and T34. Agents see the real folder as ROOT. A text only becomes a real path in
`locate`, which follows links itself, and a real path only becomes a descriptor in `open_regular` or `open_folder`,
which look again where the descriptor really lies: a background Bash may swap a folder for a link in between.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from infranode_eval.team.scenario import FileChange

ROOT = "/arbeit"
MAX_PATH = 4_096            # characters of a path in an argument
MAX_FILES = 20_000          # of one listing; a Bash may create more than anybody should wait for
MAX_DEPTH = 64              # folders below the root, of a listing or a new file
_MAX_LINKS = 40
_FIRST, _DAY = 1_704_067_200, 86_400        # 2024-01-01T00:00Z: the mtime of a template


class ToolError(Exception):
    """A tool's result that is an error and counts nothing. message: German, as the agent reads it after "Fehler: "."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Fehler: {message}")


class Forbidden(ToolError):
    """A refused access, which counts one. path: what was asked for, in the agent's words (never where a link leads)."""

    def __init__(self, path: str) -> None:
        Exception.__init__(self, f"verboten: {path} liegt außerhalb der freigegebenen Pfade")
        self.path = path


@dataclass(frozen=True, slots=True)
class Scope:
    """What an agent may touch. grants: POSIX paths relative to ROOT, with links resolved; each covers what lies below.

    Raise ValueError for a grant that is empty, absolute or holds "." or "..": nobody is ever granted the root.
    """

    grants: tuple[str, ...]

    def __post_init__(self) -> None:
        for grant in self.grants:
            if any(part in ("", ".", "..") for part in grant.split("/")):
                raise ValueError(f"a grant is a plain relative path, found {grant!r}")

    def covers(self, relative: str) -> bool:
        return any(relative == grant or relative.startswith(grant + "/") for grant in self.grants)

    def parents(self) -> frozenset[str]:
        """The folders above the grants, "" (the root) among them: their names may be known, their content not."""
        parts = [grant.split("/") for grant in self.grants]
        return frozenset(["", *("/".join(p[:depth]) for p in parts for depth in range(1, len(p)))])


class Workspace:
    """A folder that is already there.

    uid: whom new files belong to (a sandbox's user, when the host is root), else None. lock: held by every file
    operation of a tool, and not by Bash.
    """

    def __init__(self, real: Path, uid: int | None = None) -> None:
        self.real = Path(real).resolve()
        self.uid = uid
        self.lock = threading.RLock()
        self._day = self._second = 0

    @classmethod
    def prepare(cls, template: Path, target: Path, uid: int | None = None) -> Workspace:
        """Copy a template into a folder that is absent or empty: links as they are, every entry with one fixed mtime.

        Raise DataError for an entry that is neither file nor folder nor link, OSError if it cannot be written.
        """
        from infranode_eval.team.staging import copy_tree

        Path(target).mkdir(exist_ok=True)
        workspace = cls(target, uid)
        copy_tree(workspace, Path(template).resolve(), workspace.real)
        return workspace

    def apply(self, changes: Iterable[FileChange], scenario_folder: Path) -> tuple[str, ...]:
        """Lay in an update; its files get a later mtime, the same in every run. T34.

        Whatever stands at a target, or in the place of one of its folders, goes first. Returned are the targets of
        `new` that somebody had created already (label update_collision). Raise OSError if it cannot be written.
        """
        from infranode_eval.team.staging import lay_in

        with self.lock:
            self._day, self._second = self._day + 1, 0
            return tuple(change.dst for change in changes
                         if lay_in(self, Path(scenario_folder) / change.src, change.dst) and change.op == "new")

    def remove(self) -> None:
        """Delete the folder with all below it. Raise OSError if something cannot be deleted."""
        from infranode_eval.team.removal import remove

        parent = os.open(self.real.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove(parent, self.real.name)
        finally:
            os.close(parent)

    def now(self) -> int:
        """The play's own time in nanoseconds: midnight of day 0 for the template, of day k for the k-th update."""
        return (_FIRST + self._day * _DAY + self._second) * 10 ** 9

    def tick(self) -> int:
        """The next second of the play's own time, for a file that is written now: the order of two writes must not hang
        on how fine a file system's clock is."""
        with self.lock:
            self._second = min(self._second + 1, _DAY - 1)
            return self.now()

    def settle(self, scope: Scope) -> None:
        """Give the files in the scope that a Bash has written since (clock time) one next second of the play's time."""
        with self.lock:
            fresh = [name for name, status in reachable(self, scope) if status.st_mtime >= _FIRST + 366 * _DAY]
            at = self.tick() if fresh else 0
            for name in fresh:
                with contextlib.suppress(OSError, ToolError), open_regular(self, self.real / name) as file:
                    os.utime(file.fileno(), ns=(at, at))

    def relative(self, real: Path) -> str:
        """The path from the root, "" for the root itself. Raise ValueError outside of it."""
        relative = Path(real).relative_to(self.real).as_posix()
        return "" if relative == "." else relative

    def virtual(self, real: Path) -> str:
        """As the agents see it; a name that is no UTF-8 with U+FFFD. Raise ValueError outside of the workspace."""
        return readable(f"{ROOT}/{self.relative(real)}".rstrip("/"))

    def own(self, place: Path | int) -> None:
        """Give a path (a link itself, not where it leads) or an open descriptor to the sandbox's user."""
        if self.uid is None:
            return
        if isinstance(place, int):
            os.chown(place, self.uid, self.uid)
        else:
            os.chown(place, self.uid, self.uid, follow_symlinks=False)


def readable(name: str) -> str:
    """The name with U+FFFD for each byte that is no UTF-8, so that it can stand in a message."""
    return os.fsencode(name).decode("utf-8", "replace")


def locate(workspace: Workspace, scope: Scope, path: str, parents: bool = False) -> Path:
    """The real path, links resolved, of an absolute virtual one inside the scope. It need not exist.

    parents: the folders above the grants are welcome too (a search in them shows only what lies in the scope).
    Raise Forbidden for what lies outside, whether or not it exists, for a link with an absolute target and for `..`
    above the root; ToolError for a text that is no absolute path, and for a folder above the grants.
    """
    _check_text(path)
    names = [name for name in path.split("/") if name not in ("", ".")]
    if names[:1] != [ROOT[1:]]:
        raise Forbidden(path)
    visible = scope.parents()
    relative = _resolved(workspace, scope, visible, path, names[1:])
    if scope.covers(relative):
        return workspace.real / relative
    if relative not in visible:
        raise Forbidden(path)
    if not parents:
        raise ToolError(f"{path} ist ein Ordner, von dem höchstens Teile freigegeben sind; nenne eine Datei darin")
    return workspace.real / relative


def _check_text(path: str) -> None:
    if not path.startswith("/"):
        raise ToolError(f"der Pfad muss absolut sein und mit {ROOT}/ beginnen")
    if len(path) > MAX_PATH:
        raise ToolError(f"der Pfad ist länger als {MAX_PATH} Zeichen")
    if "\0" in path or any("\ud800" <= c <= "\udfff" for c in path):
        raise ToolError("der Pfad enthält Zeichen, die in keinem Dateinamen stehen können")


def _resolved(workspace: Workspace, scope: Scope, visible: frozenset[str], path: str, names: list[str]) -> str:
    """The names as one relative path without links and `..`; what does not exist is taken as it is written."""
    done: list[str] = []
    todo, links = names[::-1], 0
    while todo:
        name = todo.pop()
        if name == "..":
            if not done:
                raise Forbidden(path)
            done.pop()
        elif name not in ("", "."):
            here = "/".join((*done, name))
            target = _target(workspace.real / here)
            if target is None:
                done.append(name)
                continue
            links += 1
            if target.startswith("/") or not (scope.covers(here) or here in visible):
                raise Forbidden(path)
            if links > _MAX_LINKS:
                raise ToolError(f"{path} führt über mehr als {_MAX_LINKS} Verweise")
            todo.extend(target.split("/")[::-1])
    return "/".join(done)


def _target(real: Path) -> str | None:
    """Where a link leads; None for anything else. What cannot be looked at is caught when it is opened."""
    try:
        return os.readlink(real)
    except OSError:
        return None


def open_regular(workspace: Workspace, real: Path, write: bool = False) -> BinaryIO:
    """The regular file at a path from `locate`, unbuffered: to read, or (write) to read and write; never truncated.

    Raise ToolError for what is absent, a folder, a pipe, a socket or a device (without waiting for any of them), and
    Forbidden if the path leads through a link by now.
    """
    shown = workspace.virtual(real)
    try:
        mode = os.lstat(real).st_mode
    except (OSError, ValueError) as error:
        raise _unreadable(error, shown) from None
    if stat.S_ISDIR(mode):
        raise ToolError(f"{shown} ist ein Ordner; Glob zeigt, was darin liegt")
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise ToolError(f"{shown} ist keine gewöhnliche Datei")
    descriptor = _opened(workspace, real, os.O_RDWR if write else os.O_RDONLY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ToolError(f"{shown} ist keine gewöhnliche Datei")
    return os.fdopen(descriptor, "r+b" if write else "rb", buffering=0)


def open_folder(workspace: Workspace, real: Path) -> int:
    """A descriptor of the folder, to be closed by the caller. Raise as `open_regular`, ToolError also for a file."""
    return _opened(workspace, real, os.O_RDONLY | os.O_DIRECTORY)


def _opened(workspace: Workspace, real: Path, flags: int) -> int:
    shown = workspace.virtual(real)
    try:
        descriptor = os.open(real, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _unreadable(error, shown) from None
    lies_at = _path_of(descriptor)
    if lies_at == os.fspath(real):
        return descriptor
    gone = os.fstat(descriptor).st_nlink == 0
    os.close(descriptor)
    raise ToolError(f"{shown} wurde eben gelöscht oder ersetzt") if gone else Forbidden(shown)


def _unreadable(error: OSError | ValueError, shown: str) -> ToolError:
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.ELOOP:
        return Forbidden(shown)
    if code in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
        return ToolError(f"{shown} gibt es nicht")
    return ToolError(f"{shown} ist keine Datei, die sich öffnen lässt")


def _path_of(descriptor: int) -> str | None:
    """Where an open descriptor really lies; None where the system does not tell, which refuses it."""
    try:
        if sys.platform == "darwin":
            import fcntl

            return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None


def reachable(workspace: Workspace, scope: Scope, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Each regular file in the scope once, as its relative path with its lstat; links are not followed.

    below: only what lies at or under this relative path. F of the metrics is the number of files at creation. At most
    MAX_FILES files and MAX_DEPTH folders deep; the order is that of the grants and, in each folder, of the names.
    """
    seen: set[str] = set()
    starts = [below] if scope.covers(below) else [g for g in scope.grants if not below or g.startswith(below + "/")]
    for start in starts:
        for relative, status in _files(workspace, start):
            if relative not in seen:
                seen.add(relative)
                yield relative, status
                if len(seen) >= MAX_FILES:
                    return


def _files(workspace: Workspace, start: str) -> Iterator[tuple[str, os.stat_result]]:
    todo = [start] if _is_straight(workspace.real / start) else []
    while todo:
        relative = todo.pop()
        real = workspace.real / relative
        try:
            status = os.lstat(real)
            if stat.S_ISREG(status.st_mode):
                yield relative, status
            if not stat.S_ISDIR(status.st_mode) or relative.count("/") >= MAX_DEPTH:
                continue
            folder = open_folder(workspace, real)
        except (OSError, ToolError):
            continue
        try:
            names = sorted(os.listdir(folder), reverse=True)
        finally:
            os.close(folder)
        todo.extend(f"{relative}/{name}" for name in names)


def _is_straight(real: Path) -> bool:
    """Whether no link is in the way."""
    try:
        return os.path.realpath(real) == os.fspath(real)
    except OSError:         # swapped while it was looked at
        return False
