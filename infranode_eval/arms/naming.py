"""Neutral names: tool_01, parameter_1 and, where asked for, value_01 in place of the names of tools.json.

What a description says of other tools, parameters and values by name is renamed with them, so that nothing leaks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from infranode_eval.arms.offer import Offer, Offering, Renamed, with_parameters
from infranode_eval.retrieval import choice_parameter, choices, listed
from lm_eval_task.prompt import subject_of
from lm_eval_task.tools import Tool, Toolset


def anonymous(tools: Toolset, seed: int) -> Offering:
    """Tools and parameters under neutral names; descriptions and the values of parameters stay."""
    return _renamed(tools, {})


def descriptions_only(tools: Toolset, seed: int) -> Offering:
    """No name that means anything: the values that a tool chooses among (67 keys, types) are neutral, too."""
    values = dict.fromkeys(value for tool in tools.tools for value in choices(tool))
    return _renamed(tools, {value: f"value_{i:02}" for i, value in enumerate(values, 1)})


def _renamed(tools: Toolset, values: Mapping[str, str]) -> Offering:
    """values: real value of a choice → neutral one, the same in every tool."""
    names = {tool.name: f"tool_{i:02}" for i, tool in enumerate(tools.tools, 1)}
    renamed, offered = {}, []
    for tool in tools.tools:
        parameters = {name: f"parameter_{i}" for i, name in enumerate(tool.properties, 1)}
        choice = choice_parameter(tool) if values else None
        back = {choice: {values[value]: value for value in choices(tool)}} if choice else {}
        renamed[names[tool.name]] = Renamed(tool.name, {new: old for old, new in parameters.items()}, back)
        offered.append(_tool(tool, names, parameters, values))
    return Offering(Offer(Toolset.of(offered), tools, renamed, subject_of(tools)))


def _tool(tool: Tool, names: Mapping[str, str], parameters: Mapping[str, str], values: Mapping[str, str]) -> Tool:
    mentions = {**values, **{old: new for old, new in parameters.items() if "_" in old}, **names}
    choice = choice_parameter(tool)
    properties = {new: _schema(tool.properties[old], mentions, values, old == choice)
                  for old, new in parameters.items()}
    return with_parameters(tool, names[tool.name], without_names(tool.description, mentions), properties,
                           tuple(parameters[name] for name in tool.required))


def _schema(schema: Mapping[str, Any], mentions: Mapping[str, str], values: Mapping[str, str],
            is_choice: bool) -> dict[str, Any]:
    changed = dict(schema)
    if "description" in schema:
        text = schema["description"]
        changed["description"] = _choice_text(text, mentions, values) if is_choice else without_names(text, mentions)
    if is_choice and values and "enum" in schema:
        changed["enum"] = sorted(values[value] for value in schema["enum"])
    return changed


def _choice_text(text: str, mentions: Mapping[str, str], values: Mapping[str, str]) -> str:
    """The lines "value: text", or the list "value (note), value"; a value there is no mention of a tool of its name."""
    if "\n" not in text and (items := listed(text)):
        shown = [values.get(value, value) + (f" ({without_names(note, mentions)})" if note else "")
                 for value, note in items.items()]
        return ", ".join(shown[:-1]) + " oder " + shown[-1]
    head, *lines = text.split("\n")
    pairs = (line.partition(": ") for line in lines)
    return "\n".join([without_names(head, mentions),
                      *(values.get(key, key) + colon + without_names(rest, mentions) for key, colon, rest in pairs)])


def without_names(text: str, mentions: Mapping[str, str]) -> str:
    """The text with every whole word that is a key of `mentions` replaced."""
    names = "|".join(map(re.escape, sorted(mentions, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", lambda m: mentions[m[0]], text) if names else text
