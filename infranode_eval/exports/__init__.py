"""The formats in which the tasks leave the project for training, sharing and other harnesses.

A format is a module with `exported(material)`, which gives the files; only `export` here writes.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from infranode_eval.exports.material import ALLOW, SPLITS, Exported, Order, read_material
from infranode_eval.reports.archive import read_json
from infranode_eval.results import package_version
from lm_eval_task.dataset import CHOICES
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.prompt import MODES
from lm_eval_task.records import tasks_fingerprint

FORMATS: Mapping[str, str] = {
    "sft-openai": "sft", "sft-trl": "sft", "dpo": "preferences", "hf": "hub", "verifiers": "environment",
    "inspect": "inspect_task"}
_OWN = ("split", "set", "mode", "results", "allow_contamination")               # flags that only an export has
_NEEDS = {"mode": ("sft-openai", "sft-trl", "dpo"), "results": ("dpo",),       # and those that only some of them have
          "allow_contamination": ("sft-openai", "sft-trl", "dpo", "verifiers")}
_OTHERS = ("verify", "watch_report", "retire", "lint", "sealed", "datasheet", "record", "replay", "max_per_category",
           "balanced", "phrasings")                                            # flags of the other jobs
MANIFEST = "export.json"      # in the folder: what was exported, and which files are ours to replace


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of `generate.py --export`; --out, --tasks and --force are there already."""
    flags = parser.add_argument_group("exports", "write the existing tasks in another form; docs/exports.md shows each")
    flags.add_argument("--export", metavar="FORMAT", help=f"one of {', '.join(FORMATS)}; --out names a folder")
    flags.add_argument("--split", choices=(*SPLITS, "all"), help="default: train where the export trains, else all")
    flags.add_argument("--set", choices=(*CHOICES, "full"), help="default: what the format is for")
    flags.add_argument("--mode", choices=MODES, help="native tool calls, or tools and calls as text")
    flags.add_argument("--results", metavar="FILE", nargs="+", default=[], help="dpo: where the wrong replies stand")
    flags.add_argument(ALLOW, action="store_true", help="let rows that measure into a training export")


def check_flags(chosen: argparse.Namespace) -> None:
    """Raise UsageError for an unknown format, a missing --out, and flags that do not go together."""
    given = [flag for flag in _OWN if getattr(chosen, flag)]
    if chosen.export is None:
        if given:
            raise UsageError(f"{_flag(given[0])} goes with --export")
        return
    if chosen.export not in FORMATS:
        raise UsageError(f"export format {chosen.export!r} does not exist; expected one of {', '.join(FORMATS)}")
    if not chosen.out:
        raise UsageError(f"--export {chosen.export} needs --out DIR")
    for flag in given:
        if chosen.export not in _NEEDS.get(flag, (chosen.export,)):
            raise UsageError(f"{_flag(flag)} goes with --export {' or '.join(_NEEDS[flag])}")
    for flag in _OTHERS:
        if getattr(chosen, flag):
            raise UsageError(f"--export writes the tasks as they are; leave out {_flag(flag)}")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def order_of(chosen: argparse.Namespace) -> Order:
    """What checked flags ask for."""
    tasks = Path(chosen.tasks) if chosen.tasks else None
    return Order(chosen.export, Path(chosen.out), tasks, chosen.split, chosen.set, chosen.mode, tuple(chosen.results),
                 chosen.force, chosen.allow_contamination)


def export(order: Order) -> list[str]:
    """Write the export and say what was written, a line each.

    Raise UsageError where the folder is in use or a package is missing, DataError for broken data.
    """
    old = _claim(order.out, order.force)
    made = import_module(f"{__name__}.{FORMATS[order.form]}").exported(read_material(order))
    files = {**made.files, MANIFEST: _manifest(order, made)}
    for name in old - files.keys():
        (order.out / name).unlink(missing_ok=True)
    for name, content in files.items():
        _write(order.out / name, content)
    return [f"{order.out}: {order.form}, made from {len(made.material.tasks)} tasks, {len(files)} files",
            *made.material.notes, *made.notes]


def _claim(folder: Path, force: bool) -> set[str]:
    """The files of an earlier export that may be replaced. Raise UsageError for a folder with anything else in it."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder} is a file; --export writes a folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return set()
    if not force:
        raise UsageError(f"--out {folder} is not empty; choose another folder, or --force to replace an earlier export")
    try:
        names = read_json(folder / MANIFEST)["files"]
        return {name for name in names if (folder / name).resolve().is_relative_to(folder.resolve())}
    except (DataError, KeyError, TypeError):
        raise UsageError(f"--out {folder} holds no export of ours ({MANIFEST} is missing or broken), so even --force "
                         "leaves it alone; choose another folder") from None


def _manifest(order: Order, made: Exported) -> bytes:
    """Where the export comes from; the same data give the same bytes."""
    told: dict[str, Any] = {
        "format": order.form, "version": package_version(), "dataset": made.material.meta.get("version"),
        "split": order.split, "set": order.which, "mode": order.mode, "contaminated": order.contaminate,
        "tasks": len(made.material.tasks),
        "hashes": {"tasks": tasks_fingerprint(made.material.tasks), "tools": made.material.tools.fingerprint},
        "notes": [*made.material.notes, *made.notes], "files": sorted({*made.files, MANIFEST})}
    return (json.dumps(told, ensure_ascii=False, indent=1) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written ({error.strerror}); choose another --out") from None
