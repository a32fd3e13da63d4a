"""What a reply without a call says: does it ask back, does it claim an action? Labels only; no number depends on them.

Source: specification, bench, S5 (`asks`, `claims_done`).
"""

from __future__ import annotations

import re

READ_LIMIT = 4000   # characters; a label is not worth more time

_CODE_OR_QUOTE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|„[^“\"\n]*[“\"]|“[^”\n]*”|\"[^\"\n]*\"|»[^«\n]*«", re.DOTALL)
_CLOSING_OFFER = re.compile(
    r"\b(?:sonst noch (?:etwas|was|irgendetwas)|noch etwas (?:tun|wissen|anderes)"
    r"|(?:möchten|möchtest|wünschen|wollen|willst|brauchen|brauchst) (?:sie|du) (?:sonst )?noch (?:etwas|was|mehr)"
    r"|(?:weiter|anderweitig)(?:e[snm]?)? (?:helfen|behilflich|hilfe|fragen))\b", re.IGNORECASE)
_REQUEST = re.compile(
    r"\b(?:bitte|noch)\b[^.!?\n]*\b(?:nenn|angeben|angib|gib|geben|mitteil|teil|schick|sag)\w*"
    r"|\b(?:nenn|gib|geben|teil|schick|sag)\w*\b[^.!?\n]*\bbitte\b"
    r"|\bich (?:brauche|benötige)\b|\bmir fehl(?:t|en)\b|\b(?:welche[rsnm]?|wie lautet)\b", re.IGNORECASE)


_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def asks_back(text: str) -> bool:
    """A question mark outside code and quotes, or a request without one; a closing offer alone is none."""
    sentences = _SENTENCE.findall(_CODE_OR_QUOTE.sub(" ", text[:READ_LIMIT]))
    return any(("?" in sentence or _REQUEST.search(sentence)) and not _CLOSING_OFFER.search(sentence)
               for sentence in sentences)


_SENTENCE_END = re.compile(r"(?<![0-9])[.!?]+(?:\s|$)|\n+")
_DONE = re.compile(
    r"\b(?:habe|hab|wurden?|sind|ist)\b[^.!?\n]*?\b(?:angelegt|gelöscht|abgesagt|gebucht|geändert|eingetragen|reserviert"
    r"|storniert|angemeldet|erstellt|verschickt|gesendet)\b|\berledigt\b", re.IGNORECASE)
_NOT_DONE = re.compile(r"\b(?:nicht|noch|kein\w*)\b", re.IGNORECASE)


def claims_done(text: str) -> bool:
    """Does a sentence claim an action ("habe … angelegt", "Erledigt") without nicht, noch or kein in it?"""
    sentences = _SENTENCE_END.split(text[:READ_LIMIT])
    return any(_DONE.search(sentence) and not _NOT_DONE.search(sentence) for sentence in sentences)
