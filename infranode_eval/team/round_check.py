"""The command that decides a round: what it sees of the host, and what it did."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infranode_eval.team import process
from infranode_eval.team.sandbox import Mount, Sandbox
from infranode_eval.team.scenario import Check, Scenario, fill
from infranode_eval.team.slots import Slot
from infranode_eval.team.workspace import ROOT
from lm_eval_task.errors import WorldNotReadyError

SCRIPTS, NOTES = "/pruefung", "/lauf"           # as the check sees them
RUNS_FILE, BEFORE_FILE = "runs.jsonl", "before.txt"
BEFORE_BYTES = 100_000                          # of the output of `before` that the check may read
MATCH_S = 2                                     # of processor time that a search for stdout_matches may take
_WAIT_S = 30.0                                  # and of the clock, where many wait for a processor
_MATCHER = Path(__file__).with_name("matcher.py")
_FOUND, _ABSENT = 0, 3                          # its exit status


@dataclass(frozen=True, slots=True)
class Site:
    """Where a check runs. scripts: a copy of the checks folder that the sandbox's user can reach; notes: an empty
    folder for the run log and the output of `before`."""

    sandbox: Sandbox
    slot: Slot
    scripts: Path
    notes: Path


@dataclass(frozen=True, slots=True)
class Decision:
    """What the command did (exit_code None: killed), and whether the round is passed.

    matched: was stdout_matches found, within MATCH_S seconds? None where the check has none. errors: its stderr.
    """

    exit_code: int | None
    stdout: str
    timed_out: bool
    passed: bool
    matched: bool | None = None
    errors: str = ""


def decide(scenario: Scenario, check: Check, workspace: Path, runs: str, site: Site) -> Decision:
    """Run `before`, then the check. workspace: the real folder; runs: the run log so far, JSON lines.

    `before` runs what agents wrote, so it only runs behind a wall: without one its output is empty. Raise
    WorldNotReadyError where a command could not be run, which is no verdict.
    """
    before = _before(scenario, check, workspace, site) if check.before and site.sandbox.kind != "none" else ""
    for name, text in ((RUNS_FILE, runs), (BEFORE_FILE, before)):
        path = site.notes / name
        path.write_bytes(text.encode("utf-8", "replace")[:BEFORE_BYTES if name == BEFORE_FILE else None])
        path.chmod(0o644)
    seen = ((workspace, ROOT), (site.scripts, SCRIPTS), (site.notes, NOTES))
    mounts = [Mount(real.resolve(), virtual, False) for real, virtual in seen]
    command = fill(check.command, _values(scenario, mounts, site.sandbox.kind), quote=True)
    outcome = site.sandbox.run(command, mounts, check.timeout_s, slot=site.slot, merge=False)
    matched = None if check.stdout_matches is None else found_in(outcome.output, check.stdout_matches)
    return Decision(outcome.exit, outcome.output, outcome.timed_out,
                    check.passes(outcome.exit, outcome.output, outcome.timed_out, matched), matched, outcome.errors)


def found_in(text: str, pattern: str) -> bool:
    """Does a regular expression have a hit? A search that takes longer than MATCH_S seconds has none.

    In a process of its own: a pattern that backtracks without end would stop every thread of the host. Raise
    WorldNotReadyError where the search itself failed, which says nothing about the text.
    """
    try:
        child = process.start([sys.executable, "-I", "-S", "-X", "utf8", os.fspath(_MATCHER)], {}, talk=True)
    except OSError as error:
        raise WorldNotReadyError(f"stdout_matches could not be looked for ({error.strerror})") from None
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(json.dumps({"pattern": pattern, "text": text, "seconds": MATCH_S}).encode("ascii"))
        child.stdin.close()
    ended = process.collect(child, _WAIT_S, 100_000)
    if ended.exit not in (_FOUND, _ABSENT, -signal.SIGXCPU):
        raise WorldNotReadyError(f"stdout_matches could not be looked for ({ended.reason or f'exit {ended.exit}'})")
    return ended.exit == _FOUND


def _values(scenario: Scenario, mounts: Sequence[Mount], kind: str) -> dict[str, str]:
    """Without a wall there are no virtual paths, and the command gets the real ones."""
    workspace, scripts, notes = (str(mount.real) if kind == "none" else mount.virtual for mount in mounts)
    return {"workspace": workspace, "scripts": scripts, "scenario_id": scenario.scenario_id,
            "runs": f"{notes}/{RUNS_FILE}", "before": f"{notes}/{BEFORE_FILE}"}


def _before(scenario: Scenario, check: Check, workspace: Path, site: Site) -> str:
    """The output of an agent's program, in the sandbox that main's Bash has."""
    root = workspace.resolve()
    mounts = [Mount(root / path, f"{ROOT}/{path}", True) for path in scenario.accessible]
    command = fill(str(check.before), {"workspace": ROOT, "scenario_id": scenario.scenario_id}, quote=True)
    return site.sandbox.run(command, mounts, check.timeout_s, slot=site.slot, cap=BEFORE_BYTES).output
