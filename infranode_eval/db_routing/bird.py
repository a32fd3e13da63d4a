"""A folder in BIRD's layout as a panel, so that the same loop and the same scorer take it.

Source: specification, db_routing, 4 and requirements 8 to 11, 14 and 36.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.bird_files import LAYOUT, Asked, Folder, Found, read_folder, text_in
from infranode_eval.db_routing.bird_hardness import CHAR, Graded, graded
from infranode_eval.db_routing.buckets import UNGRADED, neighbour_bucket
from infranode_eval.db_routing.embeddings import DEFAULT
from infranode_eval.db_routing.folding import phrase
from infranode_eval.db_routing.panel import Database, Panel, file_sha256, panel_sha256, text_sha256
from infranode_eval.db_routing.questions import TOOL
from infranode_eval.db_routing.statement import is_ordered
from infranode_eval.db_routing.tools import alias_of
from lm_eval_task.errors import DataError
from lm_eval_task.records import canonical_json

SEED = 20261201
LEAST, MOST = 2, 40         # databases of a panel
PARAGRAPHS = "expected an object: name of a database → its paragraph"
_SPELLED = re.compile(r"_|[a-z][A-Z]")      # a name that only a schema spells so


@dataclass(frozen=True, slots=True)
class Bird:
    """Where a panel comes from. descriptions: file of paragraphs; signal: one of bird_hardness.SIGNALS.

    beside: the folder of the results, which keeps what was counted. embedding: the model of the signal by embeddings.
    """

    folder: Path
    descriptions: Path
    signal: str = CHAR
    beside: Path = Path("results")
    embedding: str = DEFAULT

    @property
    def stem(self) -> str:
        """What results call it."""
        return self.folder.resolve().name


@dataclass(frozen=True, slots=True)
class BirdPanel:
    """left_out: databases without a paragraph; unknown: paragraphs without a database. allowed: database → words of
    its paragraph that are names in some schema, too. named: real name → questions and paragraphs that hold it.
    ungraded: why no neighbours were counted, None where they were, or were not wished.
    """

    panel: Panel
    left_out: tuple[str, ...]
    unknown: tuple[str, ...]
    allowed: Mapping[str, tuple[str, ...]]
    named: Mapping[str, int]
    ungraded: str | None

    @property
    def notes(self) -> Iterator[str]:
        """What the user is told before anything is sent."""
        if self.left_out:
            yield f"left out, for want of a paragraph: {', '.join(self.left_out)}"
        if self.unknown:
            yield f"paragraphs of databases that the folder lacks: {', '.join(self.unknown)}"
        for name, words in self.allowed.items():
            yield f"allowed in the paragraph of {name}, though names in a schema: {', '.join(words)}"
        if self.named:
            told = ", ".join(f"{name} {count}" for name, count in self.named.items())
            yield f"real names stand in so many questions and paragraphs, as words: {told}"
        if self.ungraded:
            yield f"no buckets: {self.ungraded}"

    @property
    def facts(self) -> dict[str, Any]:
        """What a result records of it."""
        splits = [row["split"] for row in self.panel.questions]
        return {"databases": len(self.panel.databases), "questions": len(splits), "train": splits.count("train"),
                "left_out": list(self.left_out), "allowed": {name: list(words) for name, words in self.allowed.items()},
                "named": dict(self.named), "hardness": dict(self.panel.manifest["hardness"])}


@cache
def bird_panel(bird: Bird) -> BirdPanel:
    """Read, once in a process. Raise DataError, naming file and layout, for whatever is missing or broken."""
    paragraphs = _paragraphs(bird.descriptions)
    folder = read_folder(bird.folder, paragraphs)
    shown = {name: paragraphs[name] for name in sorted(folder.databases)}
    _check(shown, folder, bird)
    hard = graded(folder.questions, bird.signal, bird.beside, bird.embedding)
    return BirdPanel(_panel(folder, shown, hard), tuple(sorted(folder.known - shown.keys())),
                     tuple(sorted(paragraphs.keys() - folder.known)), dict(_allowed(shown, folder)),
                     dict(_named(shown, folder)), hard.missing)


def _paragraphs(path: Path) -> dict[str, str]:
    try:
        value = json.loads(text_in(path, PARAGRAPHS))
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON ({error.msg}); {PARAGRAPHS}", path, error.lineno) from None
    if not isinstance(value, dict) or not all(isinstance(t, str) and t.strip() for t in value.values()):
        raise DataError(PARAGRAPHS, path)
    return value


def _check(shown: Mapping[str, str], folder: Folder, bird: Bird) -> None:
    if not LEAST <= len(shown) <= MOST:
        raise DataError(f"{len(shown)} databases of {bird.folder.name} have a paragraph, expected {LEAST} to {MOST}",
                        bird.descriptions)
    if not folder.questions:
        raise DataError(f"no question is about the databases that are described; {LAYOUT}", bird.folder)
    for name, paragraph in shown.items():
        spelled = [one for one in sorted(_identifiers(folder)) if _SPELLED.search(one) and re.search(
            rf"(?<!\w){re.escape(one)}(?!\w)", paragraph)]
        if spelled:
            raise DataError(f"the paragraph of {name} holds {', '.join(spelled)} as a schema spells it",
                            bird.descriptions)


def _identifiers(folder: Folder) -> frozenset[str]:
    """Names of tables and columns of all databases, those of the CSVs too."""
    return frozenset(name for found in folder.databases.values()
                     for name in (*_names(found), *found.described))


def _names(found: Found) -> Iterator[str]:
    for table in found.schema.tables:
        yield table.name
        yield from (column.name for column in table.columns)


def _allowed(shown: Mapping[str, str], folder: Folder) -> Iterator[tuple[str, tuple[str, ...]]]:
    phrases = {said: said.strip() for name in _identifiers(folder) if (said := phrase(name)).strip()}
    for name, paragraph in shown.items():
        text = phrase(paragraph)
        if words := tuple(sorted(word for said, word in phrases.items() if said in text)):
            yield name, words


def _named(shown: Mapping[str, str], folder: Folder) -> Iterator[tuple[str, int]]:
    texts = [phrase(text) for text in (*shown.values(), *(asked.question for asked in folder.questions))]
    for name in shown:
        if count := sum(phrase(name) in text for text in texts):
            yield name, count


# --- the panel --------------------------------------------------------------------------------------------------------

def _panel(folder: Folder, shown: Mapping[str, str], hard: Graded) -> Panel:
    rows = tuple(_row(asked, hard) for asked in folder.questions)
    aliases = _aliases(list(shown))
    databases = {name: Database(name, alias, None, folder.databases[name].schema, shown[name],
                                folder.databases[name].path) for alias, name in aliases.items()}
    order = sorted(row["task_id"] for row in rows)
    random.Random(f"{SEED}/order").shuffle(order)
    manifest = {
        "format": 1, "panel": "bird", "seed": SEED, "order": order, "aliases": aliases,
        "databases": {name: _facts(one) for name, one in databases.items()},
        "questions_sha256": text_sha256(canonical_json(list(rows))),
        "descriptions_sha256": text_sha256(canonical_json(dict(shown))), "register_sha256": None,
        "hardness": dict(hard.told), "candidates": {"method": "given", "threshold": None, "linkage": None},
        "licence": None}
    return Panel(databases, rows, tuple(order), (), SEED, manifest | {"panel_sha256": panel_sha256(manifest)})


def _facts(one: Database) -> dict[str, Any]:
    return {"cluster": None, "tables": len(one.schema.tables), "rows": None, "content_sha256": file_sha256(one.path),
            "description_sha256": text_sha256(one.description)}


def _aliases(names: list[str]) -> dict[str, str]:
    """Alias → database: a seeded order that is not the alphabet's."""
    for number in range(1_000):
        drawn = names[:]
        random.Random(f"{SEED}/aliases/{number}").shuffle(drawn)
        if drawn != names:
            break
    return {alias_of(number): name for number, name in enumerate(drawn, 1)}


def _row(asked: Asked, hard: Graded) -> dict[str, Any]:
    """A line as questions.jsonl has them; what only an authored question has is empty."""
    foreign, neighbours = (None, None) if hard.foreign is None else hard.foreign[asked.task_id]
    bucket = UNGRADED if foreign is None else neighbour_bucket(foreign, hard.told["threshold"])
    return {"task_id": asked.task_id, "set": "core", "category": bucket, "question": asked.question,
            "expected": [{"name": TOOL, "arguments": {"database": asked.database}}], "database": asked.database,
            "cluster": None, "intent": asked.task_id, "level": asked.difficulty, "split": asked.split,
            "gold_sql": asked.sql, "gold_ordered": is_ordered(asked.sql), "gold_rows": None, "gold_sha256": None,
            "concepts": [], "why_not": {}, "decoys": [],
            "hardness": {"foreign": foreign, "neighbours": neighbours, "votes": None, "bucket": bucket},
            "paraphrase": None, "verified": {"level": "published"}}
