"""What is handed in of a run: its files by name, after every number in them was made anew from the transcripts."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infranode_eval.beside import read_transcripts, transcripts_path
from infranode_eval.budget import read_prices
from infranode_eval.fold import sum_of, summed
from infranode_eval.providers.token_usage import normal_usage
from infranode_eval.reports.archive import read_json, run_from_json
from infranode_eval.reports.effort import price_named
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.rescoring import rescore
from infranode_eval.reports.sections import report_sections
from infranode_eval.reports.tasksets import TaskSet, team_sets
from infranode_eval.reports.team_rows import SUITE
from infranode_eval.results import result_bytes
from infranode_eval.suites import open_suite
from infranode_eval.tables import render
from infranode_eval.team.tools import toolset
from infranode_eval.totals import Tariff, Totals, list_price
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import FAILURES

RESULT, REPORT, WORKFLOWS = "result.json", "report.md", "workflows"
NOTICE = ("Every verdict and number here was made anew from the transcripts when this folder was packed. That proves "
          "that the files fit together, not that they are honest.")
_NEAR = 1e-9


def pack_of(path: Path, folder: str | Path | None = None) -> dict[str, bytes]:
    """Name in the folder → content; equal input gives equal bytes. folder: of the scenarios, if not the project's own.

    Raise DataError for a result that does not follow from its transcripts, names another suite, or has no end.
    """
    value = read_json(path)
    if not isinstance(value, dict) or value.get("suite") != SUITE:
        raise DataError(f"is no result of suite {SUITE}", path)
    sets = team_sets(folder)
    check_consistent(value, path, sets)
    named = {**value, "transcripts": {**value["transcripts"], "file": transcripts_path(Path(RESULT)).name}}
    return {RESULT: result_bytes(named),
            named["transcripts"]["file"]: path.with_name(value["transcripts"]["file"]).read_bytes(),
            **dict(_scripts(read_transcripts(path, value["transcripts"]))), REPORT: _report(named, sets)}


def check_consistent(value: Mapping[str, Any], path: Path, sets: tuple[TaskSet, ...]) -> None:
    """Raise DataError that names the first thing in a result that its transcripts do not give."""
    found = rescore(value, path, sets, toolset())
    for change in found.changes:
        raise DataError(f"row {change.task_id} says {change.before}, its transcript gives {change.after}", path)
    if found.versions[0] != found.versions[1]:
        raise DataError(f"was judged by scorer {found.versions[0]}, this is {found.versions[1]}: report.py --rescore "
                        "--write judges it again", path)
    if found.result is not None:
        raise DataError("its rows are not what its transcripts give: report.py --rescore shows the difference", path)
    for name, part, made in (("metrics", value["metrics"], found.after), ("answered", value["answered"],
                                                                          found.answered[1])):
        _check_numbers(name, part, made, path)
    _check_numbers("headline", value.get("headline") or {},
                   open_suite(SUITE).headline(found.after, False) or {}, path)
    _check_usage(value, path)
    _check_totals(value, path)


def _check_numbers(where: str, told: Mapping[str, Any], made: Mapping[str, Any], path: Path) -> None:
    for name in [*made, *(name for name in told if name not in made)]:
        if name not in told or name not in made or not _same(told[name], made[name]):
            raise DataError(f"{where} says {name} {told.get(name, 'nothing')}, its transcripts give "
                            f"{made.get(name, 'nothing')}", path)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or None in (one, other):
        return one is other
    return isinstance(one, (int, float)) and abs(one - other) < _NEAR


def _check_usage(value: Mapping[str, Any], path: Path) -> None:
    """Tokens, seconds, last reply of each row: the manager's alone, from which the cost follows."""
    suite, stored = open_suite(SUITE), read_transcripts(path, value["transcripts"])
    for row in value["rows"]:
        if row["outcome"] in FAILURES:
            continue
        answers = suite.answers_of(stored[row["task_id"], row["repeat"]])      # type: ignore[attr-defined]
        made = {"usage": summed([normal_usage(one.usage) for one in answers]),
                "reply": answers[-1].message if answers else {},
                "finish_reason": answers[-1].finish_reason if answers else None,
                "latency_s": None if row["latency_s"] is None else sum_of([one.latency_s for one in answers])}
        for name, right in made.items():
            if row.get(name) != right:
                raise DataError(f"row {row['task_id']}: {name} is not what its transcript gives", path)


def _check_totals(value: Mapping[str, Any], path: Path) -> None:
    """Sums over the rows, and what they cost at the list price; a price of one's own nothing can check."""
    told, totals = value.get("totals"), Totals()
    if not isinstance(told, dict):
        return
    for row in value["rows"]:
        totals.add(row)
    table = read_prices()
    price, source = price_named(table.prices, value["model"]), list_price(table)
    made = totals.to_json(Tariff(price, table.currency, source) if price else None)
    for name in made:
        if name != "cost" and told.get(name) != made[name]:
            raise DataError(f"totals says {name} {told.get(name)}, its rows give {made[name]}", path)
    cost = told.get("cost")
    if isinstance(cost, dict) and cost.get("source") == source and cost != made["cost"]:
        raise DataError(f"totals says cost {cost.get('amount')}, its tokens cost "
                        f"{made['cost']['amount'] if made['cost'] else 'nobody knows what'}", path)


def _scripts(transcripts: Mapping[tuple[str, int], Mapping[str, Any]]) -> Iterator[tuple[str, bytes]]:
    for (task_id, repeat), transcript in transcripts.items():
        for one in transcript["team"]["workflows"]:
            name = f"{task_id}{f'.{repeat}' if repeat > 1 else ''}.{one['task_id']}"
            yield (f"{WORKFLOWS}/{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.js",
                   str(one["script"]).encode("utf-8", "backslashreplace"))


def _report(value: Mapping[str, Any], sets: tuple[TaskSet, ...]) -> bytes:
    """The tables of the report; the file is named as it lies in the folder."""
    run = run_from_json(value, RESULT)
    return (NOTICE + "\n\n" + render(report_sections([summarise(run, sets)]), "markdown")).encode()


def write_pack(folder: Path, files: Mapping[str, bytes]) -> bool:
    """True if it was written, False if the very same pack lies there. Raise UsageError for anything else there."""
    if folder.exists():
        held = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*")
                if path.is_file()} if folder.is_dir() else None
        if held != dict(files):
            raise UsageError(f"{folder} exists and holds something else; choose another -o")
        return False
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        for name, content in files.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(content)
        part.rename(folder)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise UsageError(f"{folder} cannot be written ({error.strerror or error}); choose another -o") from None
    return True
