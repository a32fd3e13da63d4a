"""Sentence embeddings: a router over the paragraphs, and how alike questions are by their vectors.

Only this module needs sentence-transformers (extra [embeddings]), and imports it late: it takes seconds. Source:
specification, db_routing, 4 and requirement 44.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from infranode_eval.db_routing.lexical import Router
from infranode_eval.db_routing.panel import file_sha256
from lm_eval_task.errors import UsageError
from lm_eval_task.records import fingerprint

DEFAULT = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"     # German among its fifty languages
EMBEDDINGS = "embeddings"           # the program and the signal that take a model
PLACES = 6          # of a cosine: below them numbers of one model differ from machine to machine
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")
_WEIGHTS = ("*.safetensors", "*.bin")       # the first kind that a folder has
_OTHER_RUNTIMES = frozenset(("onnx", "openvino"))

Vector = Sequence[float]


class Embedder(Protocol):
    """Vectors of length 1. Safe to call from many threads at once.

    told: what a result records of it: model, sha256 of the weights of a folder, and the library.
    """

    told: Mapping[str, Any]

    def question(self, text: str) -> Vector: ...

    def paragraph(self, text: str) -> Vector: ...

    def alike(self, questions: Sequence[str]) -> Iterator[Vector]:
        """For each question its cosine with every one of them, itself included."""
        ...


@dataclass(frozen=True, slots=True)
class Model:
    """Which model is meant. model: a name on the hub, or the last name of a folder. sha256: of a folder's weights.

    Of one file that is the file's own hash, of several one over their names and hashes. On the hub the same name may
    stand for other weights tomorrow, so of a hub name it is None.
    """

    model: str
    sha256: str | None

    @classmethod
    def of(cls, name: str) -> Model:
        """Raise UsageError for a folder without weights, and for what is neither a folder nor a name."""
        folder = Path(os.path.abspath(name))
        if name and folder.is_dir():
            return cls(folder.name, _weights_sha256(folder))
        if not _HUB_NAME.fullmatch(name):
            raise UsageError(f"--embedding-model {name} is neither a folder nor a name such as {DEFAULT}")
        return cls(name, None)

    def to_json(self) -> dict[str, Any]:
        return {"model": self.model, "sha256": self.sha256}


def _weights_sha256(folder: Path) -> str:
    for kind in _WEIGHTS:
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob(kind)
                       if not _OTHER_RUNTIMES & set(path.relative_to(folder).parts))
        hashes = [[name, file_sha256(folder / name)] for name in names]
        if hashes:
            return hashes[0][1] if len(hashes) == 1 else fingerprint(hashes)
    raise UsageError(f"--embedding-model {folder.name} is a folder without weights; expected a model of "
                     f"sentence-transformers with {' or '.join(_WEIGHTS)}")


class SentenceModel:
    """A model of sentence-transformers on the CPU, which gives the same vectors each time.

    A text is embedded alone, so that no neighbour in a batch moves its vector, and one at a time, since tokenizers are
    not made for threads. Raise UsageError where the library is missing or has no such model.
    """

    def __init__(self, name: str) -> None:
        model = Model.of(name)
        self._model, library = _loaded(name)
        self.told = {**model.to_json(), "library": library}
        self._lock = threading.Lock()
        self._paragraphs: dict[str, Vector] = {}

    def question(self, text: str) -> Vector:
        return self._encoded(self._model.encode_query, [text])[0].tolist()

    def paragraph(self, text: str) -> Vector:
        if text not in self._paragraphs:
            self._paragraphs[text] = self._encoded(self._model.encode_document, [text])[0].tolist()
        return self._paragraphs[text]

    def alike(self, questions: Sequence[str]) -> Iterator[Vector]:
        vectors = self._encoded(self._model.encode_query, list(questions))
        return ([round(cosine, PLACES) for cosine in (vectors @ vector).tolist()] for vector in vectors)

    def _encoded(self, encode: Callable[..., Any], texts: list[str]) -> Any:
        """A row of an array for each text."""
        with self._lock:
            return encode(texts, batch_size=1, normalize_embeddings=True, show_progress_bar=False)


def _loaded(name: str) -> tuple[Any, str]:
    """The model, and name and version of the library."""
    try:
        import sentence_transformers  # late: seconds to import, and most people never route by vectors
    except ImportError:
        raise UsageError("embeddings need sentence-transformers: pip install 'infranode-tool-eval[embeddings]'"
                         ) from None
    try:
        model = sentence_transformers.SentenceTransformer(name, device="cpu")
    except Exception as error:  # a broken folder raises what each of its formats has, also bare children of Exception
        reason = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise UsageError(f"--embedding-model {name} cannot be loaded: {reason}") from None
    return model, f"sentence-transformers {'.'.join(sentence_transformers.__version__.split('.')[:2])}"


def router_by(embedder: Embedder) -> Router:
    """Cosine of the vectors of question and paragraph, rounded: whoever is as near as can be told is a tie."""
    def over(paragraphs: Mapping[str, str]) -> Callable[[str], Mapping[str, float]]:
        vectors = {label: embedder.paragraph(text) for label, text in paragraphs.items()}

        def scores(question: str) -> Mapping[str, float]:
            cosine = partial(_cosine, embedder.question(question))
            return {label: cosine(vector) for label, vector in vectors.items()}
        return scores
    return over


def _cosine(one: Vector, other: Vector) -> float:
    """Of vectors of length 1."""
    return round(math.fsum(a * b for a, b in zip(one, other, strict=True)), PLACES)
