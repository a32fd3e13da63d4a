"""Supervised fine-tuning: each question with its gold call, one chat a line, as OpenAI and as TRL take it.

Native mode (the default) teaches tool calls, prompted mode the JSON text that the prompt asks for. The prompts are
those of the benchmark, word for word.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.exports.material import Exported, Material, for_training
from infranode_eval.providers.baselines import written
from lm_eval_task.prompt import messages
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import Toolset


def exported(material: Material) -> Exported:
    """One JSON-lines file, named after the split, in the format of the order."""
    material = for_training(material)
    mode = material.order.mode or "native"
    row_of = openai_row if material.order.form == "sft-openai" else trl_row
    rows = [row for task in material.tasks if (row := row_of(task, material.tools, mode)) is not None]
    silent = len(material.tasks) - len(rows)
    notes = (f"{silent} left out: no call is right, and the row has no sentence to learn",) if silent else ()
    name = f"{material.order.split or 'train'}.jsonl"
    return Exported({name: lines(rows)}, material, notes)


def lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """JSON lines with real umlauts."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def openai_row(task: Task, tools: Toolset, mode: str) -> dict[str, Any] | None:
    """{"messages", "tools", "parallel_tool_calls"}: arguments are JSON text. None where there is nothing to say."""
    reply = _reply(task, mode)
    if reply is None:
        return None
    row: dict[str, Any] = {"messages": [*messages(mode, tools, task.question), reply]}
    if mode == "native":
        row |= {"tools": tools.to_json(), "parallel_tool_calls": len(task.expected) > 1}
    return row


def trl_row(task: Task, tools: Toolset, mode: str) -> dict[str, Any] | None:
    """{"prompt", "completion", "tools"}: arguments are objects, `tools` is JSON text; the loss sees the completion."""
    reply = _reply(task, mode)
    if reply is None:
        return None
    row: dict[str, Any] = {"prompt": messages(mode, tools, task.question), "completion": [trl_message(reply)]}
    return row | ({"tools": tools_text(tools)} if mode == "native" else {})


def tools_text(tools: Toolset) -> str:
    """The tools as one JSON text: as a nested column every schema would get the keys of all others."""
    return json.dumps(tools.to_json(), ensure_ascii=False)


def trl_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """An assistant message as chat templates take it: arguments as objects, content never absent, no ids."""
    made: dict[str, Any] = {"role": "assistant", "content": message.get("content") or ""}
    if message.get("tool_calls"):
        functions: Sequence[Mapping[str, Any]] = [entry["function"] for entry in message["tool_calls"]]
        made["tool_calls"] = [{"type": "function", "function": {"name": function["name"],
                                                                "arguments": json.loads(function["arguments"])}}
                              for function in functions]
    return made


def gold_reply(calls: Sequence[Call], mode: str) -> dict[str, Any]:
    """The right reply as an assistant message of the mode; `calls` is not empty."""
    message = dict(written(calls, native=mode == "native").message)
    if message.get("content") is None:
        del message["content"]
    return message


def _reply(task: Task, mode: str) -> dict[str, Any] | None:
    """What the assistant should say; where no call is right only the row itself knows a sentence ("answer")."""
    if task.expected:
        return gold_reply(task.expected, mode)
    sentence = task.extra.get("answer")
    return {"role": "assistant", "content": sentence} if isinstance(sentence, str) and sentence.strip() else None
