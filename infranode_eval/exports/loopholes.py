"""Policies that want the reward without understanding the question, and what each of them earns.

    python3 -m infranode_eval.exports.loopholes [--set core|extended|…|all] [--tasks FILE] [--mode prompt|native]

A test holds the blind ones to the level of the policy that never calls.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from infranode_eval.exports.rewards import REWARDS
from infranode_eval.providers.baselines import PROGRAMS, Mentions, call_for, written
from infranode_eval.retrieval import find_slugs, tool_documents
from infranode_eval.tables import Column, Section, Table, render
from infranode_eval.terminal import Parser, show
from lm_eval_task.dataset import CHOICES, load_tasks
from lm_eval_task.errors import BenchError
from lm_eval_task.metrics import mean, score_reply
from lm_eval_task.prompt import MODES, prompt_text, render_tools
from lm_eval_task.records import Call, Reply, Task
from lm_eval_task.tools import Tool, Toolset, read_tools

Policy = Callable[[str], Reply]     # from a question to a reply


def policies(tools: Toolset, mode: str) -> Mapping[str, Policy]:
    """The blind policies by name, `never_calls` first; none of them reads what the question wants to know."""
    native = mode == "native"

    def says(text: str) -> Policy:
        return lambda question: Reply.from_text(text)

    def program(name: str) -> Policy:
        run = PROGRAMS[name][0](tools)
        return lambda question: written(run(question), native).reply

    return {
        "never_calls": program("never_calls"),
        "constant_text": says("abc"),
        "empty": says(""),
        "constant_call": program("constant"),
        "first_tool": program("first_tool"),
        "random_tool": lambda question: written((_any_call(tools, question),), native).reply,
        "all_tools": lambda question: written(_every_tool(tools, question), native).reply,
        "all_choices": lambda question: written(_every_choice(tools, question), native).reply,
        "echo_question": lambda question: Reply.from_text(question),
        "echo_prompt": lambda question: Reply.from_text(prompt_text(tools, question)),
        "echo_tools": says(render_tools(tools)),
        "echo_schema": says(json.dumps(tools.to_json(), ensure_ascii=False)),
        "echo_example": says('{"name": "<Werkzeug>", "arguments": {"<Parameter>": "<Wert>"}}'),
    }


def informed(tasks: Sequence[Task], tools: Toolset, mode: str) -> Mapping[str, Policy]:
    """Guessers that know the golds' frequencies: always the same tool, key and type, with the city of the question.

    They are right now and then, so they may earn in `exact`; what `shaped` adds to that is the question.
    """
    native = mode == "native"
    golds = Counter(_template(call) for task in tasks for call in task.expected)
    names = Counter(call.name for task in tasks for call in task.expected)
    found: dict[str, Policy] = {}
    for template, _ in golds.most_common(1):
        found["frequent_call"] = _same_call(template, native)
    for name, _ in names.most_common(1):
        found["frequent_tool"] = _same_call(next(t for t, _ in golds.most_common() if t[0] == name), native)
        found["frequent_tool_bare"] = _same_call((name,), native)
    return found


def earned(policy: Policy, tasks: Sequence[Task], tools: Toolset, mode: str) -> dict[str, float]:
    """Mean of each reward over the tasks."""
    scored = [(task, score_reply(task, policy(task.question), tools, mode)) for task in tasks]
    return {name: mean(reward(task, score, tools) for task, score in scored) or 0.0 for name, reward in REWARDS.items()}


def loophole_table(tasks: Sequence[Task], tools: Toolset, mode: str, title: str) -> Table:
    """One row a policy: the mean of every reward."""
    everybody = {**policies(tools, mode), **informed(tasks, tools, mode)}
    rows = [(name, *(f"{value:+.3f}" for value in earned(policy, tasks, tools, mode).values()))
            for name, policy in everybody.items()]
    columns = (Column("policy"), *(Column(name, right=True) for name in REWARDS))
    return Table(title, columns, tuple(rows))


# --- calls without a thought ------------------------------------------------------------------------------------------

def _filled(tool: Tool, question: str, label: str) -> Call:
    """A call of the tool with what the question says literally, and "berlin" or a number where it says nothing."""
    made = call_for(Toolset.of([tool]), label, Mentions.of(question))
    return made or Call(tool.name, {name: _DEFAULTS.get(name, "berlin") for name in tool.required})


_DEFAULTS = {"resource": "weather", "type": "school", "eva": "8000105", "stop_id": "de:11000:900003201",
             "cities": "berlin,hamburg"}


def _every_tool(tools: Toolset, question: str) -> Sequence[Call]:
    return [_filled(tool, question, tool.name) for tool in tools.tools]


def _every_choice(tools: Toolset, question: str) -> Sequence[Call]:
    """Every tool with every key and type that its text lists: the gold is among them if the city is."""
    return [_filled(tools.by_name[label.partition("/")[0]], question, label) for label in tool_documents(tools)]


def _any_call(tools: Toolset, question: str) -> Call:
    """The same tool for the same question, spread evenly without a clock or a seed."""
    chosen = tools.tools[sum(question.encode()) % len(tools.tools)]
    return _filled(chosen, question, chosen.name)


Template = tuple[Any, ...]      # (tool, (parameter, value), …): a gold call without its city


def _template(call: Call) -> Template:
    return (call.name, *sorted((k, str(v)) for k, v in call.arguments.items() if k not in ("slug", "cities")))


def _same_call(template: Template, native: bool) -> Policy:
    name, *fixed = template

    def policy(question: str) -> Reply:
        slugs = find_slugs(question)
        return written((Call(name, {"slug": slugs[0] if slugs else "berlin", **dict(fixed)}),), native).reply

    return policy


# --- the command ------------------------------------------------------------------------------------------------------

def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("python -m infranode_eval.exports.loopholes", __doc__)
    parser.add_argument("--set", choices=CHOICES, default="all", help="default: every set, each in a table of its own")
    parser.add_argument("--tasks", metavar="FILE", help="default: the project's tasks.jsonl")
    parser.add_argument("--mode", choices=MODES, default="prompt")
    parser.add_argument("--format", choices=("text", "markdown"), default="text")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        chosen = _arguments(arguments)
        tools = read_tools()
        tasks = load_tasks(tools, chosen.set, chosen.tasks)
        sets = dict.fromkeys(task.set for task in tasks)
        tables = [loophole_table([t for t in tasks if t.set == name], tools, chosen.mode, f"set {name}, "
                                 f"{sum(t.set == name for t in tasks)} tasks, mode {chosen.mode}") for name in sets]
        show(render([Section("Mean reward of policies that do not understand", tuple(tables))], chosen.format))
    except BenchError as error:
        print(f"loopholes: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
