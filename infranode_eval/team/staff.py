"""The sub-agents of a play: created, given runs, listed, inspected. Each run is a dialogue with a model of the pool."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from infranode_eval.providers.protocol import Provider, Sampling
from infranode_eval.team import arguments as given
from infranode_eval.team.agent import Agent, Result
from infranode_eval.team.dialogue import Dialogue
from infranode_eval.team.jobs import AT_ONCE, Gate
from infranode_eval.team.ledger import Ledger
from infranode_eval.team.limits import Limits
from infranode_eval.team.runlog import RunLog
from infranode_eval.team.toolbox import Toolbox
from infranode_eval.team.tools import BASIC_TOOLS
from infranode_eval.team.wording import listed, say
from infranode_eval.team.workspace import ROOT, Forbidden, Scope, ToolError, Workspace, locate, reachable
from lm_eval_task.errors import ContextOverflowError

_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")


@dataclass(frozen=True, slots=True)
class Hire:
    """One key of the pool. modalities: of media, how many a request may hold."""

    voice: Provider
    sampling: Sampling
    modalities: Mapping[str, int]


@dataclass(eq=False, slots=True)
class Session:
    """One conversation of a sub-agent. busy: a run is under way in it."""

    id: str
    subagent: str
    dialogue: Dialogue
    busy: bool = False


@dataclass(eq=False, slots=True)
class Subagent:
    """One sub-agent over its whole life."""

    agent: Agent
    system_prompt: str
    paths: tuple[str, ...]
    sessions: list[str] = field(default_factory=list)
    runs: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One order to a sub-agent, accepted. id: in the log of runs."""

    id: str
    session: Session
    prompt: str


class Staff:
    """Orders are accepted on the thread that gives them; they are executed in threads of their own."""

    def __init__(self, workspace: Workspace, scope: Scope, pool: Mapping[str, Hire], toolbox: Toolbox, ledger: Ledger,
                 runlog: RunLog, limits: Limits) -> None:
        """scope: what may be granted. pool: by key."""
        self._workspace, self._scope, self._pool, self._toolbox = workspace, scope, pool, toolbox
        self._ledger, self._runlog, self._limits = ledger, runlog, limits
        self._subagents: dict[str, Subagent] = {}
        self._sessions: dict[str, Session] = {}
        self._runs = self._own_sessions = self._own_runs = 0
        self._lock = threading.RLock()
        self._gate = Gate(AT_ONCE)
        self.keys_for = {modality: tuple(key for key, hire in pool.items() if modality in hire.modalities)
                         for modality in ("image", "audio", "video")}

    # --- CreateSubagent -----------------------------------------------------------------------------------------------

    def create(self, arguments: Mapping[str, Any]) -> str:
        """The name of a new sub-agent. Raise ToolError for what cannot be granted; that is no forbidden access."""
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
            if name in self._subagents:
                raise ToolError(say("name_taken", name=name))
            if len(self._subagents) >= self._limits.subagents:
                raise ToolError(say("too_many_subagents", count=len(self._subagents)))
            with self._workspace.lock:
                files = sum(1 for _ in reachable(self._workspace, agent.scope))
            self._ledger.created(agent, grants, files)
            self._subagents[name] = Subagent(agent, prompt, grants)
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
        if not real.exists():
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
                kind = "new"
            else:
                kind = "continue"
            self._ledger.invoked(f"{kind}_{'background' if background else 'runtime'}")
            self._own_runs += 1
            return self._begun(f"run{self._own_runs}", session, subagent, prompt)

    def accept_from_workflow(self, task: str, number: int, name: str, prompt: str) -> Run:
        """An order of a workflow's script, in a session of its own. Raise ToolError for one that cannot be given."""
        with self._lock:
            subagent = self._find(name)
            self._count_run()
            self._ledger.invoked("workflow")
            label = f"{task}.{number + 1}"
            return self._begun(label, self._open(label, subagent), subagent, prompt)

    def _begun(self, run_id: str, session: Session, subagent: Subagent, prompt: str) -> Run:
        session.busy = True
        subagent.runs += 1
        self._runlog.start(run_id, subagent.agent.name, session.id, self._ledger.round)
        return Run(run_id, session, prompt)

    def _find(self, name: str) -> Subagent:
        if name not in self._subagents:
            raise ToolError(say("unknown_subagent", name=given.shown(name)))
        return self._subagents[name]

    def _continued(self, session_id: str, name: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise ToolError(say("unknown_session", session=given.shown(session_id)))
        if session.subagent != name:
            raise ToolError(say("foreign_session", session=session_id, name=name))
        if session.busy:
            raise ToolError(say("busy_session", session=session_id))
        return session

    def _count_run(self) -> None:
        if self._runs >= self._limits.runs:
            raise ToolError(say("too_many_runs", count=self._runs))
        self._runs += 1

    def _open(self, session_id: str, subagent: Subagent) -> Session:
        agent, hire = subagent.agent, self._pool[subagent.agent.key]
        opening = say("worker", name=agent.name, tools=listed(agent.tools), system_prompt=subagent.system_prompt,
                      paths=listed(f"{ROOT}/{path}" for path in subagent.paths)).rstrip()
        session = Session(session_id, agent.name, Dialogue(
            hire.voice, agent.tools, hire.sampling, [{"role": "system", "content": opening}], hire.modalities))
        self._sessions[session_id] = session
        subagent.sessions.append(session_id)
        return session

    # --- a run --------------------------------------------------------------------------------------------------------

    def work(self, run: Run, cancelled: threading.Event) -> tuple[str, bool]:
        """(final text, failed) of a run; at most AT_ONCE at a time. Lets ProviderError through but for an overflow."""
        with self._gate, self._ending(run) as subagent:
            text, failed = self._worked(run, subagent, cancelled)
            if not failed:
                subagent.last = text
            return text, failed

    @contextmanager
    def _ending(self, run: Run) -> Iterator[Subagent]:
        try:
            yield self._subagents[run.session.subagent]
        finally:
            run.session.busy = False

    def _worked(self, run: Run, subagent: Subagent, cancelled: threading.Event) -> tuple[str, bool]:
        dialogue = run.session.dialogue
        if cancelled.is_set():
            return say("cancelled"), True
        dialogue.tell(run.prompt)
        for _ in range(self._limits.worker_turns):
            try:
                heard = dialogue.ask()
            except ContextOverflowError:
                return say("worker_overflow"), True
            finally:
                self._ledger.perceived(subagent.agent, dialogue.take_perceived())
            self._ledger.answered(subagent.agent.key, heard.answer)
            if cancelled.is_set():
                return say("cancelled"), True
            if not heard.turn.calls:
                return heard.turn.text.strip() or say("empty_answer"), False
            dialogue.answer(heard.turn, [self._toolbox.execute(subagent.agent, wanted, cancelled)
                                         for wanted in heard.turn.calls])
        return say("worker_turns", turns=self._limits.worker_turns), True

    # --- ListSubagents, InspectSubagent -------------------------------------------------------------------------------

    def list(self) -> Result:
        lines = [say("list_line", name=name, key=one.agent.key, tools=listed(one.agent.tools),
                     paths=listed(f"{ROOT}/{path}" for path in one.paths), sessions=listed(one.sessions),
                     runs=one.runs) for name, one in self._subagents.items()]
        return Result("\n".join(lines) or say("list_none"))

    def inspect(self, arguments: Mapping[str, Any]) -> Result:
        given.only(arguments, "subagent", "session_id")
        by_name, by_session = given.given(arguments, "subagent"), given.given(arguments, "session_id")
        if by_name == by_session:
            raise ToolError(say("inspect_what"))
        if by_name:
            one = self._find(given.text(arguments, "subagent"))
        else:
            session_id = given.text(arguments, "session_id")
            if session_id not in self._sessions:
                raise ToolError(say("unknown_session", session=given.shown(session_id)))
            one = self._subagents[self._sessions[session_id].subagent]
        return Result(say("inspect", name=one.agent.name, key=one.agent.key, tools=listed(one.agent.tools),
                          paths=listed(f"{ROOT}/{path}" for path in one.paths), runs=one.runs,
                          refused=self._ledger.refused_of(one.agent.name), sessions=listed(one.sessions),
                          answer=one.last or say("empty_answer")))

    def sessions(self) -> list[dict[str, Any]]:
        """All conversations, for the transcript: those of workflows behind those of the manager."""
        return [{"id": one.id, "subagent": one.subagent, "messages": list(one.dialogue.said)}
                for _, one in sorted(self._sessions.items(), key=lambda item: _place(item[0]))]


def _place(session_id: str) -> tuple[bool, list[int]]:
    return session_id[0] == "w", [int(part) for part in session_id[1:].split(".")]

