"""Other tools beside each other: in another order, only the nearest ones, among foreign ones."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from infranode_eval.arms.offer import Offer, Offering, retold
from infranode_eval.retrieval import Bm25, tool_documents
from infranode_eval.shipped import read_shipped
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import subject_of
from lm_eval_task.tools import Tool, Toolset

NEAREST = 3
_RULE_ELSEWHERE = " wie bei get_city_resource"


def order(tools: Toolset, seed: int) -> Offering:
    """The same tools for each task, in an order of its own."""
    whole = Offer(tools, tools)
    return Offering(whole, lambda task_id, question: replace(whole, tools=shuffled(tools, seed, task_id)))


def shuffled(tools: Toolset, seed: int, task_id: str) -> Toolset:
    """The tools in the order of sha256("<seed>|<task_id>|<name of the tool>"): anybody can work it out again."""
    return Toolset.of(sorted(tools.tools, key=lambda tool: sha256(f"{seed}|{task_id}|{tool.name}".encode()).digest()))


def nearest(tools: Toolset, seed: int) -> Offering:
    """For each question the three tools that BM25 finds nearest, in the order of the file; the gold may be missing."""
    index = Bm25(tool_documents(tools))
    whole = Offer(tools, tools, intro=subject_of(tools))

    def choose(task_id: str, question: str) -> Offer:
        found = dict.fromkeys(label.partition("/")[0] for label, _ in index.ranked(question))
        near = list(found)[:NEAREST]
        return replace(whole, tools=_complete(Toolset.of(t for t in tools.tools if t.name in near), tools))

    return Offering(whole, choose)


def _complete(chosen: Toolset, tools: Toolset) -> Toolset:
    """Where the tool that explains slugs is not offered, those that point to it explain them: three tools, one rule."""
    holder = tools.get("get_city_resource")
    if holder is None or holder.name in chosen or "slug" not in holder.properties:
        return chosen
    rule = holder.properties["slug"].get("description", "")

    def tell(tool: Tool, parameter: str | None, text: str) -> str:
        if parameter is None or _RULE_ELSEWHERE not in text:
            return text
        before, _, after = text.partition(_RULE_ELSEWHERE)
        return rule if (before, after) == ("Slug", "") else f"{before}{after}. {rule}"

    return retold(chosen, tell)


def foreign(tools: Toolset, seed: int) -> Offering:
    """The tools, in their order, at places among thirty that are about something else.

    Raise UsageError if one of those has the name of a tool.
    """
    others = Toolset.of(map(Tool.from_json, read_shipped("foreign_tools.json")))
    taken = [tool.name for tool in others.tools if tool.name in tools]
    if taken:
        raise UsageError(f"--arm foreign_30: {taken[0]} is the name of a foreign tool as well; rename it")
    count = len(tools.tools) + len(others.tools)
    places = sorted(sorted(range(count), key=lambda i: _draw(seed, str(i)))[:len(tools.tools)])
    mixed = sorted(others.tools, key=lambda tool: _draw(seed, tool.name))
    for place, tool in zip(places, tools.tools, strict=True):
        mixed.insert(place, tool)
    together = Toolset.of(mixed)
    return Offering(Offer(together, together, intro=subject_of(tools)))


def _draw(seed: int, name: str) -> bytes:
    return sha256(f"{seed}|{name}".encode()).digest()
