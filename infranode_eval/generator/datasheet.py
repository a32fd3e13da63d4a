"""The datasheet: DATASET.md, whose numbers are counted from the data and put between its marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from infranode_eval.generator.leakage import label_of
from infranode_eval.generator.robust import VARIANTS
from infranode_eval.generator.splits import SPLITS, cities_of, held_out_cities, held_out_keys, phrasing_splits
from infranode_eval.generator.templates import CATEGORIES, city_forms, natural, phrasings
from lm_eval_task.errors import DataError
from lm_eval_task.records import SETS, Task

Meta = Mapping[str, Any]
_BLOCK = re.compile(r"<!-- numbers: (\w+) -->\n.*?<!-- /numbers -->", re.DOTALL)


def filled(text: str, tasks: Sequence[Task], meta: Meta) -> str:
    """The sheet with every block between "<!-- numbers: NAME -->" and "<!-- /numbers -->" counted anew.

    Raise DataError for a block that nobody can count.
    """
    def count(match: re.Match[str]) -> str:
        block = BLOCKS.get(match[1])
        if block is None:
            raise DataError(f"DATASET.md: no numbers are called {match[1]!r}; expected one of {', '.join(BLOCKS)}")
        return f"<!-- numbers: {match[1]} -->\n{block(tasks, meta)}\n<!-- /numbers -->"

    return _BLOCK.sub(count, text)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sets(tasks: Sequence[Task], meta: Meta) -> str:
    rows = []
    for name in SETS:
        chosen = [task for task in tasks if task.set == name]
        rows.append([name, str(len(chosen)), str(sum(not task.expected for task in chosen)),
                     str(sum(bool(task.accept) for task in chosen)), meta["hashes"][name][:12]])
    rows.append(["all", str(len(tasks)), str(sum(not task.expected for task in tasks)),
                 str(sum(bool(task.accept) for task in tasks)), meta["hashes"]["all"][:12]])
    return f"Version {meta['version']}.\n\n" + _table(["set", "rows", "no call is right", "several answers", "hash"],
                                                      rows)


def _categories(tasks: Sequence[Task], _meta: Meta) -> str:
    counts = Counter((task.category, task.set) for task in tasks)
    order = [*CATEGORIES, *sorted({task.category for task in tasks} - set(CATEGORIES))]
    return _table(["category", *SETS], [[name, *(str(counts[name, which] or "–") for which in SETS)]
                                         for name in order])


def _splits(tasks: Sequence[Task], meta: Meta) -> str:
    chosen = [task for task in tasks if task.set == "extended"]
    split = {task.task_id: meta["tasks"][task.task_id].get("split") for task in chosen}
    rows = []
    for name in (*SPLITS, None):
        mine = [task for task in chosen if split[task.task_id] == name]
        worded = sum(one == name for one in phrasing_splits().values()) if name else None
        cities = {slug for task in mine for slug in cities_of(task)}
        keys = {call.arguments["resource"] for task in mine for call in task.expected
                if call.name == "get_city_resource"}
        rows.append([name or "none", str(len(mine)), "–" if worded is None else str(worded), str(len(cities)),
                     str(len(keys))])
    return (_table(["split", "extended rows", "phrasings", "cities", "keys"], rows)
            + f"\n\nHeld-out keys: {', '.join(sorted(held_out_keys()))}.\n\n"
              f"Held-out cities: {', '.join(sorted(held_out_cities()))}.")


def _keys(tasks: Sequence[Task], _meta: Meta) -> str:
    labels = Counter((label_of(call), task.set) for task in tasks for call in task.expected)
    worded: dict[str, set[str]] = {}
    for phrasing in phrasings().values():
        for call in phrasing.calls:
            detail = call["arguments"].get("resource") or call["arguments"].get("type")
            worded.setdefault(f"{call['name']}/{detail}" if detail else call["name"], set()).add(phrasing.id)
    names = sorted({label for label, _ in labels})
    rows = [[name, str(len(worded.get(name, ()))), *(str(labels[name, which] or "–") for which in SETS)]
            for name in names]
    return _table(["tool, or tool/key", "phrasings", *SETS], rows)


def _cities(tasks: Sequence[Task], _meta: Meta) -> str:
    counts = Counter((slug, task.set) for task in tasks for slug in cities_of(task))
    cells = [f"{slug} {counts[slug, 'core']}/{counts[slug, 'extended']}" for slug in sorted(city_forms())]
    lines = [cells[i:i + 6] for i in range(0, len(cells), 6)]
    return "Slug, tasks in core / extended:\n\n" + "\n".join(f"{' · '.join(line)}" + "  " for line in lines).rstrip()


def _phrasings(tasks: Sequence[Task], _meta: Meta) -> str:
    used = Counter(str(task.extra["phrasing"]) for task in tasks if task.set in ("core", "extended"))
    registers = Counter(phrasing.register for phrasing in phrasings().values())
    spread = sorted(used.values())
    families = Counter(natural(name)[0] for name in phrasings())
    return (f"{len(phrasings())} phrasings in {len(families)} families of {min(families.values())} to "
            f"{max(families.values())}; each fills {spread[0]} to {spread[-1]} core and extended tasks (median "
            f"{spread[len(spread) // 2]}). Registers: "
            + ", ".join(f"{name} {count}" for name, count in registers.most_common()) + ".")


def _variants(tasks: Sequence[Task], _meta: Meta) -> str:
    rows = [task for task in tasks if task.set == "robust"]
    core = {task.task_id for task in tasks if task.set == "core"}
    counts = Counter(str(task.extra["variant"]) for task in rows)
    of_core = Counter(str(task.extra["variant"]) for task in rows if task.extra["base"] in core)
    bases = {str(task.extra["base"]) for task in rows}
    return (_table(["variant", "rows", "of them of the core"],
                   [[name, str(counts[name]), str(of_core[name])] for name in VARIANTS])
            + f"\n\n{len(bases)} tasks are asked otherwise.")


def _verified(tasks: Sequence[Task], meta: Meta) -> str:
    found: Counter[tuple[str, str, str]] = Counter()
    for task in tasks:
        proof = task.extra.get("verified")
        for one in proof if isinstance(proof, list) else [proof]:
            level, status = (one["level"], str(one["source_status"] or "–")) if one else ("no request", "–")
            found[level, status, task.set or ""] += 1
    kinds = sorted({(level, status) for level, status, _ in found})
    source = ", ".join(f"{k} {v}" for k, v in meta["source"].items() if k != "world_hash")
    return f"Source: {source}.\n\n" + _table(
        ["checked against", "source_status", *SETS],
        [[level, status, *(str(found[level, status, which] or "–") for which in SETS)] for level, status in kinds])


def _difficulty(tasks: Sequence[Task], meta: Meta) -> str:
    notes = meta["tasks"]
    rows = []
    for which in ("core", "extended"):
        buckets = Counter(notes[task.task_id]["difficulty"]["bucket"] for task in tasks if task.set == which)
        rows.append([which, *(str(buckets[name]) for name in ("easy", "medium", "hard"))])
    return _table(["set", "easy", "medium", "hard"], rows)


def _readers(tasks: Sequence[Task], meta: Meta) -> str:
    read = Counter(review["reader"] for task in tasks for review in meta["tasks"][task.task_id].get("review", ()))
    several = {which: (sum(bool(meta["tasks"][task.task_id].get("review")) for task in tasks if task.set == which),
                       sum(task.set == which for task in tasks)) for which in SETS}
    return _table(["reader", "questions read"], [[name, str(count)] for name, count in sorted(read.items())]) \
        + "\n\nRead at least once: " + ", ".join(f"{which} {k} of {n}" for which, (k, n) in several.items()) + "."


BLOCKS: Mapping[str, Callable[[Sequence[Task], Meta], str]] = {
    "sets": _sets, "categories": _categories, "splits": _splits, "keys": _keys, "cities": _cities,
    "phrasings": _phrasings, "variants": _variants, "verified": _verified, "difficulty": _difficulty,
    "readers": _readers,
}
