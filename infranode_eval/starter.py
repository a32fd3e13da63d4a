"""The starter of a suite: a folder with cases and tools of an imagined company, to be replaced by one's own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from infranode_eval.shipped import DATA
from infranode_eval.suites import open_suite
from lm_eval_task.errors import UsageError

CASES, TOOLS = "faelle.jsonl", "werkzeuge.json"


def start_in(folder: Path, suite: str) -> Iterator[str]:
    """Write the starter and yield what to do next. Raise UsageError for a suite without one and a folder in use."""
    name = open_suite(suite).STARTER
    if name is None:
        raise UsageError(f"suite {suite} has no starter; --init goes with --suite bench")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder; choose another one for --init, nothing is overwritten")
    yield from _written(DATA / name, folder)
    cases, tools = _quoted(folder / CASES), _quoted(folder / TOOLS)
    yield f"next: python3 run_eval.py --suite {suite} --cases {cases} --tools {tools} --model oracle"


def _quoted(path: Path) -> str:
    """As a shell takes it."""
    return shlex.quote(str(path))


def _written(source: Path, folder: Path) -> Iterator[str]:
    """Copy the files, with the paths of the commands filled in, and yield the path of each."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(source.iterdir()):
            text = file.read_text("utf-8").replace("@CASES@", _quoted(folder / CASES))
            (folder / file.name).write_text(text.replace("@TOOLS@", _quoted(folder / TOOLS)), "utf-8")
            yield str(folder / file.name)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error.strerror or error}); choose another one") from None
