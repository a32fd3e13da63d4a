"""What a model is told before it answers anything: the rules, the day, and in prompted mode the tools."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from infranode_eval.infranode import facts
from infranode_eval.shipped import DATA
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import BEFORE_QUESTION, MODES, render_tools
from lm_eval_task.records import fingerprint
from lm_eval_task.tools import Toolset

_DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
_MONTHS = ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
           "Dezember")
NO_MORE_CALLS = "Es folgen keine Werkzeugaufrufe mehr. Gib jetzt deine Antwort als JSON-Objekt."


class Opening:
    """The first messages of a play. What is equal for all questions is made once for each mode, toolset and clock."""

    def __init__(self) -> None:
        folder = DATA / "chain"
        self._system = (folder / "system.txt").read_text("utf-8").rstrip("\n")
        self._calling = (folder / "calling.txt").read_text("utf-8").rstrip("\n")
        self._prefixes: dict[tuple[int, str], str] = {}

    def messages(self, mode: str, tools: Toolset, question: str, clock: str | None = None) -> list[dict[str, Any]]:
        """clock: ISO local time; None: the snapshot's. Raise UsageError for an unknown mode."""
        clock = clock or facts.raw()["clock"]["local"]
        if mode == "native":
            return [{"role": "system", "content": self.system(clock)}, {"role": "user", "content": question}]
        if mode == "prompt":
            return [{"role": "user", "content": self._prefix(tools, clock) + question}]
        raise UsageError(f"mode {mode!r} does not exist; expected one of {', '.join(MODES)}")

    def system(self, clock: str) -> str:
        """The rules with day and time in words."""
        now = datetime.fromisoformat(clock)
        day = f"{_DAYS[now.weekday()]}, der {now.day}. {_MONTHS[now.month - 1]} {now.year}"
        return self._system.replace("{tag}", day).replace("{uhrzeit}", f"{now:%H:%M}")

    def _prefix(self, tools: Toolset, clock: str) -> str:
        key = (id(tools), clock)
        if key not in self._prefixes:
            self._prefixes[key] = (f"{self.system(clock)}\n\n{self._calling}\n\nWerkzeuge:\n{render_tools(tools)}"
                                   f"{BEFORE_QUESTION}")
        return self._prefixes[key]

    def fingerprint(self, mode: str, tools: Toolset) -> str:
        """Hash of the opening with the snapshot's clock, and of the sentence that ends a play."""
        return fingerprint([self.messages(mode, tools, "{question}"), NO_MORE_CALLS])
