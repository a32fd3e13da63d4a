"""Under which conditions runs of the suite team were made, and in what they differ: unlike runs cannot be compared.

Pure. Source: specification, team, section 4.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.reports.archive import Run, short_hash

POOL = ("main", "llm", "vlm", "omni")
_NAMED = 6              # runs in one line
_PLURAL = {"limit": "limits"}


@dataclass(frozen=True, slots=True)
class Conditions:
    """facts: what must be equal for two runs to be compared, by its name, as people read it. scenarios: their ids."""

    facts: Mapping[str, str]
    scenarios: tuple[str, ...]


def conditions_of(run: Run) -> Conditions:
    """From the settings and hashes of a run; a setting of another shape is shown as it is."""
    settings = run.settings
    scenarios = tuple(dict.fromkeys(row.task_id for row in run.rows))
    facts = {f"pool {role}": text for role, text in _pool(settings.get("pool")).items()}
    facts |= {"sandbox": _text(settings.get("sandbox")), "workflow engine": _text(settings.get("workflow"))}
    facts |= {f"limit {name}": text for name, text in _limits(settings.get("limits")).items()}
    facts |= {"scenarios": ", ".join(scenarios), "data": f"tasks {short_hash(run.hashes.get('tasks'))}",
              "tools": short_hash(run.hashes.get("tools")), "words of the host": short_hash(run.hashes.get("prompt")),
              "scorer": run.scorer_version}
    return Conditions(facts, scenarios)


def _pool(pool: Any) -> dict[str, str]:
    """Roles of sub-agents, and what the manager perceives; which model that is stands in its name."""
    if not isinstance(pool, Mapping):
        return {}
    return {role: _role(pool[role], role) for role in POOL if role in pool}


def _role(told: Any, role: str) -> str:
    if told is None:
        return "not offered"
    if not isinstance(told, Mapping):
        return _text(told)
    seen = told.get("modalities")
    names = [f"{name} {count}" if type(count) is int else str(name) for name, count in seen.items() if count] \
        if isinstance(seen, Mapping) else []
    model = [] if role == "main" else [_text(told.get("model_id"))]
    return " ".join([*model, f"({', '.join(names)})"])


def _limits(limits: Any) -> dict[str, str]:
    return {str(name): _text(value) for name, value in limits.items()} if isinstance(limits, Mapping) else {}


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else "unknown" if value is None else json.dumps(value, ensure_ascii=False)


def differences(runs: Sequence[tuple[str, Conditions]]) -> Iterator[tuple[str, Mapping[str, Sequence[str]]]]:
    """(what differs, {a value: the names of the runs with it}) for each fact that is not equal in all runs."""
    names = dict.fromkeys(name for _, one in runs for name in one.facts)
    for name in names:
        by_value: dict[str, list[str]] = {}
        for label, one in runs:
            by_value.setdefault(one.facts.get(name, "not told"), []).append(label)
        if len(by_value) > 1:
            yield name, by_value


def difference_lines(runs: Sequence[tuple[str, Conditions]]) -> list[str]:
    """A warning for each difference; empty where all runs were made alike."""
    return [f"NOT MADE ALIKE: {name} differs, so numbers of these runs must not be compared: "
            + "; ".join(f"{value} ({_listed(labels)})" for value, labels in values.items())
            for name, values in differences(runs)]


def common_line(runs: Sequence[tuple[str, Conditions]]) -> str:
    """What all runs have in common, as "sandbox bwrap · data tasks 9eb5a64f69b5", but for the names of scenarios."""
    every = [one.facts for _, one in runs]
    alike: dict[str, list[str]] = {}
    for name, text in every[0].items() if every else ():
        if name != "scenarios" and all(facts.get(name) == text for facts in every):
            kind, _, of = name.partition(" ")
            alike.setdefault(kind if kind in ("pool", "limit") else name, []).append(f"{of} {text}" if kind in (
                "pool", "limit") else text)
    return " · ".join(f"{_PLURAL.get(name, name)} {', '.join(texts)}" for name, texts in alike.items())


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else ""
    return ", ".join(labels[:_NAMED]) + more
