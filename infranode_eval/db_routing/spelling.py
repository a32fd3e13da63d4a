"""Words of the panel's texts that no German dictionary knows; needs hunspell with de_DE."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from infranode_eval.db_routing.textfiles import read_text, read_words

DICTIONARY = "de_DE"
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def unknown_words_of(texts: Mapping[str, str], folder: Path,
                     named: Iterable[str] = ()) -> Iterator[tuple[str, list[str]]]:
    """(id, unknown words) of each text that has some.

    folder: has words.txt and lists.json, whose words are known. named: texts whose words are known, too.
    """
    if shutil.which("hunspell") is None:
        yield "all texts", ["hunspell is not installed"]
        return
    lists = json.loads(read_text(folder / "lists.json"))
    towns = {f"{town}{ending}" for town in lists["towns"] for ending in ("er", "ern", "s")}
    texts_of_names = " ".join((json.dumps(lists, ensure_ascii=False), *named))
    known = {*read_words(folder / "words.txt"), *_words(texts_of_names), *towns}
    found = {name: [w for w in dict.fromkeys(_words(text)) if w not in known] for name, text in texts.items()}
    unknown = _unknown({word for few in found.values() for word in few})
    for name, few in found.items():
        wrong = [word for word in few if word in unknown]
        if wrong:
            yield name, wrong


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text))


def _unknown(words: set[str]) -> set[str]:
    done = subprocess.run(["hunspell", "-d", DICTIONARY, "-i", "utf-8", "-l"], check=True, capture_output=True,
                          input="\n".join(sorted(words)).encode())
    return set(done.stdout.decode("utf-8").split())
