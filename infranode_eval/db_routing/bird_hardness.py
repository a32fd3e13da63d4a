"""How hard the questions of a BIRD folder are by their neighbours, kept in a file beside the results.

The method is that of the embedded panel (hardness.py), with English word lists. Where no database is known to be
isolated no rule can pick the floor, so it is fixed. Source: specification, db_routing, 4 and 31.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from infranode_eval.db_routing.bird_files import Asked
from infranode_eval.db_routing.folding import folded
from infranode_eval.db_routing.hardness import NEIGHBOURS, SIGNAL, THRESHOLD, Pool, Text
from infranode_eval.db_routing.panel import FOLDER
from infranode_eval.db_routing.statement import quoted_values
from infranode_eval.db_routing.textfiles import read_words
from infranode_eval.db_routing.wordlists import Wordlists, bare_words
from lm_eval_task.errors import UsageError
from lm_eval_task.records import fingerprint

SIGNALS = CHAR, NONE = ("char", "none")
FLOOR = 0.10
_TEXT = re.compile(r"'((?:[^']|'')*)'")


class Graded(NamedTuple):
    """foreign: task_id → (foreign neighbours, neighbours above the floor); None where nothing could be counted.

    told: what a manifest says of it. missing: why nothing was counted, None where that was wished or was not so.
    """

    foreign: Mapping[str, tuple[int, int]] | None
    told: Mapping[str, Any]
    missing: str | None = None


def graded(questions: Sequence[Asked], signal: str, beside: Path) -> Graded:
    """Count anew where scikit-learn is installed, unless the folder `beside` holds the counts of these questions."""
    if signal == NONE:
        return Graded(None, _told("none", 0.0, 0, "none"))
    texts = [_text(asked) for asked in questions]
    key = fingerprint([SIGNAL, FLOOR, NEIGHBOURS, [[one.intent, one.database, list(one.words)] for one in texts]])
    path = beside / f"bird-{key[:16]}.hardness.json"
    kept = _kept(path, key)
    if kept is None:
        try:
            pool = Pool(texts)
        except UsageError as error:
            return Graded(None, _told("none", 0.0, 0, "none"), str(error))
        counts = {text.intent: tuple(verdict) for text, verdict in zip(
            texts, ((one.foreign, one.neighbours) for one in pool.verdicts(FLOOR)), strict=True)}
        kept = {"key": key, "library": pool.library, "foreign": counts}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept, ensure_ascii=False) + "\n", "utf-8")
    return Graded({task: (counts[0], counts[1]) for task, counts in kept["foreign"].items()},
                  _told(SIGNAL, FLOOR, len(texts), kept["library"]))


def _told(signal: str, floor: float, pool: int, library: str) -> dict[str, Any]:
    return {"signal": signal, "k": NEIGHBOURS, "threshold": THRESHOLD, "floor": floor, "pool": pool, "library": library}


def _kept(path: Path, key: str) -> dict[str, Any] | None:
    """What the file holds; None where it holds nothing, or something else."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and value.get("key") == key else None


def _text(asked: Asked) -> Text:
    literals = [*(found.replace("''", "'") for found in _TEXT.findall(asked.sql)), *quoted_values(asked.sql)]
    return Text(asked.task_id, "a", asked.database, asked.question,
                tuple(bare_words(asked.question, literals, english())))


def english() -> Wordlists:
    """Function words and frames of English questions."""
    stop, frame = (frozenset(folded(word) for word in read_words(FOLDER / name))
                   for name in ("stop_en.txt", "frame_en.txt"))
    return Wordlists(stop, frame)
