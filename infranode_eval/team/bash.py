"""The tool Bash: its arguments, the counter, and a run in the sandbox.

Source: specification, team, T10 and "Counting in Bash".
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.team.agent import MAIN, Agent, Result
from infranode_eval.team.arguments import flag, given, only, shown, text
from infranode_eval.team.bash_paths import forbidden_path
from infranode_eval.team.sandbox import CAP, Mount, Outcome, Sandbox
from infranode_eval.team.slots import Slot
from infranode_eval.team.workspace import ROOT, Forbidden, ToolError, Workspace
from lm_eval_task.errors import WorldNotReadyError

DEFAULT_S, LONGEST_S = 10.0, 60.0
MAX_COMMAND = 30_000            # characters; what is longer belongs into a file
_STOPPED = {"cancelled": "abgebrochen", "memory": "beendet: zu viel Arbeitsspeicher belegt",
            "disk": "beendet: zu viel auf die Platte geschrieben"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A command whose arguments are right and that reads nothing forbidden. timeout_s: seconds."""

    command: str
    timeout_s: float
    background: bool


def bash(agent: Agent, workspace: Workspace, arguments: Mapping[str, Any], sandbox: Sandbox | None, slot: Slot,
         cancel: threading.Event | None = None) -> Result:
    """Check and run a command in the foreground. Raise as `prepare` and `execute`."""
    return execute(prepare(agent, workspace, arguments, sandbox), agent, workspace, sandbox, slot, cancel)


def prepare(agent: Agent, workspace: Workspace, arguments: Mapping[str, Any], sandbox: Sandbox | None) -> Prepared:
    """The command to run. A caller that runs it in the background calls `execute` in a thread of its own.

    Raise ToolError for arguments that are wrong and where there is no wall to run it behind, Forbidden (counts one) for
    a command that names a path outside the agent's scope.
    """
    only(arguments, "command", "timeout", "run_in_background")
    command = text(arguments, "command")
    if len(command) > MAX_COMMAND:
        raise ToolError(f"command ist länger als {MAX_COMMAND} Zeichen; lege den Text als Datei an")
    timeout_s = _timeout(arguments)
    background = flag(arguments, "run_in_background")
    if background and agent.key != MAIN:
        raise ToolError("run_in_background steht nur der Leitung zu")
    if sandbox is None or sandbox.kind == "none":
        raise ToolError("Bash ist hier nicht verfügbar; nutze die anderen Werkzeuge")
    refused = forbidden_path(command, workspace, agent.scope)
    if refused is not None:
        raise Forbidden(refused)
    return Prepared(command, timeout_s, background)


def execute(prepared: Prepared, agent: Agent, workspace: Workspace, sandbox: Sandbox | None, slot: Slot,
            cancel: threading.Event | None = None) -> Result:
    """Run it in the foreground of this thread. A command that was started is a use of the tool, however it ends.

    Raise ToolError if no sandbox could be set up, which an agent's other commands may be the reason of.
    """
    assert sandbox is not None
    mounts = [Mount(workspace.real / grant, f"{ROOT}/{grant}", True) for grant in agent.scope.grants]
    try:
        outcome = sandbox.run(prepared.command, mounts, prepared.timeout_s, slot=slot, cancel=cancel)
    except WorldNotReadyError:
        raise ToolError("der Befehl ließ sich gerade nicht starten; warte, bis andere Befehle beendet sind") from None
    workspace.settle(agent.scope)
    return Result(said(outcome, prepared.timeout_s))


def said(outcome: Outcome, timeout_s: float) -> str:
    """The output, and in brackets how the command ended if it did not end well."""
    output = outcome.output.encode("utf-8", "replace").decode("utf-8")
    lines = [output.removesuffix("\n")] if output else []
    if outcome.timed_out:
        lines.append(f"[Zeitgrenze: nach {f'{timeout_s:g}'.replace('.', ',')} s beendet]")
    elif outcome.cut:
        lines.append(f"[beendet: mehr als {CAP} Zeichen Ausgabe]")
    elif outcome.stopped:
        lines.append(f"[{_STOPPED.get(outcome.stopped, outcome.stopped)}]")
    elif outcome.exit:
        lines.append(f"[Exit-Status {outcome.exit}]")
    return "\n".join(lines) or "(keine Ausgabe)"


def _timeout(arguments: Mapping[str, Any]) -> float:
    """Seconds, also a fraction of one."""
    if not given(arguments, "timeout"):
        return DEFAULT_S
    value = arguments["timeout"]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ToolError(f"timeout muss eine Zahl sein (Sekunden), nicht {shown(value)}")
    if not 0 < value <= LONGEST_S:
        raise ToolError(f"timeout muss über 0 liegen und darf höchstens {LONGEST_S:g} sein (Sekunden)")
    return float(value)
