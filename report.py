#!/usr/bin/env python3
"""Tables over results: who called what, how well, and what went wrong.

Usage:
  python3 report.py                               every result below results/ of this folder
  python3 report.py results/bm25.json OUT/        files and folders, also lm-eval's (results_*.json with samples)
  python3 report.py --format markdown > table.md
  python3 report.py --format json > report.json   everything the tables show, proportions 0-1
  python3 report.py --format csv > runs.csv       one row per run; --table categories: one per run and category
  python3 report.py --set core                    only runs over this set of tasks
  python3 report.py --common-rows                 runs over several versions of a set, over the rows that all hold
  python3 report.py --compare A.json B.json       task by task: what flipped, and is that more than chance?
  python3 report.py --sealed PUBLIC.json SEALED.json   one model over public and sealed tasks (--sha256: of the sealed)
  python3 report.py --task resource_key-koeln-road-events    question, gold; each model's reply, reading, verdict
  python3 report.py --items                       each task over all models: who is right, does it look broken?
  python3 report.py --confusion results/a.json    which tool was called where another was right
  python3 report.py --gate 'call_match>=0.8' --gate 'failed<=0' results/a.json     for CI: exit 1 if a gate is broken
  python3 report.py --gate-against BASE.json --max-drop 0.02 results/a.json
  python3 report.py --html report.html            one page for a browser: ranking, charts, every reply; loads nothing
  python3 report.py --plots DIR                   its charts as SVG and PNG; both need the extra [report]
  python3 report.py --task S2-9 results/bench         a case of the bench: what it tests, its pitfalls, every reply
  python3 report.py --task filter_count-dresden-charging_power results/chain   a play of the suite chain, turn by turn
  python3 report.py --suite db_routing                results/db_routing: routes, SQL, switches, arms of that suite
  python3 report.py --suite team results/team         score of managers of sub-agents, scenarios, cost, refusals, grants
  python3 report.py --published                   the original benchmarks' published rows, in blocks of their own
  python3 report.py --check results/bm25.json     does a result, or a .jsonl of tasks, keep its format?
  python3 report.py --rescore [FILE …] [--write]  judge the stored replies again with this scorer, show what changes
  python3 report.py --inspect-log DIR [FILE …]    as logs for `inspect view`, a sample a row (the extra [inspect])

Exit status: 0, 1 if a gate or a seal is broken or a result file was broken or refused (named and left out, the rest is
shown), 2 for wrong usage or data.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))   # python3 -I leaves the script's folder out

from infranode_eval.budget import read_prices
from infranode_eval.harmless import clean
from infranode_eval.reports.archive import Run, is_harness_output, read_json, suite_name
from infranode_eval.reports.arms import arms_sections
from infranode_eval.reports.common import over_common_rows
from infranode_eval.reports.comparison import compare
from infranode_eval.reports.comparison_tables import comparison_json, comparison_sections, flip_json
from infranode_eval.reports.conformance import check_file
from infranode_eval.reports.confusions import confusion_lines, confusion_of, confusion_section
from infranode_eval.reports.db_routing_arms import routing_arms_sections
from infranode_eval.reports.db_routing_audit import audited
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.drilldown import Case, case_json, case_lines, cases_of, unknown_task
from infranode_eval.reports.exhibits import Exhibit, best_files, exhibits_of, without_rows
from infranode_eval.reports.export import TABLES, csv_text, items_csv, json_text, report_csv, report_json
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.gates import Gate, broken_gates, kept_line, worse_than
from infranode_eval.reports.harness_output import verdicts_from_harness
from infranode_eval.reports.intake import (
    hashes_of_cases,
    look_again,
    meant,
    one_run,
    read_each,
    result_files,
    runs_of,
    summaries_of,
    task_sets,
    tools_of,
)
from infranode_eval.reports.items import Look
from infranode_eval.reports.page import html_page, page_path, write_page
from infranode_eval.reports.plots import write_plots
from infranode_eval.reports.published import published_sections
from infranode_eval.reports.rescoring import Rescoring, rescore, rescore_samples, rescoring_sections
from infranode_eval.reports.sealed import compare_sealed, seal_of, sealed_json, sealed_section
from infranode_eval.reports.sections import item_sections, report_sections, version_notes
from infranode_eval.reports.taskbook import MOST_RUNS
from infranode_eval.reports.tasksets import NAMES, PLAYED_NAMES, WORDINGS, TaskSet, known_sets
from infranode_eval.reports.team_compare import compare_rounds, flip_line, rounds_json, rounds_sections
from infranode_eval.reports.team_rows import SUITE as MANAGED
from infranode_eval.reports.wordings import wordings_sections
from infranode_eval.results import write_result
from infranode_eval.suites import SUITES
from infranode_eval.tables import FORMATS, render
from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError, DataError, UsageError
from lm_eval_task.tools import Toolset, read_tools


def parser() -> argparse.ArgumentParser:
    described = Parser("report.py", __doc__)
    described.add_argument("paths", nargs="*", metavar="FILE", help="result files and folders (default: results/)")
    described.add_argument("--format", choices=(*FORMATS, "csv", "json"), default="text")
    described.add_argument("--table", choices=tuple(TABLES), help="with --format csv: one row per run (runs), or one "
                                                                  "per run and category, outcome, repeat, variant, …")
    described.add_argument("--set", choices=(*NAMES, *WORDINGS[:2], *PLAYED_NAMES), help="only runs over this set")
    described.add_argument("--suite", choices=SUITES, help="only runs of this suite; without a FILE those below "
                                                           "results/SUITE")
    described.add_argument("--gold-audit", metavar="FILE", help="suite db_routing: which golds are faulty, a line each "
                                                                "{\"task_id\", \"gold_faulty\"}")
    described.add_argument("--tasks", metavar="FILE", action="append",
                           help="tasks that the results refer to (default: tasks.jsonl); once for each version of them")
    described.add_argument("--cases", metavar="FILE", action="append", default=[],
                           help="bench cases of your own, with their --tools: only runs over these are shown")
    described.add_argument("--tools", metavar="FILE", help="tools that lm-eval's replies are scored with "
                                                           "(default: tools.json)")
    described.add_argument("--compare", nargs=2, metavar=("A", "B"), help="two runs, task by task")
    described.add_argument("--common", action="store_true", help="with --compare: over the tasks that both hold, where "
                                                                 "their sets differ")
    described.add_argument("--sealed", nargs=2, metavar=("PUBLIC", "SEALED"), help="one model over public and sealed "
                                                                                   "tasks")
    described.add_argument("--sha256", metavar="HASH", help="with --sealed: of the sealed file, as it was published")
    described.add_argument("--common-rows", action="store_true", help="over the tasks that all runs of one suite, mode "
                                                                      "and set-up hold with equal question and gold")
    described.add_argument("--task", metavar="ID", help="one task: what each model replied, how it was read and judged")
    described.add_argument("--items", action="store_true", help="each task: share of the models that are right, and "
                                                                "whether it tells good from weak")
    described.add_argument("--confusion", action="store_true", help="gold tool × called tool, for each run")
    described.add_argument("--gate", metavar="CONDITION", action="append",
                           help="a strict number of every run, e.g. 'call_match>=0.8' (may be repeated)")
    described.add_argument("--gate-against", metavar="BASE", help="no run may fall below this result")
    described.add_argument("--max-drop", type=float, metavar="X", help="with --gate-against: by more than this, 0-1 "
                                                                       "(default: 0)")
    described.add_argument("--html", metavar="PAGE", help="write one self-contained HTML page (needs jinja2)")
    described.add_argument("--plots", metavar="DIR", help="write charts as SVG and PNG files (needs matplotlib)")
    described.add_argument("--inspect-log", metavar="DIR", help="write each run as a log of inspect_ai (needs it)")
    described.add_argument("--published", action="store_true", help="show the published rows, too")
    described.add_argument("--check", metavar="FILE", help="check the format of one file, and nothing else")
    described.add_argument("--rescore", action="store_true", help="judge stored replies again, show what changes")
    described.add_argument("--write", action="store_true", help="with --rescore: write the new verdicts (never to "
                                                                "lm-eval's files)")
    return described


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = parser().parse_args(arguments)
        return view_of(options)(options)
    except BenchError as error:
        complain("report.py", str(error))
        return error.exit_code


def view_of(options: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """The function that the flags ask for. Raise UsageError for flags that do not go together."""
    views = [name for name in ("rescore", "check", "compare", "sealed", "task", "items", "confusion", "gate",
                              "gate_against", "html", "plots", "inspect_log") if getattr(options, name)]
    if len(views) > 1 and views not in (["gate", "gate_against"], ["html", "plots"]):
        raise UsageError(f"{_flag(views[0])} does not go with {_flag(views[1])}")
    view = views[0] if views else "report"
    for flag, among in _GOES_WITH.items():
        if getattr(options, flag) and view not in among:
            raise UsageError(f"{_flag(view)} does not go with {_flag(flag)}" if view != "report" else
                             f"{_flag(flag)} goes with {' or '.join(map(_flag, among))} only")
    if options.format in ("csv", "json") and view not in _FOR_PROGRAMS[options.format] or \
            options.published and options.format not in FORMATS:
        raise UsageError(f"--format {options.format} does not go with "
                         f"{'--published' if options.published else _flag(view)}")
    if options.table and options.format != "csv":
        raise UsageError("--table goes with --format csv only")
    return {"report": report, "rescore": rescore_files, "check": check, "compare": compare_files,
            "sealed": compare_with_sealed, "task": show_task, "items": show_items,
            "confusion": show_confusion, "gate": gate, "gate_against": gate, "html": draw, "plots": draw,
            "inspect_log": write_inspect_logs}[view]


_GOES_WITH = {"write": ("rescore",), "common": ("compare",), "sha256": ("sealed",), "common_rows": ("report",),
              "max_drop": ("gate_against", "gate"), "published": ("report",), "table": ("report",),
              "gold_audit": ("report",),
              "suite": ("report", "rescore", "task", "items", "gate", "gate_against"),
              "set": ("report", "compare", "items", "gate", "gate_against", "html", "plots"),
              "paths": ("report", "rescore", "task", "items", "confusion", "gate", "gate_against", "html", "plots",
                        "inspect_log")}
_FOR_PROGRAMS = {"csv": ("report", "compare", "items", "confusion"),
                 "json": ("report", "compare", "sealed", "confusion", "task")}


def _flag(name: str) -> str:
    return {"paths": "FILE", "report": "the tables"}.get(name, "--" + name.replace("_", "-"))


def report(options: argparse.Namespace) -> int:
    """Print the report; 1 if a file had to be left out."""
    summaries, left_out, look = summarise_files(options)
    if options.format == "json":
        show(report_json(summaries, left_out, look))
    elif options.format == "csv":
        show(report_csv(summaries, options.table or "runs"))
    else:
        sections = report_sections([s for s in summaries if s.run.arm is None], look) \
            + routing_arms_sections(summaries) + arms_sections(summaries) + wordings_sections(summaries)
        if options.published:
            blocks = published_sections(options.suite)
            if not blocks:
                _say(f"no published rows go with the suite {options.suite}")
            sections += blocks
        if sections:
            show(render(sections, options.format))
    return 1 if left_out else 0


def summarise_files(options: argparse.Namespace) -> tuple[list[Summary], list[str], Look]:
    """(the runs of all files, what was left out and why, what reads their replies once more)."""
    tools = read_tools(options.tools)
    sets, over = task_sets(tools, options.tasks, _say, options.cases), hashes_of_cases(options.cases, tools)
    if options.common_rows:
        runs, left_out = read_each(_files(options), lambda file: [r for r in runs_of(file, tools) if meant(r, over)],
                                   _say)
        summaries, unknown = over_common_rows(runs, sets, tools, options.set)
        if unknown and len(summaries) < 2:
            raise DataError("; ".join(unknown))
        for line in unknown:
            _say(f"left out: {line}")
        return summaries, left_out + unknown, look_again(tools, sets)
    summaries, left_out = read_each(_files(options), lambda file: [
        s for s in summaries_of(file, tools, sets) if meant(s.run, over)], _say)
    _some_meant(options, summaries, left_out)
    if options.suite:
        summaries = [s for s in summaries if s.run.suite == suite_name(options.suite)]
        if not summaries and not left_out and not options.published:
            raise DataError(f"no result file holds a run of the suite {options.suite}")
    if options.set:
        summaries = [s for s in summaries if s.dataset == options.set]
        if not summaries and not left_out:
            raise DataError(f"no result file holds a run over the set {options.set}")
    if options.gold_audit:
        summaries = audited(summaries, Path(options.gold_audit))
    return summaries, left_out, look_again(tools, sets)


def _some_meant(options: argparse.Namespace, found: Sequence[object], left_out: Sequence[str]) -> None:
    """Raise DataError where --cases names cases that no run was asked."""
    if options.cases and not found and not left_out:
        raise DataError(f"no result file holds a run over the cases of {', '.join(options.cases)} as they are now; ask "
                        "them first: run_eval.py --suite bench --cases FILE --tools FILE")


def _files(options: argparse.Namespace) -> tuple[Path, ...]:
    return result_files(options.paths, needed=not options.published, suite=options.suite)


def _say(message: str) -> None:
    complain("report.py", message)


def check(options: argparse.Namespace) -> int:
    show("".join(clean(line) + "\n" for line in check_file(options.check, options.tools).split("\n")))
    return 0


# --- other views ------------------------------------------------------------------------------------------------------

def draw(options: argparse.Namespace) -> int:
    """Write the page, the pictures or both and print their paths; 1 if a file had to be left out."""
    tools, prices = read_tools(options.tools), read_prices()
    sets, over = task_sets(tools, options.tasks, _say, options.cases), hashes_of_cases(options.cases, tools)
    page = page_path(options.html) if options.html else None
    files = _files(options)

    routed: set[Path] = set()      # files of the suite whose tables are shown by the other views

    def read(file: Path) -> list[Exhibit]:
        of_file = [e for e in exhibits_of(file, tools, sets, prices.prices)
                   if meant(e.run, over) and (not options.set or e.summary.dataset == options.set)]
        routed.update(file for e in of_file if e.run.suite == ROUTED)
        return [e for e in of_file if e.run.suite != ROUTED]

    found, left_out = read_each(files, read if len(files) <= MOST_RUNS else lambda f: list(map(without_rows, read(f))),
                                _say)
    if len(files) > MOST_RUNS and page:     # too many to hold all replies: those of the best are read once more
        best = best_files(found, MOST_RUNS)
        found = [e for e in found if e.run.path not in best] + [e for path in sorted(best) for e in read(Path(path))]
    _some_meant(options, found, left_out)
    unseen = f"page and pictures do not show runs of the suite {ROUTED}: call report.py without --html and --plots"
    if not found and not left_out:
        raise DataError(unseen if routed else f"no result file holds a run over the set {options.set}")
    if routed:
        _say(unseen)
    for line in version_notes(e.summary for e in found):
        _say(line)
    drawn = [e for e in found if e.run.suite != MANAGED]
    if options.plots and len(drawn) < len(found):
        _say(f"pictures do not show runs of the suite {MANAGED}: they stand on the page (--html)")
    written = write_plots(drawn, Path(options.plots)) if options.plots else []
    if page is not None:
        write_page(page, html_page(found, left_out, prices.as_of))
        written.insert(0, page)
    show("".join(f"{clean(str(path))}\n" for path in written))
    return 1 if left_out else 0


def write_inspect_logs(options: argparse.Namespace) -> int:
    """Write a log for each run and print their paths; 1 if a file had to be left out."""
    from infranode_eval.reports.inspect_logs import log_paths, write_logs  # late: an extra view

    tools, files = read_tools(options.tools), _files(options)
    paths = log_paths(files, Path(options.inspect_log))
    sets = task_sets(tools, options.tasks, _say, options.cases)
    written, left_out = read_each(files, lambda file: write_logs(file, paths[file], tools, sets, options.cases), _say)
    show("".join(f"{clean(str(path))}\n" for path in written))
    return 1 if left_out else 0


def compare_files(options: argparse.Namespace) -> int:
    """Print what the second run solves that the first does not, and the other way round."""
    tools = read_tools(options.tools)
    sets = task_sets(tools, options.tasks, _say, options.cases)
    first, second = (one_run(Path(path), options.set, tools, sets) for path in options.compare)
    if MANAGED in (first.suite, second.suite):
        return _compare_rounds(first, second, options)
    found = compare(first, second, sets, options.common)
    if options.format == "json":
        show(json_text(comparison_json(found)))
    elif options.format == "csv":
        show(csv_text([flip_json(flip) for flip in found.flips], ("task_id", "category", "change")))
    else:
        show(render(comparison_sections(found), options.format))
    return 0


def _compare_rounds(first: Run, second: Run, options: argparse.Namespace) -> int:
    rounds = compare_rounds(first, second, options.common)
    if options.format == "json":
        show(json_text(rounds_json(rounds)))
    elif options.format == "csv":
        show(csv_text([flip_line(flip) for flip in rounds.flips], ("scenario", "repeat", "round", "change")))
    else:
        show(render(rounds_sections(rounds), options.format))
    return 0


def compare_with_sealed(options: argparse.Namespace) -> int:
    """Print what a model solves more of the public tasks than of the sealed ones; 1 if the seal is broken or open."""
    if options.sha256 and not re.fullmatch("[0-9a-fA-F]{64}", options.sha256):
        raise UsageError(f"--sha256 {options.sha256!r}: expected 64 hexadecimal digits")
    tools = read_tools(options.tools)
    files = [(Path(path), known_sets(tools, path)) for path in options.tasks or ()]
    sets = [known for _, inside in files for known in inside] + list(task_sets(tools, None, _say))
    public, sealed = (summarise(one_run(Path(path), None, tools, sets), sets, tools) for path in options.sealed)
    found = compare_sealed(public, sealed, seal_of(sealed.run, options.sha256, files))
    show(json_text(sealed_json(found)) if options.format == "json" else
         render([sealed_section(found)], options.format))
    return 1 if found.seal.holds is False or (options.sha256 and found.seal.holds is None) else 0


def show_task(options: argparse.Namespace) -> int:
    """Print one task and every reply to it; 1 if a file had to be left out."""
    tools = read_tools(options.tools)
    sets, over = task_sets(tools, options.tasks, _say, options.cases), hashes_of_cases(options.cases, tools)
    found, left_out = read_each(_files(options), lambda file: [cases_of(file, options.task, sets, tools, over)], _say)
    cases: list[Case] = [case for inside, _ in found for case in inside]
    if not cases:
        _some_meant(options, [key for _, ids in found for key in ids], left_out)
        raise unknown_task(options.task, (key for _, ids in found for key in ids))
    show(json_text([case_json(case) for case in cases]) if options.format == "json"
         else "\n".join(case_lines(cases)) + "\n")
    return 1 if left_out else 0


def show_items(options: argparse.Namespace) -> int:
    """Print every task as an item over all models; 1 if a file had to be left out."""
    every, left_out, look = summarise_files(options)
    summaries = [summary for summary in every if summary.run.arm is None]       # other tools make another item
    if options.format == "csv":
        show(items_csv(summaries))
    elif summaries:
        show(render(item_sections(summaries, look), options.format))
    return 1 if left_out else 0


def show_confusion(options: argparse.Namespace) -> int:
    """Print a matrix for each run; 1 if a file had to be left out."""
    tools = read_tools(options.tools)
    sets = task_sets(tools, options.tasks, _say, options.cases)
    over = hashes_of_cases(options.cases, tools)
    found, left_out = read_each(_files(options), lambda file: [(run, confusion_of(run, sets, tools_of(run, tools)))
                                                               for run in runs_of(file, tools) if meant(run, over)],
                                _say)
    _some_meant(options, found, left_out)
    if options.format == "json":
        show(json_text([{"model": run.model, "path": run.path, "confusion": matrix} for run, matrix in found]))
    elif options.format == "csv":
        show(csv_text([line for run, matrix in found for line in confusion_lines(run, matrix)],
                      ("model", "path", "gold", "called", "rows")))
    elif found:
        show(render([confusion_section(run, matrix, tools_of(run, tools)) for run, matrix in found], options.format))
    return 1 if left_out else 0


def gate(options: argparse.Namespace) -> int:
    """Print a line for each broken gate; 1 if there is one, or if a file had to be left out."""
    gates = [Gate.from_text(text) for text in options.gate or ()]
    if options.max_drop is not None and (not options.gate_against or not 0 <= options.max_drop <= 1):
        raise UsageError("--max-drop goes with --gate-against and is a number from 0 to 1")
    summaries, left_out, _ = summarise_files(options)
    lines = broken_gates(gates, summaries)
    if options.gate_against:
        tools = read_tools(options.tools)
        sets = task_sets(tools, options.tasks, _say, options.cases)
        base = one_run(Path(options.gate_against), options.set, tools, sets)
        lines += worse_than(summarise(base, sets, tools), summaries, options.max_drop or 0.0)
    said = lines if lines or left_out else [kept_line(gates, summaries)]
    show("".join(clean(line) + "\n" for line in said))
    return 1 if lines or left_out else 0


def rescore_files(options: argparse.Namespace) -> int:
    """Print what the current scorer changes, write it if asked to; 1 if a file had to be left out."""
    tools = read_tools(options.tools)
    sets = task_sets(tools, options.tasks, _say, options.cases)
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
