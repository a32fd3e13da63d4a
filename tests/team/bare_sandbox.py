"""A sandbox without walls, for tests: commands run as they are, with real paths in the place of virtual ones."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Done(NamedTuple):
    exit: int | None
    output: str
    errors: str
    timed_out: bool
    cut: bool = False


@dataclass
class BareSandbox:
    """kind: what it says it is. commands, mounts: what it was asked to run, in order."""

    kind: str = "bwrap"
    commands: list[str] = field(default_factory=list)
    mounts: list[Sequence[Any]] = field(default_factory=list)

    def missing(self, needs: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in needs if not shutil.which(name))

    def run(self, command: str, mounts: Sequence[Any], timeout_s: float, *, merge: bool = True, **_: Any) -> Done:
        self.commands.append(command)
        self.mounts.append(tuple(mounts))
        if self.kind != "none":
            real = {mount.virtual: str(mount.real) for mount in mounts}
            names = "|".join(map(re.escape, sorted(real, key=len, reverse=True)))
            command = re.sub(rf"({names})(?![\w-])", lambda found: real[found[1]], command) if real else command
        try:
            done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT if merge else subprocess.PIPE, timeout=timeout_s, text=True)
        except subprocess.TimeoutExpired:
            return Done(None, "", "", True)
        return Done(done.returncode, done.stdout, done.stderr or "", False)
