"""What the host itself puts into a workspace: folders, new files, a template, an update.

Nothing is created through a path: the folder is opened first, and looked at where it really lies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from infranode_eval.team.removal import remove
from infranode_eval.team.workspace import MAX_DEPTH, Scope, ToolError, Workspace, open_folder
from lm_eval_task.errors import DataError

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def copy_tree(workspace: Workspace, source: Path, target: Path) -> None:
    """Fill the folder `target`. Raise DataError for an entry that is neither file nor folder nor link."""
    at = workspace.now()
    for entry in sorted(os.scandir(source), key=lambda e: e.name):
        place = target / entry.name
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), place)
        elif entry.is_dir():
            place.mkdir()
            copy_tree(workspace, Path(entry.path), place)
            continue
        elif entry.is_file():
            shutil.copyfile(entry.path, place)
            place.chmod(_mode(entry.stat().st_mode))
        else:
            raise DataError("is neither a file nor a folder nor a link", entry.path)
        workspace.own(place)
        os.utime(place, ns=(at, at), follow_symlinks=False)
    target.chmod(0o755)
    workspace.own(target)
    os.utime(target, ns=(at, at))


def lay_in(workspace: Workspace, source: Path, relative: str) -> bool:
    """Put a copy of `source` at `relative`, whatever stands there. True if something did."""
    Scope((relative,))          # a plain relative path, or ValueError
    *folders, name = relative.split("/")
    parent = make_folders(workspace, folders, lambda place: True, by_force=True)
    try:
        existed = _exists(parent, name)
        remove(parent, name)
        with _created(workspace, parent, name, source.stat().st_mode) as file, source.open("rb") as content:
            shutil.copyfileobj(content, file)
            os.utime(file.fileno(), ns=(workspace.now(), workspace.now()))
        return existed
    finally:
        os.close(parent)


def make_folders(workspace: Workspace, names: list[str], allowed: Callable[[str], bool], by_force: bool = False) -> int:
    """A descriptor of the folder under these names, to be closed by the caller; what is missing is made.

    allowed: whether a relative path may be made. by_force: what stands in the place of a folder goes first. Raise
    ToolError where a folder must not be made or something else stands in its place.
    """
    here = open_folder(workspace, workspace.real)
    for depth, name in enumerate(names, 1):
        relative = "/".join(names[:depth])
        try:
            if by_force and _exists(here, name) and not _is_folder(here, name):
                remove(here, name)
            if by_force:
                _unlock(here, name)
            if not _exists(here, name):
                _make_folder(workspace, here, name, relative, allowed)
            inner = open_folder(workspace, workspace.real / relative)
        finally:
            os.close(here)
        here = inner
    return here


def _unlock(parent: int, name: str) -> None:
    """Open a folder whose owner has closed it to himself; root needs none of that."""
    with contextlib.suppress(OSError):
        if _is_folder(parent, name) and not os.access(name, os.R_OK | os.W_OK | os.X_OK, dir_fd=parent):
            os.chmod(name, 0o755, dir_fd=parent)


def _make_folder(workspace: Workspace, parent: int, name: str, relative: str, allowed: Callable[[str], bool]) -> None:
    shown = workspace.virtual(workspace.real / relative)
    if not allowed(relative):
        raise ToolError(f"den Ordner {shown} gibt es nicht, und er darf nicht angelegt werden")
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError:
        raise ToolError(f"der Ordner {shown} lässt sich nicht anlegen") from None
    try:
        os.fchmod(inner, 0o755)
        workspace.own(inner)
    finally:
        os.close(inner)


def create(workspace: Workspace, scope: Scope, real: Path) -> BinaryIO:
    """A new, empty file at a path from `locate`, with the folders above it as far as they lie in the scope.

    Raise ToolError if it, or a folder, cannot or must not be made.
    """
    *folders, name = workspace.relative(real).split("/")
    if len(folders) > MAX_DEPTH:
        raise ToolError(f"{workspace.virtual(real)} läge tiefer als {MAX_DEPTH} Ordner")
    parent = make_folders(workspace, folders, scope.covers)
    try:
        return _created(workspace, parent, name, 0)
    except OSError:
        raise ToolError(f"{workspace.virtual(real)} lässt sich nicht anlegen") from None
    finally:
        os.close(parent)


def _created(workspace: Workspace, parent: int, name: str, like: int) -> BinaryIO:
    descriptor = os.open(name, _NEW, 0o644, dir_fd=parent)
    os.fchmod(descriptor, _mode(like))
    workspace.own(descriptor)
    return os.fdopen(descriptor, "r+b", buffering=0)


def _mode(like: int) -> int:
    return 0o755 if like & stat.S_IXUSR else 0o644


def _exists(parent: int, name: str) -> bool:
    try:
        os.lstat(name, dir_fd=parent)
    except OSError:
        return False
    return True


def _is_folder(parent: int, name: str) -> bool:
    return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)
