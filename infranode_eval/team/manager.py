"""The main agent: its conversation through all rounds, and what its eleven tools do.

Source: specification, team, sections 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.providers.protocol import Answer
from infranode_eval.team import arguments as given
from infranode_eval.team.agent import MAIN, Agent, Result
from infranode_eval.team.dialogue import Dialogue, Heard
from infranode_eval.team.jobs import Job, Jobs
from infranode_eval.team.ledger import Ledger
from infranode_eval.team.limits import Limits
from infranode_eval.team.scripts import Scripts
from infranode_eval.team.staff import Run, Staff
from infranode_eval.team.toolbox import Toolbox, counted
from infranode_eval.team.wording import escaped, say
from infranode_eval.tool_turn import Wanted
from lm_eval_task.errors import ContextOverflowError
from lm_eval_task.records import canonical_json

TURN_LIMIT, TOKEN_LIMIT = "turn_limit", "token_limit"
THRESHOLDS = (95, 90, 80, 70, 60, 50)       # per cent of the context, told once each
_REST_S = 10.0                              # killing a command takes a tenth of a second, on a busy machine more
BYTES_PER_TOKEN = 3.5                       # where an endpoint does not count


@dataclass(frozen=True, slots=True)
class Replied:
    """One reply of the manager. key: of its request, "" where nothing is stored."""

    answer: Answer
    key: str


@dataclass(eq=False, slots=True)
class _Pending:
    """A call whose result is still to come."""

    run: Run
    done: bool = False


class Manager:
    """Plays rounds on the thread of the play. noted: keeps a value of this play for a resumed one. at_once: programs
    take no time, so that what they started has ended before they are asked again. beat: called while waiting."""

    def __init__(self, agent: Agent, dialogue: Dialogue, staff: Staff, toolbox: Toolbox, scripts: Scripts, jobs: Jobs,
                 ledger: Ledger, limits: Limits, noted: Callable[[str, Callable[[], Any]], Any], at_once: bool,
                 beat: Callable[[], None]) -> None:
        self._agent, self._dialogue, self._staff, self._toolbox = agent, dialogue, staff, toolbox
        self._scripts, self._jobs, self._ledger = scripts, jobs, ledger
        self._limits, self._noted, self._at_once, self._beat = limits, noted, at_once, beat
        self._told_percent = 0
        self._waiting: list[str] = []       # for the model; goes with what is said next
        self.replies: list[Replied] = []
        self.tokens, self.estimated = 0, False

    def play(self, question: str) -> str | None:
        """One round. Why it ended before its time: TURN_LIMIT, TOKEN_LIMIT, or None. Lets ProviderError through."""
        self._waiting.insert(0, question)
        idle = False
        for _ in range(self._limits.turns):
            self._beat()
            self._deliver(idle)
            try:
                heard = self._ask()
            except ContextOverflowError:
                return self._cancelled(TOKEN_LIMIT)
            if self._over():
                return self._cancelled(TOKEN_LIMIT)
            idle = not heard.turn.calls
            if not idle:
                self._dialogue.answer(heard.turn, self._results(heard))
            elif not self._jobs.undelivered:
                return None
        return self._cancelled(TURN_LIMIT)

    def _cancelled(self, reason: str) -> str:
        """No run is waited for, and what it gives is not used; only a tool still ends, since it may write what the
        round's check reads."""
        self._jobs.cancel_all()
        self._staff.cancelled()
        self._toolbox.rest(_REST_S)
        return reason

    # --- asking -------------------------------------------------------------------------------------------------------

    def _ask(self) -> Heard:
        if self._waiting:
            self._dialogue.tell("\n\n".join(self._waiting))
            self._waiting.clear()
        heard = self._dialogue.ask()
        usage = self._ledger.answered(MAIN, heard.answer)
        self.replies.append(Replied(heard.answer, heard.key))
        self._measure(usage)
        return heard

    def _measure(self, usage: Mapping[str, int | None]) -> None:
        """How full the context is, and a reminder where it has passed a threshold. usage: of the last reply."""
        told = usage.get("input_tokens")
        if told is not None:
            self.tokens = told + (usage.get("output_tokens") or 0)
        else:
            sizes = self._dialogue.messages.made("bytes", lambda m: len(canonical_json(m).encode("utf-8", "replace")))
            self.tokens, self.estimated = round(sum(sizes) / BYTES_PER_TOKEN), True
        percent = 100 * self.tokens / self._limits.context
        crossed = next((limit for limit in THRESHOLDS if percent >= limit), 0)
        if self._told_percent < crossed and percent <= 100:
            self._told_percent = crossed
            text = say("context", percent=crossed, limit=f"{self._limits.context}")
            self._waiting.append(say("reminder", text=text))

    def _over(self) -> bool:
        return self.tokens > self._limits.context

    # --- notices ------------------------------------------------------------------------------------------------------

    def _deliver(self, idle: bool) -> None:
        """Notices of what has ended, as the play that is resumed got them. idle: the last reply held no call, so that
        at least one is waited for."""
        if not self._jobs.undelivered:
            return
        ids = self._noted(f"delivered {len(self.replies)}", lambda: self._ready(idle))
        self._jobs.wait(lambda: self._jobs.all_done(ids), self._beat)
        jobs = self._jobs.deliver(ids)
        if idle and not jobs:       # another history than the one in which this was noted
            jobs = self._jobs.deliver(self._ready(idle))
        if jobs:
            self._waiting.append("\n".join(self._notice(job) for job in jobs))

    def _ready(self, idle: bool) -> list[str]:
        if self._at_once:
            self._jobs.wait(self._jobs.all_done, self._beat)
        elif idle:
            self._jobs.wait(lambda: bool(self._jobs.ready()), self._beat)
        return self._jobs.ready()

    def _notice(self, job: Job) -> str:
        self._staff.delivered(job.run or job.id)
        return say("notice", task=job.id, status="error" if job.failed else "done", text=escaped(job.text))

    # --- calls --------------------------------------------------------------------------------------------------------

    def _results(self, heard: Heard) -> list[Result]:
        """Each call at once and to its end, in order; foreground runs start, and are joined behind the last call."""
        results = []
        for wanted in heard.turn.calls:
            self._beat()
            results.append(self._result(wanted))
        return [self._joined(one) if isinstance(one, _Pending) else one for one in results]

    def _result(self, wanted: Wanted) -> Result | _Pending:
        own = {"CreateSubagent": self._create, "RunSubagent": self._run, "ListSubagents": self._list,
               "InspectSubagent": self._staff.inspect, "Workflow": self._workflow}.get(wanted.name)
        if wanted.call is None or (own is None and not self._in_background(wanted)):
            return self._toolbox.execute(self._agent, wanted, self._jobs.over)
        arguments = wanted.call.arguments
        pending: list[_Pending] = []

        def run() -> Result:
            found = own(arguments) if own else self._background_bash(arguments)
            if isinstance(found, _Pending):
                pending.append(found)
                return Result("")
            return found

        result = counted(run)
        if own is None and result.error:
            self._ledger.called(self._agent, wanted.name, result)
        return pending[0] if pending else result

    @staticmethod
    def _in_background(wanted: Wanted) -> bool:
        call = wanted.call
        return wanted.name == "Bash" and call is not None and call.arguments.get("run_in_background") is True

    def _create(self, arguments: Mapping[str, Any]) -> Result:
        name = self._staff.create(arguments)
        return Result(say("created", name=name, key=self._staff.key_of(name)))

    def _list(self, arguments: Mapping[str, Any]) -> Result:
        given.only(arguments)
        return self._staff.list()

    def _run(self, arguments: Mapping[str, Any]) -> Result | _Pending:
        run = self._staff.accept(arguments)
        if arguments.get("run_in_background") is True:
            job = self._jobs.start("r", lambda job: self._staff.work(run, job.cancelled), run.id)
            return Result(f"{say('task', task=job.id)}\n{say('session', session=run.session.id)}")
        pending = _Pending(run)
        self._jobs.thread(lambda: self._finish(pending))
        return pending

    def _finish(self, pending: _Pending) -> None:
        self._staff.work(pending.run, self._jobs.over)
        pending.done = True
        self._jobs.ring()

    def _joined(self, pending: _Pending) -> Result:
        run = pending.run
        self._jobs.wait(lambda: pending.done, self._beat)
        self._staff.delivered(run.id)
        head = say("session", session=run.session.id)
        return Result(f"{'Fehler: ' if run.failed else ''}{head}\n\n{run.text}", error=run.failed)

    def _background_bash(self, arguments: Mapping[str, Any]) -> Result:
        """What may not be run is refused at once."""
        command = self._toolbox.command(self._agent, arguments)

        def work(job: Job) -> tuple[str, bool]:
            result = counted(lambda: command(job.cancelled))
            self._ledger.called(self._agent, "Bash", result)
            return result.text, result.error

        return Result(say("task", task=self._jobs.start("b", work).id))

    def _workflow(self, arguments: Mapping[str, Any]) -> Result:
        script = self._scripts.accept(arguments)
        job = self._jobs.start("w", lambda job: self._scripts.run(job, script))
        return Result(say("task", task=job.id))
