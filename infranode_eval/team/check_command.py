"""Is a collection of scenarios, or one scenario, fit to be run: every finding on a line of its own.

    python -m infranode_eval.team check                 the project's own scenarios
    python -m infranode_eval.team check -d DIR          a folder with tests.json, or that of one scenario

Its checks are run on the golden answers and on the wrong ones, then the scenario is played by its scripted manager
(infranode_eval/team/managers, or golden/play.json) and the claims in `covers` are proved from the log.

Exit codes: 0 fine, 1 warnings with --strict, 2 errors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from infranode_eval.team.check import check_scenario
from infranode_eval.team.finding import WARNING, Finding, Findings
from infranode_eval.team.golden_run import golden_run, runs_until
from infranode_eval.team.lint import lint_faults, overlap_faults
from infranode_eval.team.sandbox import Sandbox, open_sandbox
from infranode_eval.team.scenario import MANIFEST, collection_ids, read_declared, shipped_folder
from infranode_eval.team.workflow import NO_ENGINE, engine
from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError, DataError, ProviderError, UsageError

PROG = "check"


def main(arguments: Sequence[str]) -> int:
    parser = Parser("python -m infranode_eval.team check", __doc__)
    parser.add_argument("-d", "--tasks", type=Path, metavar="DIR", help="default: the project's own scenarios")
    parser.add_argument("--strict", action="store_true", help="warnings count: exit 1")
    parser.add_argument("--sandbox", choices=("bwrap", "none"), default="bwrap", help="where checks run")
    try:
        chosen = parser.parse_args(arguments)
        sandbox = open_sandbox(chosen.sandbox)
        if engine() is None:
            complain(PROG, f"note: {NO_ENGINE}")
        found = [_checked(folder, sandbox) for folder in folders(chosen.tasks)]
    except BenchError as error:
        complain(PROG, str(error))
        return error.exit_code
    return Findings.of((finding for one in found for finding in (*one.errors, *one.warnings)), chosen.strict).exit_code


def folders(given: Path | None) -> list[Path]:
    """The scenarios of a collection, or the one that the folder is. Raise DataError for a folder that is neither."""
    if given is not None and (given / MANIFEST).is_file():
        return [given]
    parent = shipped_folder() if given is None else given
    return [parent / name for name in collection_ids(parent)]


def _checked(folder: Path, sandbox: Sandbox) -> Findings:
    started = time.monotonic()
    found = all_findings(folder, sandbox)
    counts = f"{_count(found.errors, 'error')}, {_count(found.warnings, 'warning')}"
    state = counts if found.errors or found.warnings else "ok"
    show(f"{folder.resolve().name}: {state} ({time.monotonic() - started:.1f} s)\n")
    for finding in (*found.errors, *found.warnings):
        show(f"  {finding}\n")
    return found


def _count(found: Sequence[Finding], name: str) -> str:
    return f"{len(found)} {name}{'' if len(found) == 1 else 's'}"


def all_findings(folder: Path, sandbox: Sandbox) -> Findings:
    """What check.py finds, with the log of the golden run; where that is sound, what the lint finds in that log."""
    declared = read_declared(folder)
    if not declared.sound:
        return check_scenario(folder, sandbox=sandbox)
    first = check_scenario(folder)      # without running anything
    if first.errors:
        return first
    scenario = declared.scenario()
    try:
        course = golden_run(scenario, sandbox)
    except (UsageError, DataError, ProviderError) as error:
        warning = Finding(WARNING, f"{scenario.scenario_id}/{MANIFEST}", "", f"no golden run: {error}")
        found = check_scenario(folder, sandbox=sandbox)
        return Findings.of([*found.errors, *found.warnings, warning])
    found = check_scenario(folder, sandbox=sandbox, runs_of=runs_until(course.told["events"], scenario))
    return Findings.of([*found.errors, *found.warnings, *lint_faults(scenario, course),
                        *overlap_faults(scenario, course, sandbox)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
