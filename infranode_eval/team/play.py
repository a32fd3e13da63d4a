"""A play of one scenario: a fresh workspace, its rounds one after another, and what is kept of them.

The same replies give the same requests: agents see no clock and no real path. Source: specification, team, section 2.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.asker import Stopped
from infranode_eval.providers.protocol import Noting, Provider
from infranode_eval.providers.team import Keyed
from infranode_eval.team.agent import MAIN, Agent
from infranode_eval.team.course import Course
from infranode_eval.team.dialogue import Dialogue
from infranode_eval.team.jobs import Jobs
from infranode_eval.team.ledger import Ledger
from infranode_eval.team.limits import Limits
from infranode_eval.team.manager import TOKEN_LIMIT, Manager
from infranode_eval.team.opening import environment, question_of, system_message
from infranode_eval.team.removal import remove
from infranode_eval.team.round_check import Site, decide
from infranode_eval.team.runlog import RunLog
from infranode_eval.team.sandbox import Sandbox
from infranode_eval.team.scenario import FileChange, Round, Scenario
from infranode_eval.team.scripts import Scripts
from infranode_eval.team.slots import Slot
from infranode_eval.team.staff import Hire, Staff
from infranode_eval.team.toolbox import Toolbox
from infranode_eval.team.tools import MAIN_TOOLS
from infranode_eval.team.workspace import Scope, ToolError, Workspace
from lm_eval_task.errors import InfraError, UsageError, WorldNotReadyError

DONE = "done"           # the note of a play that is over
_JOIN_S = 120.0         # a request in flight may still end


@dataclass(frozen=True, slots=True)
class Stage:
    """What a play is given. main: the manager's model. pool: by key. bash: may agents run commands? workflow: is there
    an engine?"""

    scenario: Scenario
    main: Hire
    pool: Mapping[str, Hire]
    sandbox: Sandbox
    slot: Slot
    limits: Limits = Limits()
    bash: bool = True
    workflow: bool = True


class Play:
    """One play. Raise whatever failure ends it: ProviderError, also of a sub-agent's model, or Stopped."""

    def __init__(self, stage: Stage, cancelled: threading.Event) -> None:
        """cancelled: is set when the play is over, for requests that nobody needs any more."""
        self._stage, self._cancelled = stage, cancelled
        self._ledger, self._runlog, self._jobs = Ledger(), RunLog(), Jobs()
        self._rounds: list[dict[str, Any]] = []
        self._labels: list[str] = []
        self._started, self._paused_before = time.monotonic(), self._paused_s()

    def run(self) -> Course:
        voice = self._stage.main.voice
        stored = _stored(voice)
        if stored is not None:
            return Course.from_json(stored)
        try:
            course = self._in_a_folder()
        except OSError as error:        # a full disk, say: a failure of the world, never the model's
            raise WorldNotReadyError(f"the workspace could not be kept: {error.strerror or error}") from None
        if isinstance(voice, Noting):
            voice.noted(DONE, course.to_json)
        return course

    def _in_a_folder(self) -> Course:
        with self._folder() as folder:
            try:
                return self._played(folder)
            finally:
                self._end()

    def _end(self) -> None:
        """Nothing is needed any more; what is under way still ends."""
        self._cancelled.set()
        self._jobs.over.set()
        self._jobs.cancel_all()
        self._jobs.join(_JOIN_S if self._jobs.crash is None else 2.0)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """Of this play alone; every folder above the workspace can be passed through by a sandbox's user."""
        parent = Path(tempfile.gettempdir()).resolve()
        if self._stage.slot.uid is not None and (shut := _shut(parent)):
            raise UsageError(f"{shut} lets no other user pass, and sandboxes run as one; set TMPDIR to another folder")
        folder = Path(tempfile.mkdtemp(prefix="infranode-team-", dir=parent))
        folder.chmod(0o755)
        try:
            for name in ("arbeit", "pruefung", "lauf"):
                (folder / name).mkdir()
                (folder / name).chmod(0o755)            # whatever the umask
            yield folder
        finally:
            _removed(folder)

    def _played(self, folder: Path) -> Course:
        stage, scenario = self._stage, self._stage.scenario
        workspace = Workspace.prepare(scenario.template, folder / "arbeit", stage.slot.uid)
        Workspace.prepare(scenario.scripts, folder / "pruefung", stage.slot.uid)
        site = Site(stage.sandbox, stage.slot, folder / "pruefung", folder / "lauf")
        toolbox = Toolbox(workspace, self._ledger, stage.sandbox if stage.bash else None, stage.slot)
        staff = Staff(workspace, Scope((*scenario.accessible, *scenario.delegable)), stage.pool, toolbox, self._ledger,
                      self._runlog, stage.limits)
        manager, dialogue, scripts = self._manager(staff, toolbox)
        begin = environment(scenario, workspace, stage.pool, stage.limits, stage.bash, stage.workflow)
        passed: bool | None = None
        for number, round_ in enumerate(scenario.rounds):
            self._ledger.round = round_.id
            changes = [change for name in round_.update_ids for change in scenario.updates[name]]
            self._lay_in(workspace, changes)
            question = question_of(scenario, number, passed, changes, begin if number == 0 else None)
            first = len(dialogue.said)
            reason = manager.play(question)
            if reason == TOKEN_LIMIT:
                self._rounds += [_unchecked(one, TOKEN_LIMIT, None if place else first)
                                 for place, one in enumerate(scenario.rounds[number:])]
                break
            self._jobs.check()      # a failure that nobody waited for is the play's as well
            with workspace.lock:
                decision = decide(scenario, round_.check, workspace.real, self._runlog.lines(), site)
            passed = decision.passed
            self._rounds.append({"id": round_.id, "first": first, "reason": reason, "exit": decision.exit_code,
                                 "timed_out": decision.timed_out, "stdout": decision.stdout,
                                 **({} if decision.matched is None else {"matched": decision.matched})})
        self._end()         # first: what still ends is part of the transcript, or of nothing
        return self._course(manager, dialogue, staff, scripts)

    def _lay_in(self, workspace: Workspace, changes: Sequence[FileChange]) -> None:
        try:
            with workspace.lock:
                collided = workspace.apply(changes, self._stage.scenario.folder)
        except (OSError, ToolError) as error:       # a command that still ends, or a full disk
            said = error.strerror if isinstance(error, OSError) else error
            raise InfraError(f"the update before {self._ledger.round} could not be laid in: {said}") from None
        if collided and "update_collision" not in self._labels:
            self._labels.append("update_collision")

    def _manager(self, staff: Staff, toolbox: Toolbox) -> tuple[Manager, Dialogue, Scripts]:
        stage, voice = self._stage, self._stage.main.voice
        agent = Agent(MAIN, MAIN, Scope(stage.scenario.accessible), stage.main.modalities, MAIN_TOOLS, {},
                      staff.keys_for)
        dialogue = Dialogue(voice, MAIN_TOOLS, stage.main.sampling, [system_message()], stage.main.modalities)
        at_once = voice.deterministic and all(hire.voice.deterministic for hire in stage.pool.values())
        scripts = Scripts(staff, self._jobs, stage.workflow, at_once, self._paused_s, _noted(voice))
        manager = Manager(agent, dialogue, staff, toolbox, scripts, self._jobs, self._ledger, stage.limits,
                          _noted(voice), at_once, self._beat)
        return manager, dialogue, scripts

    def _paused_s(self) -> float:
        return getattr(self._stage.main.voice, "paused_s", 0.0)

    def _beat(self) -> None:
        """While something is waited for: does the run end, is the time over?"""
        voice = self._stage.main.voice
        if getattr(voice, "stopped", False):      # looked at often, and a protocol takes its time
            raise Stopped
        wall_s = self._stage.limits.wall_s
        if time.monotonic() - self._started - (self._paused_s() - self._paused_before) > wall_s:
            raise InfraError(f"the scenario was not over within {wall_s:g} s", sub="timeout")

    def _course(self, manager: Manager, dialogue: Dialogue, staff: Staff, scripts: Scripts) -> Course:
        places = {round_.id: place for place, round_ in enumerate(self._stage.scenario.rounds)}
        book = getattr(self._stage.main.voice, "book", None)
        names = staff.names()
        subagents = {one["name"]: one for one in self._ledger.subagents()}
        told = {"sessions": staff.sessions(), "events": self._runlog.events, "workflows": scripts.to_json(),
                "rounds": self._rounds, "subagents": [subagents[name] for name in names],
                "refusals": self._ledger.refusals(places), "invocations": dict(self._ledger.invocations),
                "usage": self._ledger.usage(), "labels": self._labels, "estimated": manager.estimated,
                "replayed": book.replayed if book else 0, "live": book.sent if book else 0}
        return Course(tuple(dialogue.said), tuple(manager.replies), told)


def _unchecked(round_: Round, reason: str, first: int | None) -> dict[str, Any]:
    """first: the place of its question among the manager's messages; None where it was never put."""
    return {"id": round_.id, "first": first, "reason": reason, "exit": None, "timed_out": False, "stdout": ""}


def _shut(folder: Path) -> Path | None:
    """The folder, or one above it, that only its owner can pass through."""
    return next((one for one in (folder, *folder.parents) if not one.stat().st_mode & 0o001), None)


def _removed(folder: Path) -> None:
    """However deep an agent has nested folders, and whatever it has locked."""
    parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        remove(parent, folder.name)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)   # a late Bash writes while we delete
    finally:
        os.close(parent)


def _stored(voice: Provider) -> Mapping[str, Any] | None:
    """The transcript of this play, where an earlier run has brought it to its end."""
    if not (isinstance(voice, Noting) and isinstance(voice, Keyed)):
        return None
    found = voice.recalled(DONE)
    if found is not None:
        voice.settle()
    return found


def _noted(voice: Provider) -> Callable[[str, Callable[[], Any]], Any]:
    return voice.noted if isinstance(voice, Noting) else lambda name, make: make()

