"""German text made comparable: lower case, umlauts spelled out, words; Störung and stoerung are the same."""

from __future__ import annotations

import re
import unicodedata

_SPELLED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_WORD = re.compile(r"[a-z0-9]+")


def folded(text: str) -> str:
    """The text composed (NFC), case-folded (ß becomes ss), ä ö ü as ae oe ue, other accents dropped."""
    spelled = unicodedata.normalize("NFC", text).casefold().translate(_SPELLED)
    if spelled.isascii():
        return spelled
    plain = unicodedata.normalize("NFKD", spelled)
    return "".join(c for c in plain if not unicodedata.combining(c))


def words(text: str) -> list[str]:
    """The words of the folded text, in order; hyphens, blanks and signs part words."""
    return _WORD.findall(folded(text))


def phrase(text: str) -> str:
    """The words with single blanks between and around them, so that " auf lager" is found where a word begins."""
    return f" {' '.join(words(text))} "
