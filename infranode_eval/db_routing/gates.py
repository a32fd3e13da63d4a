"""The fifteen gates that a panel passes before it is built; each finds what breaks it.

Source of the rules: specification, db_routing_panel, section 8. Gate 15 (hashes) is that of the built panel (panel.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from infranode_eval.db_routing.alike import alike_pairs
from infranode_eval.db_routing.bench import Bench, same
from infranode_eval.db_routing.folding import folded
from infranode_eval.db_routing.intents import PHRASINGS, Filter, Intent
from infranode_eval.db_routing.register import Register
from infranode_eval.db_routing.sources import open_literals
from infranode_eval.db_routing.spelling import unknown_words_of
from infranode_eval.db_routing.sqlgen import from_clause, order_key_sql, selected_sql, sql_of, without_filter
from infranode_eval.db_routing.wordlists import bare_words, stem

MOST_ROWS = 50
MOST_ALIKE = 0.90
NAME_TAG, PARAGRAPH_WORD = 0.20, 0.15       # shares of a database's phrasings
_CLOCK = re.compile(r"\b(?:now|random|randomblob|current_date|current_time|current_timestamp|localtime)\b", re.I)


class Finding(NamedTuple):
    """What is wrong with what: an intent, a database, a pair."""

    subject: str
    message: str


def runs(bench: Bench) -> Iterator[Finding]:
    for intent in bench.intents:
        found = bench.run(intent.database, bench.sources.sql(intent))
        if isinstance(found, str):
            yield Finding(intent.name, f"{found}: {bench.sources.sql(intent)}")


def is_not_empty(bench: Bench) -> Iterator[Finding]:
    for intent in bench.intents:
        rows = bench.gold(intent)
        if not any(value not in (None, 0) for row in rows for value in row):
            yield Finding(intent.name, f"answers nothing, or only NULL and 0: {rows[:3]}")
        elif len(rows) > MOST_ROWS:
            yield Finding(intent.name, f"answers {len(rows)} rows, at most {MOST_ROWS} can be shown")


def has_no_order_of_rows(bench: Bench) -> Iterator[Finding]:
    for intent in bench.intents:
        other = bench.rows(intent.database, bench.sources.sql(intent), reverse=True)
        if not same(bench.gold(intent), other, ordered=intent.is_ordered):
            yield Finding(intent.name, f"rows inserted in reverse answer {other[:3]}, not {bench.gold(intent)[:3]}")


def has_no_clock(bench: Bench) -> Iterator[Finding]:
    for intent in bench.intents:
        found = _CLOCK.search(bench.sources.sql(intent))
        if found:
            yield Finding(intent.name, f"reads {found[0]!r}")


def depends_on_its_rows(bench: Bench) -> Iterator[Finding]:
    """Deleting all rows that the filters select changes the result; deleting some would be no test of MAX and LIMIT."""
    for intent in bench.intents:
        schema = bench.sources.schemas[intent.database]
        delete = f"DELETE FROM {intent.base} WHERE id IN ({selected_sql(intent, schema)})"
        with bench.changed(intent.database, delete):
            left = bench.rows(intent.database, bench.sources.sql(intent))
        if same(left, bench.gold(intent), ordered=intent.is_ordered):
            yield Finding(intent.name, f"answers the same without the rows of {from_clause(intent, schema)}")


def has_clear_places(bench: Bench) -> Iterator[Finding]:
    """With LIMIT n there is a row n + 1, and no two neighbours among them are equal in the first key."""
    for intent in bench.intents:
        if intent.limit is not None:
            keys = bench.rows(intent.database, order_key_sql(intent, bench.sources.schemas[intent.database]))
            plain = [] if isinstance(keys, str) else [key for (key,) in keys]
            if len(plain) <= intent.limit or any(a == b for a, b in zip(plain, plain[1:], strict=False)):
                yield Finding(intent.name, f"the places 1 to {intent.limit + 1} have the keys {plain}")


def needs_every_filter(bench: Bench) -> Iterator[Finding]:
    for intent in bench.intents:
        for place, condition in enumerate(intent.where):
            sql = sql_of(without_filter(intent, place), bench.sources.schemas[intent.database])
            if same(bench.rows(intent.database, sql), bench.gold(intent), ordered=intent.is_ordered):
                yield Finding(intent.name, f"answers the same without {_shown(condition)}")


def answers_nowhere_else(bench: Bench) -> Iterator[Finding]:
    for intent in bench.intents:
        for other in bench.sources.schemas:
            found = None if other == intent.database else bench.rows(other, bench.sources.sql(intent))
            if found is not None and same(found, bench.gold(intent), ordered=intent.is_ordered):
                yield Finding(intent.name, f"answers the same in {other}")


def is_separable(bench: Bench) -> Iterator[Finding]:
    """Its concepts are known to one database only, inside their coverage, and each phrasing says why no other."""
    for intent in bench.intents:
        yield from (Finding(intent.name, why) for why in unseparated(bench, bench.register, intent))
        yield from (Finding(intent.name, why) for why in _uncovered(bench, intent))


def unseparated(bench: Bench, register: Register, intent: Intent) -> Iterator[str]:
    """Why this register does not separate the intent's database from the others."""
    concepts = bench.sources.concepts(intent)
    if not register.knows(intent.database, concepts):
        yield f"{intent.database} lacks {', '.join(register.lacking(intent.database, concepts))}"
    said = {phrasing: bench.voiced(intent, phrasing) for phrasing in PHRASINGS}
    for other in register.others(intent.database):
        lacking = register.lacking(other, concepts)
        if not lacking:
            yield f"{other} knows all of {', '.join(concepts)}"
        mute = [phrasing for phrasing in PHRASINGS if lacking and not said[phrasing] & set(lacking)]
        if mute:
            yield f"{other} lacks {', '.join(lacking)}, which {', '.join(mute)} does not voice"


def _uncovered(bench: Bench, intent: Intent) -> Iterator[str]:
    """Literals outside the coverage of their concept: a question outside every coverage is none."""
    schema = bench.sources.schemas[intent.database]
    known = bench.register.databases[intent.database].concepts
    for condition in intent.where:
        for name in condition.columns:
            cover = known.get(schema.columns[name].concept)
            texts = [value for value in condition.literals if isinstance(value, str)]
            if cover is None or not texts:
                continue
            if all(re.match(r"\d{4}(-\d\d){0,2}$", text) for text in texts):
                if not cover.holds_time(min(texts), max(texts)):
                    yield f"{_shown(condition)} lies outside {cover.first} to {cover.last}"
            elif cover.places and schema.columns[name].open and not set(texts) <= set(cover.places):
                yield f"{_shown(condition)} lies outside {', '.join(cover.places)}"


def is_refused_once_granted(bench: Bench) -> Iterator[Finding]:
    """Mutation of the gate before: grant a database what it lacks, and the intent has to be refused."""
    for intent in bench.intents:
        concepts = bench.sources.concepts(intent)
        for other in bench.register.others(intent.database):
            granted = bench.register.granting(other, concepts)
            if not any(why.startswith(f"{other} knows all") for why in unseparated(bench, granted, intent)):
                yield Finding(intent.name, f"is still accepted when {other} knows {', '.join(concepts)}")


def names_nothing(bench: Bench) -> Iterator[Finding]:
    """No identifier and no database's name stands in a paragraph or a question."""
    identifiers = {name for schema in bench.sources.schemas.values() for name in schema.identifiers}
    names = {name: re.compile(folded(name).replace("_", "[ _-]?")) for name in bench.register.databases}
    for subject, text in _texts(bench):
        plain = folded(text)
        for word in sorted(set(re.findall(r"[a-z0-9_]+", plain)) & identifiers):
            yield Finding(subject, f'holds the identifier "{word}"')
        for name, pattern in names.items():
            if pattern.search(plain):
                yield Finding(subject, f'holds the name "{name}"')


def _texts(bench: Bench) -> Iterator[tuple[str, str]]:
    yield from (("paragraph of " + name, text) for name, text in bench.sources.descriptions.items())
    yield from ((f"reserve paragraph {n}", text) for n, text in enumerate(bench.sources.reserve, 1))
    for intent in bench.intents:
        yield from ((f"{intent.name} {phrasing}", intent.phrasings[phrasing]) for phrasing in PHRASINGS)


def has_no_double(bench: Bench) -> Iterator[Finding]:
    """No two intents say nearly the same, and none differ in a literal only."""
    owners = [(intent, phrasing) for intent in bench.intents for phrasing in PHRASINGS]
    texts = [intent.phrasings[phrasing] for intent, phrasing in owners]
    for one, other, cosine in alike_pairs(texts, MOST_ALIKE):
        (first, here), (second, there) = owners[one], owners[other]
        if first.name != second.name:
            yield Finding(f"{first.name} {here}, {second.name} {there}", f"are {cosine:.2f} alike: {texts[one]}")
    shapes: dict[str, str] = {}
    for intent in bench.intents:
        known = shapes.setdefault(f"{intent.database} {intent.shape}", intent.name)
        if known != intent.name:
            yield Finding(f"{known}, {intent.name}", "differ in literals only")


def has_no_tag(bench: Bench) -> Iterator[Finding]:
    """No content stem in more than 20 % of a database's phrasings, none of its own paragraph in more than 15 %."""
    for database, intents in bench.sources.intents.items():
        found = Counter(name for intent in intents for phrasing in PHRASINGS
                        for name in {stem(word) for word in bench.sources.bare(intent, phrasing)})
        total, own = len(intents) * len(PHRASINGS), own_paragraph_stems(bench, database)
        for name, count in found.most_common():
            if count > NAME_TAG * total:
                yield Finding(database, f'"{name}…" stands in {count} of {total} phrasings')
            elif name in own and count > PARAGRAPH_WORD * total:
                yield Finding(database, f'"{name}…" of its own paragraph stands in {count} of {total} phrasings')


def own_paragraph_stems(bench: Bench, database: str) -> set[str]:
    """Content stems of a paragraph that no sister's has; for an isolated database, no other's."""
    paragraphs = bench.sources.descriptions
    stems = {name: {stem(word) for word in bare_words(text, (), bench.sources.lists)}
             for name, text in paragraphs.items()}
    others = bench.register.sisters(database) or bench.register.others(database)
    return stems.get(database, set()).difference(*(stems.get(name, set()) for name in others))


def is_spelt(bench: Bench) -> Iterator[Finding]:
    """Words that the dictionary, the project's list and the literals of open columns (names) do not know."""
    named = {literal for intent in bench.intents
             for literal in open_literals(intent, bench.sources.schemas[intent.database])}
    yield from (Finding(subject, f"unknown to the dictionary: {', '.join(unknown)}")
                for subject, unknown in unknown_words_of(dict(_texts(bench)), bench.sources.folder, named))


def _shown(condition: Filter) -> str:
    value = condition.other.text if condition.other else condition.value
    return f"[{condition.expression.text} {condition.operator} {value}]"


Gate = Callable[[Bench], Iterator[Finding]]
GATES: Mapping[int, tuple[str, Gate]] = {
    1: ("the gold runs in the safe executor", runs), 2: ("it answers something, at most 50 rows", is_not_empty),
    3: ("whatever the order of rows", has_no_order_of_rows), 4: ("without clock or chance", has_no_clock),
    5: ("from the rows that it selects", depends_on_its_rows), 6: ("with clear places", has_clear_places),
    7: ("every filter counts", needs_every_filter), 8: ("no other database answers the same", answers_nowhere_else),
    9: ("each phrasing says why no other", is_separable),
    10: ("mutation: granted, it is refused", is_refused_once_granted),
    11: ("no identifier, no real name", names_nothing), 12: ("no near duplicates", has_no_double),
    13: ("no name tag", has_no_tag), 14: ("spelling", is_spelt)}
