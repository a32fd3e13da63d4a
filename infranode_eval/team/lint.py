"""Does a scenario prove what its rounds claim to cover: constraints C1 to C10, from its folder and its golden run.

Source: specification, team, section 6. That golden answers pass and wrong ones fail is check_rounds.py's to find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from infranode_eval.team.check_rounds import rehearse
from infranode_eval.team.course import Course
from infranode_eval.team.finding import ERROR, WARNING, Finding, read_json
from infranode_eval.team.golden import facts, wrongs
from infranode_eval.team.golden_run import runs_until
from infranode_eval.team.kinds import kind_of
from infranode_eval.team.layout import tree
from infranode_eval.team.log import Called, Log
from infranode_eval.team.sandbox import Sandbox
from infranode_eval.team.scenario import Round, Scenario, shipped_folder
from infranode_eval.team.shape import covers
from infranode_eval.team.slots import Slots
from infranode_eval.team.tools import MAIN_TOOLS
from infranode_eval.team.workspace import ROOT

_SAID = 160             # characters of an error in a message
FOLDERS, DECOYS, RUNS, WRONG = 8, 2, 3, 2       # at least so many
CONSTRAINTS = tuple(f"C{number}" for number in range(1, 11))
Proof = Callable[["Case", Round, "str | None"], "str | None"]


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario with the log of its golden run."""

    scenario: Scenario
    log: Log

    @property
    def read_paths(self) -> set[str]:
        """Relative paths that some agent has read."""
        return {path.removeprefix(f"{ROOT}/") for call in self.log.all_calls if call.name == "Read" and call.ok
                and isinstance(path := call.arguments.get("file_path"), str)}

    def in_vain(self) -> Iterator[tuple[str, Called]]:
        """Calls that ended with an error or a refusal, each with its round."""
        rounds = [*self.log.calls.items(), *((run.round, run.calls) for run in self.log.runs)]
        return ((name, call) for name, calls in rounds for call in calls if not call.ok)


def lint_faults(scenario: Scenario, course: Course) -> Iterator[Finding]:
    """What is claimed and not proved, and what no round claims: an error in a shipped scenario, else a warning."""
    severity = ERROR if scenario.folder.parent == shipped_folder() else WARNING
    file = f"{scenario.scenario_id}/{scenario.rounds_file}"
    case = Case(scenario, Log.of(course))
    failed = [row["id"] for row in course.told["rounds"] if not scenario.round(row["id"]).check.passes(
        row["exit"], row["stdout"], row["timed_out"], row.get("matched"))]
    for round_id in failed:
        yield Finding(severity, file, round_id, "the golden run does not pass it")
    for round_id, call in case.in_vain():
        yield Finding(severity, file, round_id, f"the golden run calls {call.name} in vain: {_line(call.said)}")
    claimed: set[str] = set()
    for place, round_ in enumerate(scenario.rounds):
        for claim in round_.covers:
            name, _, earlier = claim.partition(":")
            claimed.add(name)
            missing = PROOFS[name](case, round_, earlier or None) if name in PROOFS else None
            if missing is not None:
                yield Finding(severity, file, f"[{place}].covers {claim}", missing)
        if (count := len(wrongs(scenario.folder, round_.id))) < WRONG:
            yield Finding(severity, file, f"[{place}] C10", f"has {count} wrong answers, expected {WRONG} that fail")
    if unclaimed := [name for name in CONSTRAINTS if name not in claimed]:
        yield Finding(severity, file, "covers", f"no round covers {', '.join(unclaimed)}; {unclaimed[0]} means: "
                                                f"{MEANING[unclaimed[0]]}")
    yield from _both_modalities(case, severity, file)


def _line(text: str) -> str:
    return " ".join(text.split())[:_SAID]


def overlap_faults(scenario: Scenario, course: Course, sandbox: Sandbox) -> Iterator[Finding]:
    """C6: the check must fail where the same runs went one after another."""
    claimed = [round_.id for round_ in scenario.rounds if "C6" in round_.covers]
    if not claimed:
        return
    alone = [{**event, "event": kind} for event in course.told["events"] if event["event"] == "start"
             for kind in ("start", "end")]
    with Slots().take() as slot:
        refused = {finding.key for finding in rehearse(scenario, sandbox, slot, runs_until(alone, scenario))
                   if finding.file.endswith(f"/golden/{finding.key}")}
    severity = ERROR if scenario.folder.parent == shipped_folder() else WARNING
    for round_id in claimed:
        if round_id not in refused:
            yield Finding(severity, f"{scenario.scenario_id}/{scenario.rounds_file}", f"{round_id} C6",
                          "the check passes although the runs went one after another; expected it to demand overlap")


def _both_modalities(case: Case, severity: str, file: str) -> Iterator[Finding]:
    """C5 wants a round for a picture and one for a sound."""
    decided = {modality for round_ in case.scenario.rounds if "C5" in round_.covers
               for modality in _perceived(case, round_)}
    for modality in ("image", "audio"):
        if any("C5" in round_.covers for round_ in case.scenario.rounds) and modality not in decided:
            yield Finding(severity, file, "covers C5", f"no round that covers it is decided by {modality}")


def _perceived(case: Case, round_: Round) -> set[str]:
    known = facts(case.scenario.folder)
    return {known[sha]["modality"] for run in case.log.runs_in(round_.id) for sha in run.media if sha in known}


def _c1(case: Case, round_: Round, earlier: str | None) -> str | None:
    for run in case.log.runs_in(round_.id):
        for call in run.calls:
            path = str(call.arguments.get("file_path", "")).removeprefix(f"{ROOT}/")
            if call.name == "Read" and call.ok and not _covered(case.scenario.accessible, path):
                return None
    return "in the golden run no sub-agent reads a path that the manager cannot open itself"


def _c2(case: Case, round_: Round, earlier: str | None) -> str | None:
    if not round_.update_ids:
        return "the round has no update"
    stale = [one for one in wrongs(case.scenario.folder, round_.id) if one.stale_of in round_.update_ids]
    return None if stale else "no wrong answer is what stood before an update of the round (stale_of)"


def _c3(case: Case, round_: Round, earlier: str | None) -> str | None:
    used = {call.name for call in case.log.all_calls if call.ok}
    unused = [name for name in MAIN_TOOLS if name not in used]
    return f"the golden run does not use {', '.join(unused)} with success" if unused else None


def _c4(case: Case, round_: Round, earlier: str | None) -> str | None:
    folders = [name for name, kind in tree(case.scenario.template).items() if kind == "folder" and "/" not in name]
    if len(folders) < FOLDERS:
        return f"the workspace has {len(folders)} top folders, expected {FOLDERS}"
    unread = [decoy for decoy in case.scenario.decoys if not any(covers(decoy, path) for path in case.read_paths)]
    return None if len(unread) >= DECOYS else f"the golden run leaves {len(unread)} decoys unread, expected {DECOYS}"


def _c5(case: Case, round_: Round, earlier: str | None) -> str | None:
    return None if _perceived(case, round_) else "in the golden run nobody perceives an asset of facts.json"


def _c6(case: Case, round_: Round, earlier: str | None) -> str | None:
    if "${runs}" not in round_.check.command:
        return "the check does not read ${runs}"
    most = case.log.most_at_once(round_.id)
    return None if most >= RUNS else f"{most} runs overlap in the golden run, expected {RUNS}"


def _c7(case: Case, round_: Round, earlier: str | None) -> str | None:
    before = {run.session for run in case.log.runs_in(str(earlier))}
    if not any(run.session in before and run.number for run in case.log.runs_in(round_.id)):
        return f"the golden run continues no session of {earlier}"
    strings = _only_in_session(case.scenario).get(round_.id, [])
    if not strings:
        return "golden/lint.json names nothing that stands only in that session (only_in_session)"
    then, now = (_texts(case.scenario, name) for name in (str(earlier), round_.id))
    for text in strings:
        if not any(text in content for content in then.values()):
            return f"{text!r} stood in no file in {earlier}"
        if where := [path for path, content in now.items() if text in content]:
            return f"{text!r} still stands in {where[0]}"
    return None


def _c8(case: Case, round_: Round, earlier: str | None) -> str | None:
    built = [one for one in wrongs(case.scenario.folder, round_.id) if one.built_on == earlier]
    return None if built else f"no wrong answer is built on a wrong one of {earlier} (built_on)"


def _c9(case: Case, round_: Round, earlier: str | None) -> str | None:
    for one in wrongs(case.scenario.folder, round_.id):
        if one.from_ is not None and _covered(case.scenario.decoys, one.from_):
            path = case.scenario.template / one.from_
            return None if path.is_file() and kind_of(path.read_bytes()).modality == "text" else \
                f"{one.from_}, which a wrong answer believes, is no text file of the workspace"
    return "no wrong answer is what a file in a decoy folder says (from)"


PROOFS: Mapping[str, Proof] = {"C1": _c1, "C2": _c2, "C3": _c3, "C4": _c4, "C5": _c5, "C6": _c6, "C7": _c7, "C8": _c8,
                               "C9": _c9}
MEANING = {
    "C1": "a sub-agent reads what the manager cannot", "C2": "an update after which golden answers change",
    "C3": "all eleven tools", "C4": "many folders, decoys among them", "C5": "decided by a picture or a sound",
    "C6": "runs that overlap, demanded by the check", "C7": "what only an old session knows",
    "C8": "an error that carries on", "C9": "a decoy that states a wrong value for a picture or sound",
    "C10": "golden passes, wrong answers fail"}


def _covered(grants: tuple[str, ...], path: str) -> bool:
    return any(covers(grant, path) for grant in grants)


def _only_in_session(scenario: Scenario) -> Mapping[str, list[str]]:
    path = scenario.folder / "golden" / "lint.json"
    if not path.exists():
        return {}
    value = read_json(path, scenario.name_of(path))
    return {name: row.get("only_in_session", []) for name, row in value.items()}


def _texts(scenario: Scenario, round_id: str) -> dict[str, str]:
    """Relative path → text of the workspace as it is in a round; what agents write is left out."""
    files: dict[str, Path] = {path: scenario.template / path for path, kind in tree(scenario.template).items()
                              if kind == "file"}
    for round_ in scenario.rounds:
        for name in round_.update_ids:
            files |= {change.dst: change.src for change in scenario.updates[name]}
        if round_.id == round_id:
            break
    return {path: file.read_bytes().decode("utf-8", "replace") for path, file in files.items()}
