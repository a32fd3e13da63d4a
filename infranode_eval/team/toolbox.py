"""The six basic tools: found by name, executed for an agent, counted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from infranode_eval.team import bash, files, search
from infranode_eval.team.agent import Agent, Result
from infranode_eval.team.ledger import Ledger
from infranode_eval.team.sandbox import Sandbox
from infranode_eval.team.slots import Slot
from infranode_eval.team.wording import say
from infranode_eval.team.workspace import Forbidden, ToolError, Workspace
from infranode_eval.tool_turn import Wanted

_FILE_TOOLS: Mapping[str, Callable[[Agent, Workspace, Mapping[str, Any]], Result]] = {
    "Read": files.read, "Write": files.write, "Edit": files.edit, "Glob": files.glob_}


class Toolbox:
    """sandbox: None where there is none for the agents, and Bash says so."""

    def __init__(self, workspace: Workspace, ledger: Ledger, sandbox: Sandbox | None, slot: Slot) -> None:
        self._workspace, self._ledger, self._sandbox, self._slot = workspace, ledger, sandbox, slot
        self._working = 0
        self._ended = threading.Condition()

    def execute(self, agent: Agent, wanted: Wanted, cancel: threading.Event) -> Result:
        """What a call gives, be it an error. A name that was not granted is an error and counts nothing."""
        if wanted.call is None:
            return Result(f"Fehler: {say('unreadable')}", error=True)
        if wanted.name not in agent.tools:
            return Result(f"Fehler: {say('not_granted', tool=wanted.name)}", error=True)
        with self._at_work():
            result = counted(lambda: self._run(agent, wanted.name, wanted.call.arguments, cancel))
        self._ledger.called(agent, wanted.name, result)
        return result

    def command(self, agent: Agent, arguments: Mapping[str, Any]) -> Callable[[threading.Event], Result]:
        """A command for the background, checked; calling this runs it. Raise as bash.prepare and bash.execute."""
        prepared = bash.prepare(agent, self._workspace, arguments, self._sandbox)

        def run(cancel: threading.Event) -> Result:
            with self._at_work():
                return bash.execute(prepared, agent, self._workspace, self._sandbox, self._slot, cancel)

        return run

    def rest(self, seconds: float) -> bool:
        """Wait until no tool is at work, so many seconds at most; is it so? What was cancelled ends within one."""
        with self._ended:
            return self._ended.wait_for(lambda: not self._working, seconds)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._ended:
            self._working += 1
        try:
            yield
        finally:
            with self._ended:
                self._working -= 1
                self._ended.notify_all()

    def _run(self, agent: Agent, name: str, arguments: Mapping[str, Any], cancel: threading.Event) -> Result:
        if name == "Bash":
            return bash.bash(agent, self._workspace, arguments, self._sandbox, self._slot, cancel)
        if name == "Grep":
            return search.grep(agent, self._workspace, arguments, cancel=cancel)
        with self._workspace.lock:
            return _FILE_TOOLS[name](agent, self._workspace, arguments)


def counted(run: Callable[[], Result]) -> Result:
    """What a tool gives; its error as a result."""
    try:
        return run()
    except Forbidden as error:
        return Result(str(error), error=True, refused=error.path)
    except ToolError as error:
        return Result(str(error), error=True)
