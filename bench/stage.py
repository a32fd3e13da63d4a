"""The stage of a bench: the stub endpoint and a command beside it, each a process, and what the command took."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class Stub:
    """bench/endpoint.py (or another script of this folder) with the given flags, for the length of a `with` block."""

    def __init__(self, *flags: str, script: str = "endpoint.py") -> None:
        self._command = [sys.executable, str(ROOT / "bench" / script), *flags]

    def __enter__(self) -> Stub:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        self.url = self._process.stdout.readline().strip()
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()

    def stats(self) -> dict[str, Any]:
        return self._ask("/stats", None)

    def reset(self) -> None:
        self._ask("/reset", b"")

    def _ask(self, path: str, data: bytes | None) -> dict[str, Any]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url.removesuffix("/v1") + path, data) as answer:
            return json.load(answer)


def write_tasks(path: Path, count: int) -> None:
    """So many different questions about one city's weather, which is what the stub's reply answers."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            row = {"task_id": f"t{number:06}", "category": "weather", "question":
                   f"Wie ist das Wetter in Köln? (Frage {number})",
                   "expected": [{"name": "weather", "arguments": {"slug": "koeln"}}]}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def run_eval(url: str, tasks: Path, out: Path, *flags: str, python: str = sys.executable) -> list[str]:
    return [python, str(ROOT / "run_eval.py"), "--base-url", url, "--model", "stub", "--tasks", str(tasks),
            "--out", str(out), *flags]


@dataclass(frozen=True, slots=True)
class Taken:
    """wall_s, cpu_s (user and system, children included), memory_mb (highest resident set of one process)."""

    status: int
    wall_s: float
    cpu_s: float
    memory_mb: float


def timed(command: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None,
          log: Path | None = None) -> Taken:
    """Run a command in a folder to its end; what it prints goes into the log."""
    with open(log or os.devnull, "wb") as sink:
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT, cwd=folder,
                                   env={**os.environ, **(environ or {})})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Taken(process.returncode, time.monotonic() - started, usage.ru_utime + usage.ru_stime,
                 usage.ru_maxrss / 1024)


def repeated(script: str, command: Callable[[str], Sequence[str]], folder: Path, repeats: int,
             latency_s: float) -> tuple[Taken, float, dict[str, Any]]:
    """(medians of a command, seconds from the first request to the last answer, the last stub's counts).

    script: of this folder, the stub. command: from its address. Exit with the command's last lines where it fails.
    """
    taken: list[Taken] = []
    spans: list[float] = []
    for _ in range(repeats):
        with Stub("--serve", script=script) as stub:
            taken.append(timed(command(stub.url), folder, {}, folder / "log"))
            stats = stub.stats()
        if taken[-1].status:
            raise SystemExit((folder / "log").read_text()[-2000:])
        spans.append(stats["span_s"] + latency_s)
    middle = Taken(0, *(statistics.median(getattr(t, f) for t in taken) for f in ("wall_s", "cpu_s", "memory_mb")))
    return middle, statistics.median(spans), stats


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown, all columns to the right."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---:",) * len(head), *rows))


def insert(text: str, script: str) -> None:
    """Put the table of bench/<script> between its markers in bench/README.md; the rest of the file is left alone."""
    path = ROOT / "bench" / "README.md"
    begin, end = (f"<!-- bench/{script}: {word} -->" for word in ("begin", "end"))
    before, _, rest = path.read_text("utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{path} lacks the line {end}")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}", "utf-8")
