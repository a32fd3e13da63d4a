"""Tests that hold for root and for an ordinary user: a body runs here, and again in a fork that gave root up.

Where the tests do not run as root, they are an ordinary user's already, and the root half is skipped and says so.
"""

from __future__ import annotations

import functools
import inspect
import os
import select
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infranode_eval.team.sandbox import Slots
from infranode_eval.team.slots import Slot

ORDINARY_UID = 61_900
IS_ROOT = os.geteuid() == 0


def for_both_users(body: Callable[..., None]) -> Callable[..., None]:
    """Run a test once as root and once as an ordinary user."""
    @pytest.mark.parametrize("user", ["root", "ordinary"])
    @functools.wraps(body)
    def test(user: str, **given: object) -> None:
        if user == "root" and not IS_ROOT:
            pytest.skip("this half needs root; the other half ran as an ordinary user")
        if user == "root" or not IS_ROOT:
            body(**given)
        else:
            _as_ordinary(functools.partial(body, **given))

    signature = inspect.signature(body)
    user = inspect.Parameter("user", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    test.__signature__ = signature.replace(parameters=[user, *signature.parameters.values()])  # type: ignore[attr-defined]
    return test


def _as_ordinary(body: Callable[[], None], limit_s: float = 30) -> None:
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = "no end"
        try:
            os.close(readable)
            os.setgroups([])
            os.setresgid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)
            os.setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)
            body()
            said = ""
        except BaseException:
            said = traceback.format_exc()
        finally:
            os.write(writable, said.encode("utf-8", "replace")[:60_000])
            os._exit(0)
    os.close(writable)
    ended = select.select([readable], [], [], limit_s)[0]
    said = os.read(readable, 65_536).decode() if ended else f"no end within {limit_s} s"
    if not ended:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(readable)
    assert not said, f"as an ordinary user:\n{said}"


class Place:
    """A folder with a workspace in it: `akten` is granted, `geheim` is not, both hold a file."""

    def __init__(self, top: Path, slot: Slot) -> None:
        self.top, self.slot = top, slot
        self.real = top / "arbeit"
        for folder, text in (("akten", "offen"), ("geheim", "GEHEIMNIS")):
            (self.real / folder).mkdir(parents=True)
            (self.real / folder / "x").write_text(text + "\n", "ascii")
        self.own()

    def own(self) -> None:
        if self.slot.uid is not None:
            for path in (self.real, *self.real.rglob("*")):
                os.chown(path, self.slot.uid, self.slot.uid, follow_symlinks=False)


@contextmanager
def a_place() -> Iterator[Place]:
    """Below a folder that every user may pass through, as a workspace has to be."""
    top = Path(tempfile.mkdtemp(prefix="infranode-test-")).resolve()
    os.chmod(top, 0o755)
    try:
        with Slots().take() as slot:
            yield Place(top, slot)
    finally:
        shutil.rmtree(top, ignore_errors=True)
