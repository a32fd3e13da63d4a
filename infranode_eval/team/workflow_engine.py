"""The process in which a workflow's script runs: QuickJS, and lines of JSON to and from the host.

Run as a file of its own (`python -I -S workflow_engine.py EXTENSION`), with the standard library only. A process,
because some of the engine's own functions look at no limit while they run (reversing an array-like of 4·10⁹ took 161 s,
uninterrupted by a limit of 1 s): a thread in one of them could never be ended. It answers each line with one line
{"out": lines that the script queued, "more": jobs are left, "halt": [kind, text] or null}; kinds are below.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import math
import sys
import time
from typing import Any

TIME, MEMORY, SYNTAX, OTHER = "time", "memory", "syntax", "other"
PIECE_S = 0.1           # jobs run that long, then the host is asked whether to go on
STACK = 512 * 1024
FIRST_LINE = 200_001    # where lines of the prelude are counted from; no script has so many
SHARE = 512 * 2**20     # address space beside the script's own memory: Python, and copies of what passes through


class Engine:
    """One context with one script. Its methods give whether the control function found all in order."""

    def __init__(self, extension: Any, opening: dict[str, Any]) -> None:
        self._slice_s = float(opening["slice_s"])
        self._leash(opening["memory_bytes"])
        self._context = extension.Context()
        self._context.set_max_stack_size(STACK)
        self._control = self._context.eval("\n" * FIRST_LINE + opening["prelude"])
        self._context.set_time_limit(self._slice_s)
        self._context.set_memory_limit(opening["memory_bytes"])
        self._control("open", json.dumps(opening["limits"]), opening["args"])

    def run(self, script: str) -> None:
        """Start the script. Raise SyntaxError where it closes the function that holds it."""
        text = "async function () {" + script + "\n}"
        if self._control("run", self._context.eval(f"({text})"), text) == "broken":
            raise SyntaxError("eine Klammer } schließt das Skript zu früh")

    def settle(self, number: int, failed: bool, text: str) -> None:
        self._control("settle", number, failed, json.dumps(text))

    def jobs(self) -> bool:
        """Run jobs for a while; whether some are left."""
        self._leash()
        end = time.monotonic() + PIECE_S
        while self._context.execute_pending_job():
            if time.monotonic() >= end:
                return True
        return False

    def taken(self) -> str:
        return self._control("take")

    def _leash(self, memory_bytes: int | None = None) -> None:
        """What the kernel ends if the engine does not: a job far longer than a slice, and far too much memory."""
        try:
            import resource  # not on every system
        except ImportError:
            return
        limits = {resource.RLIMIT_CPU: math.ceil(time.process_time() + PIECE_S + self._slice_s) + 1}
        if memory_bytes is not None:
            limits |= {resource.RLIMIT_AS: memory_bytes + SHARE, resource.RLIMIT_CORE: 0}
        for name, value in limits.items():
            hard = resource.getrlimit(name)[1]
            wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
            try:
                resource.setrlimit(name, (wanted, hard))
            except (OSError, ValueError):
                continue             # some systems know the limit's name only


def loaded(path: str) -> Any:
    """The extension module _quickjs of a file, without the thread that importing quickjs would start."""
    loader = importlib.machinery.ExtensionFileLoader("_quickjs", path)
    spec = importlib.util.spec_from_file_location("_quickjs", path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def kind_of(error: Exception) -> str:
    first = str(error).split("\n", 1)[0]
    if isinstance(error, SyntaxError) or first.startswith("SyntaxError"):
        return SYNTAX
    if first == "InternalError: interrupted":
        return TIME
    if isinstance(error, MemoryError) or first in ("InternalError: out of memory", "null"):   # null: even the error
        return MEMORY
    return OTHER


def answer(extension: Any, engine: Engine | None, message: dict[str, Any]) -> tuple[Engine | None, dict[str, Any]]:
    """What one line of the host gives. Everything that the engine raises is an end, told with its kind."""
    out, more, halt = "", False, None
    try:
        if message["op"] == "open":
            engine = Engine(extension, message)
            engine.run(message["script"])
        elif message["op"] == "settle":
            engine.settle(message["id"], message["failed"], message["text"])
        more = engine.jobs()
    except Exception as error:       # the engine's own errors derive from Exception directly
        halt = [kind_of(error), str(error)[:2000]]
    try:
        out = engine.taken() if engine else ""
    except Exception as error:       # no memory is left even for what was queued
        halt = halt or [kind_of(error), str(error)[:2000]]
    return engine, {"out": out, "more": more, "halt": halt}


def main() -> None:
    extension, engine = loaded(sys.argv[1]), None
    for line in sys.stdin.buffer:
        engine, reply = answer(extension, engine, json.loads(line))
        sys.stdout.buffer.write(json.dumps(reply).encode("ascii") + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
