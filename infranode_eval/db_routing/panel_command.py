"""Work on the embedded panel of databases.

    python -m infranode_eval.db_routing panel show DB              tables, rows, values, concepts of a database
    python -m infranode_eval.db_routing panel show DB-017          SQL, rows, concepts of an intent; why no other
    python -m infranode_eval.db_routing panel sql DB "SELECT …"    rows of a query on a database as it is written
    python -m infranode_eval.db_routing panel check [DB …]         the gates and checks; --gate N: one of them
    python -m infranode_eval.db_routing panel check --release      whether the whole panel may be released
    python -m infranode_eval.db_routing panel neighbours [DB-017 | DB]    shares of hard questions, or the 20 neighbours
    python -m infranode_eval.db_routing panel build [DB …]         write register.json, questions.jsonl, manifest.json

Exit codes: 0 fine, 1 a gate or a check finds something, 2 usage or data.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

from infranode_eval.db_routing import panel_views
from infranode_eval.db_routing.bench import Bench
from infranode_eval.db_routing.build import build, file_problems, pool_of, release_problems
from infranode_eval.db_routing.composition import CHECKS
from infranode_eval.db_routing.executor import Executor
from infranode_eval.db_routing.gates import GATES, Finding
from infranode_eval.db_routing.hardness import FLOORS, band_problems
from infranode_eval.db_routing.safe_run import safe_run
from infranode_eval.db_routing.sources import Sources, read_sources
from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError, UsageError

PROG = "panel"
SHOWN = 8       # findings of a gate


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        chosen = _arguments(arguments)
        jobs: Mapping[str, Callable[[Sources, Namespace], int]] = {
            "show": _show, "sql": _sql, "check": _check, "neighbours": _neighbours, "build": _build}
        return jobs[chosen.job](read_sources(), chosen)
    except BenchError as error:
        complain(PROG, str(error))
        return error.exit_code


def _arguments(arguments: Sequence[str] | None) -> Namespace:
    parser = Parser("python -m infranode_eval.db_routing", __doc__)
    parser.add_argument("what", choices=["panel"])
    parser.add_argument("job", choices=["show", "sql", "check", "neighbours", "build"])
    parser.add_argument("names", nargs="*", help="databases, an intent, or a database and a query")
    parser.add_argument("--gate", help="number of one gate, or name of one check")
    parser.add_argument("--all", action="store_true", help="every finding instead of the first ones")
    parser.add_argument("--release", action="store_true", help="also what only the whole panel can hold")
    parser.add_argument("--floor", type=float, help="of the cosine, instead of the one that the rule picks")
    return parser.parse_intermixed_args(arguments)


def _show(sources: Sources, chosen: Namespace) -> int:
    for name in chosen.names:
        if name in sources.register.databases:
            show(panel_views.database_view(sources, name))
        else:
            with _bench(sources) as bench:
                show(panel_views.intent_view(bench, sources.intent(name)))
    return 0


def _sql(sources: Sources, chosen: Namespace) -> int:
    if len(chosen.names) != 2 or chosen.names[0] not in sources.schemas:
        raise UsageError(f'expected a database with a schema and a query; databases: {", ".join(sources.schemas)}')
    with _bench(sources) as bench:
        rows = bench.run(*chosen.names)
    show(f"{rows}\n" if isinstance(rows, str) else panel_views.rows_view(rows))
    return 0


def _check(sources: Sources, chosen: Namespace) -> int:
    """Gates and checks; the databases named, or all; what fails is counted and its first ones are shown."""
    framed = sources.with_panel_frame()
    found = 0
    with _bench(framed.only(chosen.names) if chosen.names else framed) as bench:
        for label, title, findings in _tests(bench, framed, chosen):
            found += _report(label, title, findings, chosen.all)
    return 1 if found else 0


def _tests(bench: Bench, whole: Sources, chosen: Namespace) -> Iterator[tuple[str, str, Iterable[Finding]]]:
    tests = [(str(number), title, gate(bench)) for number, (title, gate) in GATES.items()]
    tests += [(name, "", check(bench)) for name, check in CHECKS.items()]
    if not chosen.names:
        tests.append(("15", "the hashes of the built panel", file_problems(whole)))
    if chosen.release:
        tests.append(("release", "", release_problems(whole)))
    for label, title, findings in tests:
        if chosen.gate in (None, label):
            yield label, title, findings


def _report(label: str, title: str, findings: Iterable[Finding], everything: bool) -> int:
    found = list(findings)
    show(f"{label:>11} {title:42} {len(found) or 'ok'}\n")
    for finding in islice(found, None if everything else SHOWN):
        show(f"{'':12} {finding.subject}: {finding.message}\n")
    return len(found)


def _neighbours(sources: Sources, chosen: Namespace) -> int:
    framed = sources.with_panel_frame()
    pool = pool_of(framed)
    clusters = {name: domain.cluster for name, domain in sources.register.databases.items()}
    ruled = pool.floor([name for name, cluster in clusters.items() if cluster is None])
    floor = chosen.floor or ruled or FLOORS[-1]
    for name in chosen.names:
        show(panel_views.neighbours_view(pool, floor, name))
    if not chosen.names:
        show(panel_views.shares_view(pool, floor, ruled, framed.all_intents))
        levels = {intent.name: intent.level for intent in framed.all_intents}
        show("".join(f"  {problem}\n" for problem in band_problems(pool, floor, clusters, levels)))
    return 0


def _build(sources: Sources, chosen: Namespace) -> int:
    """All databases that have intents, or those named: a part of the panel, to try things on."""
    framed = sources.with_panel_frame()
    with _bench(framed.only(chosen.names) if chosen.names else framed) as bench:
        show(build(bench, chosen.floor))
    return 0


@contextmanager
def _bench(sources: Sources) -> Iterator[Bench]:
    """A bench whose golds run in the safe executor."""
    with safe_run(sources, Executor) as run:
        yield Bench(sources, run)


if __name__ == "__main__":
    sys.exit(main())
