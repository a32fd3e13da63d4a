"""The tool Workflow: scripts that are accepted, run beside the manager, and kept for the transcript."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.team import arguments as given
from infranode_eval.team.jobs import Job, Jobs
from infranode_eval.team.staff import Run, Staff
from infranode_eval.team.wording import say
from infranode_eval.team.workflow import AgentCall, Limits, run_script
from infranode_eval.team.workspace import ToolError

Noted = Callable[[str, Callable[[], Any]], Any]     # a name, and what makes the value where none was kept


@dataclass(frozen=True, slots=True)
class Script:
    """What a script is started with."""

    text: str
    args: Any


class Scripts:
    """enabled: is there an engine? in_order: results enter a script by number, so that programs give the same bytes.

    paused_s: how long endpoints have made everybody wait, in seconds, which is no time of a script. noted: keeps a
    value of this play for a resumed one.
    """

    def __init__(self, staff: Staff, jobs: Jobs, enabled: bool, in_order: bool, paused_s: Callable[[], float],
                 noted: Noted, limits: Limits | None = None) -> None:
        self._staff, self._jobs, self._noted = staff, jobs, noted
        self._enabled, self._in_order, self._paused_s = enabled, in_order, paused_s
        self._limits = limits or Limits()
        self._told: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def accept(self, arguments: Mapping[str, Any]) -> Script:
        """Raise ToolError for arguments that are none, and where there is no engine."""
        given.only(arguments, "script", "args")
        text = given.text(arguments, "script")
        if not self._enabled:
            raise ToolError(say("workflow_off"))
        return Script(text, arguments.get("args"))

    def run(self, job: Job, script: Script) -> tuple[str, bool]:
        """(JSON of what the script returns, failed)."""
        told: dict[str, Any] = {"task_id": job.id, "script": script.text, "log": [], "result": None}
        with self._lock:
            self._told[job.id] = told
        desk = _Desk(job, self._staff, self._jobs, None if self._in_order else self._noted)
        try:
            finished = run_script(script.text, script.args, desk, self._limits, job.cancelled, self._in_order,
                                  self._paused_s)
        finally:
            desk.over.set()
        told |= {"log": list(finished.log), "result": finished.text}
        return finished.text, finished.error

    def to_json(self) -> list[dict[str, Any]]:
        """One object a script, in the order of their tasks."""
        return [self._told[name] for name in sorted(self._told, key=lambda name: int(name[1:]))]


class Arrivals:
    """Hands results over in the order in which they come; in a resumed play in the order in which they came.

    A noted order that this script does not follow (another history than the one in which it was noted) is let go:
    nobody waits for a run that was never started.
    """

    def __init__(self, name: str, noted: Noted) -> None:
        self._name, self._noted = name, noted
        self._waiting: dict[int, Callable[[], None]] = {}
        self._expected: frozenset[int] | None = None    # while the script waits: for one of these
        self._handed: set[int] = set()
        self._count = 0
        self._lock = threading.Lock()

    def come(self, number: int, hand_over: Callable[[], None]) -> None:
        """From any thread."""
        with self._lock:
            self._waiting[number] = hand_over
            self._hand_over()

    def expect(self, numbers: Collection[int]) -> None:
        """The script goes on only when one of these has come, and has started all that it called."""
        with self._lock:
            if self._handed.isdisjoint(numbers):        # else one is on its way into the script, and it goes on
                self._expected = frozenset(numbers)
                self._hand_over()

    def _hand_over(self) -> None:
        while self._waiting:
            due = self._due()
            if due not in self._waiting:
                if self._expected is None or due in self._expected:
                    return
                due = next(iter(self._waiting))
            self._count += 1
            self._expected = None
            self._handed.add(due)
            self._waiting.pop(due)()

    def _due(self) -> int:
        """Whose turn it is."""
        return self._noted(f"{self._name} {self._count}", lambda: next(iter(self._waiting)))


class _Desk:
    """What one script may ask of the host. over: the script has ended, and needs no run any more."""

    def __init__(self, job: Job, staff: Staff, jobs: Jobs, noted: Noted | None) -> None:
        self._job, self._staff, self._jobs = job, staff, jobs
        self._runs: dict[int, Run] = {}
        self._arrivals = None if noted is None else Arrivals(f"arrived {job.id}", noted)
        self.over = threading.Event()

    def start(self, call: AgentCall, done: Callable[[int, str, bool], None]) -> None:
        def ended(text: str, failed: bool) -> None:
            if self._arrivals is None:
                done(call.number, text, failed)
            else:
                self._arrivals.come(call.number, lambda: done(call.number, text, failed))

        try:
            run = self._staff.accept_from_workflow(self._job.id, call.number, call.agent_type, call.prompt,
                                                   self._job.cancelled)
        except ToolError as error:
            ended(str(error), True)
            return
        self._runs[call.number] = run
        self._jobs.thread(lambda: ended(*self._staff.work(run, self.over)))

    def define(self, spec: Mapping[str, Any]) -> str:
        return self._staff.create(spec, self._job.id, self._job.cancelled)

    def waits(self, numbers: Collection[int]) -> None:
        if self._arrivals is not None:
            self._arrivals.expect(numbers)

    def resolved(self, number: int) -> None:
        if number in self._runs:
            self._staff.ended(self._runs[number])
