"""How hard the questions of a BIRD folder are by their neighbours, kept in a file beside the results.

The method is that of the embedded panel (hardness.py): by characters with English word lists, or by embeddings of the
questions as they stand. Where no database is known to be isolated no rule can pick the floor of characters, so it is
fixed; vectors of embeddings leave no text without twenty alike, so they need none. Source: specification, db_routing,
4 and 31.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from infranode_eval.db_routing.bird_files import Asked
from infranode_eval.db_routing.embeddings import DEFAULT, EMBEDDINGS, Embedder, Model, SentenceModel, Vector
from infranode_eval.db_routing.folding import folded
from infranode_eval.db_routing.hardness import NEIGHBOURS, SIGNAL, THRESHOLD, Cosines, Pool, Text, characters
from infranode_eval.db_routing.panel import FOLDER
from infranode_eval.db_routing.statement import quoted_values
from infranode_eval.db_routing.textfiles import read_words
from infranode_eval.db_routing.wordlists import Wordlists, bare_words
from lm_eval_task.errors import UsageError
from lm_eval_task.records import fingerprint

SIGNALS = CHAR, EMBEDDED, NONE = ("char", EMBEDDINGS, "none")
FLOOR, NO_FLOOR = 0.10, 0.0
_TEXT = re.compile(r"'((?:[^']|'')*)'")


class Graded(NamedTuple):
    """foreign: task_id → (foreign neighbours, neighbours above the floor); None where nothing could be counted.

    told: what a manifest says of it. missing: why nothing was counted, None where that was wished or was not so.
    """

    foreign: Mapping[str, tuple[int, int]] | None
    told: Mapping[str, Any]
    missing: str | None = None


def graded(questions: Sequence[Asked], signal: str, beside: Path, embedding: str = DEFAULT,
           opened: Callable[[str], Embedder] = SentenceModel) -> Graded:
    """Count anew, unless the folder `beside` holds the counts of these questions.

    embedding: the model of the signal by embeddings, and what opens it. Without scikit-learn characters count nothing;
    embeddings were asked for, so without their library or model there is a UsageError.
    """
    if signal == NONE:
        return Graded(None, _told("none", 0.0, 0, "none"))
    texts = [_text(asked) for asked in questions]
    if signal == EMBEDDED:
        return _by_embeddings(texts, beside, embedding, opened)
    key = fingerprint([SIGNAL, FLOOR, NEIGHBOURS, [[one.intent, one.database, list(one.words)] for one in texts]])
    try:
        counts, library = _counted(texts, FLOOR, beside, key, characters)
    except UsageError as error:
        return Graded(None, _told("none", 0.0, 0, "none"), str(error))
    return Graded(counts, _told(SIGNAL, FLOOR, len(texts), library))


def _by_embeddings(texts: Sequence[Text], beside: Path, name: str, opened: Callable[[str], Embedder]) -> Graded:
    model = Model.of(name).to_json()
    key = fingerprint([EMBEDDED, model, NO_FLOOR, NEIGHBOURS, [[one.intent, one.database, one.text] for one in texts]])

    def cosines(texts: Sequence[Text]) -> tuple[Iterable[Vector], str]:
        embedder = opened(name)
        return embedder.alike([one.text for one in texts]), embedder.told["library"]

    counts, library = _counted(texts, NO_FLOOR, beside, key, cosines)
    return Graded(counts, {**_told(EMBEDDED, NO_FLOOR, len(texts), library), **model})


def _counted(texts: Sequence[Text], floor: float, beside: Path, key: str,
             cosines: Cosines) -> tuple[dict[str, tuple[int, int]], str]:
    """task_id → (foreign neighbours, neighbours), and the library: as the file of this key has them, or anew."""
    path = beside / f"bird-{key[:16]}.hardness.json"
    kept = _kept(path, key)
    if kept is None:
        pool = Pool(texts, cosines)
        found = {text.intent: (one.foreign, one.neighbours)
                 for text, one in zip(texts, pool.verdicts(floor), strict=True)}
        kept = {"key": key, "library": pool.library, "foreign": found}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept, ensure_ascii=False) + "\n", "utf-8")
    return {task: (foreign, near) for task, (foreign, near) in kept["foreign"].items()}, kept["library"]


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
