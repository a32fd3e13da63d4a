"""Whether the whole panel may be released: what only eleven finished databases together can hold.

Source of the rules: specification, db_routing, section 3; db_routing_panel, sections 2, 7, 9 and 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from infranode_eval.db_routing.build import pool_of, total_size
from infranode_eval.db_routing.composition import INTENTS
from infranode_eval.db_routing.decoys import decoys_of
from infranode_eval.db_routing.gates import Finding
from infranode_eval.db_routing.hardness import Pool, band_problems
from infranode_eval.db_routing.jury import VOTES, invented, read_votes
from infranode_eval.db_routing.lexical import ROUTERS, best
from infranode_eval.db_routing.panel import QUESTIONS
from infranode_eval.db_routing.questions import task_id_of
from infranode_eval.db_routing.sources import Sources
from infranode_eval.db_routing.textfiles import read_lines

DATABASES, RESERVE, MOST_BYTES = 11, 20, 3_000_000
WORDS, MOST_LONGER = (35, 60), 1.5          # of a paragraph, and longest against shortest
CUT, FILLED = 4_000, 30                     # characters of the wide database's list of tables; tables with rows
WIDE = 60                                   # tables from which on a database is the wide one
DECOYS = 0.60
ROUTER_ALL, ROUTER_HARD, ROUTER_LEAST = 0.60, 0.35, 0.15


def problems(sources: Sources) -> Iterator[Finding]:
    """Every rule that the panel breaks, with its number. Raise UsageError without scikit-learn."""
    pool = pool_of(sources)
    floor = pool.floor([name for name, domain in sources.register.databases.items() if domain.cluster is None])
    yield from _complete(sources)
    yield from _paragraphs(sources)
    yield from _wide(sources)
    yield from _decoys(sources)
    if floor is None:
        yield Finding("the panel", "no floor keeps every isolated database at 5 % of hard questions")
        return
    clusters = {name: domain.cluster for name, domain in sources.register.databases.items()}
    levels = {intent.name: intent.level for intent in sources.all_intents}
    yield from (Finding("hardness", said) for said in band_problems(pool, floor, clusters, levels))
    yield from _routers(sources, pool, floor)
    yield from _votes(sources)


def _complete(sources: Sources) -> Iterator[Finding]:
    for name in sources.register.databases:
        count = len(sources.intents.get(name, ()))
        if count < INTENTS:
            yield Finding(name, f"{count} intents, expected at least {INTENTS}")
    if len(sources.intents) != DATABASES:
        yield Finding("the panel", f"{len(sources.intents)} databases, expected {DATABASES}")
    if total_size(sources.folder) > MOST_BYTES:
        yield Finding("the panel", f"{total_size(sources.folder):,} bytes, at most {MOST_BYTES:,}")


def _paragraphs(sources: Sources) -> Iterator[Finding]:
    texts = {**sources.descriptions, **{f"reserve paragraph {n}": t for n, t in enumerate(sources.reserve, 1)}}
    lengths = {name: len(text.split()) for name, text in texts.items()}
    for name, length in lengths.items():
        if not WORDS[0] <= length <= WORDS[1]:
            yield Finding(name, f"a paragraph of {length} words, expected {WORDS[0]} to {WORDS[1]}")
    if lengths and max(lengths.values()) > MOST_LONGER * min(lengths.values()):
        yield Finding("paragraphs", f"{min(lengths.values())} to {max(lengths.values())} words, expected {MOST_LONGER} "
                                    "times the shortest at most")
    if len(sources.reserve) < RESERVE:
        yield Finding("paragraphs", f"{len(sources.reserve)} in reserve, expected at least {RESERVE}")


def _wide(sources: Sources) -> Iterator[Finding]:
    """One database has so many tables that the list of them is cut, and half of them hold rows."""
    wide = [name for name, schema in sources.schemas.items() if len(schema.tables) >= WIDE]
    if not wide:
        yield Finding("the panel", f"no database has {WIDE} tables or more")
    for name in wide:
        listed = len("\n".join(table.name for table in sources.schemas[name].tables))
        filled = sum(map(bool, sources.rows(name).values()))
        if listed <= CUT:
            yield Finding(name, f"the list of its tables has {listed} characters, expected more than {CUT}")
        if filled < FILLED:
            yield Finding(name, f"{filled} tables hold rows, expected at least {FILLED}")


def _decoys(sources: Sources) -> Iterator[Finding]:
    found = [bool(decoys_of(intent, sources)) for intent in sources.all_intents
             if sources.register.databases[intent.database].cluster]
    share = sum(found) / max(1, len(found))
    if share < DECOYS:
        yield Finding("decoys", f"{share:.0%} of the questions of clusters have one, expected at least {DECOYS:.0%}")


def router_scores(sources: Sources, pool: Pool, floor: float) -> dict[str, tuple[float, float]]:
    """Router over the paragraphs → accuracy over all texts of the pool, and over the flagged ones."""
    found = {}
    for name, router in ROUTERS.items():
        scores = router(sources.descriptions)
        right = [(best(scores(text.text), sources.seed, task_id_of(text.intent)) == text.database,
                  pool.verdict(place, floor).flagged) for place, text in enumerate(pool.texts)]
        hard = [hit for hit, flagged in right if flagged]
        found[name] = (sum(hit for hit, _ in right) / len(right), sum(hard) / max(1, len(hard)))
    return found


def _routers(sources: Sources, pool: Pool, floor: float) -> Iterator[Finding]:
    """No router by words is too good, or the paragraphs say too much; and none but poor ones, or too little."""
    scores: Mapping[str, tuple[float, float]] = router_scores(sources, pool, floor)
    for name, (overall, hard) in scores.items():
        if overall > ROUTER_ALL or hard > ROUTER_HARD:
            yield Finding(name, f"{overall:.2f} right over all, {hard:.2f} on flagged; at most {ROUTER_ALL}, "
                                f"{ROUTER_HARD}")
    if max(overall for overall, _ in scores.values()) < ROUTER_LEAST:
        yield Finding("paragraphs", f"no router by words is right on {ROUTER_LEAST:.0%}: they say too little")


def _votes(sources: Sources) -> Iterator[Finding]:
    """Votes that were made up for tests are in no released panel."""
    path = sources.folder / QUESTIONS
    if path.is_file() and any("fixture" in str(row["hardness"]) for _, row in read_lines(path)):
        yield Finding(QUESTIONS, "holds votes of the model fixture")
    if made_up := invented(read_votes(sources.folder / VOTES)):
        yield Finding(VOTES, f"holds {len(made_up)} votes of the model {made_up[0].model}")
