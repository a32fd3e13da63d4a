"""Runs that may stand together, each under a name that is unlike the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from infranode_eval.reports.bench import SUITE
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.sections import Group, group_of
from infranode_eval.reports.standings import Standing, standings_of


def grouped(exhibits: Sequence[Exhibit]) -> dict[Group, list[Standing]]:
    """Only runs that can be compared stand together; groups with most ranked models first, other suites last."""
    groups: dict[Group, list[Exhibit]] = {}
    for exhibit in exhibits:
        groups.setdefault(group_of(exhibit.summary), []).append(exhibit)
    found = {group: standings_of(inside) for group, inside in groups.items()}
    return dict(sorted(found.items(), key=lambda item: (item[0].suite == PLAYED,
                                                        -sum(s.outside is None for s in item[1]),
                                                        item[0].suite == SUITE, item[0])))


def set_name(group: Group) -> str:
    """The name of a group's set, without the remark that only the file calls it so."""
    return group.dataset.partition(" (")[0]


def names_of(exhibits: Sequence[Exhibit]) -> dict[int, str]:
    """The label of each run by its id(): its model, with the harness and, where two are alike, the file."""
    plain = [e.run.model if e.run.harness == "run_eval" else f"{e.run.model} [{e.run.harness}]" for e in exhibits]
    keys = [(group_of(e.summary), name) for e, name in zip(exhibits, plain, strict=True)]
    often = Counter(keys)
    return {id(e): f"{name} · {e.run.path}" if often[key] > 1 else name
            for e, name, key in zip(exhibits, plain, keys, strict=True)}
