"""The starter of a suite: a folder with a small example of what it plays, to be replaced by one's own."""

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
    starter = open_suite(suite).STARTER
    if starter is None:
        raise UsageError(f"suite {suite} has no starter; --init goes with --suite bench or team")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder; choose another one for --init, nothing is overwritten")
    yield from _written(DATA / starter.folder, folder)
    yield f"next: {_filled(starter.next, folder)}"


def _filled(text: str, folder: Path) -> str:
    """With the paths of the commands."""
    for name, path in (("@CASES@", folder / CASES), ("@TOOLS@", folder / TOOLS), ("@FOLDER@", folder)):
        text = text.replace(name, _quoted(path))
    return text


def _quoted(path: Path) -> str:
    """As a shell takes it."""
    return shlex.quote(str(path))


def _written(source: Path, folder: Path) -> Iterator[str]:
    """Copy the files, with the paths of the commands filled in, and yield the path of each."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            target = folder / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_filled(file.read_text("utf-8"), folder), "utf-8")
            yield str(target)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error.strerror or error}); choose another one") from None
