"""What a model is told: the rules, the catalogue with the question, and the request for the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from infranode_eval.shipped import DATA
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import MODES, render_tools
from lm_eval_task.records import fingerprint
from lm_eval_task.tools import Toolset

TOOL_TURNS = 9
_CATALOGUE = "Die Datenbanken:"
_QUESTION = "Frage: "


@cache
def _text(name: str) -> str:
    return (DATA / "db_routing" / f"{name}.txt").read_text("utf-8").rstrip("\n")


def finalisation() -> str:
    """What asks for the answer, after which no call is executed."""
    return _text("final")


def opening(mode: str, tools: Toolset, catalogue: str, question: str) -> list[dict[str, Any]]:
    """The first messages of a play. catalogue: as `catalogue_of`. Raise UsageError for an unknown mode."""
    rules = _text("system").format(n=len(tools.tools), turns=TOOL_TURNS)
    asked = f"{catalogue}\n\n{_QUESTION}{question}"
    if mode == "native":
        return [{"role": "system", "content": rules}, {"role": "user", "content": asked}]
    if mode == "prompt":
        calling = f"{_text('calling')}\n\nWerkzeuge:\n{render_tools(tools)}"
        return [{"role": "user", "content": f"{rules}\n\n{calling}\n\n{asked}"}]
    raise UsageError(f"mode {mode!r} does not exist; expected one of {', '.join(MODES)}")


def single_shot(catalogue: str, question: str, databases: int) -> list[dict[str, Any]]:
    """The one message of an arm: no tool, and the answer at once."""
    text = _text("single_shot")
    for key, value in (("{n}", str(databases)), ("{catalogue}", catalogue), ("{question}", question)):
        text = text.replace(key, value, 1)
    return [{"role": "user", "content": text}]


def catalogue_of(paragraphs: Iterable[tuple[str, str | None]]) -> str:
    """(label, paragraph) in the order in which they are shown, a line each; None: the label alone."""
    return "\n".join([_CATALOGUE, *(label if text is None else f"{label}: {one_line(text)}"
                                    for label, text in paragraphs)])


def one_line(paragraph: str) -> str:
    """As a paragraph stands in a catalogue."""
    return " ".join(paragraph.split())


def catalogue_in(text: str) -> Mapping[str, str | None]:
    """label → paragraph, as `catalogue_of` has written them into a message."""
    lines = text.partition(f"{_CATALOGUE}\n")[2].partition(f"\n\n{_QUESTION}")[0].split("\n")
    parts = (line.partition(": ") for line in lines if line)
    return {label: paragraph if colon else None for label, colon, paragraph in parts}


def question_in(text: str) -> str:
    """The question of a message that `opening` or `single_shot` has written."""
    return text.rpartition(f"\n\n{_QUESTION}")[2].partition("\n\n")[0]


def asks_for_answer(text: str) -> bool:
    """Does a message ask for the answer object?"""
    return '"selected_database"' in text


def fingerprint_of(mode: str, tools: Toolset) -> str:
    """Hash of rules and finalisation."""
    return fingerprint([opening(mode, tools, catalogue_of(()), "{question}"), finalisation()])
