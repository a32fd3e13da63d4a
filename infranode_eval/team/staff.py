"""The sub-agents of a play: created, given runs, listed, inspected. Each run is a dialogue with a model of the pool."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infranode_eval.providers.protocol import Provider, Sampling
from infranode_eval.team import arguments as given
from infranode_eval.team.agent import MAIN, MEDIA, Agent, Result
from infranode_eval.team.dialogue import Dialogue
from infranode_eval.team.jobs import AT_ONCE, Gate
from infranode_eval.team.ledger import Ledger
from infranode_eval.team.limits import Limits
from infranode_eval.team.runlog import RunLog
from infranode_eval.team.toolbox import Toolbox
from infranode_eval.team.tools import BASIC_TOOLS
from infranode_eval.team.wording import listed, say
from infranode_eval.team.workspace import ROOT, Forbidden, Scope, ToolError, Workspace, locate, reachable
from infranode_eval.tool_turn import Wanted
from lm_eval_task.errors import ContextOverflowError, ProviderError

_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")


@dataclass(frozen=True, slots=True)
class Hire:
    """One key of the pool. modalities: of media, how many a request may hold."""

    voice: Provider
    sampling: Sampling
    modalities: Mapping[str, int]


@dataclass(eq=False, slots=True)
class Session:
    """One conversation of a sub-agent. busy: of a run in it the manager has not heard yet. closed: a run in it was
    cancelled. task: the workflow that it belongs to, until the manager hears of that."""

    id: str
    subagent: str
    dialogue: Dialogue
    task: str = ""
    busy: bool = False
    closed: bool = False


@dataclass(eq=False, slots=True)
class Subagent:
    """One sub-agent over its whole life, as far as the manager has heard of it. task: as of a Session."""

    agent: Agent
    system_prompt: str
    paths: tuple[str, ...]
    task: str = ""
    sessions: list[str] = field(default_factory=list)
    runs: int = 0
    refused: int = 0
    last: str = ""


@dataclass(eq=False, slots=True)
class Run:
    """One order to a sub-agent, accepted. id: in the log of runs. ticket: for the gate. text, failed, refused: what
    came of it. ended: whoever gave the order has that."""

    id: str
    session: Session
    prompt: str
    ticket: threading.Event
    text: str = ""
    failed: bool = False
    refused: int = 0
    ended: bool = False


class Staff:
    """Orders are accepted on the thread that gives them; they are executed in threads of their own.

    What the manager can see of a run (a busy session, the last answer, refusals) changes when it hears of the run's
    end, not when a thread ends: the same replies give the same requests, however fast the workers are.
    """

    def __init__(self, workspace: Workspace, scope: Scope, pool: Mapping[str, Hire], toolbox: Toolbox, ledger: Ledger,
                 runlog: RunLog, limits: Limits) -> None:
        """scope: what may be granted. pool: by key."""
        self._workspace, self._scope, self._pool, self._toolbox = workspace, scope, pool, toolbox
        self._ledger, self._runlog, self._limits = ledger, runlog, limits
        self._subagents: dict[str, Subagent] = {}
        self._sessions: dict[str, Session] = {}
        self._under_way: dict[str, list[Run]] = {}      # by what the manager waits for: a run's id, or a workflow's
        self._runs = self._own_sessions = self._own_runs = 0
        self._lock = threading.RLock()
        self._gate = Gate(AT_ONCE)
        self.keys_for = {modality: tuple(key for key, hire in pool.items() if modality in hire.modalities)
                         for modality in MEDIA}

    # --- CreateSubagent -----------------------------------------------------------------------------------------------

    def create(self, arguments: Mapping[str, Any], task: str = "", cancelled: threading.Event | None = None) -> str:
        """The name of a new sub-agent. task: of the workflow that defines it; cancelled: that one's. Raise ToolError
        for what cannot be granted; that is no forbidden access."""
        given.only(arguments, "name", "model_key", "tools", "accessible_paths", "system_prompt")
        name, key = given.text(arguments, "name"), given.text(arguments, "model_key")
        if not _NAME.fullmatch(name):
            raise ToolError(say("name_form"))
        if key not in self._pool:
            raise ToolError(say("unknown_key", key=given.shown(key), keys=listed(self._pool)))
        tools = self._granted_tools(given.texts(arguments, "tools"))
        grants = tuple(dict.fromkeys(map(self._grant, given.texts(arguments, "accessible_paths"))))
        prompt = given.text(arguments, "system_prompt", "", empty=True)
        agent = Agent(name, key, Scope(grants), self._pool[key].modalities, tools, {}, self.keys_for)
        with self._lock:
            _check_wanted(cancelled)
            if name in self._subagents or name == MAIN:
                raise ToolError(say("name_taken", name=name))
            if len(self._subagents) >= self._limits.subagents:
                raise ToolError(say("too_many_subagents", count=len(self._subagents)))
            with self._workspace.lock:
                files = sum(1 for _ in reachable(self._workspace, agent.scope))
            self._ledger.created(agent, grants, files)
            self._subagents[name] = Subagent(agent, prompt, grants, task)
        return name

    def key_of(self, name: str) -> str:
        return self._subagents[name].agent.key

    @staticmethod
    def _granted_tools(names: Sequence[str]) -> tuple[str, ...]:
        for name in names:
            if name not in BASIC_TOOLS:
                raise ToolError(say("tools_form", tool=given.shown(name)))
        return tuple(tool for tool in BASIC_TOOLS if tool in names)

    def _grant(self, path: str) -> str:
        """A path as the grant that it becomes: relative, links resolved."""
        if not (path == ROOT or path.startswith(f"{ROOT}/")):
            raise ToolError(say("paths_form", path=given.shown(path)))
        try:
            real = locate(self._workspace, self._scope, path)
        except Forbidden:
            raise ToolError(say("path_closed", path=path)) from None
        if not os.path.exists(real):       # False also for a name that is too long
            raise ToolError(say("path_missing", path=path))
        return self._workspace.relative(real)

    # --- RunSubagent --------------------------------------------------------------------------------------------------

    def accept(self, arguments: Mapping[str, Any]) -> Run:
        """An order of the manager. Raise ToolError for one that cannot be given."""
        given.only(arguments, "subagent", "prompt", "session_id", "run_in_background")
        name, prompt = given.text(arguments, "subagent"), given.text(arguments, "prompt")
        background = given.flag(arguments, "run_in_background")
        with self._lock:
            subagent = self._find(name)
            session = None
            if given.given(arguments, "session_id"):
                session = self._continued(given.text(arguments, "session_id"), name)
            self._count_run()
            if session is None:
                self._own_sessions += 1
                session = self._open(f"s{self._own_sessions}", subagent)
                subagent.sessions.append(session.id)
                kind = "new"
            else:
                kind = "continue"
            self._ledger.invoked(f"{kind}_{'background' if background else 'runtime'}")
            self._own_runs += 1
            subagent.runs += 1
            run_id = f"run{self._own_runs}"
            return self._begun(run_id, run_id, session, prompt)

    def accept_from_workflow(self, task: str, number: int, name: str, prompt: str,
                             cancelled: threading.Event) -> Run:
        """An order of a workflow's script, in a session of its own. cancelled: the workflow's. Raise ToolError for one
        that cannot be given."""
        with self._lock:
            _check_wanted(cancelled)
            subagent = self._find(name, task)
            self._count_run()
            self._ledger.invoked("workflow")
            label = f"{task}.{number + 1}"
            return self._begun(label, task, self._open(label, subagent, task), prompt)

    def _begun(self, run_id: str, order: str, session: Session, prompt: str) -> Run:
        session.busy = True
        self._runlog.start(run_id, session.subagent, session.id, self._ledger.round)
        run = Run(run_id, session, prompt, self._gate.ticket())
        self._under_way.setdefault(order, []).append(run)
        return run

    def _find(self, name: str, task: str = "") -> Subagent:
        subagent = self._subagents.get(name)
        if subagent is None or subagent.task not in ("", task):
            raise ToolError(say("unknown_subagent", name=given.shown(name)))
        return subagent

    def _known_session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None or session.task:
            raise ToolError(say("unknown_session", session=given.shown(session_id)))
        return session

    def _continued(self, session_id: str, name: str) -> Session:
        session = self._known_session(session_id)
        if session.subagent != name:
            raise ToolError(say("foreign_session", session=session_id, name=name))
        if session.busy:
            raise ToolError(say("busy_session", session=session_id))
        if session.closed:
            raise ToolError(say("closed_session", session=session_id))
        return session

    def _count_run(self) -> None:
        if self._runs >= self._limits.runs:
            raise ToolError(say("too_many_runs", count=self._runs))
        self._runs += 1

    def _open(self, session_id: str, subagent: Subagent, task: str = "") -> Session:
        agent, hire = subagent.agent, self._pool[subagent.agent.key]
        opening = say("worker", name=agent.name, tools=listed(agent.tools), system_prompt=subagent.system_prompt,
                      paths=listed(f"{ROOT}/{path}" for path in subagent.paths)).rstrip()
        session = Session(session_id, agent.name, Dialogue(
            hire.voice, agent.tools, hire.sampling, [{"role": "system", "content": opening}], hire.modalities,
            session_id), task)
        self._sessions[session_id] = session
        return session

    # --- a run --------------------------------------------------------------------------------------------------------

    def work(self, run: Run, cancelled: threading.Event) -> tuple[str, bool]:
        """(final text, failed) of a run; at most AT_ONCE at a time. Lets ProviderError through but for an overflow."""
        with self._gate.passed(run.ticket):
            run.text, run.failed = self._worked(run, self._subagents[run.session.subagent], cancelled)
            return run.text, run.failed

    def _worked(self, run: Run, subagent: Subagent, cancelled: threading.Event) -> tuple[str, bool]:
        dialogue = run.session.dialogue
        if cancelled.is_set():
            return say("cancelled"), True
        dialogue.tell(run.prompt)
        for _ in range(self._limits.worker_turns):
            if cancelled.is_set():
                return say("cancelled"), True
            try:
                heard = dialogue.ask()
            except ContextOverflowError:
                return say("worker_overflow"), True
            except ProviderError:
                if cancelled.is_set():      # nobody needs the answer
                    return say("cancelled"), True
                raise
            finally:
                self._ledger.perceived(subagent.agent, dialogue.take_perceived())
            self._ledger.answered(subagent.agent.key, heard.answer)
            if cancelled.is_set():
                return say("cancelled"), True
            if not heard.turn.calls:
                return heard.turn.text.strip() or say("empty_answer"), False
            results = [self._called(subagent.agent, wanted, cancelled) for wanted in heard.turn.calls]
            run.refused += sum(result.refused is not None for result in results)
            dialogue.answer(heard.turn, results)
        return say("worker_turns", turns=self._limits.worker_turns), True

    def _called(self, agent: Agent, wanted: Wanted, cancelled: threading.Event) -> Result:
        """What one call of a run gives; nothing is done for a run that is cancelled."""
        if cancelled.is_set():
            return Result(f"Fehler: {say('cancelled')}", error=True)
        return self._toolbox.execute(agent, wanted, cancelled)

    # --- the ends of runs ---------------------------------------------------------------------------------------------

    def ended(self, run: Run) -> None:
        """The script that has ordered a run gets its text now."""
        run.ended = True
        self._runlog.end(run.id, self._ledger.round)

    def delivered(self, order: str) -> None:
        """The manager hears what came of a run of its own, or of a workflow. Runs that a script left are cancelled."""
        with self._lock:
            for run in self._under_way.pop(order, ()):
                run.ended = run.ended or run.id == order
                self._heard(run)
            self._show(order)

    def cancelled(self) -> None:
        """The manager hears no more of anything that is under way."""
        with self._lock:
            for order in tuple(self._under_way):
                for run in self._under_way.pop(order):
                    self._heard(run)
                self._show(order)

    def _heard(self, run: Run) -> None:
        self._runlog.end(run.id, self._ledger.round)
        session, subagent = run.session, self._subagents[run.session.subagent]
        session.busy, session.closed = False, not run.ended
        if session.task:
            session.task = ""
            subagent.sessions.append(session.id)
            subagent.runs += 1
        if run.ended:
            subagent.refused += run.refused
            subagent.last = subagent.last if run.failed else run.text

    def _show(self, task: str) -> None:
        """The sub-agents of a workflow come behind all that the manager knew before: their order must not hang on how
        fast the script was."""
        new = {name: one for name, one in self._subagents.items() if one.task == task}
        for subagent in new.values():
            subagent.task = ""
        self._subagents = {name: one for name, one in self._subagents.items() if name not in new} | new

    # --- ListSubagents, InspectSubagent -------------------------------------------------------------------------------

    def list(self) -> Result:
        with self._lock:
            lines = [say("list_line", name=name, key=one.agent.key, tools=listed(one.agent.tools),
                         paths=listed(f"{ROOT}/{path}" for path in one.paths), sessions=listed(one.sessions),
                         runs=one.runs) for name, one in self._subagents.items() if not one.task]
        return Result("\n".join(lines) or say("list_none"))

    def inspect(self, arguments: Mapping[str, Any]) -> Result:
        given.only(arguments, "subagent", "session_id")
        by_name, by_session = given.given(arguments, "subagent"), given.given(arguments, "session_id")
        if by_name == by_session:
            raise ToolError(say("inspect_what"))
        if by_name:
            one = self._find(given.text(arguments, "subagent"))
        else:
            one = self._find(self._known_session(given.text(arguments, "session_id")).subagent)
        return Result(say("inspect", name=one.agent.name, key=one.agent.key, tools=listed(one.agent.tools),
                          paths=listed(f"{ROOT}/{path}" for path in one.paths), runs=one.runs,
                          refused=one.refused, sessions=listed(one.sessions),
                          answer=one.last or say("empty_answer")))

    def names(self) -> tuple[str, ...]:
        """All sub-agents, in the order in which the manager heard of them."""
        with self._lock:
            return tuple(self._subagents)

    def sessions(self) -> list[dict[str, Any]]:
        """All conversations, for the transcript: those of workflows behind those of the manager."""
        with self._lock:
            found = sorted(self._sessions.items(), key=lambda item: _place(item[0]))
        return [{"id": one.id, "subagent": one.subagent, "messages": list(one.dialogue.said)} for _, one in found]


def _check_wanted(cancelled: threading.Event | None) -> None:
    """Asked under the lock: what a workflow wants after its end was told would stand in nobody's account."""
    if cancelled is not None and cancelled.is_set():
        raise ToolError(say("cancelled"))


def _place(session_id: str) -> tuple[bool, list[int]]:
    return session_id[0] == "w", [int(part) for part in session_id[1:].split(".")]

