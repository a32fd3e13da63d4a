"""The eleven tools of the suite, as a model sees them.

Source: specification, team, T1 and T2.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from lm_eval_task.tools import Toolset, read_tools

BASIC_TOOLS = ("Read", "Write", "Edit", "Bash", "Grep", "Glob")         # a sub-agent may be granted these
MAIN_TOOLS = (*BASIC_TOOLS, "CreateSubagent", "RunSubagent", "ListSubagents", "InspectSubagent", "Workflow")
_FILE = Path(__file__).parent.parent / "data" / "team" / "tools.json"


@cache
def toolset() -> Toolset:
    """All eleven, in the order of MAIN_TOOLS. Raise DataError if the package's file is broken."""
    return read_tools(_FILE)


def subset(names: Iterable[str]) -> list[dict[str, Any]]:
    """What stands under `tools` of a request: these tools in the order of MAIN_TOOLS, each once.

    The list of one set is built once; do not change it. Raise KeyError for a name that is none of the eleven.
    """
    return _subset(frozenset(names))


@cache
def _subset(names: frozenset[str]) -> list[dict[str, Any]]:
    tools = toolset()
    unknown = sorted(names.difference(tools.by_name))
    if unknown:
        raise KeyError(unknown[0])
    return [tool.to_json() for tool in tools.tools if tool.name in names]


@cache
def offered(names: frozenset[str]) -> Toolset:
    """These tools as values, for reading the calls of an agent that has them. Raise KeyError for another name."""
    return Toolset.of(toolset().by_name[name] for name in MAIN_TOOLS if name in names)
