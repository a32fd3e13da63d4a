"""An endpoint's reaction that plays tasks of the suite chain by their golds, in the words of any vendor."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.stub_endpoint import React, Request, vendor_body

_RESULTS = {"openai": '"role": "tool"', "anthropic": '"type": "tool_result"', "gemini": '"functionResponse"',
            "responses": '"type": "function_call_output"'}


def results_in(request: Request, vendor: str = "openai") -> int:
    """How many results of tools a request holds."""
    return json.dumps(request.body).count(_RESULTS[vendor])


def golden(rows: Sequence[Mapping[str, Any]], vendor: str = "openai", delay_s: float = 0.0,
           ) -> Callable[[Request], React]:
    """Answers each request with the next gold call of the task that it asks, then with the gold answer."""
    def react(request: Request) -> React:
        text = json.dumps(request.body, ensure_ascii=False)
        row = max((row for row in rows if json.dumps(row["question"], ensure_ascii=False)[1:-1] in text),
                  key=lambda row: len(row["question"]))
        number = results_in(request, vendor)
        if number < len(row["expected"]):
            call = row["expected"][number]
            return React(vendor_body(vendor, None, (call["name"], call["arguments"]), "Hm."), delay_s=delay_s)
        return React(vendor_body(vendor, answer_of(row)), delay_s=delay_s)

    return react


def answer_of(row: Mapping[str, Any]) -> str:
    """The right answer object."""
    answer = row["expect"]["answer"]
    none = answer["type"] == "none"
    alternatives = answer.get("alternatives") or [[None]]
    return json.dumps({"antwort": answer["value"], "einheit": answer.get("unit"),
                       "grund": answer["reasons"][0] if none else None,
                       "alternative": alternatives[0][0] if none else None}, ensure_ascii=False)
