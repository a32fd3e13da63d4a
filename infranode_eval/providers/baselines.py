"""Programs that answer without a language model: the floor, and the ceiling, under every number.

They see what a model sees, the question and the tools, nothing else; only those that replay golds are handed the task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.providers.protocol import Answer, Messages, ProviderOptions, Sampling, Tools
from infranode_eval.retrieval import Bm25, choice_parameter, choices, find_slugs, tokens, tool_documents
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import BEFORE_QUESTION
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import Tool, Toolset

NO_CALL = "Dafür passt kein Werkzeug."
QUESTION = "Wie ist das genau gemeint?"

Program = Callable[[str], "Sequence[Call] | str"]   # the calls for a question, or a text instead


def open_provider(options: ProviderOptions) -> Baseline | Oracle:
    """Raise UsageError for a name that is no baseline."""
    if options.model in REPLAYS:
        return REPLAYS[options.model]
    if options.model not in PROGRAMS:
        names = ", ".join((*PROGRAMS, *REPLAYS))
        raise UsageError(f"baseline {options.model!r} does not exist; expected one of {names}")
    return Baseline(*PROGRAMS[options.model], options.tools)


class Baseline:
    """Hands the question to a program over the offered tools and writes its calls as the mode wants them."""

    deterministic = True

    def __init__(self, build: Callable[[Toolset], Program], setup: str, tools: Toolset) -> None:
        self.setup = setup
        self._build = build
        self._program = build(tools)

    def for_tools(self, tools: Toolset) -> Baseline:
        return Baseline(self._build, self.setup, tools)

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        text = messages[-1]["content"]
        question = text.partition(BEFORE_QUESTION)[2] if tools is None else text
        return written(self._program(question or text), native=tools is not None)

    def close(self) -> None:
        pass


class Oracle:
    """Replays the gold of the task, or its first steps only.

    The whole gold proves that a perfect run scores 1.
    """

    deterministic = True

    def __init__(self, setup: str = "baseline: replays the expected calls", steps: int | None = None,
                 task: Task | None = None) -> None:
        self.setup = setup
        self._steps, self._task = steps, task

    def for_task(self, task: Task) -> Oracle:
        return Oracle(self.setup, self._steps, task)

    def ask(self, messages: Messages, tools: Tools | None, sampling: Sampling) -> Answer:
        if self._task is None:
            raise UsageError("a baseline that replays golds answers only tasks whose gold it is handed")
        return written(self._task.expected[:self._steps], native=tools is not None)

    def close(self) -> None:
        pass


def written(calls: Sequence[Call] | str, native: bool) -> Answer:
    """Calls as a model would answer them: JSON text (one object, or a list), or native entries; a sentence for none."""
    if not calls or isinstance(calls, str):
        return Answer({"role": "assistant", "content": calls or NO_CALL}, "stop")
    if not native:
        values = [c.to_json() for c in calls]
        text = json.dumps(values[0] if len(values) == 1 else values, ensure_ascii=False)
        return Answer({"role": "assistant", "content": text}, "stop")
    entries = [{"id": f"call_{i}", "type": "function",
                "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments), ensure_ascii=False)}}
               for i, c in enumerate(calls)]
    return Answer({"role": "assistant", "content": None, "tool_calls": entries}, "tool_calls")


# --- from a choice to a call ------------------------------------------------------------------------------------------

_EVA = re.compile(r"(?<!\d)\d{6,8}(?!\d)")
_STOP_ID = re.compile(r"\bde:\d+:[\w:.-]*\w")


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a question says literally: cities, numbers of stations, ids of stops."""

    slugs: tuple[str, ...]
    evas: tuple[str, ...]
    stop_ids: tuple[str, ...]

    @classmethod
    def of(cls, question: str) -> Mentions:
        return cls(tuple(find_slugs(question)), tuple(_EVA.findall(question)), tuple(_STOP_ID.findall(question)))


def call_for(tools: Toolset, label: str, mentions: Mentions) -> Call | None:
    """The call behind a label of `tool_documents`, filled from the question; None if a required value is not there."""
    name, _, choice = label.partition("/")
    tool = tools.by_name[name]
    chosen = choice_parameter(tool)
    values = {parameter: choice if choice and parameter == chosen else _value(tool, parameter, mentions)
              for parameter in tool.properties}
    if any(values[parameter] is None for parameter in tool.required):
        return None
    return Call(name, {parameter: value for parameter, value in values.items() if value is not None})


_LITERALS = {"slug": "slug", "city": "slug", "eva": "eva", "stop_id": "stop_id", "cities": "cities"}
_TOLD = (("Slugs", "cities"), ("Slug", "slug"), ("EVA-Nummer", "eva"), ("Stop-ID", "stop_id"))


def _literal(tool: Tool, parameter: str) -> str | None:
    """Which literal of a question a parameter takes: by its name, else by the word that its description brings first.

    The second way is for tools whose names mean nothing.
    """
    text = tool.properties[parameter].get("description", "").partition(":")[0]
    return _LITERALS.get(parameter) or next((kind for word, kind in _TOLD if word in text), None)


def _value(tool: Tool, parameter: str, mentions: Mentions) -> Any:
    kind = _literal(tool, parameter)
    if kind == "cities":
        return ",".join(mentions.slugs) if len(mentions.slugs) > 1 else None
    if kind is not None:
        found = {"slug": mentions.slugs, "eva": mentions.evas, "stop_id": mentions.stop_ids}[kind]
        return found[0] if found else None
    enum = tool.properties[parameter].get("enum")
    return enum[0] if enum and parameter in tool.required else None


def _comparing(tools: Toolset) -> str | None:
    """The tool that takes several cities and a choice."""
    return next((tool.name for tool in tools.tools
                 if choices(tool) and any(_literal(tool, p) == "cities" for p in tool.properties)), None)


def first_possible(tools: Toolset, labels: Sequence[str], question: str) -> Sequence[Call]:
    """The call of the best label that the question can fill.

    Where it names several cities, the comparison of the same data goes first; `labels`: best first.
    """
    mentions = Mentions.of(question)
    comparing = _comparing(tools) if len(mentions.slugs) > 1 else None
    for label in labels:
        if comparing:
            twin = f"{comparing}/{label.rpartition('/')[2]}"
            label = twin if twin in labels else label
        call = call_for(tools, label, mentions)
        if call is not None:
            return (call,)
    return ()


# --- the programs -----------------------------------------------------------------------------------------------------

def _bm25(tools: Toolset) -> Program:
    index = Bm25(tool_documents(tools))
    return lambda question: first_possible(
        tools, [label for label, score in index.ranked(question) if score > 0], question)


def _keyword(tools: Toolset) -> Program:
    """Counts the words of a question that contain, or stand inside, a word of the choice's text."""
    words = {label: frozenset(w for w in tokens(text) if len(w) > 3) for label, text in tool_documents(tools).items()}

    def hits(question_words: Sequence[str], label: str) -> int:
        return sum(any(w in q or q in w for w in words[label]) for q in question_words)

    def program(question: str) -> Sequence[Call]:
        asked = [w for w in tokens(question) if len(w) > 3]
        found = {label: count for label in words if (count := hits(asked, label))}
        return first_possible(tools, sorted(found, key=lambda label: (-found[label], label)), question)

    return program


def _majority(tools: Toolset) -> Program:
    return lambda question: _city_call("get_city_overview", question)


def _first_tool(tools: Toolset) -> Program:
    return lambda question: _city_call(tools.tools[0].name, question)


def _constant(tools: Toolset) -> Program:
    return lambda question: (Call("get_city", {"slug": "berlin"}),)


def _never_calls(tools: Toolset) -> Program:
    return lambda question: ()


def _asks_always(tools: Toolset) -> Program:
    return lambda question: QUESTION


def _always_calls(tools: Toolset) -> Program:
    first = tools.tools[0]
    call = Call(first.name, {name: _made_up(schema) for name, schema in first.properties.items()})
    return lambda question: (call,)


_BY_FORMAT = {"uuid": "00000000-0000-4000-8000-000000000000", "date": "2000-01-01", "date-time": "2000-01-01T00:00:00"}
_BY_TYPE: Mapping[str, Any] = {"boolean": True, "array": [], "object": {}, "null": None}


def _made_up(schema: Mapping[str, Any]) -> Any:
    """A value that the schema allows and nobody asked for, as far as type, enum, format and minimum tell."""
    if schema.get("enum"):
        return schema["enum"][0]
    types = schema.get("type", "string")
    kind = types if isinstance(types, str) else types[0]
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return _BY_TYPE.get(kind, _BY_FORMAT.get(schema.get("format", ""), "x"))


def _city_call(name: str, question: str) -> Sequence[Call]:
    slugs = find_slugs(question)
    return (Call(name, {"slug": slugs[0]}),) if slugs else (Call(name, {}),)


PROGRAMS: Mapping[str, tuple[Callable[[Toolset], Program], str]] = {
    "bm25": (_bm25, "baseline: BM25 over the descriptions of tools and keys, city by gazetteer"),
    "keyword": (_keyword, "baseline: shared word parts of question and description, city by gazetteer"),
    "majority": (_majority, "baseline: get_city_overview, the most frequent call in the core set, city by gazetteer"),
    "first_tool": (_first_tool, "baseline: the first tool of the list, city by gazetteer"),
    "constant": (_constant, "baseline: always get_city for Berlin, which no core task expects"),
    "never_calls": (_never_calls, "baseline: always the same sentence, never a call"),
    "asks_always": (_asks_always, "baseline: always the same question, never a call"),
    "always_calls": (_always_calls, "baseline: always the first tool offered, made-up values"),
}
REPLAYS: Mapping[str, Oracle] = {
    "oracle": Oracle(),
    "first_step_only": Oracle("baseline: replays the first expected call only, as a server without parallel calls", 1),
}
