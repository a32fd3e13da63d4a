"""The two files that leave the generator: tasks.jsonl and its sibling tasks.meta.json, written both or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_task.dataset import in_use
from lm_eval_task.errors import UsageError
from lm_eval_task.records import SETS, Task, tasks_fingerprint


def meta_path(path: Path) -> Path:
    """tasks.jsonl → tasks.meta.json; any other name gets .meta.json behind it."""
    return path.with_suffix(".meta.json") if path.suffix == ".jsonl" else path.with_name(path.name + ".meta.json")


def lines_of(tasks: Sequence[Task]) -> str:
    """One row a line, keys in the order of the format, real umlauts."""
    return "".join(json.dumps(task.to_json(), ensure_ascii=False) + "\n" for task in tasks)


def counts(tasks: Sequence[Task]) -> dict[str, dict[str, int]]:
    """{set: {category: n, "all": n}}, without the retired rows."""
    found: dict[str, dict[str, int]] = {}
    for task in in_use(tasks):
        row = found.setdefault(task.set or "all", {"all": 0})
        row["all"] += 1
        row[task.category] = row.get(task.category, 0) + 1
    return {name: dict(sorted(row.items())) for name, row in sorted(found.items())}


def hashes(tasks: Sequence[Task]) -> dict[str, str]:
    """tasks_fingerprint of each set and of all rows, without the retired ones."""
    tasks = in_use(tasks)
    by_set = {name: [task for task in tasks if task.set == name] for name in SETS}
    return {**{name: tasks_fingerprint(rows) for name, rows in by_set.items() if rows},
            "all": tasks_fingerprint(tasks)}


def meta_text(meta: Mapping[str, Any]) -> str:
    """The meta file: indented, but one line for each task under "tasks"."""
    text = json.dumps({**meta, "tasks": None} if "tasks" in meta else meta, ensure_ascii=False, indent=1)
    lines = [f"  {json.dumps(name)}: {json.dumps(note, ensure_ascii=False)}"
             for name, note in meta.get("tasks", {}).items()]
    return text.replace('"tasks": null', '"tasks": {\n' + ",\n".join(lines) + "\n }") + "\n"


def write(path: Path, tasks: Sequence[Task], meta: Mapping[str, Any]) -> None:
    """Write both files beside their places, flush them to disk, and only then put them there.

    Raise UsageError where the folder cannot be written; whatever happens before the last step, old files stay.
    """
    write_texts({path: lines_of(tasks), meta_path(path): meta_text(meta)})


def write_texts(texts: Mapping[Path, str]) -> None:
    """All files or none, as `write` says."""
    beside: dict[Path, Path] = {}
    try:
        for target, text in texts.items():
            beside[target] = target.with_name(f".{target.name}.{os.getpid()}.tmp")
            with beside[target].open("w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        for target, temporary in beside.items():
            os.replace(temporary, target)
    except OSError as error:
        raise UsageError(f"{next(iter(texts))} cannot be written ({error.strerror}); choose another --out") from None
    finally:
        for temporary in beside.values():
            temporary.unlink(missing_ok=True)
