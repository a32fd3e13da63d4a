"""Leakage: how many tasks a search could solve that only compares words of the question with names or descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from infranode_eval.infranode import facts
from infranode_eval.retrieval import Bm25, tool_documents
from infranode_eval.shipped import read_shipped
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import Toolset

METHODS = ("key_name", "labels", "descriptions")
KEY_NAME_BOUND = 0.10          # of every category
DESCRIPTIONS_BOUND = 0.50      # of resource_key
_SAME_URL = {"get_city_resource/base": "get_city", "get_city_resource/overview": "get_city_overview",
             "get_city_resource/weather": "weather", "get_city_resource/air-uba": "air_quality"}

Search = Callable[[str], list[str]]     # question -> labels, best first; only those with a positive score


def label_of(call: Call) -> str:
    """"get_city_resource/charging", "pois/school", "compare/air", else the tool; keys of a named tool count as it."""
    detail = call.arguments.get("resource") or call.arguments.get("type")
    return canonical_label(f"{call.name}/{detail}" if detail else call.name)


def canonical_label(label: str) -> str:
    """The label itself, or the named tool whose URL its key shares."""
    return _SAME_URL.get(label, label)


def solved(task: Task, search: Search) -> bool:
    """Are the best labels exactly those of the gold or of an accept? Cities are not looked at: the bound is strict."""
    found = list(dict.fromkeys(canonical_label(label) for label in search(task.question)))
    for alternative in task.alternatives:
        labels = {label_of(call) for call in alternative}
        if labels and set(found[:len(labels)]) == labels:
            return True
    return False


def searches(tools: Toolset) -> dict[str, Search]:
    """The three searches by the names of METHODS."""
    descriptions, labels = Bm25(tool_documents(tools)), Bm25(_label_texts(tools))
    return {"key_name": _by_name(tuple(tool_documents(tools))), "labels": lambda q: _positive(labels, q),
            "descriptions": lambda q: _positive(descriptions, q)}


def shares(tasks: Sequence[Task], tools: Toolset) -> dict[str, dict[str, dict[str, float | int]]]:
    """{set: {category: {"n", "key_name", "labels", "descriptions"}}}: shares of solved tasks, to four digits."""
    by_group: dict[str, dict[str, list[Task]]] = {}
    for task in tasks:
        by_group.setdefault(task.set or "all", {}).setdefault(task.category, []).append(task)
    methods = searches(tools)
    return {name: {category: {"n": len(rows), **{method: round(sum(solved(t, search) for t in rows) / len(rows), 4)
                                                  for method, search in methods.items()}}
                   for category, rows in sorted(categories.items())}
            for name, categories in sorted(by_group.items())}


def table(leakage: Mapping[str, Mapping[str, Mapping[str, float | int]]]) -> list[str]:
    """The shares as lines of text, in per cent."""
    lines = [f"{'leakage in %':<28}{'n':>5}{'key name':>10}{'labels':>10}{'descriptions':>14}"]
    for name, categories in leakage.items():
        lines += [f"{name + ' ' + category:<28}{row['n']:>5}{row['key_name'] * 100:>10.1f}{row['labels'] * 100:>10.1f}"
                  f"{row['descriptions'] * 100:>14.1f}" for category, row in categories.items()]
    return lines


def _positive(index: Bm25, question: str) -> list[str]:
    return [label for label, score in index.ranked(question) if score > 0]


def _by_name(labels: Sequence[str]) -> Search:
    """Labels whose key, type or tool name occurs in the question: each of its words begins a word of it, in a row."""
    patterns = {}
    for label in labels:
        words = re.split(r"[-_]", label.rpartition("/")[2])
        patterns[label] = re.compile(r"\b" + r"\w*[\s\-–]+".join(map(re.escape, words)), re.IGNORECASE)

    def search(question: str) -> list[str]:
        found = [label for label, pattern in patterns.items() if pattern.search(question)]
        return sorted(found, key=lambda label: (-len(label.rpartition("/")[2]), label))

    return search


@cache
def _labels() -> Mapping[str, Mapping[str, str]]:
    return read_shipped("labels.json")


def _label_texts(tools: Toolset) -> dict[str, str]:
    """A short German label for each choice: the catalogue's own for keys."""
    texts: dict[str, str] = {}
    for label in tool_documents(tools):
        tool, _, detail = label.partition("/")
        known = facts.all_keys().get(detail)
        texts[label] = _labels()["tools"].get(label) or _labels()["types"].get(detail) or (known.label if known else "")
    return texts
