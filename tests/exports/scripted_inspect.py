"""Lets inspect_ai evaluate scripted replies with the exported task file: python scripted_inspect.py FOLDER."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall


def output_of(given: Any) -> ModelOutput:
    """A text, tool calls as [name, arguments], or None for a call whose arguments inspect could not parse."""
    if isinstance(given, str):
        made = ModelOutput.from_content("mockllm/model", given)
    else:
        made = ModelOutput.from_content("mockllm/model", "", stop_reason="tool_calls")
        calls = [("weather", {}, "broken")] if given is None else [(name, arguments, None) for name, arguments in given]
        made.choices[0].message.tool_calls = [
            ToolCall(id=f"c{i}", function=name, arguments=arguments, parse_error=error)
            for i, (name, arguments, error) in enumerate(calls)]
    made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)    # else inspect counts tokens itself
    return made


def main(folder: Path) -> None:
    told = json.loads((folder / "script.json").read_text("utf-8"))
    sys.path.insert(0, str(folder))
    tasks = importlib.import_module("infranode_tools_de")
    asked: dict[str, Any] = {}

    def answer(said: list[Any], tools: list[Any], choice: Any, config: Any) -> ModelOutput:
        question = said[-1].text.rpartition("\n")[2]
        asked[question] = tools
        return output_of(told["replies"][question])

    task = tasks.infranode_tools_de() if told["mode"] == "native" else tasks.infranode_tools_de_prompt()
    log, = evaluate(task, model=get_model("mockllm/model", custom_outputs=answer), log_dir=str(folder / "logs"),
                    display="none")
    if log.status != "success":
        sys.exit(str(log.error))
    rows = [row_of(sample, asked) for sample in log.samples]
    mean, = (score.metrics["mean"].value for score in log.results.scores if score.name == "call_match")
    print(json.dumps({"rows": rows, "mean": mean}))


def row_of(sample: Any, asked: dict[str, Any]) -> dict[str, Any]:
    score, = sample.scores.values()
    said = [{"role": message.role, "content": message.text} for message in sample.input]
    offered = [{"type": "function", "function": {"name": tool.name, "description": tool.description,
                                                 "parameters": tool.parameters.model_dump(exclude_none=True)}}
               for tool in asked[said[-1]["content"].rpartition("\n")[2]]]
    return {"id": sample.id, "value": score.value, "outcome": score.metadata["outcome"], "input": said,
            "tools": offered}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
