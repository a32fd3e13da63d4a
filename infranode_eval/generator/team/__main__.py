"""Writes the scenarios of the suite team, or says where those that ship differ from their scripts.

    python -m infranode_eval.generator.team [ID …] [--out DIR]      writes DIR/<id>/ (default: infranode_eval/data/team)
    python -m infranode_eval.generator.team [ID …] --check          compares: texts byte by byte, pictures and sounds
                                                                    where the tools have the recorded versions

Without an ID: every scenario. Exit codes: 0 written or equal, 1 something differs, 2 an unknown ID, a missing tool, a
text that tells what only a picture or a sound may tell.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

from infranode_eval.generator.team import folder, scenarios
from infranode_eval.generator.team.draft import Draft
from infranode_eval.shipped import DATA
from infranode_eval.terminal import Parser
from lm_eval_task.errors import BenchError, UsageError

SHIPPED = DATA / "team"


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        chosen = _arguments(arguments)
        found = [draft_of(name) for name in chosen.ids or scenario_ids()]
        if chosen.check:
            return max([_compared(draft, chosen.out / draft.scenario_id) for draft in found], default=0)
        for draft in found:
            size = folder.write(draft, chosen.out / draft.scenario_id)
            print(f"{draft.scenario_id}: {len(draft.rounds)} rounds, {size:,} bytes")
    except BenchError as error:
        print(f"team: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def scenario_ids() -> list[str]:
    """The names of the modules in scenarios/, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(scenarios.__path__))


def draft_of(scenario_id: str) -> Draft:
    """The draft of one scenario. Raise UsageError for an unknown name."""
    if scenario_id not in scenario_ids():
        raise UsageError(f"no scenario {scenario_id!r}; there are {', '.join(scenario_ids())}")
    return importlib.import_module(f"{scenarios.__name__}.{scenario_id}").draft()


def _compared(draft: Draft, place: Path) -> int:
    faults, not_compared = folder.differences(draft, place)
    for fault in faults:
        print(f"{draft.scenario_id}/{fault}")
    for path in not_compared:
        print(f"{draft.scenario_id}/{path}: not made anew, other tool versions than recorded", file=sys.stderr)
    if not faults:
        print(f"{draft.scenario_id}: equal")
    return 1 if faults else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m infranode_eval.generator.team", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="scenarios (default: all)")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--out", type=Path, default=SHIPPED, metavar="DIR", help="where the scenarios lie")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
