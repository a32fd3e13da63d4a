"""What a model is offered instead of the tools as they stand, and the way back from its calls to the real names.

Pure. An `Offer` renames nothing unless it says so; an `Offering` is an arm over one set of tools with one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lm_eval_task.metrics import score_reading, score_reply
from lm_eval_task.parse import calls_from_message
from lm_eval_task.records import Call, Reading, Reply, Score, Task
from lm_eval_task.tools import Tool, Toolset

NOT_OFFERED = "not_offered:"     # stands before a real name or value that a model used although it was not offered


@dataclass(frozen=True, slots=True)
class Renamed:
    """A tool under another name. parameters: offered name → real one; values: real parameter → offered → real value."""

    real: str
    parameters: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that a model sees, and those that its calls are judged against, under their real names.

    renamed: by offered name; tools that are not in it keep theirs. intro: the first sentences of the rules where they
    are not those that the tools ask for.
    """

    tools: Toolset
    judged: Toolset
    renamed: Mapping[str, Renamed] = field(default_factory=dict)
    intro: str | None = None

    def real_name(self, name: str) -> str:
        """The real name behind an offered one; a real one that is not offered gets a mark, an invented one stays."""
        if name in self.renamed:
            return self.renamed[name].real
        return name if name in self.tools or name not in self.judged else NOT_OFFERED + name

    def real_call(self, call: Call) -> Call:
        """The call as the scorer knows it; whatever was not offered stays wrong under its mark."""
        known = self.renamed.get(call.name)
        if known is None:
            return Call(self.real_name(call.name), call.arguments)
        real = self.judged.by_name[known.real].properties
        arguments: dict[str, Any] = {}
        for name, value in call.arguments.items():
            parameter = known.parameters.get(name, NOT_OFFERED + name if name in real else name)
            arguments[parameter] = _real_value(known.values.get(parameter, {}), value)
        return Call(known.real, arguments)

    def offered_call(self, call: Call) -> Call | None:
        """A real call as the model would have to write it; None where its tool is not offered."""
        name = next((offered for offered, known in self.renamed.items() if known.real == call.name), None)
        if name is None:
            return call if call.name in self.tools else None
        known = self.renamed[name]
        names = {real: offered for offered, real in known.parameters.items()}
        values = {p: {real: offered for offered, real in pairs.items()} for p, pairs in known.values.items()}
        return Call(name, {names[p]: values.get(p, {}).get(value, value) if isinstance(value, str) else value
                           for p, value in call.arguments.items()})

    def offered_task(self, task: Task) -> Task:
        """The task with the first of its right answers that the offer allows; without any, no call."""
        for answer in task.alternatives:
            calls = [call for call in map(self.offered_call, answer) if call is not None]
            if len(calls) == len(answer):
                return replace(task, expected=tuple(calls), accept=())
        return replace(task, expected=(), accept=())

    def real_reading(self, reading: Reading) -> Reading:
        """What a reply says, in real names."""
        def real(calls: tuple[Call, ...] | None) -> tuple[Call, ...] | None:
            return None if calls is None else tuple(map(self.real_call, calls))

        name = reading.broken_name
        return replace(reading, calls=real(reading.calls), lenient=real(reading.lenient),
                       broken_name=None if name is None else self.real_name(name))

    def verdict(self, task: Task, reply: Reply, mode: str) -> Score:
        """As `score_reply`, for a reply to this offer."""
        if reply.finish_reason == "content_filter":     # whether that left anything to judge does not hang on the gold
            filtered = score_reply(replace(task, expected=(), accept=()), reply, self.tools, mode)
            if filtered.failed:
                return filtered
        reading = calls_from_message(reply.message, self.tools, mode, reply.finish_reason)
        return score_reading(task, self.real_reading(reading), self.judged)


def _real_value(values: Mapping[str, str], value: Any) -> Any:
    if not isinstance(value, str) or not values:
        return value
    return values.get(value, NOT_OFFERED + value if value in values.values() else value)


@dataclass(frozen=True, slots=True)
class Offering:
    """whole: what is offered in a run, task by task where `choose` (task_id, question) says so."""

    whole: Offer
    choose: Callable[[str, str], Offer] | None = None

    def for_task(self, task_id: str, question: str) -> Offer:
        return self.choose(task_id, question) if self.choose else self.whole

    def share_possible(self, tasks: tuple[Task, ...]) -> tuple[int, int]:
        """(tasks with a right answer that the offer allows, all tasks): the bound of every score under it."""
        possible = sum(any(all(map(self.for_task(task.task_id, task.question).offered_call, answer))
                           for answer in task.alternatives) for task in tasks)
        return possible, len(tasks)


# --- tools in other words ---------------------------------------------------------------------------------------------

Tell = Callable[[Tool, "str | None", str], str]     # (tool, parameter or None, description) → description


def retold(tools: Toolset, tell: Tell) -> Toolset:
    """The tools with other descriptions; an empty one of a parameter is left out."""
    return Toolset.of(_retold(tool, tell) for tool in tools.tools)


def _retold(tool: Tool, tell: Tell) -> Tool:
    properties = {}
    for name, schema in tool.properties.items():
        text = tell(tool, name, schema.get("description", ""))
        properties[name] = {key: text if key == "description" else value for key, value in schema.items()
                            if key != "description" or text}
    return with_parameters(tool, tool.name, tell(tool, None, tool.description), properties, tool.required)


def with_parameters(tool: Tool, name: str, description: str, properties: Mapping[str, Mapping[str, Any]],
                    required: tuple[str, ...]) -> Tool:
    """The tool with these in place of its own; further keys of its schema stay."""
    changed = {"properties": dict(properties), "required": list(required)}
    parameters = {key: changed.get(key, value) for key, value in tool.parameters.items()}
    return Tool(name, description, parameters, properties, required)
