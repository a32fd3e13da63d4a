"""A small world: the answers that a test writes down, and the embedded model's for everything else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infranode_eval.chain.responses import Response
from infranode_eval.chain.worlds import open_world
from infranode_eval.generator.chain.build import Builder, Row
from infranode_eval.generator.chain.fields import read_template
from infranode_eval.generator.chain.template import Template
from infranode_eval.generator.chain.walk import candidates
from lm_eval_task.tools import read_tools

TOOLS = read_tools()


class SmallWorld:
    """Answers by request: a payload, or (status, body)."""

    kind, name, sha256 = "snapshot", "small", "0" * 64

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers, self.below = answers, open_world({"kind": "snapshot", "name": "s1"})
        self.asked: list[str] = []

    def answer(self, request: str) -> Response:
        self.asked.append(request)
        if request not in self.answers:
            return self.below.answer(request)
        found = self.answers[request]
        return Response(request, *found) if isinstance(found, tuple) else Response(request, 200, envelope(found))


def envelope(payload: Any) -> dict[str, Any]:
    return {"data": {"payload": payload}, "meta": {"source_status": "ok"}}


def template_of(row: Mapping[str, Any], category: str) -> Template:
    return read_template(dict(row), category, Path("x.json"), 1)


def first_row(row: Mapping[str, Any], category: str, answers: Mapping[str, Any]) -> Row:
    """The row of the first candidate. Raise what the builder raises."""
    builder = Builder(SmallWorld(answers), TOOLS)
    template = template_of(row, category)
    return builder.row(template, next(iter(candidates(template, 0, builder.picked))))
