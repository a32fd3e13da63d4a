"""Deleting what a play has left, however deep it was nested."""

from __future__ import annotations

import contextlib
import os
import secrets

_MAX_PASSES = 1_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(parent: int, name: str) -> None:
    """Delete an entry of the open folder `parent`, if it is there: a file, a link itself, a folder with all below it.

    No link is followed and no path is longer than one name, so a Bash can neither lead it astray nor stop it with a
    thousand folders in each other. Raise OSError if something cannot be deleted.
    """
    if _unlinked(parent, name):
        return
    folder = _entered(parent, name)
    try:
        _empty(folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=parent)


def _empty(folder: int) -> None:
    """Each inner folder hands its own folders up to `folder` before it goes."""
    for _ in range(_MAX_PASSES):
        names = os.listdir(folder)
        if not names:
            return
        for name in names:
            if _unlinked(folder, name):
                continue
            inner = _entered(folder, name)
            try:
                for child in os.listdir(inner):
                    if not _unlinked(inner, child):
                        os.close(_entered(inner, child))
                        os.rename(child, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=folder)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=folder)


def _unlinked(folder: int, name: str) -> bool:
    """Whether the entry is gone; False for a folder."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError):    # Linux says the one of a folder, other systems the other
        return False
    return True


def _entered(folder: int, name: str) -> int:
    """The open folder, of which its owner may have closed every right."""
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=folder)
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
    with contextlib.suppress(PermissionError):      # of somebody else
        os.fchmod(descriptor, 0o700)
    return descriptor
