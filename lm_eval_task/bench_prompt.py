"""What a model is told on the test bench: the system text, the rules for several calls, the tools, the order.

It differs from the main suite's prompt, has a hash of its own, and says nothing about values that are missing.
"""

from __future__ import annotations

from typing import Any

from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import BEFORE_QUESTION, MODES, render_tools
from lm_eval_task.records import fingerprint
from lm_eval_task.tools import Toolset

# For a case file without a system text of its own.
SYSTEM = ("Du erledigst Aufträge mit Werkzeugen. Sind mehrere Aufrufe nötig, gib sie alle in einer Antwort. "
          "Passt kein Werkzeug, antworte mit einem kurzen Satz.")

RULES = (
    "Antworte nur mit dem Aufruf als JSON-Objekt, ohne weiteren Text:\n"
    '{"name": "<Werkzeug>", "arguments": {"<Parameter>": <Wert>}}\n'
    "Sind mehrere Aufrufe nötig, antworte mit einer JSON-Liste aller dieser Objekte. "
    "Passt kein Werkzeug, antworte mit einem kurzen Satz ohne JSON."
)


def prompt_prefix(tools: Toolset, system: str = "") -> str:
    """Everything before the question; equal for all cases that are offered the same tools."""
    return f"{system or SYSTEM}\n\n{RULES}\n\nWerkzeuge:\n{render_tools(tools)}{BEFORE_QUESTION}"


def prompt_text(tools: Toolset, question: str, system: str = "") -> str:
    """The one user message of prompted mode, and lm-eval's doc_to_text; the question is the last line."""
    return prompt_prefix(tools, system) + question


def messages(mode: str, tools: Toolset, question: str, system: str = "") -> list[dict[str, Any]]:
    """The chat messages of a mode; native mode holds no tool text, the tools travel in `tools=`.

    system: the text of the case file's head; "": the project's sentence for any tools.
    """
    if mode == "prompt":
        return [{"role": "user", "content": prompt_text(tools, question, system)}]
    if mode == "native":
        return [{"role": "system", "content": system or SYSTEM}, {"role": "user", "content": question}]
    raise UsageError(f"mode {mode!r} does not exist; expected one of {', '.join(MODES)}")


def prompt_fingerprint(mode: str, tools: Toolset, system: str = "") -> str:
    """Hash of the rendered prompt of the mode, with all tools, for the question "{question}"."""
    rendered = messages(mode, tools, "{question}", system)
    return fingerprint(rendered[0]["content"] if mode == "prompt" else rendered)
