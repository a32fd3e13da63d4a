"""Build tasks.jsonl: German questions with gold calls, each gold checked by a real request.

    python generate.py                              ask the public API (about 40 minutes at one request a second)
    python generate.py --record answers.jsonl       the same, and keep every response
    python generate.py --replay answers.jsonl       check against a recording, without a network
    python generate.py --source snapshot            check against the embedded offline model of the API
    python generate.py --verify                     re-check an existing file; exit 1 if a gold no longer holds
    python generate.py --verify --watch-report FILE     the same, and write what moved in the API (.json: for programs)
    python generate.py --verify --retire --out FILE     the same, and take the rows that moved out of use
    python generate.py --check-datum                which calls hold what each task asks for: is each one decided?
    python generate.py --lint                       duplicates, balance, leakage, spelling; exit 1 on a finding
    python generate.py --sealed FILE                a private set of the core's make-up; prints what may be published
    python generate.py --datasheet                  count the numbers of DATASET.md anew
    python generate.py --export FORMAT --out DIR    write the existing tasks for training, sharing, other harnesses
    python generate.py --suite chain                the tasks of several steps, in the worlds of the embedded model
    python generate.py --suite chain --world-seed N --out FILE      the same questions with other values; --lint looks
                                                    at a file; --record and --replay take the place of the model

Beside the tasks a sibling file (tasks.meta.json) gets counts, hashes, source, dropped candidates and leakage.
Exit codes: 0 written (or every gold holds), 1 a gold no longer holds or a call is undecided, 2 usage or data,
3 the source did not answer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))   # python3 -I leaves the script's folder out

from infranode_eval import exports
from infranode_eval.generator import abstain, carriers, decisions, leakage, output, rows
from infranode_eval.generator.build import candidates
from infranode_eval.generator.chain import job as chain
from infranode_eval.generator.connection import Wish, connect
from infranode_eval.generator.drift import Drift, drift_of
from infranode_eval.generator.quarantine import carried_over, retired_meta, retired_text, retirements
from infranode_eval.generator.reviews import agreement, read_reviews
from infranode_eval.generator.robust import robust_tasks
from infranode_eval.generator.templates import core_version, phrasings, read_phrasings
from infranode_eval.generator.verify import Source, counted
from infranode_eval.generator.watch import watch_json, watch_markdown
from infranode_eval.infranode.client import BASE_URL, CONTACT
from infranode_eval.infranode.routes import PREFIX
from infranode_eval.infranode.snapshot import Snapshot
from infranode_eval.terminal import Parser
from lm_eval_task import datum
from lm_eval_task.dataset import in_use, load_tasks
from lm_eval_task.errors import BenchError, DataError, IncompleteError, UsageError
from lm_eval_task.records import Task, read_tasks
from lm_eval_task.tools import data_file, read_tools

MAIN_SETS = ("core", "extended")
_ALSO = {"tasks": ", --lint, --check-datum, --datasheet or --export", "force": " or --export"}
MOST_DROPPED = 0.5      # a source that loses more than this share of the candidates is down, not outdated


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        chosen = _arguments(arguments)
        if chosen.suite == "chain":
            return chain.run(chosen)
        jobs = {"export": _export, "verify": _verify, "lint": _lint, "sealed": _sealed, "datasheet": _datasheet,
                "check_datum": _check_datum}
        return next((job for name, job in jobs.items() if getattr(chosen, name)), _generate)(chosen)
    except BenchError as error:
        print(f"generate: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("generate: interrupted; nothing was written", file=sys.stderr)
        return 130


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("generate.py", __doc__)
    parser.add_argument("--source", choices=("live", "snapshot"),
                        help="the API at --base-url, or the embedded offline model (default: live; of chain: snapshot)")
    parser.add_argument("--replay", metavar="FILE", help="answer from a recording instead of a source")
    parser.add_argument("--record", metavar="FILE", help="write every response of the source to a recording")
    parser.add_argument("--out", metavar="FILE", default=None, help="default: tasks.jsonl of the project")
    parser.add_argument("--verify", action="store_true", help="re-check the file at --tasks or --out; writes nothing "
                                                              "unless asked to")
    parser.add_argument("--tasks", metavar="FILE", help="with --verify: the file to check (default: --out, with "
                                                        "--retire tasks.jsonl); with --export: the file to export")
    parser.add_argument("--watch-report", metavar="FILE", help="with --verify: what moved, as Markdown or, if the name "
                                                               "ends in .json, as JSON")
    parser.add_argument("--retire", action="store_true", help="with --verify: write to --out (default: itself, "
                                                              "with --force) with the rows that moved marked")
    parser.add_argument("--force", action="store_true", help="with --watch-report, --retire, --export: replace "
                                                             "existing files")
    parser.add_argument("--check-datum", action="store_true",
                        help="execute every offered call offline and check that each one whose answer holds the datum "
                             "of a task is decided; writes nothing")
    parser.add_argument("--lint", action="store_true", help="look at the file at --out as a set of tasks")
    parser.add_argument("--sealed", metavar="FILE", help="write questions that no published file holds")
    parser.add_argument("--phrasings", metavar="FILE", help="with --sealed: private phrasings instead of the public")
    parser.add_argument("--datasheet", action="store_true", help="rewrite the numbers in DATASET.md")
    parser.add_argument("--max-per-category", metavar="N", type=int, help="at most N tasks of each set and category")
    parser.add_argument("--balanced", action="store_true", help="as many of each category as the smallest one has")
    parser.add_argument("--seed", type=int, default=1, help="deals cities to phrasings; the core is fixed (default: 1)")
    parser.add_argument("--base-url", default=BASE_URL, help=f"default: {BASE_URL}")
    parser.add_argument("--rps", type=float, default=1.0, help="requests a second (default: 1)")
    parser.add_argument("--contact", default=CONTACT, help="goes into the User-Agent, e.g. a mail address")
    exports.add_flags(parser)
    chain.add_flags(parser)
    chosen = parser.parse_args(arguments)
    chain.check_flags(chosen)
    chosen.source = chosen.source or ("snapshot" if chosen.suite == "chain" else "live")
    exports.check_flags(chosen)
    if chosen.export or chosen.suite == "chain":
        return chosen
    if chosen.max_per_category is not None and chosen.max_per_category < 1:
        parser.error("--max-per-category must be 1 or more")
    if sum(map(bool, (chosen.verify, chosen.lint, chosen.sealed, chosen.datasheet, chosen.check_datum))) > 1:
        parser.error("--verify, --check-datum, --lint, --sealed and --datasheet are jobs of their own: give one")
    if chosen.phrasings and not chosen.sealed:
        parser.error("--phrasings goes with --sealed")
    if chosen.replay and chosen.record:
        parser.error("--replay and --record exclude each other")
    asked = [flag for flag in ("tasks", "watch_report", "retire", "force") if getattr(chosen, flag)]
    if chosen.tasks and (chosen.lint or chosen.check_datum or chosen.datasheet):
        chosen.out, chosen.tasks = chosen.tasks, None           # the file to look at
        asked.remove("tasks")
    if asked and not chosen.verify:
        parser.error(f"--{asked[0].replace('_', '-')} goes with --verify{_ALSO.get(asked[0], '')} only")
    if chosen.force and not (chosen.watch_report or chosen.retire):
        parser.error("--force goes with --watch-report, --retire or --export only")
    if (chosen.balanced or chosen.max_per_category) and (chosen.verify or chosen.lint or chosen.sealed
                                                         or chosen.datasheet or chosen.check_datum):
        parser.error("--balanced and --max-per-category go with building a file only")
    if chosen.tasks and chosen.out and not chosen.retire:
        parser.error("--tasks and --out name the same thing without --retire; give one of them")
    return chosen


def _wish(chosen: argparse.Namespace) -> Wish:
    return Wish(chosen.source, chosen.replay, chosen.record, chosen.base_url, chosen.rps, chosen.contact)


# --- the jobs -----------------------------------------------------------------------------------------------------

def _generate(chosen: argparse.Namespace) -> int:
    tools, path, reviews = read_tools(), _out(chosen), read_reviews()
    wanted = rows.capped(candidates(chosen.seed), chosen.max_per_category)
    wanted = rows.balanced(wanted) if chosen.balanced else wanted
    connection = connect(_wish(chosen))
    try:
        source = Source(connection.client.get, connection.level)
        found = rows.confirmed(wanted, source, _progress)
        if chosen.max_per_category is None and not chosen.balanced:
            found = found.joined(*robust_tasks(found.tasks)).joined(*abstain.confirmed(abstain.abstain_tasks(), source))
    finally:
        connection.close()
    dropped = counted(reason for _, reason in (*found.dropped, *found.lost_accepts))
    _report_dropped(found, dropped)
    if chosen.max_per_category is not None or chosen.balanced:
        print("generate: core and extended only; robust and abstain belong to the whole file", file=sys.stderr)
    if not found.tasks or len(found.dropped) > MOST_DROPPED * len(wanted):
        raise IncompleteError(f"{len(found.dropped)} of {len(wanted)} tasks were dropped, so the source is down or "
                              f"is not InfraNode; {path} was left as it is")
    found = replace(found, tasks=carried_over(found.tasks, _already_retired(path)))
    rows.check_rows([task.to_json() for task in found.tasks])
    leaks = leakage.shares([task for task in found.tasks if task.set in MAIN_SETS], tools)
    print("\n".join(leakage.table(leaks)), file=sys.stderr)
    meta = {"version": core_version(), "seed": chosen.seed, "source": connection.described,
            "counts": output.counts(found.tasks), "hashes": {**output.hashes(found.tasks), "tools": tools.fingerprint},
            "dropped": dropped, "leakage": leaks,
            "review": agreement([task for task in found.tasks if task.set == "core"], reviews),
            "canary": rows.CANARY, "tasks": rows.notes_of(found.tasks, tools, reviews)}
    if len(in_use(found.tasks)) < len(found.tasks):
        meta = retired_meta(meta, found.tasks)
    output.write(path, found.tasks, meta)
    if path == data_file("tasks.jsonl"):
        datum.TABLE.write_text(carriers.text_of(carriers.snapshot_carriers(tools)), "utf-8", newline="\n")
    total = ", ".join(f"{name} {row['all']}" for name, row in meta["counts"].items())
    print(f"{path}: {len(found.tasks)} tasks ({total}), checked against: {connection.level}")
    return 0


def _already_retired(path: Path) -> list[Task]:
    """The rows of the file to replace and of the project's own, where the retired ones are marked."""
    found: list[Task] = []
    for file in (path, data_file("tasks.jsonl")):
        with contextlib.suppress(DataError):     # not there, or no tasks: then it retires nothing
            found += read_tasks(file)
    return found


def _verify(chosen: argparse.Namespace) -> int:
    path, tools = _checked_file(chosen), read_tools()
    tasks = load_tasks(tools, "all", path, retired=True)
    _check_targets(chosen, path)
    connection = connect(_wish(chosen))
    snapshot = Snapshot()
    try:
        drift = drift_of(tasks, connection.client.get, connection.client.document, tools, _progress,
                         lambda request: (snapshot.respond("GET", PREFIX + request).json() or {}).get("data"))
    finally:
        connection.close()
    for found in (*drift.of("moved"), *drift.of("back")):
        print(f"{found.task_id}: {'back, ' if found.grade == 'back' else ''}{found.reason}")
    if chosen.watch_report:
        _write_report(Path(chosen.watch_report), drift, path, connection.described)
    if chosen.retire:
        _retire(chosen, path, tasks, drift)
    counts = {grade: len(drift.of(grade)) for grade in ("moved", "changed", "unknown")}
    print(f"{path}: {drift.checked} tasks checked against {connection.level}, {counts['moved']} do not hold, "
          f"{counts['changed']} hold but changed, {counts['unknown']} got no answer")
    return 1 if counts["moved"] else 0


def _checked_file(chosen: argparse.Namespace) -> Path:
    if chosen.tasks or chosen.retire:
        return Path(chosen.tasks or data_file("tasks.jsonl"))
    return _out(chosen)


def _check_targets(chosen: argparse.Namespace, path: Path) -> None:
    """Before twenty minutes of requests: may what will be written be written?"""
    targets = {"--watch-report": Path(chosen.watch_report)} if chosen.watch_report else {}
    if chosen.retire:
        targets["--out"] = Path(chosen.out or path)
    for flag, target in targets.items():
        if not target.parent.is_dir():
            raise UsageError(f"{flag} {target}: the folder {target.parent} does not exist")
        if flag == "--watch-report" and target.resolve() in (path.resolve(), output.meta_path(path).resolve()):
            raise UsageError(f"{flag} {target}: that is the file of tasks; choose another name")
        if target.exists() and not chosen.force:
            raise UsageError(f"{flag} {target}: exists already; choose another name, or --force to replace it")


def _write_report(target: Path, drift: Drift, path: Path, source: dict[str, Any]) -> None:
    head = {"file": path.name, "version": _meta_of(path).get("version"), "source": source}
    text = watch_json(drift, head) if target.suffix == ".json" else watch_markdown(drift, head)
    output.write_texts({target: text})
    print(f"{target}: what moved, what changed, and the API as a whole")


def _retire(chosen: argparse.Namespace, path: Path, tasks: Sequence[Task], drift: Drift) -> None:
    """Mark the rows that moved, and write the meta file that belongs to them, where there is one."""
    marks = retirements(tasks, drift)
    if not marks:
        print("nothing moved, so nothing is retired and nothing was written")
        return
    target, meta = Path(chosen.out or path), _meta_of(path)
    marked = [replace(task, extra={**task.extra, "retired": marks[task.task_id]._asdict()})
              if task.task_id in marks else task for task in tasks]
    texts = {target: retired_text(path.read_bytes().decode("utf-8"), marks)}
    if meta:
        meta = retired_meta(meta, marked)
        texts[output.meta_path(target)] = output.meta_text(meta)
    output.write_texts(texts)
    version = f", version {meta['version']}" if meta else ""
    print(f"{target}: {len(marks)} rows retired, twins of pairs included{version}")


def _meta_of(path: Path) -> dict[str, Any]:
    """The meta file beside a file of tasks; empty where there is none. Raise DataError for a broken one."""
    meta = output.meta_path(path)
    if not meta.exists():
        return {}
    try:
        value = json.loads(meta.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"is not JSON ({error}); build it again, or move it away", meta) from None
    return value if isinstance(value, dict) else {}


def _check_datum(chosen: argparse.Namespace) -> int:
    path, tools = _out(chosen), read_tools()
    tasks, table = load_tasks(tools, "all", path), carriers.snapshot_carriers(tools)
    problems, counts = decisions.problems(tasks, phrasings().values(), table)
    if carriers.text_of(table) != datum.TABLE.read_text("utf-8"):
        problems.append(f"{datum.TABLE}: is not what the execution shows; generate.py writes it anew")
    print(*problems, sep="\n", end="\n" if problems else "")
    told = ", ".join(f"{verdict} {count}" for verdict, count in counts.items())
    print(f"{path}: {len(tasks)} tasks, {sum(counts.values())} calls hold what they ask for or might seem to ({told}), "
          f"{len(problems)} problems")
    return 1 if problems else 0


def _lint(chosen: argparse.Namespace) -> int:
    from infranode_eval.generator import lint  # late: a build does without

    path, tools = _out(chosen), read_tools()
    tasks = load_tasks(tools, "all", path)
    leaks = leakage.shares([task for task in tasks if task.set in MAIN_SETS], tools)
    print("\n".join(leakage.table(leaks)))
    found = list(lint.findings(tasks, tools))
    if lint.has_speller():
        found += lint.misspelt(tasks)
    else:
        print("generate: spelling was not checked; install hunspell and hunspell-de-de", file=sys.stderr)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{path}: {len(tasks)} tasks, {len(found)} findings")
    return 1 if found else 0


def _sealed(chosen: argparse.Namespace) -> int:
    from infranode_eval.generator import sealed

    path = Path(chosen.sealed)
    if not path.parent.is_dir():
        raise UsageError(f"--sealed {path}: the folder {path.parent} does not exist")
    if path.exists():
        raise UsageError(f"--sealed {path} exists; a sealed set is never overwritten, choose another name")
    secret = secrets.token_hex(16)
    own = read_phrasings(Path(chosen.phrasings)) if chosen.phrasings else None
    wanted = sealed.sealed_candidates(secret, own)
    connection = connect(_wish(chosen))
    try:
        found = rows.confirmed(wanted, Source(connection.client.get, connection.level), _progress)
    finally:
        connection.close()
    _report_dropped(found, {})
    public = sealed.write(path, found.tasks, secret, connection.described)
    print(json.dumps(public, ensure_ascii=False, indent=1))
    print(f"generate: {path} and {output.meta_path(path)} stay with you, and so do results over them, whose rows name "
          "the right calls; what stands above may be published", file=sys.stderr)
    return 0


def _datasheet(chosen: argparse.Namespace) -> int:
    from infranode_eval.generator.datasheet import filled

    sheet, path = data_file("DATASET.md"), _out(chosen)
    if not sheet.exists():
        raise UsageError(f"--datasheet: there is no {sheet}; it belongs to a checkout of the project")
    meta = json.loads(output.meta_path(path).read_text("utf-8"))
    old = sheet.read_text("utf-8")
    new = filled(old, load_tasks(read_tools(), "all", path), meta)
    sheet.write_text(new, "utf-8")
    print(f"{sheet}: {'counted anew' if new != old else 'is current'}")
    return 0


def _export(chosen: argparse.Namespace) -> int:
    print("\n".join(exports.export(exports.order_of(chosen))))
    return 0


def _out(chosen: argparse.Namespace) -> Path:
    path = Path(chosen.out) if chosen.out else data_file("tasks.jsonl")
    if not path.parent.is_dir():
        raise UsageError(f"--out {path}: the folder {path.parent} does not exist")
    return path


def _report_dropped(found: rows.Rows, dropped: dict[str, int]) -> None:
    for task_id, reason in (*found.dropped, *found.lost_accepts):
        print(f"dropped {task_id}: {reason}", file=sys.stderr)
    for reason, count in dropped.items():
        print(f"dropped {count:>5}  {reason}", file=sys.stderr)


def _progress(done: int, total: int) -> None:
    """A counter that rewrites its line on a terminal, and a line for each hundred in a log."""
    if sys.stderr.isatty():
        print(f"\rrequests {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)
    elif done % 100 == 0 or done == total:
        print(f"requests {done}/{total}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
