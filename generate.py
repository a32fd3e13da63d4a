"""Build tasks.jsonl: German questions with gold calls, each gold checked by a real request.

    python generate.py                              ask the public API (about 20 minutes at one request a second)
    python generate.py --record answers.jsonl       the same, and keep every response
    python generate.py --replay answers.jsonl       check against a recording, without a network
    python generate.py --source snapshot            check against the embedded offline model of the API
    python generate.py --verify                     re-check an existing file; exit 1 if a gold no longer holds
    python generate.py --check-datum                which calls hold what each task asks for: is each one decided?
    python generate.py --lint                       duplicates, balance, leakage, spelling; exit 1 on a finding
    python generate.py --sealed FILE                a private set of the core's make-up; prints what may be published
    python generate.py --datasheet                  count the numbers of DATASET.md anew

Beside the tasks a sibling file (tasks.meta.json) gets counts, hashes, source, dropped candidates and leakage.
Exit codes: 0 written (or every gold holds), 1 a gold no longer holds or a call is undecided, 2 usage or data,
3 the source did not answer.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))   # python3 -I leaves the script's folder out

from infranode_eval.generator import abstain, carriers, decisions, leakage, output, rows
from infranode_eval.generator.build import candidates
from infranode_eval.generator.reviews import agreement, read_reviews
from infranode_eval.generator.robust import robust_tasks
from infranode_eval.generator.templates import core_version, phrasings, read_phrasings
from infranode_eval.generator.verify import Source, counted
from infranode_eval.infranode import facts
from infranode_eval.infranode.client import BASE_URL, CONTACT, Client
from infranode_eval.infranode.recording import Recorder, read_recording
from infranode_eval.infranode.snapshot import Snapshot
from infranode_eval.terminal import Parser
from lm_eval_task import datum
from lm_eval_task.dataset import load_tasks
from lm_eval_task.errors import BenchError, IncompleteError, UsageError
from lm_eval_task.tools import data_file, read_tools

MAIN_SETS = ("core", "extended")
MOST_DROPPED = 0.5      # a source that loses more than this share of the candidates is down, not outdated


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        chosen = _arguments(arguments)
        jobs = {"verify": _verify, "lint": _lint, "sealed": _sealed, "datasheet": _datasheet,
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
    parser.add_argument("--source", choices=("live", "snapshot"), default="live",
                        help="the API at --base-url, or the embedded offline model (default: live)")
    parser.add_argument("--replay", metavar="FILE", help="answer from a recording instead of a source")
    parser.add_argument("--record", metavar="FILE", help="write every response of the source to a recording")
    parser.add_argument("--out", metavar="FILE", default=None, help="default: tasks.jsonl of the project")
    parser.add_argument("--verify", action="store_true", help="re-check the file at --out; writes nothing")
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
    chosen = parser.parse_args(arguments)
    if chosen.max_per_category is not None and chosen.max_per_category < 1:
        parser.error("--max-per-category must be 1 or more")
    if sum(map(bool, (chosen.verify, chosen.lint, chosen.sealed, chosen.datasheet))) > 1:
        parser.error("--verify, --lint, --sealed and --datasheet are jobs of their own: give one of them")
    if chosen.phrasings and not chosen.sealed:
        parser.error("--phrasings goes with --sealed")
    if chosen.replay and chosen.record:
        parser.error("--replay and --record exclude each other")
    return chosen


# --- where answers come from ------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class _Connection:
    """A client, what a check against it proves, how the meta file names it, and how to close it."""

    client: Client
    level: str
    described: dict[str, Any]
    close: Callable[[], None]


def _connect(chosen: argparse.Namespace) -> _Connection:
    if chosen.replay:
        recording = read_recording(chosen.replay)
        client = Client(recording.base_url, rps=None, retries=0, transport=recording.transport())
        level = "snapshot" if recording.level == "snapshot" else "recording"
        made_at = {"recorded": recording.level, "base_url": recording.base_url}
        return _Connection(client, level, {"level": level, **made_at}, client.close)
    if chosen.source == "snapshot":
        transport, level, base_url = Snapshot().transport(), "snapshot", BASE_URL
        described = {"level": level, "state": facts.DEFAULT_STATE, "world_hash": facts.world_hash()}
    else:
        transport, level, base_url = None, _level_at(chosen.base_url), chosen.base_url
        described = {"level": level, "base_url": base_url}
    return _recorded(chosen, transport, level, base_url, described)


def _recorded(chosen: argparse.Namespace, transport: Any, level: str, base_url: str,
              described: dict[str, Any]) -> _Connection:
    """A client of the live API or of the snapshot, with a recorder in between if one is wished for."""
    settings: dict[str, Any] = {"rps": chosen.rps, "contact": chosen.contact}
    if level == "snapshot":
        settings = {"rps": None, "today": _snapshot_day}
    recorder = None
    if chosen.record:
        today = {"today": _snapshot_day} if level == "snapshot" else {}
        recorder = Recorder(chosen.record, level, base_url, **today)
        transport = recorder.around(transport)
    client = Client(base_url, transport=transport, **settings)

    def close() -> None:
        client.close()
        if recorder is not None:
            recorder.close()

    return _Connection(client, level, described, close)


def _snapshot_day() -> str:
    return facts.raw()["clock"]["local"][:10]


def _level_at(base_url: str) -> str:
    """Only the public address is "live"; a server elsewhere says itself if it is our own model, else it is "server"."""
    if base_url.rstrip("/") == BASE_URL:
        return "live"
    with Client(base_url, rps=None, retries=0) as client:
        answer = client.get("/cities")
    return "snapshot" if "infranode-snapshot" in answer.headers.get("server", "") else "server"


# --- the two jobs -----------------------------------------------------------------------------------------------------

def _generate(chosen: argparse.Namespace) -> int:
    tools, path, reviews = read_tools(), _out(chosen), read_reviews()
    wanted = rows.capped(candidates(chosen.seed), chosen.max_per_category)
    wanted = rows.balanced(wanted) if chosen.balanced else wanted
    connection = _connect(chosen)
    try:
        source = Source(connection.client.get, connection.level)
        found = rows.confirmed(wanted, source, _progress)
        if chosen.max_per_category is None and not chosen.balanced:
            found = found.joined(*robust_tasks(found.tasks)).joined(*abstain.confirmed(abstain.abstain_tasks(), source))
    finally:
        connection.close()
    dropped = counted(reason for _, reason in (*found.dropped, *found.lost_accepts))
    _report_dropped(found, dropped)
    if not found.tasks or len(found.dropped) > MOST_DROPPED * len(wanted):
        raise IncompleteError(f"{len(found.dropped)} of {len(wanted)} tasks were dropped, so the source is down or "
                              f"is not InfraNode; {path} was left as it is")
    rows.check_rows([task.to_json() for task in found.tasks])
    leaks = leakage.shares([task for task in found.tasks if task.set in MAIN_SETS], tools)
    print("\n".join(leakage.table(leaks)), file=sys.stderr)
    meta = {"version": core_version(), "seed": chosen.seed, "source": connection.described,
            "counts": output.counts(found.tasks), "hashes": {**output.hashes(found.tasks), "tools": tools.fingerprint},
            "dropped": dropped, "leakage": leaks,
            "review": agreement([task for task in found.tasks if task.set == "core"], reviews),
            "canary": rows.CANARY, "tasks": rows.notes_of(found.tasks, tools, reviews)}
    output.write(path, found.tasks, meta)
    if path == data_file("tasks.jsonl"):
        datum.TABLE.write_text(carriers.text_of(carriers.snapshot_carriers(tools)), "utf-8", newline="\n")
    total = ", ".join(f"{name} {row['all']}" for name, row in meta["counts"].items())
    print(f"{path}: {len(found.tasks)} tasks ({total}), checked against: {connection.level}")
    return 0


def _verify(chosen: argparse.Namespace) -> int:
    path = _out(chosen)
    tasks = load_tasks(read_tools(), "all", path)
    connection = _connect(chosen)
    try:
        found = rows.broken(tasks, Source(connection.client.get, connection.level), _progress)
    finally:
        connection.close()
    for task_id, reason in found:
        print(f"{task_id}: {reason}")
    print(f"{path}: {len(tasks)} tasks checked against {connection.level}, {len(found)} do not hold")
    return 1 if found else 0


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
    if path.exists():
        raise UsageError(f"--sealed {path} exists; a sealed set is never overwritten, choose another name")
    secret = secrets.token_hex(16)
    own = read_phrasings(Path(chosen.phrasings)) if chosen.phrasings else None
    wanted = sealed.sealed_candidates(secret, own)
    connection = _connect(chosen)
    try:
        found = rows.confirmed(wanted, Source(connection.client.get, connection.level), _progress)
    finally:
        connection.close()
    _report_dropped(found, {})
    public = sealed.write(path, found.tasks, secret, connection.described)
    print(json.dumps(public, ensure_ascii=False, indent=1))
    print(f"generate: {path} and {output.meta_path(path)} stay with you; what stands above may be published",
          file=sys.stderr)
    return 0


def _datasheet(chosen: argparse.Namespace) -> int:
    from infranode_eval.generator.datasheet import filled

    sheet, path = data_file("DATASET.md"), _out(chosen)
    meta = json.loads(output.meta_path(path).read_text("utf-8"))
    old = sheet.read_text("utf-8")
    new = filled(old, load_tasks(read_tools(), "all", path), meta)
    sheet.write_text(new, "utf-8")
    print(f"{sheet}: {'counted anew' if new != old else 'is current'}")
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
