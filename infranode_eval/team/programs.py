"""What of this machine's programs a sandbox shows: a fixed list, the libraries they load, and Python's own modules.

Source: specification, team, 5.1. Whatever else the machine has (readers of pictures and sounds, compilers, other
packages of Python) would let a result depend on the machine, or let a text model look at a picture.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence

PROGRAMS = (
    "awk", "basename", "bash", "cat", "chmod", "cmp", "comm", "cp", "cut", "date", "diff", "dirname", "echo",
    "env", "expr", "false", "find", "grep", "head", "id", "join", "ln", "ls", "mkdir", "mktemp", "mv", "od",
    "paste", "printf", "python3", "readlink", "realpath", "rm", "rmdir", "sed", "seq", "sh", "sha256sum",
    "sleep", "sort", "stat", "tail", "tee", "test", "timeout", "touch", "tr", "true", "uname", "uniq", "wc",
    "xargs")
_SEARCHED = "/usr/bin:/bin"
# Modules of the standard library that would only bring more libraries: terminals, telephone books, old databases.
_LEFT_OUT = re.compile(r"/(nis|readline|ossaudiodev|_curses|_curses_panel|_dbm|_gdbm|_tkinter|_?xx\w*|_test\w*)\.")
_ABOUT_PYTHON = ("import json, os, sys, sysconfig; print(json.dumps([os.path.realpath(sys.executable), "
                 "sysconfig.get_path('stdlib'), sys.platlibdir, 'python%d.%d' % sys.version_info[:2]]))")


def found_programs(python: str | None = None) -> dict[str, str]:
    """Name → real file of each program of the list that this machine has. python: another interpreter to show."""
    found = {}
    for name in PROGRAMS:
        path = shutil.which(name, path=_SEARCHED)
        if path:
            found[name] = os.path.realpath(path)
    if python:
        found["python3"] = os.path.realpath(python)
    return found


def pythons() -> tuple[str, ...]:
    """Interpreters that may be shown, the system's first, then the one under the running one (pyenv, uv)."""
    own = getattr(sys, "_base_executable", None) or sys.executable
    found = [shutil.which("python3", path=_SEARCHED), own]
    return tuple(dict.fromkeys(path for path in found if path and os.path.exists(path)))


def binds(programs: dict[str, str]) -> list[str]:
    """bwrap's options that show these programs read-only below /usr, with all that they load.

    Raise OSError if a helper of the machine (ldd) is missing.
    """
    options = [part for name, file in programs.items() for part in ("--ro-bind", file, f"/usr/bin/{name}")]
    loaded = list(programs.values())
    if "python3" in programs:
        more, modules = _python(programs["python3"])
        options += more
        loaded += modules
    for target, source in sorted(_libraries(loaded).items()):
        options += ["--ro-bind", source, target]
    for name in ("lib", "lib64", "bin"):
        if os.path.islink(f"/{name}"):
            options += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
    if not os.path.islink("/bin"):
        options += ["--symlink", "usr/bin", "/bin"]
    if os.path.isdir("/usr/lib/locale/C.utf8"):
        options += ["--ro-bind", "/usr/lib/locale/C.utf8", "/usr/lib/locale/C.utf8"]
    return options


def _python(executable: str) -> tuple[list[str], list[str]]:
    """The options that show the standard library of an interpreter, and its compiled modules."""
    said = subprocess.run([executable, "-I", "-S", "-c", _ABOUT_PYTHON], capture_output=True, text=True, timeout=20,
                          stdin=subprocess.DEVNULL, check=False)
    try:
        _, library, folder, version = json.loads(said.stdout)
    except ValueError:
        return [], []
    target = f"/usr/{folder}/{version}"
    options = ["--ro-bind", os.path.realpath(library), target]
    for packages in ("site-packages", "dist-packages"):
        if os.path.isdir(os.path.join(library, packages)):
            options += ["--tmpfs", f"{target}/{packages}", "--remount-ro", f"{target}/{packages}"]
    modules = glob.glob(os.path.join(glob.escape(library), "lib-dynload", "*.so"))
    return options, [module for module in modules if not _LEFT_OUT.search(module)]


def _libraries(files: Sequence[str]) -> dict[str, str]:
    """Where it is shown → real file, of every library that the files load."""
    said = subprocess.run(["ldd", *files], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          check=False)
    paths = set(re.findall(r"(?:=> |^\s+)(/\S+) \(0x", said.stdout, re.MULTILINE))
    home = next((os.path.dirname(path) for path in sorted(paths) if "/libc.so" in path), "/lib")
    late = os.path.join(home, "libgcc_s.so.1")       # loaded when a thread ends early
    return dict(_shown(paths | ({late} if os.path.exists(late) else set()), home))


def _shown(paths: Iterable[str], home: str) -> Iterable[tuple[str, str]]:
    """A library of the system stays where it is; one of an interpreter elsewhere goes beside the C library."""
    for path in sorted(paths):
        folder = os.path.realpath(os.path.dirname(path))
        if not folder.startswith(("/usr/", "/lib")):
            folder = os.path.realpath(home)
        yield f"{folder}/{os.path.basename(path)}", os.path.realpath(path)
