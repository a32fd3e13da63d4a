#!/usr/bin/env python3
"""Tables over results: who called what, how well, and what went wrong.

Usage:
  python3 report.py                               every result below results/ of this folder
  python3 report.py results/bm25.json OUT/        files and folders, also lm-eval's (results_*.json with samples)
  python3 report.py --format markdown > table.md
  python3 report.py --set core                    only runs over this set of tasks
  python3 report.py --published                   the original benchmark's published rows, in a block of their own
  python3 report.py --check results/bm25.json     does a result, or a .jsonl of tasks, keep its format?
  python3 report.py --rescore [FILE …] [--write]  judge the stored replies again with this scorer, show what changes

Exit status: 0, 1 if a result file was broken or refused (named and left out, the rest is shown), 2 for wrong usage or
data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from infranode_eval.archive import find_results, is_harness_output, read_json, run_from_json
from infranode_eval.conformance import check_file
from infranode_eval.figures import Summary, summarise
from infranode_eval.harmless import clean
from infranode_eval.harness_output import runs_from_harness, verdicts_from_harness
from infranode_eval.published import published_section, read_published
from infranode_eval.rescoring import Rescoring, rescore, rescore_samples, rescoring_sections
from infranode_eval.results import write_result
from infranode_eval.sections import report_sections
from infranode_eval.tables import FORMATS, render
from infranode_eval.tasksets import NAMES, TaskSet, known_sets
from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError, DataError, UsageError
from lm_eval_task.tools import Toolset, data_file, read_tools

RESULTS = "results"


def parser() -> argparse.ArgumentParser:
    described = Parser("report.py", __doc__)
    described.add_argument("paths", nargs="*", metavar="FILE", help="result files and folders (default: results/)")
    described.add_argument("--format", choices=FORMATS, default="text")
    described.add_argument("--set", choices=NAMES, help="only runs over this set")
    described.add_argument("--tasks", metavar="FILE", help="tasks that the results refer to (default: tasks.jsonl)")
    described.add_argument("--tools", metavar="FILE", help="tools that lm-eval's replies are scored with "
                                                           "(default: tools.json)")
    described.add_argument("--published", action="store_true", help="show the published rows, too")
    described.add_argument("--check", metavar="FILE", help="check the format of one file, and nothing else")
    described.add_argument("--rescore", action="store_true", help="judge stored replies again, show what changes")
    described.add_argument("--write", action="store_true", help="with --rescore: write the new verdicts (never to "
                                                                "lm-eval's files)")
    return described


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = parser().parse_args(arguments)
        _check_flags(options)
        if options.rescore:
            return rescore_files(options)
        if options.check:
            show(clean(check_file(options.check)) + "\n")
            return 0
        return report(options)
    except BenchError as error:
        complain("report.py", str(error))
        return error.exit_code


def _check_flags(options: argparse.Namespace) -> None:
    if options.write and not options.rescore:
        raise UsageError("--write goes with --rescore only")
    for flag in ("check", "published", "set"):
        if options.rescore and getattr(options, flag):
            raise UsageError(f"--rescore does not go with --{flag}")


def report(options: argparse.Namespace) -> int:
    """Print the report; 1 if a file had to be left out."""
    tools = read_tools(options.tools)
    sets = task_sets(tools, options.tasks)
    files = _files(options)
    summaries: list[Summary] = []
    broken = 0
    for file in files:
        try:
            summaries += summaries_of(file, tools, sets)
        except DataError as error:
            broken += 1
            complain("report.py", f"left out: {error}")
    if options.set:
        summaries = [s for s in summaries if s.dataset == options.set]
        if not summaries and not broken:
            raise DataError(f"none of {len(files)} result files is a run over the set {options.set}")
    sections = report_sections(summaries)
    if options.published:
        sections.append(published_section(read_published()))
    if sections:
        show(render(sections, options.format))
    return 1 if broken else 0


def _files(options: argparse.Namespace) -> tuple[Path, ...]:
    if not options.paths and not Path(RESULTS).is_dir():
        files: tuple[Path, ...] = ()
    else:
        files = find_results(options.paths or [RESULTS])
    if not files and not options.published:
        raise DataError("no result there; make one with: python3 run_eval.py", ", ".join(options.paths or [RESULTS]))
    return files


def task_sets(tools: Toolset, path: str | None) -> tuple[TaskSet, ...]:
    """The known sets; without the project's own tasks.jsonl results are shown all the same, with their hashes only."""
    if path is None and not data_file("tasks.jsonl").is_file():
        complain("report.py", "tasks.jsonl is not there: sets have no name, hard tasks and first calls are not known")
        return ()
    return known_sets(tools, path)


def summaries_of(path: Path, tools: Toolset, sets: Sequence[TaskSet]) -> list[Summary]:
    """The runs of one file as numbers; their rows are dropped at once. Raise DataError for a broken file."""
    value = read_json(path)
    runs = runs_from_harness(value, path, tools) if is_harness_output(value) else [run_from_json(value, path, tools)]
    return [summarise(run, sets, tools) for run in runs]


def rescore_files(options: argparse.Namespace) -> int:
    """Print what the current scorer changes, write it if asked to; 1 if a file had to be left out."""
    tools = read_tools(options.tools)
    sets = known_sets(tools, options.tasks)
    found: list[Rescoring] = []
    refused = 0
    for file in _files(options):
        try:
            judged = rescored(file, tools, sets)
            for one in judged:
                if options.write and one.result is not None:
                    write_result(file.resolve(), one.result, "make the file and its folder writable")
            found += judged
        except BenchError as error:
            refused += 1
            complain("report.py", f"left out: {error}")
    if found:
        show(render(rescoring_sections(found, options.write), options.format))
    return 1 if refused else 0


def rescored(path: Path, tools: Toolset, sets: Sequence[TaskSet]) -> list[Rescoring]:
    """The runs of one file judged again. Raise DataError for a broken file, or one of other tasks or tools."""
    value = read_json(path)
    if is_harness_output(value):
        return [rescore_samples(run, pairs) for run, pairs in verdicts_from_harness(value, path, tools)]
    return [rescore(value, path, sets, tools)]


if __name__ == "__main__":
    sys.exit(main())
