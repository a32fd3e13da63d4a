"""A provider that plays a script: what tests and parity checks feed to the runner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from infranode_eval.providers.protocol import Answer, Messages, Sampling, Tools

Line = Answer | str | Mapping[str, Any] | Exception


class ScriptedProvider:
    """Answers from a script and keeps every request.

    script: lines taken in order, or a function of the messages that gives the line. A line is a text, a chat message,
    an Answer, or an exception to raise.
    """

    deterministic = False
    setup: str | None = None

    def __init__(self, script: Iterable[Line] | Callable[[Messages], Line]) -> None:
        self.requests: list[tuple[Messages, Tools | None, Sampling]] = []
        self._script = script if callable(script) else None
        self._lines = iter(()) if callable(script) else iter(script)
        self._lock = threading.Lock()

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        with self._lock:
            self.requests.append((messages, tools, sampling))
            line = self._script(messages) if self._script else next(self._lines, None)
        if line is None:
            raise AssertionError(f"the script has no line for request {len(self.requests)}")
        if isinstance(line, Exception):
            raise line
        if isinstance(line, str):
            line = {"role": "assistant", "content": line}
        return line if isinstance(line, Answer) else Answer(line, "stop")

    def close(self) -> None:
        pass
