"""Runs a workflow's script: starts the agents that it asks for, gives it their answers, and stops it in time.

Source: specification, team, T25 to T27 and 5.2. The script runs in a process of its own (workflow_engine.py); here is
the host of it, on the workflow's thread. The script queues calls, the host starts them in the order queued, and an
answer enters the script only when it has nothing left to do.
"""

from __future__ import annotations

import json
import queue
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from infranode_eval.shipped import DATA
from infranode_eval.team.workflow_process import Crashed, Process, Turn, extension_path, opened
from infranode_eval.team.workspace import ToolError
from lm_eval_task.decode import decode_all

UNAVAILABLE = "Workflow ist hier nicht verfügbar"
NO_ENGINE = "the tool Workflow is off, and rounds that need it fail: uv run --extra team …, or pip install quickjs-ng"
CANCELLED = "abgebrochen"
IDLE = "Das Skript wartet auf nichts: kein Auftrag läuft, und sein await kann nicht enden"
SCRIPT_CHARS = 200_000
# What a script may hand over, in characters: of a log line, of a prompt or of defineAgent's fields, of its result.
SIZES = {"lines": 200, "line": 2_000, "text": 100_000, "result": 100_000}
_POLL_S = 0.05
_OWN_LINE = re.compile(r"<input>:(\d+)")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One agent(prompt, {agentType}) of a script. number: from 0, in the order called."""

    number: int
    prompt: str
    agent_type: str


class Desk(Protocol):
    """What a script may ask of the host. All but `done` is called on the workflow's thread."""

    def start(self, call: AgentCall, done: Callable[[int, str, bool], None]) -> None:
        """Start a run in a thread. done(number, text, failed) is due once, from any thread, now or later; a ToolError
        raised here is the same as a failed run with its text."""

    def define(self, spec: Mapping[str, Any]) -> str:
        """Create a sub-agent and return its name. Raise ToolError."""

    def resolved(self, number: int) -> None:
        """A run's answer enters the script now; all that the script called before has been started."""

    def waits(self, numbers: Collection[int]) -> None:
        """The script goes on only when one of these runs has answered; all that it called has been started."""


@dataclass(frozen=True, slots=True)
class Limits:
    """max_agents: calls of agent, and of defineAgent. deadline_s: clock time without pauses. slice_s: processor time of
    one piece of the script between two awaits. memory_bytes: all that the script holds."""

    max_agents: int = 64
    deadline_s: float = 600.0
    slice_s: float = 2.0
    memory_bytes: int = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Finished:
    """text: the returned value as JSON, or what went wrong in German. log: the lines of log(…), and of failed parts."""

    text: str
    error: bool
    log: tuple[str, ...]


class _Stopped(Exception):
    """The script ends here with an error, whose German text this is."""


def engine() -> str | None:
    """The name of the package that runs scripts, or None if it is not installed."""
    return "quickjs" if extension_path() else None


def run_script(script: str, args: Any, desk: Desk, limits: Limits, cancelled: threading.Event, in_order: bool = False,
               paused_s: Callable[[], float] = lambda: 0.0) -> Finished:
    """Run a script to its end, on the calling thread.

    args: any value of JSON. cancelled: ends it within a tenth of a second, whatever it does. in_order: answers enter
    the script by number, once all that runs has ended; so the same answers give the same calls every time. paused_s:
    seconds of pauses so far, which the deadline leaves out. A returned value comes after all runs have ended, awaited
    or not; an error comes at once (in_order: after them, too), and the caller cancels what still runs.
    """
    extension = extension_path()
    if extension is None:
        return Finished(UNAVAILABLE, True, ())
    host = _Host(desk, limits, cancelled, in_order, paused_s)
    try:
        opening = _opening(script, args, limits)
        with opened(extension, host.go_on) as process:
            text, error = host.to_end(process, opening)
    except _Stopped as stopped:
        text, error = str(stopped), True
    except Crashed as crashed:
        text, error = _too_slow(limits) if crashed.by_clock else "Die JavaScript-Engine brach ab", True
    return Finished(text, error, tuple(host.log))


def _opening(script: str, args: Any, limits: Limits) -> dict[str, Any]:
    """The first message to the script's process. Raise _Stopped for a script or args that cannot be sent."""
    if len(script) > SCRIPT_CHARS:
        raise _Stopped(f"Das Skript hat {len(script)} Zeichen, höchstens {SCRIPT_CHARS} sind erlaubt")
    if "\0" in script:
        raise _Stopped("Das Skript ist kein gültiges JavaScript: es enthält das Zeichen NUL")
    try:
        given = json.dumps(args, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise _Stopped("args ist kein Wert, der als JSON darstellbar ist") from None
    return {"op": "open", "prelude": (DATA / "team/workflow.js").read_text("utf-8"), "script": _readable(script),
            "args": given, "limits": {"agents": limits.max_agents} | SIZES, "slice_s": limits.slice_s,
            "memory_bytes": limits.memory_bytes}


class _Host:
    """One run of a script: what it called, what of it runs, what has ended."""

    def __init__(self, desk: Desk, limits: Limits, cancelled: threading.Event, in_order: bool,
                 paused_s: Callable[[], float]) -> None:
        self._desk, self._limits, self._cancelled = desk, limits, cancelled
        self._in_order, self._paused_s = in_order, paused_s
        self._start, self._paused_before = time.monotonic(), paused_s()
        self._done: queue.SimpleQueue[tuple[int, str, bool]] = queue.SimpleQueue()
        self._open: dict[int, int] = {}                     # number of a call that runs → id of its promise
        self._ended: dict[int, tuple[str, bool]] = {}       # number → what it gave, before it enters the script
        self._defined: list[tuple[int, bool, str]] = []     # id, failed, name or error
        self._batch: list[int] = []                         # in_order: numbers whose turn it is
        self._result: tuple[str, bool] | None = None
        self.log: list[str] = []

    def go_on(self) -> None:
        """Raise _Stopped if the script was cancelled or has had its time."""
        if self._cancelled.is_set():
            raise _Stopped(CANCELLED)
        worked = time.monotonic() - self._start - (self._paused_s() - self._paused_before)
        if worked > self._limits.deadline_s:
            raise _Stopped(f"Zeitgrenze: der Workflow dauerte länger als {_seconds(self._limits.deadline_s)} s")

    def to_end(self, process: Process, opening: Mapping[str, Any]) -> tuple[str, bool]:
        """(text, error) of the script. Raise _Stopped or Crashed."""
        turn = process.turn(opening)
        while True:
            self.go_on()                  # between pending jobs, too: a turn is a tenth of a second of them
            self._take(turn)
            if turn.more:
                turn = process.turn({"op": "go"})
            elif self._defined:
                identity, failed, text = self._defined.pop(0)
                turn = process.turn({"op": "settle", "id": identity, "failed": failed, "text": text})
            elif self._result and (not self._open or (self._result[1] and not self._in_order)):
                return self._result
            elif not self._open:
                raise _Stopped(IDLE)
            else:
                number, (text, failed) = self._next()
                self._desk.resolved(number)
                turn = process.turn({"op": "settle", "id": self._open.pop(number), "failed": failed, "text": text})

    def _take(self, turn: Turn) -> None:
        """Act on what the script queued, in its order. Raise _Stopped where it could not go on."""
        for item in turn.items:
            if item["op"] == "agent":
                self._begin(item)
            elif item["op"] == "define":
                self._defined.append(self._created(item))
            elif item["op"] == "log":
                self.log.append(_readable(item["text"]))
            else:
                self._result = _outcome(item, self._limits), item["op"] != "end"
        if turn.halt:
            raise _Stopped(_halted(*turn.halt, self._limits))

    def _begin(self, item: Mapping[str, Any]) -> None:
        number = item["number"]
        self._open[number] = item["id"]
        try:
            self._desk.start(AgentCall(number, _readable(item["prompt"]), _readable(item["type"])), self._report)
        except ToolError as error:
            self._report(number, str(error), True)

    def _report(self, number: int, text: str, failed: bool) -> None:
        self._done.put((number, text, failed))

    def _created(self, item: Mapping[str, Any]) -> tuple[int, bool, str]:
        spec = decode_all(_SURROGATE.sub("\ufffd", item["spec"]))
        if spec is None:    # JSON.stringify wrote it, so it is too deep; for json.loads that depends on the Python
            return item["id"], True, "defineAgent: die Angaben sind zu tief verschachtelt"
        try:
            return item["id"], False, self._desk.define(spec.value)
        except ToolError as error:
            return item["id"], True, str(error)

    def _next(self) -> tuple[int, tuple[str, bool]]:
        """The run whose answer enters the script next. Raise _Stopped while waiting for it."""
        if not self._in_order:
            self._desk.waits(self._open.keys())
            self._hear_until(lambda: bool(self._ended))
            number = next(iter(self._ended))
        else:
            if not self._batch:
                self._hear_until(lambda: len(self._ended) == len(self._open))
                self._batch = sorted(self._ended)
            number = self._batch.pop(0)
        return number, self._ended.pop(number)

    def _hear_until(self, enough: Callable[[], bool]) -> None:
        while not enough():
            self.go_on()
            try:
                number, text, failed = self._done.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            if number in self._open:
                self._ended.setdefault(number, (text, failed))


def _outcome(item: Mapping[str, Any], limits: Limits) -> str:
    """The text of an end that the script came to itself: of a returned value, or of an error."""
    if item["op"] == "end":
        return item["text"]
    text = _readable(item["text"])
    if item["op"] == "unreturned":
        return f"Der Rückgabewert {text}"
    if text == "InternalError: out of memory":
        return _too_big(limits)
    return f"Das Skript warf einen Fehler{_line(item['stack'])}: {text}"


def _halted(kind: str, text: str, limits: Limits) -> str:
    """The text of an end that the engine came to. kind: as workflow_engine.py names it."""
    if kind == "time":
        return _too_slow(limits)
    if kind == "memory":
        return _too_big(limits)
    first = _readable(text).split("\n", 1)[0]
    if kind == "syntax":
        return f"Das Skript ist kein gültiges JavaScript{_line(text)}: {first.removeprefix('SyntaxError: ')}"
    return f"Die JavaScript-Engine brach ab: {first}"


def _line(stack: str) -> str:
    """" (Zeile 3)" of the topmost frame that lies in the script, "" if none does."""
    lines = (int(line) for line in _OWN_LINE.findall(stack))
    return next((f" (Zeile {line})" for line in lines if line <= SCRIPT_CHARS), "")


def _too_slow(limits: Limits) -> str:
    return f"Zeitgrenze: ein Abschnitt des Skripts rechnete länger als {_seconds(limits.slice_s)} s"


def _too_big(limits: Limits) -> str:
    return f"Speichergrenze: das Skript brauchte mehr als {limits.memory_bytes // 2**20} MiB"


def _seconds(value: float) -> str:
    return f"{value:g}".replace(".", ",")


def _readable(text: str) -> str:
    """The text without halves of surrogate pairs, which no request could carry."""
    return _SURROGATE.sub("\ufffd", text)
