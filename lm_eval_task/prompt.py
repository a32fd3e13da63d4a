"""What a model is asked: the rules, the tools and the question, in prompted and in native mode.

The text is German because the benchmark is. It asks for one call and recommends no order of calls.
"""

from __future__ import annotations

import json
from typing import Any

from lm_eval_task.errors import UsageError
from lm_eval_task.records import fingerprint
from lm_eval_task.tools import THE_TWELVE, Toolset

MODES = ("prompt", "native")

# Whose questions they are; a user's own tools are not about German cities.
SUBJECT = "Du beantwortest Fragen zu deutschen Städten mit Werkzeugen."
ANY_SUBJECT = "Du beantwortest Fragen mit Werkzeugen."

RULES = (
    "Wähle das Werkzeug, dessen Ergebnis die Frage "
    "beantwortet, und antworte nur mit dem Aufruf als JSON-Objekt, ohne weiteren Text:\n"
    '{"name": "<Werkzeug>", "arguments": {"<Parameter>": "<Wert>"}}\n'
    "Gib genau einen Aufruf an. Nur wenn die Frage mehrere voneinander unabhängige Aufrufe braucht, antworte mit einer "
    "JSON-Liste dieser Objekte. Passt kein Werkzeug, antworte mit einem kurzen Satz ohne JSON."
)

NATIVE_RULES = (
    "Rufe das Werkzeug auf, dessen Ergebnis die Frage "
    "beantwortet. Nutze genau einen Aufruf, mehrere nur dann, wenn die Frage mehrere unabhängige Aufrufe braucht. "
    "Passt kein Werkzeug, antworte mit einem kurzen Satz."
)

BEFORE_QUESTION = "\n\nFrage:\n"   # stands once before the question: the tools are JSON, which holds no line end


def render_tools(tools: Toolset) -> str:
    """One tool a line, as compact JSON with name, description and parameters."""
    return "\n".join(
        json.dumps({"name": t.name, "description": t.description, "parameters": t.parameters},
                   ensure_ascii=False, separators=(",", ":"))
        for t in tools.tools)


def subject_of(tools: Toolset) -> str:
    """The first sentence: about German cities if any of the twelve tools is offered."""
    return SUBJECT if any(tool.name in THE_TWELVE for tool in tools.tools) else ANY_SUBJECT


def prompt_prefix(tools: Toolset, intro: str | None = None) -> str:
    """Everything before the question: equal for all tasks, so that a server can cache it.

    intro: the first sentences, where they are not the one that fits the tools.
    """
    return f"{intro or subject_of(tools)} {RULES}\n\nWerkzeuge:\n{render_tools(tools)}{BEFORE_QUESTION}"


def native_system(tools: Toolset, intro: str | None = None) -> str:
    """The system message of native mode; intro: as in `prompt_prefix`."""
    return f"{intro or subject_of(tools)} {NATIVE_RULES}"


def prompt_text(tools: Toolset, question: str, intro: str | None = None) -> str:
    """The one user message of prompted mode, and lm-eval's doc_to_text; the question is the last line."""
    return prompt_prefix(tools, intro) + question


def messages(mode: str, tools: Toolset, question: str, intro: str | None = None) -> list[dict[str, Any]]:
    """The chat messages of a mode; native mode holds no tool text, the tools travel in `tools=`."""
    if mode == "prompt":
        return [{"role": "user", "content": prompt_text(tools, question, intro)}]
    if mode == "native":
        return [{"role": "system", "content": native_system(tools, intro)}, {"role": "user", "content": question}]
    raise UsageError(f"mode {mode!r} does not exist; expected one of {', '.join(MODES)}")


def prompt_fingerprint(mode: str, tools: Toolset, intro: str | None = None) -> str:
    """Hash of the rendered prompt of the mode for the question "{question}"."""
    rendered = messages(mode, tools, "{question}", intro)
    return fingerprint(rendered[0]["content"] if mode == "prompt" else rendered)
