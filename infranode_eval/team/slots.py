"""The users that sandboxes run as.

Source: specification, team, 5.1. The limit on processes counts per user over all sandboxes, and not at all for root.
"""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass, field

from lm_eval_task.errors import UsageError

PROCESSES = 64
_FIRST_UID, _UIDS = 61_001, 500


@dataclass(slots=True)
class Slot:
    """The user of one scenario's sandboxes. uid: None where the host is no root, then it is the host's own.

    A context manager, which gives the uid back.
    """

    uid: int | None
    _claim: socket.socket | None = field(default=None, repr=False)

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, *_: object) -> None:
        if self._claim is not None:
            self._claim.close()

    def processes(self) -> int:
        """The limit to set. It counts threads, too; those that an ordinary user has already come on top."""
        return PROCESSES if self.uid is not None else PROCESSES + _own_threads()


class Slots:
    """Hands out uids from 61001 on, each to one slot of this machine at a time; they need no entry anywhere."""

    def take(self) -> Slot:
        """Raise UsageError if all are taken."""
        if not is_root():
            return Slot(None)
        for uid in range(_FIRST_UID, _FIRST_UID + _UIDS):
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                claim.bind(f"\0infranode-eval-team-{uid}")       # a name without a file: gone with its process
            except OSError:
                claim.close()
                continue
            return Slot(uid, claim)
        raise UsageError(f"all {_UIDS} users for sandboxes are taken; end another run first")


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _own_threads() -> int:
    own, count = os.geteuid(), 0
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == own:
                count += len(os.listdir(f"/proc/{entry.name}/task"))
    return count
