"""Leaks: where a text, a name or a chunk of an asset tells what only pixels or samples may hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from infranode_eval.generator.team import picture, sound
from infranode_eval.generator.team.number import spellings_of_date, spellings_of_number

_STRETCH = 300      # characters: parts of one secret within this reach are taken to belong together


@dataclass(frozen=True, slots=True)
class Secret:
    """A fact that only an asset tells. parts: numbers, dates or texts.

    With one part, any spelling of it anywhere is a leak. With several (the votes of a count, say: 4 alone is in every
    statute), it is one where a spelling of each part stands within 300 characters.
    """

    name: str
    parts: tuple[int | date | str, ...]


@dataclass(frozen=True, slots=True)
class Leak:
    """where: the file; what: the secret; found: the text that tells it."""

    where: str
    what: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: tells {self.what} ({self.found!r})"


def leaks(files: Mapping[str, bytes], secrets: Sequence[Secret]) -> list[Leak]:
    """Every secret told by a file: by its name, its text, or a chunk beside a picture's pixels or a sound's samples.

    files: path → bytes. A file that is no UTF-8, PNG or WAV is searched byte by byte (latin-1).
    """
    found = []
    for path, content in sorted(files.items()):
        for text in (_words(path), *_texts(path, content)):
            for secret in secrets:
                told = told_in(text, secret)
                if told is not None:
                    found.append(Leak(path, secret.name, told))
    return list(dict.fromkeys(found))


def spellings(value: int | date | str) -> tuple[str, ...]:
    """All the ways in which a part may be written. A text stands for itself, with dot and comma exchanged."""
    if isinstance(value, date):
        return tuple(dict.fromkeys(spellings_of_date(value)))
    if isinstance(value, int):
        return tuple(dict.fromkeys(spellings_of_number(value)))
    return tuple(dict.fromkeys((value, value.replace(",", "."), value.replace(".", ","))))


def pattern(value: int | date | str) -> re.Pattern[str]:
    """Finds a part in a plain text, not inside a longer word or number: 23 is not in 2023, 1.23 or 23,5."""
    told = sorted((_plain(s) for s in spellings(value)), key=len, reverse=True)
    return re.compile(r"(?<!\w)(?<!\d[.,])(?:" + "|".join(map(re.escape, told)) + r")(?!\w)(?![.,]\d)")


def told_in(text: str, secret: Secret) -> str | None:
    """The spellings with which a text tells a secret, or None."""
    text = _plain(text)
    first, *others = ([m.span() for m in pattern(part).finditer(text)] for part in secret.parts)
    for span in first:
        near = [next((s for s in spans if s != span and abs(s[0] - span[0]) <= _STRETCH), None) for spans in others]
        if None not in near:
            return ", ".join(text[start:end] for start, end in [span, *filter(None, near)])
    return None


def _texts(path: str, content: bytes) -> Iterator[str]:
    """The text of a file; of an asset all that is neither pixel nor sample."""
    if path.endswith(".png"):
        yield from (name + " " + data.decode("latin-1") for name, data in picture.chunks(content)
                    if name not in ("IDAT", "IHDR"))
    elif path.endswith(".wav"):
        yield from (name + " " + data.decode("latin-1") for name, data in sound.chunks(content)
                    if name not in ("data", "fmt "))
    else:
        try:
            yield content.decode("utf-8")
        except UnicodeDecodeError:
            yield content.decode("latin-1")


def _plain(text: str) -> str:
    """Small letters, one blank for any gap, no soft hyphens, full-width digits as plain ones."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).replace("\xad", "")).casefold()


def _words(path: str) -> str:
    """A name as a text: the parts between its marks are words."""
    return re.sub(r"[_/]", " ", path)
