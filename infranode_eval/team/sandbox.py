"""Where commands run: in bubblewrap, with a few programs, the granted paths and nothing else, or it is refused.

Source: specification, team, 5.1. A sandbox sees /usr/bin and the libraries behind it (`programs`), an empty /tmp, and
its mounts; everything else is read-only and empty. It has no network, no other process, and limits of its own.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import math
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from infranode_eval.team import process, programs
from infranode_eval.team.room import Room
from infranode_eval.team.slots import Slot, Slots, is_root
from infranode_eval.team.workspace import ROOT
from lm_eval_task.errors import UsageError, WorldNotReadyError

CAP = 30_000                    # characters of output
_FILE_BYTES, _ADDRESS_BYTES = 20_000_000, 1_500_000_000     # of one file, of one process
_OPEN_FILES = 256
_TMP_BYTES, _SHM_BYTES = 32 * 2 ** 20, 4 * 2 ** 20
_START_S, _TRIES = 10.0, 3
_ENV = {"PATH": "/usr/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}
# Prints what each mount is (device, number) and a dot; runs the command when it is told that all is as it should be.
_GATE = 'c=$1; shift; [ $# = 0 ] || stat -c "%d %i" -- "$@" || exit; echo .; read -r _ && exec bash -c "$c" </dev/null'
_LIMITED = 'ulimit -c 0 -t "$2" -f "$3"; ulimit -v "$4" 2>/dev/null; exec bash -c "$1"'
_READY = b".\n"


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder that a command sees. virtual: absolute, where it sees it."""

    real: Path
    virtual: str
    writable: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended. exit: its status, 128 + n for signal n; None if it was killed from here.

    output: what it wrote (stdout, with stderr if merged), at most `cap` characters. timed_out, cut: it ran or wrote too
    long. stopped: "cancelled", "memory" or "disk" where that is why it was killed.
    """

    exit: int | None
    output: str
    errors: str = ""
    timed_out: bool = False
    cut: bool = False
    stopped: str | None = None


class Sandbox(Protocol):
    """Runs commands. kind: "bwrap" (a wall) or "none" (limits only, for round checks)."""

    kind: str

    def run(self, command: str, mounts: Sequence[Mount], timeout_s: float, *, slot: Slot, merge: bool = True,
            cancel: threading.Event | None = None, cap: int = CAP) -> Outcome:
        """Run a bash command in ROOT. A writable mount that is absent, or behind a link by now, is left out.

        Without a wall there is no virtual path: the command names real ones, and starts where ROOT is mounted from.
        merge: stderr goes into the output. cap: characters of output (and of errors), above which the command is
        killed. Raise WorldNotReadyError if the sandbox could not be set up; the command has not run then.
        """

    def missing(self, needs: Sequence[str]) -> tuple[str, ...]:
        """Those of the programs that a command cannot call."""


def open_sandbox(kind: str = "bwrap") -> Sandbox:
    """A sandbox that has been tried out. Raise UsageError if it does not work here, or if there is no such kind."""
    if kind == "none":
        return Unwalled()
    if kind != "bwrap":
        raise UsageError(f"--sandbox is bwrap or none, found {kind}")
    return _tried()


@functools.cache
def _tried() -> Bubblewrap:
    absent = [name for name in ("bwrap", "prlimit", *(["setpriv"] if is_root() else [])) if not shutil.which(name)]
    if absent:
        raise _unusable(f"{' and '.join(absent)} not found")
    reason = "no python3 to show"
    for python in (*programs.pythons(), None):
        try:
            sandbox = Bubblewrap(programs.found_programs(python))
            sandbox.probe()
            return sandbox
        except (WorldNotReadyError, OSError, subprocess.SubprocessError) as error:
            reason = str(error)
    raise _unusable(reason)


def _unusable(reason: str) -> UsageError:
    cure = "apt-get install bubblewrap"
    if "namespace" in reason:
        cure = ("allow user namespaces (Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0; Docker: "
                "--privileged)")
    return UsageError(f"bubblewrap does not work here ({reason}): {cure}; or --sandbox none, which leaves Bash out")


class Bubblewrap:
    """A wall of namespaces around each command, fail closed. shown: name → real file of the programs in it."""

    kind = "bwrap"

    def __init__(self, shown: Mapping[str, str]) -> None:
        self._shown = dict(shown)
        self._binds = programs.binds(self._shown)
        self._foreign = [Mount(Path(source), target, False) for option, source, target in
                         zip(self._binds, self._binds[1:], self._binds[2:], strict=False)
                         if option == "--ro-bind" and not source.startswith(("/usr/", "/lib"))]
        bwrap = shutil.which("bwrap") or "bwrap"
        said = subprocess.run([bwrap, "--help"], capture_output=True, text=True, timeout=20, check=False)
        self._extra = ["--disable-userns"] if "--disable-userns" in said.stdout else []

    def probe(self) -> None:
        """Raise WorldNotReadyError unless a command runs, sees a file and nothing else, and python3 (if any) starts."""
        with tempfile.TemporaryDirectory(prefix="infranode-probe-") as folder, Slots().take() as slot:
            os.chmod(folder, 0o755)
            file = Path(folder).resolve() / "a"
            file.write_text("gesehen\n", "ascii")
            command = "cat a && ls && ! cat /etc/passwd 2>/dev/null"
            if "python3" in self._shown:
                command += " && python3 -I -c 'import json, re, subprocess, sqlite3, hashlib'"
            ended = self.run(command, [Mount(file, f"{ROOT}/a", False)], _START_S, slot=slot)
        if ended.exit != 0 or ended.output != "gesehen\na\n":
            raise WorldNotReadyError(f"a trial command ended with {ended.exit}: {_line(ended.output)}")

    def run(self, command: str, mounts: Sequence[Mount], timeout_s: float, *, slot: Slot, merge: bool = True,
            cancel: threading.Event | None = None, cap: int = CAP) -> Outcome:
        if is_root() and slot.uid is None:
            raise WorldNotReadyError("root runs no command without a slot's uid")
        reason = ""
        for attempt in range(_TRIES):        # an update, or another agent's command, may move a grant in between
            if cancel is not None and cancel.is_set():
                return Outcome(None, "", stopped="cancelled")
            time.sleep(0.1 * (attempt > 0))
            try:
                seen = [(mount, number) for mount in _outermost(mounts) if (number := _number(mount))]
                real = [mount for mount, _ in seen]
                child = self._start(command, real, timeout_s, slot, merge)
            except (OSError, ValueError) as error:
                reason = str(error)
                continue
            reason = _opened(child, "".join(number for _, number in seen), cancel)
            if not reason:
                room = Room([mount.real for mount in real if mount.writable], child.pid)
                with process.whole(child):
                    ended = process.collect(child, timeout_s, cap, cancel, room.overrun)
                return _outcome(ended, [*mounts, *self._foreign])
            process.collect(child, 0, 0)
        if cancel is not None and cancel.is_set():
            return Outcome(None, "", stopped="cancelled")
        raise WorldNotReadyError(f"bubblewrap could not be set up: {_line(_scrubbed(reason, mounts))}")

    def missing(self, needs: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in needs if name not in self._shown)

    def _start(self, command: str, mounts: Sequence[Mount], timeout_s: float, slot: Slot,
               merge: bool) -> subprocess.Popen[bytes]:
        argv = [*_as_user(slot), shutil.which("prlimit") or "prlimit", *_limits(slot.processes(), timeout_s),
                shutil.which("bwrap") or "bwrap"]
        options = "\0".join([*self._options(mounts), ""]).encode("utf-8", "surrogateescape")
        descriptor = os.memfd_create("options")      # on the command line they would show real paths to the sandbox
        try:
            os.write(descriptor, options)
            os.lseek(descriptor, 0, os.SEEK_SET)
            gate = ["sh", "-c", _GATE, "sh", command, *(mount.virtual for mount in mounts)]
            # What the outer programs are started with could be read in /proc: nothing of the host's environment.
            return process.start([*argv, "--args", str(descriptor), *gate], {"PATH": "/usr/bin:/bin"}, merge=merge,
                                 talk=True, pass_fds=(descriptor,))
        finally:
            os.close(descriptor)

    def _options(self, mounts: Sequence[Mount]) -> list[str]:
        options = [*self._binds, "--proc", "/proc", "--dev", "/dev", "--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm",
                   "--size", str(_TMP_BYTES), "--tmpfs", "/tmp", "--dir", ROOT]
        for mount in mounts:
            options += ["--bind" if mount.writable else "--ro-bind", os.fspath(mount.real), mount.virtual]
        options += ["--remount-ro", "/dev", "--remount-ro", "/", "--unshare-user", "--unshare-ipc", "--unshare-pid",
                    "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--uid", "1000", "--gid", "1000",
                    "--hostname", "arbeit", *self._extra, "--cap-drop", "ALL", "--die-with-parent", "--new-session",
                    "--clearenv", "--chdir", ROOT]
        for name, value in _ENV.items():
            options += ["--setenv", name, value]
        return options


class Unwalled:
    """No wall: limits on time, file size and memory only. For round checks that the user trusts; agents get no Bash."""

    kind = "none"

    def run(self, command: str, mounts: Sequence[Mount], timeout_s: float, *, slot: Slot, merge: bool = True,
            cancel: threading.Event | None = None, cap: int = CAP) -> Outcome:
        limits = [str(math.ceil(timeout_s) + 1), str(_FILE_BYTES // 1024), str(_ADDRESS_BYTES // 1024)]
        user = _as_user(slot) if shutil.which("setpriv") else []
        try:
            child = process.start([*user, "bash", "-c", _LIMITED, "bash", command, *limits],
                                  {**_ENV, "PATH": self._path()}, merge=merge,
                                  cwd=next((os.fspath(mount.real) for mount in mounts if mount.virtual == ROOT), "/"))
        except (OSError, ValueError) as error:
            raise WorldNotReadyError(f"a command could not be started: {error}") from None
        room = Room([mount.real for mount in mounts if mount.writable], child.pid)
        return _outcome(process.collect(child, timeout_s, cap, cancel, room.overrun), mounts)

    def missing(self, needs: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in needs if not shutil.which(name, path=self._path()))

    @staticmethod
    def _path() -> str:
        return os.pathsep.join(["/usr/bin", "/bin", "/usr/local/bin", os.path.dirname(sys.executable)])


def _as_user(slot: Slot) -> list[str]:
    if slot.uid is None:
        return []
    return [shutil.which("setpriv") or "setpriv", f"--reuid={slot.uid}", f"--regid={slot.uid}", "--clear-groups",
            "--inh-caps=-all"]


def _limits(processes: int, timeout_s: float) -> list[str]:
    """prlimit's options: for each process, and never above what the host itself may have."""
    import resource  # absent on Windows, where this module is still read

    limits = {"nproc": processes, "fsize": _FILE_BYTES, "as": _ADDRESS_BYTES, "cpu": math.ceil(timeout_s) + 1,
              "core": 0, "nofile": _OPEN_FILES}
    for name, value in limits.items():
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
        limits[name] = value if hard == resource.RLIM_INFINITY else min(value, hard)
    return [f"--{name}={value}" for name, value in limits.items()]


def _outermost(mounts: Sequence[Mount]) -> list[Mount]:
    """The mounts, outer ones first, without those that an outer one shows as they are."""
    kept: list[Mount] = []
    for mount in sorted(mounts, key=lambda mount: (mount.virtual.count("/"), mount.virtual)):
        if not any(_shows(outer, mount) for outer in kept):
            kept.append(mount)
    return kept


def _shows(outer: Mount, inner: Mount) -> bool:
    below = inner.virtual.removeprefix(outer.virtual)
    return (below != inner.virtual and below[:1] in ("", "/") and outer.writable == inner.writable
            and os.fspath(outer.real) + below == os.fspath(inner.real))


def _number(mount: Mount) -> str | None:
    """What lies at the real path, as the gate will print it; None if nothing does, or only by way of a link.

    A read-only mount is the host's own: its path may hold links. Raise OSError for one that is absent, and for what
    cannot be reached.
    """
    real = os.fspath(mount.real) if mount.writable else os.path.realpath(mount.real)
    try:
        descriptor = os.open(real, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if mount.writable and error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise
    try:
        status = os.fstat(descriptor)
        direct = os.readlink(f"/proc/self/fd/{descriptor}") == real and not stat.S_ISLNK(status.st_mode)
        return f"{status.st_dev} {status.st_ino}\n" if direct else None
    finally:
        os.close(descriptor)


def _opened(child: subprocess.Popen[bytes], expected: str, cancel: threading.Event | None) -> str:
    """Let the command run if the mounts are what was looked at before, "" then; else say what is wrong.

    Between the look and the mount, a command with an overlapping grant may have put a link in the place of a grant.
    """
    assert child.stdin is not None
    said = _said(child, cancel)
    if said != expected.encode() + _READY:
        return said.decode("utf-8", "replace") or "no answer"
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(b"\n")
        child.stdin.close()
    return ""


def _said(child: subprocess.Popen[bytes], cancel: threading.Event | None) -> bytes:
    assert child.stdout is not None
    said, deadline = b"", time.monotonic() + _START_S
    while not said.endswith(_READY) and len(said) < 10_000 and time.monotonic() < deadline:
        if cancel is not None and cancel.is_set():
            break
        if process.readable(child.stdout.fileno(), 0.05):
            piece = os.read(child.stdout.fileno(), 4_096)
            if not piece:
                break
            said += piece
    return said


def _outcome(ended: process.Ended, mounts: Sequence[Mount]) -> Outcome:
    stopped = ended.reason if ended.reason not in (None, "timeout", "cut") else None
    status = 128 - ended.exit if ended.exit is not None and ended.exit < 0 else ended.exit
    return Outcome(status, _scrubbed(ended.output, mounts), _scrubbed(ended.errors, mounts),
                   ended.reason == "timeout", ended.reason == "cut", stopped)


def _scrubbed(text: str, mounts: Sequence[Mount]) -> str:
    """The text with virtual paths for real ones: /proc/self/mountinfo tells what was mounted."""
    if "/" not in text:
        return text
    for mount in sorted(mounts, key=lambda mount: len(os.fspath(mount.real)), reverse=True):
        text = text.replace(os.fspath(mount.real), mount.virtual)
        within = _within(mount.real)
        if within.count("/") > 1 and within in text:
            text = re.sub(rf"(?<![\w./~+-]){re.escape(within)}", lambda _, to=mount.virtual: to, text)
    return text


def _within(real: Path) -> str:
    """The path as seen from the top of its file system."""
    top = next(folder for folder in (real, *real.parents) if os.path.ismount(folder) or folder == folder.parent)
    return "/" + os.path.relpath(real, top)


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
