"""Other descriptions under the same names: none, those of other tools, in English, without the rule for slugs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from infranode_eval.arms.offer import Offer, Offering, retold, with_parameters
from infranode_eval.retrieval import choice_parameter, choices, listed
from infranode_eval.shipped import read_shipped
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.tools import Tool, Toolset


def no_slug_rule(tools: Toolset, seed: int) -> Offering:
    """What follows "Slug der Stadt" is left out: how a slug is spelled and which six cities carry an addition."""
    def tell(tool: Tool, parameter: str | None, text: str) -> str:
        return text.partition(":")[0] if parameter == "slug" else text

    return Offering(Offer(retold(tools, tell), tools))


def names_only(tools: Toolset, seed: int) -> Offering:
    """No description; values that only a description listed stand as an enum, since they are names."""
    bare = retold(Toolset.of(map(_with_enum, tools.tools)), lambda tool, parameter, text: "")
    return Offering(Offer(bare, tools))


def _with_enum(tool: Tool) -> Tool:
    choice = choice_parameter(tool)
    if choice is None or "enum" in tool.properties[choice]:
        return tool
    schema = {**tool.properties[choice], "enum": sorted(choices(tool))}
    return with_parameters(tool, tool.name, tool.description, {**tool.properties, choice: schema}, tool.required)


def permuted_descriptions(tools: Toolset, seed: int) -> Offering:
    """Each tool under the description of another, each key under the text of another, and the notes of listed values.

    How other parameters are written (slug, EVA number, stop id) is still explained: the arm is about choosing.
    """
    other = deranged((tool.name for tool in tools.tools), seed)

    def tell(tool: Tool, parameter: str | None, text: str) -> str:
        if parameter is None:
            return tools.by_name[other[tool.name]].description
        return _permuted_choice(tool, text, seed) if parameter == choice_parameter(tool) else text

    return Offering(Offer(retold(tools, tell), tools))


def _permuted_choice(tool: Tool, text: str, seed: int) -> str:
    told = listed(text) if "\n" not in text else choices(tool)
    other = deranged(told, seed)
    if "\n" in text:
        return "\n".join([text.partition("\n")[0], *(f"{key}: {told[other[key]]}" for key in told)])
    shown = [f"{value} ({told[other[value]]})" if told[other[value]] else value for value in told]
    return ", ".join(shown[:-1]) + " oder " + shown[-1] if len(shown) > 1 else text


def deranged(names: Iterable[str], seed: int) -> Mapping[str, str]:
    """Each name → another one, never itself (of two names or more): the next one by sha256("<seed>|<name>")."""
    order = sorted(names, key=lambda name: sha256(f"{seed}|{name}".encode()).digest())
    return dict(zip(order, order[1:] + order[:1], strict=True))


def english(tools: Toolset, seed: int) -> Offering:
    """The descriptions in English, line by line. Raise UsageError for a tool that the shipped file does not know."""
    texts = read_shipped("english_tools.json")
    for tool in tools.tools:
        if tool.name not in texts["tools"] or tool.properties.keys() != texts["tools"][tool.name]["parameters"].keys():
            raise UsageError(f"--arm english: {tool.name} has no English description; only the twelve tools have one")

    def tell(tool: Tool, parameter: str | None, text: str) -> str:
        told = texts["tools"][tool.name]
        if parameter is None:
            return told["description"]
        if "\n" not in text:
            return told["parameters"][parameter]
        return "\n".join([told["parameters"][parameter], *(f"{key}: {_english(texts['keys'], key)}"
                                                          for key in choices(tool))])

    return Offering(Offer(retold(tools, tell), tools))


def _english(keys: Mapping[str, str], key: str) -> str:
    if key not in keys:
        raise DataError(f"english_tools.json has no text for the key {key}; add it there")
    return keys[key]
