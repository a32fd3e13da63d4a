"""What `generate.py --suite chain` does: builds the suite's file in a world, or looks at it as a set."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.chain.evidence import check_pattern
from infranode_eval.chain.tasks import ChainTask, shipped_path
from infranode_eval.chain.worlds import World, open_world
from infranode_eval.generator import output
from infranode_eval.generator.chain import holdings, sources
from infranode_eval.generator.chain.build import Builder
from infranode_eval.generator.chain.draw import Drawn, canary, draw
from infranode_eval.generator.chain.templates import read_templates
from infranode_eval.generator.verify import counted
from infranode_eval.infranode import facts
from lm_eval_task.errors import DataError, IncompleteError, UsageError
from lm_eval_task.records import tasks_fingerprint
from lm_eval_task.tools import Toolset, read_tools

SECOND_SEED = "s2"              # the world of the set reseed
_OTHERS = ("verify", "tasks", "watch_report", "retire", "check_datum", "sealed", "phrasings", "datasheet",
           "max_per_category", "balanced", "export", "force", "split", "set", "mode", "results")   # of the other suite


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that only this suite has; --out, --source, --record, --replay and --lint are there already."""
    parser.add_argument("--suite", choices=("single", "chain"), default="single",
                        help="single calls, or several steps that are really executed (default: single)")
    parser.add_argument("--world-seed", metavar="N", help="with --suite chain: the same questions in a world of other "
                                                          "values (1 is that of the shipped file)")


def check_flags(chosen: argparse.Namespace) -> None:
    """Raise UsageError for flags that do not go together."""
    if chosen.suite != "chain":
        if chosen.world_seed:
            raise UsageError("--world-seed goes with --suite chain")
        return
    for flag in _OTHERS:
        if getattr(chosen, flag):
            raise UsageError(f"--suite chain has no --{flag.replace('_', '-')}")
    if chosen.world_seed and (chosen.replay or chosen.source == "live"):
        raise UsageError("--world-seed names a world of the embedded model; leave out --replay and --source live")
    if chosen.replay and chosen.record:
        raise UsageError("--replay and --record exclude each other")
    own = chosen.world_seed or chosen.replay or chosen.record or chosen.source == "live"
    if own and not (chosen.out or chosen.lint):
        raise UsageError("--out is missing: only the embedded model's world 1 gives the shipped file")


def run(chosen: argparse.Namespace, progress: Callable[[str], None] = lambda line: print(line, file=sys.stderr)
        ) -> int:
    """Build or lint; exit code. Raise the project's errors."""
    path = Path(chosen.out) if chosen.out else shipped_path()
    if not path.parent.is_dir():
        raise UsageError(f"--out {path}: the folder {path.parent} does not exist")
    return _lint(path) if chosen.lint else _build(chosen, path, progress)


def _build(chosen: argparse.Namespace, path: Path, progress: Callable[[str], None]) -> int:
    tools, templates = read_tools(), read_templates()
    shipped = not (chosen.world_seed or chosen.replay or chosen.record or chosen.source == "live")
    source = sources.Wish(chosen.source, chosen.replay, chosen.record, chosen.world_seed or facts.DEFAULT_SEED,
                          chosen.base_url, chosen.rps)
    world = sources.world_of(source, lambda world: draw(templates, Builder(world, tools)))
    drawn = draw(templates, Builder(world, tools, sources.clock_of(world)))
    if shipped:
        second = open_world({"kind": "snapshot", "name": SECOND_SEED})
        drawn = drawn.joined(draw(templates, Builder(second, tools), "reseed", f"-{SECOND_SEED}"))
    _check_short(drawn, world, progress)
    check_rows(drawn.rows)
    if drawn.redrawn:
        progress(f"{len(drawn.redrawn)} tasks were redrawn, as their first candidates are not fair in this world; "
                 f"{output.meta_path(path).name} names each with its reason")
    output.write_texts({path: lines_of(drawn.rows), output.meta_path(path): output.meta_text(meta_of(drawn, tools))})
    total = ", ".join(f"{name} {row['all']}" for name, row in holdings.counts(drawn.rows).items())
    print(f"{path}: {len(drawn.rows)} tasks ({total}), world {world.kind} {world.name}, {len(drawn.redrawn)} redrawn")
    return 0


def lines_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """One row a line, keys in the order of the format, real umlauts."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def meta_of(drawn: Drawn, tools: Toolset) -> dict[str, Any]:
    """The sibling file: counts, worlds, hashes, what was redrawn and why, what was refused."""
    by_set: dict[str, list[Mapping[str, Any]]] = {}
    for row in drawn.rows:
        by_set.setdefault(row["set"], []).append(row)
    core = by_set.get("core", [])
    return {"worlds": {name: rows[0]["world"] for name, rows in sorted(by_set.items())},
            "counts": holdings.counts(drawn.rows), "cities": len(holdings.cities_of(core)),
            "keys": sorted(holdings.keys_of(core)), "templates": len({row["template"] for row in core}),
            "hashes": {**{name: _fingerprint(rows) for name, rows in sorted(by_set.items())},
                       "tools": tools.fingerprint},
            "redrawn": {task_id: [[one.candidate, one.reason] for one in refusals]
                        for task_id, refusals in sorted(drawn.redrawn.items())},
            "refused": dict(sorted(counted(_kind_of(one.reason) for one in drawn.refusals).items())),
            "short": dict(sorted(drawn.short.items())), "canary": canary()}


def _fingerprint(rows: Sequence[Mapping[str, Any]]) -> str:
    return tasks_fingerprint([ChainTask.from_row(row) for row in rows])


def _kind_of(reason: str) -> str:
    """The reason without what is said of one candidate."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|/\S+|[0-9]+(?:\.[0-9]+)?", "…", reason)


def check_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise DataError for a row that breaks the format of the file."""
    for row in rows:
        ChainTask.from_row(row)
        for name in ("must_call", "path"):
            check_pattern(row["expect"][name])


def _check_short(drawn: Drawn, world: World, progress: Callable[[str], None]) -> None:
    """In a world that was not made for them some templates may have too few candidates; else that is a fault."""
    lines = [f"template {name}: {text}" for name, text in drawn.short.items()]
    if lines and world.kind == "snapshot":
        raise DataError("; ".join((*lines, "give them more cities or values, or choose another --world-seed")))
    for line in lines:
        progress(line)
    if not drawn.rows:
        raise IncompleteError(f"no template yields a task in {world.kind} {world.name}, so nothing was written")


def _lint(path: Path) -> int:
    from infranode_eval.generator import lint as words  # late: a build does without
    from infranode_eval.generator.chain import lint
    from lm_eval_task.records import read_json_lines

    rows = [row for _, row in read_json_lines(path)]
    check_rows(rows)
    templates = read_templates()
    found = list(lint.findings(rows, templates))
    if words.has_speller():
        found += lint.misspelt(lint.texts_of(rows, templates))
    else:
        print("generate: spelling was not checked; install hunspell and hunspell-de-de", file=sys.stderr)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{path}: {len(rows)} tasks, {len(found)} findings")
    return 1 if found else 0
