"""Every round of a scenario decided on its golden answer, on each wrong one, and on none at all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from infranode_eval.team.finding import ERROR, WARNING, Finding, fault
from infranode_eval.team.golden import golden_files, wrongs
from infranode_eval.team.round_check import MATCH_S, Decision, Site, decide
from infranode_eval.team.sandbox import Sandbox
from infranode_eval.team.scenario import Round, Scenario
from infranode_eval.team.slots import Slot
from infranode_eval.team.staging import lay_in
from infranode_eval.team.workspace import Workspace

_SAID = 160             # characters of a check's output in a message


def rehearse(scenario: Scenario, sandbox: Sandbox, slot: Slot, runs_of: Callable[[str], str]) -> Iterator[Finding]:
    """What the round checks say to answers whose verdict is known. The scenario has no other fault.

    Rounds are gone through in order: updates laid in, then the answer, over the golden answers of the rounds before.
    runs_of: the run log that the check of a round may read.
    """
    yield from _missing_programs(scenario, sandbox)
    with _open_folder() as folder:
        site = Site(sandbox, slot, folder / "checks", folder / "notes")
        site.notes.mkdir()
        site.notes.chmod(0o755)         # whatever the umask
        Workspace.prepare(scenario.scripts, site.scripts, slot.uid)
        now = Workspace.prepare(scenario.template, folder / "0", slot.uid)
        for number, row in enumerate(scenario.rounds, 1):
            for name in row.update_ids:
                now.apply(scenario.updates[name], scenario.folder)
            yield from _round_faults(scenario, row, now, folder, site, runs_of(row.id))
            now = _answered(now, folder / str(number), golden_files(scenario.folder, row.id), slot)


def _round_faults(scenario: Scenario, row: Round, now: Workspace, folder: Path, site: Site,
                  runs: str) -> Iterator[Finding]:
    def decision(files: Mapping[str, Path]) -> Decision:
        workspace = _answered(now, folder / "attempt", files, site.slot)
        try:
            return decide(scenario, row.check, workspace.real, runs, site)
        finally:
            workspace.remove()

    if row.check.before and site.sandbox.kind == "none":
        yield Finding(WARNING, f"{scenario.scenario_id}/{scenario.rounds_file}", f"{row.id}.eval.before",
                      "was not tried, expected a sandbox: it runs what agents wrote")
        return
    golden = decision(golden_files(scenario.folder, row.id))
    if not golden.passed:
        yield _verdict(scenario, f"golden/{row.id}", "the check to pass", golden, row)
    for wrong in wrongs(scenario.folder, row.id):
        if (found := decision(wrong.files())).passed:
            yield _verdict(scenario, f"golden/{wrong.name}", f"the check to fail ({wrong.why})", found, row)
    if (found := decision({})).passed:
        yield _verdict(scenario, scenario.rounds_file, "the check to fail without an answer", found, row)


def _verdict(scenario: Scenario, file: str, expected: str, found: Decision, row: Round) -> Finding:
    said = "timeout" if found.timed_out else "an end by force" if found.exit_code is None else f"exit {found.exit_code}"
    if found.matched is False:
        said += f", no hit of stdout_matches within {MATCH_S} s"
    said_last = found.errors.rstrip().rpartition("\n")[2]      # of a Python error, what it was
    output = " ".join((found.stdout.strip() or said_last).split())[:_SAID]
    return Finding(ERROR, f"{scenario.scenario_id}/{file}", row.id,
                   f"found {said}{', ' + output if output else ''}, expected {expected}")


def _answered(now: Workspace, target: Path, files: Mapping[str, Path], slot: Slot) -> Workspace:
    """A copy of the workspace with an answer laid over."""
    workspace = Workspace.prepare(now.real, target, slot.uid)
    for relative, source in files.items():
        lay_in(workspace, source, relative)
    return workspace


def _missing_programs(scenario: Scenario, sandbox: Sandbox) -> Iterator[Finding]:
    for program in sandbox.missing(scenario.needs):
        yield fault(f"{scenario.scenario_id}/manifest.json", "needs", program, "a program that the sandbox has")


@contextmanager
def _open_folder() -> Iterator[Path]:
    """A temporary folder that the sandbox's user may enter."""
    with tempfile.TemporaryDirectory(prefix="team-check-") as name:
        Path(name).chmod(0o755)
        yield Path(name).resolve()
