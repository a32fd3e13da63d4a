"""InfraNode tool calls, German, for inspect_ai: the benchmark's prompts and its scorer.

    inspect eval infranode_tools_de.py --model openai/gpt-4.1-mini
    inspect eval infranode_tools_de.py@infranode_tools_de_prompt --model …

tasks.jsonl and tools.json lie beside this file. The package infranode-tool-eval must be installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo, ToolParams

from lm_eval_task.metrics import score_reply
from lm_eval_task.prompt import messages
from lm_eval_task.records import MATCHES, Reply, read_tasks
from lm_eval_task.records import Task as Row
from lm_eval_task.tools import Toolset, read_tools

HERE = Path(__file__).resolve().parent
FINISH = {"max_tokens": "length", "model_length": "length"}     # inspect's words → the scorer's; others are the same


@task
def infranode_tools_de() -> Task:
    """Native tool calls: set-up N of the benchmark."""
    return _task("native", 1024)


@task
def infranode_tools_de_prompt() -> Task:
    """Tools and calls as text: set-up S of the benchmark."""
    return _task("prompt", 160)


def _task(mode: str, max_tokens: int) -> Task:
    tools = read_tools(HERE / "tools.json")
    samples = [_sample(row, tools, mode) for row in read_tasks(HERE / "tasks.jsonl")]
    return Task(dataset=MemoryDataset(samples, name="infranode-tools-de"), solver=one_reply(mode),
                scorer=call_match(mode), config=GenerateConfig(temperature=0, max_tokens=max_tokens))


def _sample(row: Row, tools: Toolset, mode: str) -> Sample:
    roles = {"system": ChatMessageSystem, "user": ChatMessageUser}
    said = [roles[message["role"]](content=message["content"]) for message in messages(mode, tools, row.question)]
    return Sample(id=row.task_id, input=said, target=json.dumps(row.to_json()["expected"], ensure_ascii=False),
                  metadata={"row": row.to_json()})


@solver
def one_reply(mode: str) -> Solver:
    """One request, as the benchmark sends it; tools are offered and never run."""
    tools = read_tools(HERE / "tools.json")
    offered = [ToolInfo(name=tool.name, description=tool.description,
                        parameters=ToolParams.model_validate(dict(tool.parameters)))
               for tool in tools.tools] if mode == "native" else []

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = await get_model().generate(state.messages, tools=offered)
        state.messages.append(state.output.message)
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def call_match(mode: str) -> Scorer:
    """The verdict of the benchmark's scorer; a failure counts as not solved, as in its strict numbers."""
    tools = read_tools(HERE / "tools.json")

    async def score(state: TaskState, target: Target) -> Score:
        found = score_reply(Row.from_json(state.metadata["row"]), reply_of(state.output), tools, mode)
        return Score(value={name: float(bool(getattr(found, name))) for name in MATCHES},
                     answer=", ".join(map(str, found.calls or ())) or state.output.completion, explanation=found.why,
                     metadata={"outcome": found.outcome, "sub": found.sub, "labels": list(found.labels),
                               "failed": found.failed})

    return score


def reply_of(output: ModelOutput) -> Reply:
    """inspect's output as the scorer takes it: a chat message in OpenAI's shape and its finish reason."""
    said = output.message
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    thoughts = [part.reasoning for part in said.content if isinstance(part, ContentReasoning)] \
        if isinstance(said.content, list) else []
    if any(thoughts):
        message["reasoning_content"] = "\n".join(thoughts)
    if said.tool_calls:
        message["tool_calls"] = _entries(said)
    return Reply(message, FINISH.get(str(output.stop_reason), str(output.stop_reason)))


def _entries(said: ChatMessageAssistant) -> list[dict[str, Any]]:
    """inspect parses arguments itself; those that it could not parse stay unreadable for the scorer, too."""
    return [{"id": call.id, "type": "function",
             "function": {"name": call.function,
                          "arguments": "unreadable" if call.parse_error else json.dumps(call.arguments)}}
            for call in said.tool_calls or ()]
