"""What the panel's command shows: a database, an intent, neighbours, shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from infranode_eval.db_routing.bench import Bench, Result
from infranode_eval.db_routing.decoys import decoys_of
from infranode_eval.db_routing.hardness import Pool
from infranode_eval.db_routing.intents import PHRASINGS, Intent
from infranode_eval.db_routing.questions import why_not
from infranode_eval.db_routing.sources import Sources
from lm_eval_task.errors import UsageError

_MOST_VALUES = 8


def database_view(sources: Sources, name: str) -> str:
    """Tables with their rows, columns with concept and values, concepts that sisters know, too."""
    if name not in sources.schemas:
        raise UsageError(f"{name} has no schema yet; those that have: {', '.join(sources.schemas)}")
    return "\n".join([*_tables(sources, name), "", *_concepts(sources, name)]) + "\n"


def _tables(sources: Sources, name: str) -> Iterator[str]:
    rows = sources.rows(name)
    for table in sources.schemas[name].tables:
        yield f"{table.name} [{table.concept}] {len(rows[table.name])} rows"
        for place, column in enumerate(table.columns):
            values = [row[place] for row in rows[table.name]]
            target = f" -> {column.references}" if column.references else ""
            yield f"  {column.name} {column.type} [{column.concept}]{target}{' open' if column.open else ''}: " \
                  f"{_values(values)}"


def _values(values: Sequence[Any]) -> str:
    given = [value for value in values if value is not None]
    nulls = f", NULL {len(values) - len(given)}" if len(given) < len(values) else ""
    counts = Counter(given)
    if not given:
        return f"nothing{nulls}"
    if len(counts) > 20:
        return f"{min(given)} … {max(given)}, {len(counts)} different, most: {_most(counts, 4)}{nulls}"
    return f"{_most(counts, 20)}{nulls}"


def _most(counts: Counter[Any], number: int) -> str:
    return ", ".join(f"{value} ({count})" for value, count in counts.most_common(number))


def _concepts(sources: Sources, name: str) -> Iterator[str]:
    register = sources.register
    for concept in sorted(register.databases[name].concepts):
        others = [other for other in register.others(name) if concept in register.databases[other].concepts]
        cues = ", ".join(cue.text for cue in register.concepts[concept].cues)
        yield f"{concept} ({', '.join(others) or 'own'}): {cues}"


def intent_view(bench: Bench, intent: Intent) -> str:
    """SQL, rows, concepts, what each phrasing voices, who lacks what."""
    sources = bench.sources
    lines = [sources.sql(intent), rows_view(bench.gold(intent)).rstrip(),
             f"concepts: {', '.join(sources.concepts(intent))}; level {intent.level}; "
             f"decoys: {', '.join(decoys_of(intent, sources)) or 'none'}"]
    lines += [f"{p} {intent.phrasings[p]} [{', '.join(sorted(bench.voiced(intent, p)))}] "
              f"<{' '.join(sources.bare(intent, p))}>" for p in PHRASINGS]
    lines += [f"  {other}: lacks {', '.join(why['lacks']) or 'NOTHING'}; voiced: {', '.join(why['voiced_by']) or 'NO'}"
              for other, why in why_not(intent, bench).items()]
    return "\n".join(lines) + "\n"


def rows_view(rows: Result) -> str:
    return "".join(f"{row}\n" for row in rows[:12]) + (f"… {len(rows)} rows\n" if len(rows) > 12 else "")


def neighbours_view(pool: Pool, floor: float, name: str) -> str:
    """The neighbours of an intent's question, or the flag of each text of a database."""
    places = [p for p, text in enumerate(pool.texts) if name in (text.intent, text.database)]
    if not places:
        raise UsageError(f"{name} is neither an intent nor a database of the pool")
    lines = []
    for place in places:
        text, verdict = pool.texts[place], pool.verdict(place, floor)
        lines.append(f"{text.intent} {text.phrasing} {'HARD' if verdict.flagged else 'free'} {verdict.foreign} of "
                     f"{verdict.neighbours} foreign: {text.text} <{' '.join(text.words)}>")
        if text.intent == name:
            lines += [f"    {n.cosine:.3f} {pool.texts[n.place].intent} {pool.texts[n.place].phrasing} "
                      f"{pool.texts[n.place].text}" for n in pool.near(place, floor)]
    return "\n".join(lines) + "\n"


def shares_view(pool: Pool, floor: float, ruled: float | None, intents: Iterable[Intent]) -> str:
    """The share of hard texts of each database and level, around the floor."""
    lines = [f"floor {floor} (the rule picks {ruled}), {len(pool.texts)} texts; phrasings agree in "
             f"{pool.agreement(floor):.0%}; router {({k: round(v, 2) for k, v in pool.router(floor).items()})}"]
    columns = [round(floor + step, 2) for step in (-0.02, -0.01, 0.0, 0.01, 0.02)]
    lines.append(f"{'':18}{''.join(f'{column:8.2f}' for column in columns)}   questions only")
    by_floor = [pool.shares(column) for column in columns]
    questions = pool.shares(floor, "a")
    lines += [f"{name:18}{''.join(f'{shares[name]:8.0%}' for shares in by_floor)}{questions[name]:12.0%}"
              for name in questions]
    level = {intent.name: f"{intent.database} {intent.level}" for intent in intents}
    flags: dict[str, list[bool]] = {}
    for place, text in enumerate(pool.texts):
        flags.setdefault(level[text.intent], []).append(pool.verdict(place, floor).flagged)
    lines += [f"  {name:24} {sum(found)} of {len(found)}" for name, found in sorted(flags.items())]
    near = sorted(len(pool.near(place, floor)) for place in range(len(pool.texts)))
    lines.append(f"neighbours above the floor: median {near[len(near) // 2]}, {near.count(20)} texts with 20")
    return "\n".join(lines) + "\n"
