"""Building the panel: register, questions and manifest out of its sources, once all gates are passed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.bench import Bench
from infranode_eval.db_routing.data import content_sha256, row_count
from infranode_eval.db_routing.gates import GATES, Finding
from infranode_eval.db_routing.hardness import NEIGHBOURS, SIGNAL, THRESHOLD, Pool, Text
from infranode_eval.db_routing.panel import MANIFEST, QUESTIONS, REGISTER, load_panel, panel_sha256, text_sha256
from infranode_eval.db_routing.questions import question_line, question_row, task_id_of
from infranode_eval.db_routing.sources import Sources
from lm_eval_task.errors import DataError

POOL = ("a", "b")


def pool_of(sources: Sources) -> Pool:
    """Both phrasings of every intent; the sources know their frame words already."""
    return Pool([Text(intent.name, phrasing, intent.database, intent.phrasings[phrasing],
                      tuple(sources.bare(intent, phrasing))) for intent in sources.all_intents for phrasing in POOL])


def build(bench: Bench, floor: float | None = None) -> str:
    """Write the three files and say what was written. floor: of the cosine; None = the one that the rule picks.

    Raise DataError if a gate finds something, or if no floor keeps the isolated databases free.
    """
    for number, (title, gate) in GATES.items():
        found = next(gate(bench), None)
        if found is not None:
            raise DataError(f"gate {number} ({title}): {found.subject}: {found.message}; see panel check")
    folder, files = bench.sources.folder, built_files(bench, floor)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    sizes = ", ".join(f"{name} ({len(text.encode()):,} bytes)" for name, text in files.items())
    return f"wrote {sizes}; panel {json.loads(files[MANIFEST])['panel_sha256']}\n"


def built_files(bench: Bench, floor: float | None = None) -> dict[str, str]:
    """Name → text of each built file; the same sources give the same bytes."""
    sources, pool = bench.sources, pool_of(bench.sources)
    isolated = [name for name, domain in sources.register.databases.items() if domain.cluster is None]
    floor = floor if floor is not None else pool.floor(isolated)
    if floor is None:
        raise DataError("no floor keeps every isolated database at 5 % of hard questions; see panel neighbours")
    verdicts = {(t.intent, t.phrasing): v for t, v in zip(pool.texts, pool.verdicts(floor), strict=True)}
    rows = sorted((question_row(intent, bench, verdicts[intent.name, "a"]) for intent in sources.all_intents),
                  key=lambda row: row["task_id"])
    columns = {name: schema.concepts for name, schema in sources.schemas.items()}
    texts = {REGISTER: _pretty(sources.register.to_json(columns)), QUESTIONS: "".join(map(question_line, rows))}
    hardness = {"signal": SIGNAL, "k": NEIGHBOURS, "threshold": THRESHOLD, "floor": floor, "pool": len(pool.texts),
                "library": pool.library, "frame_words": sorted(sources.lists.panel_frame)}
    return texts | {MANIFEST: _pretty(manifest(bench, texts, hardness))}


def manifest(bench: Bench, texts: Mapping[str, str], hardness: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of the specification, db_routing, section 1."""
    sources = bench.sources
    shuffled = random.Random(f"{sources.seed}/order")
    order = sorted(task_id_of(intent.name) for intent in sources.all_intents)
    shuffled.shuffle(order)
    value = {
        "format": 1, "panel": sources.config["panel"], "seed": sources.seed, "order": order,
        "aliases": _aliases(sources), "databases": {name: _database(bench, name) for name in sources.intents},
        "questions_sha256": text_sha256(texts[QUESTIONS]),
        "descriptions_sha256": text_sha256((sources.folder / "descriptions.json").read_text("utf-8")),
        "register_sha256": text_sha256(texts[REGISTER]), "hardness": dict(hardness),
        "candidates": {"method": "authored", "threshold": None, "linkage": None},
        "licence": sources.config["licence"]}
    return value | {"panel_sha256": panel_sha256(value)}


def _aliases(sources: Sources) -> dict[str, str]:
    """Alias → database: a seeded order that is not the alphabet's."""
    names, seed = sorted(sources.intents), 0
    while True:
        drawn = names[:]
        random.Random(f"{sources.seed}/aliases/{seed}").shuffle(drawn)
        if drawn != names or len(names) < 2:
            return {f"db_{number:02d}": name for number, name in enumerate(drawn, 1)}
        seed += 1


def _database(bench: Bench, name: str) -> dict[str, Any]:
    sources = bench.sources
    if name not in sources.descriptions:
        raise DataError(f"descriptions.json has no paragraph of {name}", sources.folder / "descriptions.json")
    rows = sources.rows(name)
    return {"cluster": sources.register.databases[name].cluster, "tables": len(sources.schemas[name].tables),
            "rows": row_count(rows), "content_sha256": content_sha256(bench.database(name)),
            "description_sha256": text_sha256(sources.descriptions[name])}


def file_problems(sources: Sources) -> Iterator[Finding]:
    """Gate 15: the built files hold what they say, and the databases built from the sources are those they mean."""
    if not (sources.folder / MANIFEST).is_file():
        yield Finding("the panel", "is not built yet")
        return
    try:
        load_panel(sources.folder, makers=sources.makers)
    except DataError as error:
        yield Finding("the panel", str(error))


def release_problems(sources: Sources) -> Iterator[Finding]:
    from infranode_eval.db_routing import release  # late: it needs scikit-learn

    yield from release.problems(sources)


def _pretty(value: Any) -> str:
    """JSON with one entry of the second level a line, so that a change shows where it is."""
    lines = []
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            rows = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in inner.items())
            lines.append(f'"{key}": {{\n{rows}\n}}')
        else:
            lines.append(f'"{key}": {json.dumps(inner, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def total_size(folder: Path) -> int:
    """Bytes of all files of the panel."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
