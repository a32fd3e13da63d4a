"""The program behind Grep: a child process of its own, because Python's `re` holds the interpreter's lock.

Run by path with `python -I -S`, so it imports nothing of the package. It reads one JSON object from stdin and prints
the result; exit status 3 with a message for a pattern that is none. Without that object it searches nothing.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any

LARGEST = 20_000_000        # bytes of a file that are searched
WIDEST = 2_000              # characters of a line that are shown
_LOOKED_AT = 8_192          # bytes in which a NUL makes a file binary
_MEMORY = 1_000_000_000
_BAD_PATTERN = 3


def main() -> int:
    wanted = json.load(sys.stdin)
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (wanted["seconds"], wanted["seconds"]))     # if the host is gone
    except (ImportError, ValueError, OSError):
        pass                # the host's own limit holds
    try:
        search = re.compile(wanted["pattern"], re.IGNORECASE if wanted["ignore_case"] else 0).search
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        print(str(error)[:200])
        return _BAD_PATTERN
    show = {"files": _path, "count": _count, "content": _content}[wanted["mode"]]
    _print(_limited(_found(show, search, wanted), wanted["head"]), wanted["cap"])
    return 0


def _found(show: Callable[..., Iterator[str]], search: Callable[[str], Any], wanted: dict[str, Any]) -> Iterator[str]:
    for real, shown in wanted["files"]:
        lines = _lines(os.fsencode(real))
        if lines is not None:
            yield from show(shown, lines, search, wanted)


def _path(shown: str, lines: list[str], search: Callable[[str], Any], wanted: dict[str, Any]) -> Iterator[str]:
    if any(search(line) for line in lines):
        yield shown


def _count(shown: str, lines: list[str], search: Callable[[str], Any], wanted: dict[str, Any]) -> Iterator[str]:
    count = sum(1 for line in lines if search(line))
    if count:
        yield f"{shown}:{count}"


def _content(shown: str, lines: list[str], search: Callable[[str], Any], wanted: dict[str, Any]) -> Iterator[str]:
    """As grep prints: `path:line` for a hit, `path-line` for one beside it, `--` between groups that do not touch."""
    before, after = wanted["before"], wanted["after"]
    hits = {number for number, line in enumerate(lines) if search(line)}
    near = sorted({n for hit in hits for n in range(max(0, hit - before), min(len(lines), hit + after + 1))})
    last = None
    for number in near:
        if last is not None and number > last + 1 and (before or after):
            yield "--"
        last, mark = number, ":" if number in hits else "-"
        line = lines[number] if len(lines[number]) <= WIDEST else lines[number][:WIDEST] + "…"
        yield shown + mark + (f"{number + 1}{mark}" if wanted["numbers"] else "") + line


def _lines(real: bytes) -> list[str] | None:
    """None for a file that is not what the host saw: no regular one, behind a link by now, or binary."""
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not _lies_at(descriptor, real):
            return None
        try:
            data = file.read(LARGEST) or b""
        except OSError:
            return None
    if b"\0" in data[:_LOOKED_AT]:
        return None
    lines = data.decode("utf-8-sig", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _lies_at(descriptor: int, real: bytes) -> bool:
    """Whether the open file really lies there: a folder of its path may have become a link."""
    if sys.platform == "darwin":
        import fcntl

        return fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0") == real
    return os.readlink(b"/proc/self/fd/%d" % descriptor) == real


def _limited(lines: Iterator[str], head: int) -> Iterator[str]:
    """The first lines; head 0: all."""
    for number, line in enumerate(lines):
        if head and number == head:
            yield f"[Hinweis: nach head_limit {head} gekürzt]"
            return
        yield line


def _print(lines: Iterator[str], cap: int) -> None:
    notice = f"[Hinweis: nach {cap} Zeichen gekürzt; suche genauer]"
    room, kept = cap - len(notice) - 1, []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            kept.append(line[:max(0, len(line) + 1 + room)])
            kept.append(notice)
            break
        kept.append(line)
    sys.stdout.buffer.write("\n".join(kept).encode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(main())
