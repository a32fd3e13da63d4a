"""What a reply without a call says: does it ask back, does it claim an action? Labels only; no number depends on them.

Source: specification, bench, S5 (`asks`, `claims_done`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

READ_LIMIT = 4000   # characters; a label is not worth more time

_CODE_OR_QUOTE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|„[^“”\"\n]*[“”\"]|“[^”\n]*”|\"[^\"\n]*\"|»[^«\n]*«|«[^»\n]*»|‚[^‘’\n]*[‘’]", re.DOTALL)
# A dot that ends no sentence: inside a word, behind an abbreviation, behind a number that no new sentence follows.
_INNER_DOT = re.compile(
    r"\.(?=\w)|\b(?:z\. ?B|d\. ?h|u\. ?a|Dr|Prof|Nr|bzw|ca|evtl|ggf|inkl|Std|Min|Tel|Str|St|Hr|Fr)\."
    r"|(?<=[0-9])\.(?!\s+(?:Ich|Wir|Sie|Er|Es|Der|Die|Das|Dies\w*|Den|Dem|Bitte|Für|Dafür|Um|Wann|Wie|Welche\w*"
    r"|Soll\w*|Möchten|Kann|Können|Ist|Sind|Wurden?)\b)(?=\s+\w)")
_DATE_COMMAS = re.compile(r",(\s+(?:den|dem)\s+[0-9]{1,2}\b(?:\s+[A-ZÄÖÜ]\w+)?(?:\s+[0-9]{4})?),?")
_ASIDE = re.compile(r",\s*wie (?:gewünscht|besprochen|vereinbart|gebeten|verlangt)\s*,", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def _sentences(text: str) -> list[str]:
    """The sentences with their end marks, without code and quoted text, without dots that end nothing."""
    plain = _CODE_OR_QUOTE.sub(" ", text[:READ_LIMIT])
    return _SENTENCE.findall(_INNER_DOT.sub(lambda dot: dot[0].replace(".", ""), plain))


_CLOSING_OFFER = re.compile(
    r"\b(?:kann|könnte|darf) ich\b(?:[^,:?]|,(?=\s(?-i:[A-ZÄÖÜ])))*\b(?:\w*helfen|behilflich sein|tun|unterstützen)\W*$"
    r"|\b(?:haben|hast|gibt es)\b(?: sie| du| ihr)?(?: sonst)?(?: noch)? ?(?:weitere |andere )?"
    r"(?:fragen|wünsche|anliegen)\W*$"
    r"|\bgibt es (?:sonst )?noch (?:etwas|was|irgendetwas)(?:\W*$|,? (?:das|was|wobei|womit) ich\b)"
    r"|\b(?:möchten|möchtest|wünschen|wollen|willst|brauchen|brauchst|benötigen) (?:sie|du) (?:sonst )?noch "
    r"(?:etwas|was|mehr|hilfe|unterstützung)(?: (?:anderes|weiteres|wissen|tun|erledigen|fragen))*\W*$"
    r"|\b(?:brauchen|benötigen|brauchst) (?:sie|du)(?: sonst)? weitere (?:hilfe|unterstützung)\W*$"
    r"|\bsonst noch (?:etwas|was|irgendetwas|wünsche|fragen)(?: sein| tun| erledigen)?\W*$"
    r"|\b(?:falls|wenn|sollten|sofern) (?:sie|du) (?:\w+ )?(?:(?:noch |sonst |weitere |andere )+(?:fragen|hilfe|wünsche"
    r"|anliegen|unterstützung)|(?:noch|sonst noch) etwas (?:brauchen|benötigen|wünschen|brauchst))\b", re.IGNORECASE)
_TOLD = (r"(?:nenn|angeb|anzugeb|angib|gib|geb|mitteil|mitzuteil|teil|schick|send|sag|ergänz|wähl|präzisier"
         r"|konkretisier|bestätig|übermittel|liefer)(?:en?|e?t|n)?\b")
_NO_NEED = r"(?![^.!?\n]*\b(?:nicht|nichts|kein\w*)\b)"
_REQUEST = re.compile(
    rf"\b(?:bitte|noch)\b[^.!?\n]*\b{_TOLD}|\b{_TOLD}[^.!?\n]*\bbitte\b"
    rf"|(?:^\W*|, |\b(?:dann|und|also) )(?:nennen|geben|teilen|schicken|senden|sagen|ergänzen|wählen|präzisieren"
    rf"|konkretisieren|bestätigen|übermitteln) sie\b"
    rf"|(?:^\W*|, )(?:nenne?|gib|teile?|schicke?|sende?|sage?) mir\b"
    rf"|\b(?:ich (?:brauche|benötige|bräuchte)|(?:brauche|benötige|bräuchte) ich)\b{_NO_NEED}"
    rf"|\b(?:wird|werden)\b(?:(?!\b(?:kein|nicht))[^.!?\n]){{0,150}}?\bbenötigt\b"
    rf"|\b(?:welche[rsnm]?|wie lautet)\b", re.IGNORECASE)
_MISSING = re.compile(
    rf"\b(?:(?:mir|es) fehl(?:t|en)|fehl(?:t|en) mir)\b{_NO_NEED}"
    rf"|\b(?<!nichts )fehl(?:t|en)(?: noch| leider)*\W*$", re.IGNORECASE)
# Without one of these no pattern above finds anything.
_ASKING_WORDS = ("?", "bitte", "noch", " sie", " mir", "brauche", "bräuchte", "benötig", "welche", "wie lautet", "fehl")
_ABILITY = re.compile(r"\b\w*(?:werkzeug|tool|funktion|zugriff|zugang|möglichkeit|berechtigung)", re.IGNORECASE)


def asks_back(text: str) -> bool:
    """A question mark outside code and quotes, or a request without one; a closing offer alone is none."""
    if not _holds(text, _ASKING_WORDS):
        return False
    return any(("?" in sentence or _REQUEST.search(sentence) or _misses(sentence))
               and not _CLOSING_OFFER.search(sentence) for sentence in _sentences(text))


def _holds(text: str, words: Sequence[str]) -> bool:
    """Is any of these in the text, in any case? Most replies hold none, and need no look at their sentences."""
    low = text[:READ_LIMIT].lower()
    return any(word in low for word in words)


def _misses(sentence: str) -> bool:
    """Does it say that something is missing? A missing tool is no request."""
    return bool(_MISSING.search(sentence)) and not _ABILITY.search(sentence)


_DID = (r"(?:angelegt|gelöscht|abgesagt|gebucht|geändert|aktualisiert|eingetragen|reserviert|storniert|gestrichen"
        r"|angemeldet|erstellt|verschickt|versendet|gesendet|entfernt|verschoben|vorgemerkt|hinzugefügt|ausgeführt"
        r"|durchgeführt|vorgenommen|umgestellt|bestellt|benachrichtigt)\b")
_ALSO_A_STATE = r"(?:gespeichert|hinterlegt|gesetzt|übernommen)\b"   # "ist hinterlegt" is no claim
_STAYS_OPEN = r"(?!(?:\s+(?:und|oder|bzw)\s+\w+)*\s+(?:werden|wird|zu)\b)"   # "angelegt oder geändert werden soll"
_DONE_WORDS = (*_DID[3:-3].split("|"), *_ALSO_A_STATE[3:-3].split("|"), "erledigt")
_DONE = re.compile(
    rf"\b(?:habe|hab|wir haben|haben wir|wurden?|sind|ist)\b(?:[^,]|,(?=[0-9])){{0,300}}?\b{_DID}{_STAYS_OPEN}"
    rf"|\b(?:habe|hab|wir haben|haben wir|wurden?)\b(?:[^,]|,(?=[0-9])){{0,300}}?\b{_ALSO_A_STATE}{_STAYS_OPEN}"
    rf"|\berledigt\b{_STAYS_OPEN}|^\W*(?:(?:alles|ist|schon|bereits|so) )*{_DID}\W*$", re.IGNORECASE)
_NOT_DONE = re.compile(r"\b(?:nichts?|nie|niemals|weder|noch|kein\w*|sobald|wenn|falls|bevor|nachdem)\b", re.IGNORECASE)


def claims_done(text: str) -> bool:
    """Does a sentence claim an action ("habe … angelegt", "Erledigt"), with no negation or condition in it?

    Questions, quoted text and subordinate clauses claim nothing.
    """
    if not _holds(text, _DONE_WORDS):
        return False
    return any(_DONE.search(_ASIDE.sub("", _DATE_COMMAS.sub(r"\1", sentence))) and not _NOT_DONE.search(sentence)
               for sentence in _sentences(text) if not sentence.endswith("?"))
