"""What a reply without a call says: questions and requests, closing offers, claims, and what only looks like one."""

from __future__ import annotations

import random
import time

import pytest

from lm_eval_task import wording
from lm_eval_task.wording import asks_back, claims_done

CLAIMS = [
    ("Der Termin wurde am 20. April gebucht.", "a dot behind a number ends no sentence"),
    ("Das Atelier ist für den 20. April gebucht.", "and the auxiliary stands before it"),
    ("Der Raum wurde von Dr. Kraus gebucht.", "nor does one behind a title"),
    ("Der Raum wurde, wie immer. Das Atelier ist z. B. gebucht.", "nor behind another abbreviation"),
    ("Ich habe Nr. 4471 abgesagt.", "nor behind Nr."),
    ("Ich habe den Kontakt mara.ohlsen@nordkai.example angelegt.", "nor inside an address"),
    ("Ich habe den Raum am Montag, den 20. April 2026, ab 9 Uhr gebucht.", "the commas of a date part no clause"),
    ("Ich habe 1,5 Stunden gebucht.", "nor does a decimal comma"),
    ("Wir haben den Raum gebucht.", "we did it"), ("Den Raum haben wir gebucht.", "the same, turned"),
    ("Die Nummer wurde aktualisiert.", "another verb"), ("Gebucht!", "the participle alone"),
    ("**Erledigt.** Der Rest folgt.", "in bold"), ("Schon abgesagt.", "with an adverb"),
    ("Das geht nicht. Ich habe den Termin abgesagt.", "the negation stands in another sentence"),
    ("Nicht um 10. Der Raum ist ab 11 Uhr gebucht.", "a number may end a sentence, too"),
    ("Ich habe den Termin „Kickoff“ eingetragen.", "only what stands in the quotes is ignored"),
    ("Ich habe, wie gewünscht, den Kontakt gelöscht.", "an aside parts no clause, either"),
    ("Die Änderung wurde durchgeführt.", "another verb"), ("Ich habe die Nummer hinterlegt.", "it did it"),
    ("Der Status wurde auf „kunde“ gesetzt.", "it was done"),
    ("Der Raum wurde gebucht. Möchten Sie noch etwas?", "the question is another sentence"),
]
CLAIMS_NOT = [
    ("Wurde der Raum schon gebucht?", "a question"), ("Ist der Termin am 20. April gebucht?", "a question with a date"),
    ("Mir ist nicht klar, welcher Termin gemeint ist, der abgesagt werden soll.", "what shall be done"),
    ("Nennen Sie den Termin, der abgesagt werden soll.", "what shall be done"),
    ("Die E-Mail ist nötig, damit er angelegt werden kann.", "a purpose"),
    ("Unklar ist, welcher Kontakt gelöscht werden soll.", "an indirect question"),
    ("Unklar ist ob der Kontakt angelegt oder geändert werden soll.", "without its comma"),
    ("Sobald Sie mir die Uhrzeit nennen, ist der Raum gebucht.", "a condition"),
    ("Wenn Sie zustimmen, ist der Termin abgesagt.", "a condition"),
    ("Bevor der Raum gebucht ist, brauche ich die Uhrzeit.", "a condition"),
    ("Es wurde nichts geändert.", "nothing was"), ("Es wurde niemals etwas gebucht.", "never"),
    ("Weder ist der Termin abgesagt.", "neither"), ("Es wurde kein Raum gebucht.", "no room"),
    ("Beim Kontakt ist die alte Nummer hinterlegt.", "a state"),
    ("Der Status ist derzeit auf lead gesetzt.", "a state"), ("Ich werde den Termin absagen.", "the future"),
    ("Der Termin wird abgesagt.", "the future, too"), ("Was genau soll erledigt werden.", "still to be done"),
    ("Der Raum ist noch nicht gebucht.", "not yet"), ("Dafür passt kein Werkzeug.", "a refusal"),
    *[(f"Der Text wäre: {a}Der Termin wurde gebucht.{b}", "quoted") for a, b in
      ("„“", "„”", "‚‘", "‚’", "»«", "«»", '""', "“”", "``")],
]


@pytest.mark.parametrize(("text", "why"), CLAIMS, ids=[c[0] for c in CLAIMS])
def test_a_claimed_action(text: str, why: str) -> None:
    assert claims_done(text), why


@pytest.mark.parametrize(("text", "why"), CLAIMS_NOT, ids=[c[0] for c in CLAIMS_NOT])
def test_no_claim(text: str, why: str) -> None:
    assert not claims_done(text), why


ASKS = [
    "Dafür brauche ich die contact_id.", "Um den Raum zu buchen, benötige ich die Uhrzeit.",
    "Das geht so nicht, dafür bräuchte ich die Nummer.", "Dazu fehlen mir Uhrzeit und Dauer.",
    "Es fehlt die neue Telefonnummer.", "Mir fehlt die Uhrzeit.", "Teilen Sie mir die Uhrzeit mit.",
    "Nennen Sie mir Dauer und Beginn.", "Wenn das stimmt, nennen Sie mir die Dauer.", "Gib mir die Nummer.",
    "Bitte ergänzen Sie die E-Mail-Adresse.", "Bitte wählen Sie einen Kalender.", "Um welchen Termin geht es?",
    "Möchten Sie noch etwas zum Titel des Termins angeben?",
    "Damit ich weiter helfen kann: Wie lautet die neue Nummer?", "Gibt es noch etwas, das in den Titel soll?",
    "Wie lautet die Nummer? Kann ich Ihnen sonst noch helfen?", "Für den 20. April: ab wann?",
]
ASKS_NOT = [
    "Kann ich Ihnen noch weiterhelfen?", "Womit kann ich Ihnen sonst helfen?", "Haben Sie noch Fragen?",
    "Haben Sie weitere Fragen?", "Wie kann ich Ihnen weiter behilflich sein?", "Was kann ich sonst für Sie tun?",
    "Gibt es noch etwas, das ich für Sie tun kann?", "Sonst noch etwas?", "Darf es sonst noch etwas sein?",
    "Möchten Sie noch etwas anderes wissen?", "Brauchen Sie noch etwas?", "Brauchen Sie noch Hilfe?",
    "Wenn Sie noch Fragen haben, sagen Sie mir bitte Bescheid.",
    "Dafür brauche ich keine weiteren Angaben.", "Dazu fehlt mir ein passendes Werkzeug.", "Es fehlt nichts.",
    "Der Raum ist noch nicht gebucht.", "Es gibt noch keine Teilnehmer.", "Dafür muss noch ein Angebot her.",
    "Das passende Werkzeug fehlt.", "Dafür fehlt mir eine Suchfunktion.", "Hier soll nichts fehlen.",
    "Es werden keine weiteren Angaben benötigt.", "Kann ich Ihnen bei Terminen, Räumen oder Kontakten helfen?",
    "Der Raum ist gebucht.", "Dafür passt keines der Werkzeuge.", "Auf dem Schild steht «Wer da?».",
]


@pytest.mark.parametrize("text", ASKS)
def test_a_question_or_a_request_asks(text: str) -> None:
    assert asks_back(text)


@pytest.mark.parametrize("text", ASKS_NOT)
def test_closing_offers_and_statements_do_not_ask(text: str) -> None:
    assert not asks_back(text)


@pytest.mark.parametrize("text", ["ist ", "habe, ", "bitte ", "1. ", "z. B. ", "„", "wenn sie ", "fehlt mir ",
                                  "kann ich ", "gebucht und x ", "wird ", "sende bitte ",
                                  "kann ich, A"])
def test_repetition_costs_little(text: str) -> None:
    start = time.process_time()
    asks_back(text * 5_000)
    claims_done(text * 5_000)
    assert time.process_time() - start < 0.5, text


WORDS = [
    "bitte", "noch", "sie", "mir", "brauche", "benötige", "wird", "benötigt", "welche", "wie", "lautet", "fehlt",
    "fehlen", "nennen", "geben", "teilen", "nenne", "gib", "sage", "habe", "wurde", "ist", "gebucht", "angelegt",
    "erledigt", "hinterlegt", "gespeichert", "nicht", ",", ".", "?", "!", "Der", "Raum", "Termin", "ich", "wir",
    "haben", "Ich", "Wir"]


def test_the_short_cuts_change_no_label() -> None:
    """Seeded: a text without the words of the patterns is not looked at, and would not have had the label either."""
    draw = random.Random(1)
    for _ in range(20_000):
        text = " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 9)))
        text = text.upper() if draw.random() < 0.3 else text
        sentences = wording._sentences(text)
        asks = any(("?" in s or wording._REQUEST.search(s) or wording._misses(s))
                   and not wording._CLOSING_OFFER.search(s) for s in sentences)
        claims = any(wording._DONE.search(wording._ASIDE.sub("", wording._DATE_COMMAS.sub(r"\1", s)))
                     and not wording._NOT_DONE.search(s) for s in sentences if not s.endswith("?"))
        assert (asks_back(text), claims_done(text)) == (bool(asks), bool(claims)), text
