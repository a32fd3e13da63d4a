"""How much a running command may take of the host: memory and disk over all its processes together.

The limits of a process (prlimit) do not add up to one of the whole: 64 processes of 1.5 GB each, and any number of
files of 20 MB each, would end the host before the timeout ends the command.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from infranode_eval.team import process

MEMORY = 2 * 2 ** 30            # bytes, of all processes
WRITTEN = 128 * 2 ** 20         # bytes on disk below the writable mounts
ENTRIES = 20_000                # files and folders there
_TAKEN = 2 ** 30                # bytes that a file system may lose to deleted files that are still open


class Room:
    """What one command may take. folders: its writable mounts; pid: its outermost process."""

    def __init__(self, folders: Sequence[Path], pid: int) -> None:
        self._folders, self._pid = folders, pid
        self._free = [_free(folder) for folder in folders]

    def overrun(self) -> str | None:
        """ "memory" or "disk" if the command has taken too much of it, else None."""
        if process.memory(self._pid) > MEMORY:
            return "memory"
        if _too_much(self._folders):
            return "disk"
        lost = any(before - _free(folder) > _TAKEN for folder, before in zip(self._folders, self._free, strict=True))
        return "disk" if lost else None


def _free(folder: Path) -> int:
    try:
        state = os.statvfs(folder)
    except OSError:
        return 0
    return state.f_bavail * state.f_frsize


def _too_much(folders: Sequence[Path]) -> bool:
    size = entries = 0
    todo = [os.fspath(folder) for folder in folders]
    while todo:
        try:
            with os.scandir(todo.pop()) as found:
                for entry in found:
                    entries += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    if size > WRITTEN or entries > ENTRIES:
                        return True
        except OSError:         # gone by now, a single file, or too deep for a path: then its size is bounded elsewhere
            continue
    return False
