"""What the suite means by its words where the article is silent: one list, printed with every result.

Report, documentation and JSON take the sentences from here, so that they cannot differ. Without complete votes no
sentence speaks of them. Source: specification, db_routing, 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Definition(NamedTuple):
    """One sentence or two, in German and in English."""

    id: str
    de: str
    en: str

    def to_json(self) -> dict[str, str]:
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Facts:
    """What the sentences say of a panel. votes: are all in? clustered: were its databases found by clustering?"""

    signal: str
    k: int
    threshold: int
    floor: float
    votes: bool = False
    clustered: bool = False

    @classmethod
    def of(cls, manifest: Mapping[str, Any], votes: bool = False) -> Facts:
        """From a manifest's "hardness" and "candidates"."""
        hardness = manifest["hardness"]
        return cls(hardness["signal"], hardness["k"], hardness["threshold"], hardness["floor"], votes,
                   manifest["candidates"]["method"] not in ("authored", "given"))


class _Entry(NamedTuple):
    """A definition with the requirements it settles. when: the fact it needs; "!" before one that must not hold."""

    id: str
    settles: str
    de: str
    en: str
    when: str = ""


_ENTRIES = (
    _Entry("headline", "29",
           "Die Leitzahl ist der Anteil richtig deklarierter Datenbanken unter den beantworteten Fragen der schwersten "
           "Gruppe.",
           "The headline is the share of rightly declared databases among the answered questions of the hardest "
           "bucket."),
    # What a model is shown.
    _Entry("catalogue", "1",
           "Die Beschreibungen aller Datenbanken stehen in der ersten Nachricht vor der Frage, in der "
           "Werkzeugreihenfolge dieser Frage.",
           "The descriptions of all databases stand in the first message before the question, in the tool order of "
           "that question."),
    _Entry("aliases", "9",
           "Die Aliasnamen werden je Panel einmal mit festem Startwert verteilt, nicht alphabetisch, und stehen im "
           "Manifest.",
           "Aliases are dealt once a panel with a fixed seed, not alphabetically, and stand in the manifest."),
    _Entry("schema_cut", "4",
           "Eine Schemaausgabe hat höchstens 4.000 Unicode-Zeichen, die Marke des Schnitts eingerechnet.",
           "A schema has at most 4,000 Unicode characters, the mark of the cut included."),
    _Entry("result_cut", "5",
           "Ein Ergebnis zeigt höchstens 50 Zeilen, 500 Zeichen je Zelle und 8.000 Zeichen insgesamt; jeder Schnitt "
           "ist markiert.",
           "A result shows at most 50 rows, 500 characters a cell and 8,000 characters in all; every cut is marked."),
    # The loop.
    _Entry("tool_turn", "20 21 21a",
           "Ein Werkzeugschritt ist eine beantwortete Anfrage mit Werkzeugen. Auch einer ohne Aufruf zählt, und er "
           "beendet die Schritte; Wiederholungen nach Fehlern zählen nicht. Ein unlesbarer Aufruf wird gemeldet und "
           "kostet den Schritt; was abgeschnitten oder leer ist und nichts aufruft, führt zum Abschluss.",
           "A tool turn is an answered request with tools. One without a call counts, too, and ends the turns; retries "
           "after errors do not count. An unreadable call is told so and costs its turn; a reply that is cut or blank "
           "and calls nothing leads to the finalisation."),
    _Entry("history", "17",
           "Wo eine Schnittstelle Werkzeugergebnisse ohne Werkzeuge ablehnt, steht der Verlauf im Abschluss als Text "
           "in derselben Reihenfolge; das ist vermerkt.",
           "Where an API rejects tool results without tools, the finalisation holds the history as text in the same "
           "order; this is recorded."),
    _Entry("recovery", "61",
           "Aus Text werden nur Aufrufe angebotener Werkzeuge gelesen, nur wenn der Schritt keinen nativen Aufruf hat, "
           "und nie im Abschluss.",
           "Only calls of offered tools are read out of text, only where the turn holds no native call, and never in "
           "the finalisation."),
    _Entry("cache_markers", "57",
           "Cache-Marken stehen an zwei Stellen: hinter Werkzeugen und Systemtext, und mitlaufend an der letzten "
           "Nachricht. Welche galt, ist vermerkt.",
           "Cache markers have two places: behind tools and system text, and moving with the last message. Which one "
           "was used is recorded."),
    # The route.
    _Entry("declaration", "25",
           "Deklariert ist, was der Abschluss als Objekt sagt. Ein unbekannter Name, eine Liste, zwei verschiedene "
           "Werte oder ein nativer Aufruf sind keine Deklaration; derselbe Wert zweimal ist eine. Der Grund bleibt "
           "erhalten.",
           "Declared is what the finalisation says as an object. An unknown name, a list, two different values or a "
           "native call declare nothing; the same value twice is one. The reason is kept."),
    _Entry("failure", "28",
           "Ausgefallen ist eine Frage, die trotz aller Wiederholungen keine Antwort bekam: Zeitablauf, Serverfehler, "
           "Verbindungsabbruch, Anmeldung, leer ohne erzeugte Tokens, Inhaltsfilter ohne Text, Kontextüberlauf beim "
           "ersten Aufruf. Alles andere ist eine Antwort, auch Unlesbares, Abgelehntes, Abgeschnittenes und ein "
           "Kontextüberlauf nach einer Antwort.",
           "A question has failed if it got no answer in spite of all retries: timeout, server error, broken "
           "connection, authentication, blank without generated tokens, content filter without text, context overflow "
           "at the first call. All else is an answer, also what is unreadable, refused or cut, and an overflow after "
           "an answer."),
    _Entry("worst_case", "26 27",
           "Ausfälle verlassen den Nenner; daneben steht der schlechteste Fall, in dem jeder Ausfall falsch ist.",
           "Failures leave the denominator; beside it stands the worst case, in which every failure is wrong."),
    _Entry("swap", "27",
           "Ein Platztausch sind zwei Nachbarn der Rangfolge nach beantworteten Fragen, deren Reihenfolge sich im "
           "schlechtesten Fall umkehrt; Gleichstand ist keiner.",
           "A swap is two neighbours in the order by answered questions whose order turns round in the worst case; "
           "equal shares are none."),
    _Entry("excluded", "30",
           "Ein Lauf mit mindestens 20 beantworteten Fragen und ohne einen einzigen Werkzeugaufruf wird nicht gewertet "
           "und unter der Tabelle genannt.",
           "A run of at least 20 answered questions without a single tool call is not ranked and is named below the "
           "table."),
    # Hardness.
    _Entry("neighbours", "31",
           "Nachbarn einer Frage sind die höchstens {k} ähnlichsten anderen (Signal {signal}) mit einer Ähnlichkeit "
           "über {floor}; ab {threshold} Nachbarn aus anderen Datenbanken ist sie markiert. Bei Gleichstand ordnet "
           "sha256 des Fragetextes.",
           "The neighbours of a question are the at most {k} most similar others (signal {signal}) with a similarity "
           "above {floor}; from {threshold} neighbours of other databases on it is flagged. Ties are ordered by sha256 "
           "of the question's text."),
    _Entry("jury", "32",
           "Die Jury sind drei verschiedene Modelle, für alle Fragen dieselben; jedes sieht die Frage und die "
           "anonymisierten Beschreibungen. Die erste lesbare Stimme gilt; markiert ist, was zwei von dreien "
           "verwechselbar nennen.",
           "The jury is three distinct models, the same for all questions; each sees the question and the anonymised "
           "descriptions. The first readable vote stands; flagged is what two of three call confusing.", "votes"),
    _Entry("buckets", "33 34",
           "hard_strict: von Nachbarn und Jury markiert; qq_only_hard: nur von Nachbarn; jury_only_hard: nur von der "
           "Jury; easy: kein fremder Nachbar und keine Stimme; medium: der Rest.",
           "hard_strict: flagged by neighbours and jury; qq_only_hard: by neighbours only; jury_only_hard: by the jury "
           "only; easy: no foreign neighbour and no vote; medium: the rest.", "votes"),
    _Entry("neighbour_buckets", "34a",
           "nachbar-hart: von den Nachbarn markiert; nachbar-frei: nicht markiert. Eine zweite, unabhängige Einstufung "
           "liegt nicht vollständig vor.",
           "neighbour-hard: flagged by the neighbours; neighbour-free: not flagged. A second, independent grading is "
           "not complete.", "!votes"),
    _Entry("authored", "36",
           "Die Datenbanken dieses Panels sind vorgegeben, nicht durch Clusterung bei Kosinus 0,65 gefunden; das ist "
           "hier nicht prüfbar.",
           "The databases of this panel are given, not found by clustering at cosine 0.65; that cannot be tested "
           "here.", "!clustered"),
    _Entry("cosine", "36",
           "Kosinus 0,65 ist als Ähnlichkeit gelesen: Clusterung mit mittlerer Verknüpfung bis zum Abstand 0,35.",
           "Cosine 0.65 is read as a similarity: clustering with average linkage up to a distance of 0.35.",
           "clustered"),
    # Statistics.
    _Entry("interval", "43",
           "Intervalle decken nur die Auswahl der Fragen ab, nicht Wiederholungen, Anbieter oder Formulierungen.",
           "Intervals cover the sampling of questions only, not repeats, upstreams or wordings."),
    _Entry("zero_cells", "39",
           "Für das Risikoverhältnis innerhalb der Datenbanken kommt eine halbe Zeile zu allen vier Zellen einer "
           "Datenbank mit leerer Zelle. Datenbanken ohne harte oder ohne leichte Fragen fallen weg und werden genannt.",
           "For the risk ratio within databases half a row is added to all four cells of a database with an empty one. "
           "Databases without hard or without easy questions are dropped and named."),
    _Entry("tiers", "42",
           "In einer Stufe steht, was gepaarte Tests mit Holms Korrektur über alle Paare nicht trennen.",
           "A tier holds what paired tests with Holm's correction over all pairs cannot tell apart."),
    _Entry("drift_band", "42",
           "Im Driftband des Ersten liegt, wer höchstens um die größte beobachtete Abweichung zwischen zwei "
           "Wiederholungen hinter ihm bleibt; ohne Wiederholung ist die Drift ungemessen.",
           "Within the drift band of the leader is who stays behind it by no more than the largest observed difference "
           "between two repeats; without a repeat the drift is unmeasured."),
    _Entry("repeats", "41",
           "Wiederholungen zeigen die absolute Differenz je Gruppe und die Zahl der Fragen mit anderer Antwort, auch "
           "von falsch zu anders falsch; keine Standardabweichung.",
           "Repeats show the absolute difference a bucket and the number of questions with another answer, also from "
           "wrong to wrong in another way; no standard deviation."),
    # Behaviour.
    _Entry("probe", "45 46",
           "Eine Sonde ist ein Aufruf, der eine Datenbank erreicht: Ein SQL-Fehler zählt, ein unbekanntes Werkzeug, "
           "ungültige Argumente und ein Aufruf über der Grenze zählen nicht. Keine Sonde zählt als 0.",
           "A probe is a call that reaches a database: a SQL error counts; an unknown tool, invalid arguments and a "
           "call over the limit do not. No probe counts as 0."),
    _Entry("first_probe", "45 49",
           "Die erste Sonde wird nur verglichen, wo der erste sondierende Schritt eine einzige Datenbank traf; die "
           "ältere Metrik nimmt über alle beantworteten Fragen die erste in der Reihenfolge der Aufrufe.",
           "The first probe is compared only where the first probing turn touched a single database; the older metric "
           "takes the first in the order of calls, over all answered questions."),
    _Entry("switch", "47 48",
           "Gewechselt hat, wer mindestens zwei verschiedene Datenbanken sondiert; keine Deklaration gilt als nicht "
           "richtig. Von falsch zu falsch wird gezählt, wer die richtige dazwischen sondiert hat.",
           "Switched has who probes at least two different databases; no declaration counts as not right. Of wrong to "
           "wrong those are counted that probed the right one in between."),
    # SQL.
    _Entry("sql_equality", "64",
           "sql_set vergleicht die Zeilen als Menge, sql_strict als Multimenge, in Reihenfolge, wenn die Musterabfrage "
           "auf oberster Ebene sortiert. Kommazahlen auf 6 Stellen gerundet, 2 = 2,0, NULL = NULL, Text genau, "
           "Spaltenfolge zählt; über 10.000 Zeilen ist falsch.",
           "sql_set compares rows as a set, sql_strict as a multiset, in order if gold sorts at its top level. Floats "
           "rounded to 6 decimals, 2 = 2.0, NULL = NULL, text exact, column order counts; more than 10,000 rows are "
           "wrong."),
    _Entry("sql_denominator", "66",
           "Gewertet wird das SQL des Abschlussobjekts auf der deklarierten Datenbank; ohne beides ist es falsch. "
           "Nenner sind beantwortete Fragen, deren Musterabfrage lief.",
           "Judged is the SQL of the final object on the declared database; without either it is wrong. The "
           "denominator is answered questions whose gold ran."),
    _Entry("corridor", "65",
           "Der Korridor nennt drei Werte: fehlerhafte Musterabfragen als falsch, wie sie sind, als richtig gewertet. "
           "Ohne Gold-Audit sind sie gleich.",
           "The corridor gives three values: golds that are flagged as faulty counted as wrong, as they are, as right. "
           "Without a gold audit they are equal."),
    # Arms and costs.
    _Entry("paraphrases", "70",
           "Eine Umformulierung zählt, wenn Musterabfrage und Literale dieselben sind, der Kosinus der "
           "Zeichentrigramme zur Frage unter 0,75 liegt und sie gegen jede andere Datenbank abgegrenzt ist.",
           "A paraphrase counts if gold and literals are the same, the cosine of character trigrams to the question is "
           "below 0.75, and it is set apart from each other database."),
    _Entry("billed", "51",
           "Abgerechnete Kosten nennen die Größenordnung; wo der Anbieter keine meldet, sind sie aus der Preistabelle "
           "geschätzt.",
           "Billed cost is an order of magnitude; where the provider reports none, it is estimated from the price "
           "table."),
)

REQUIREMENTS = tuple(sorted({number for entry in _ENTRIES for number in entry.settles.split()}))


def definitions(facts: Facts) -> tuple[Definition, ...]:
    """The sentences that hold for a panel, in the order in which they are printed."""
    german = {"signal": facts.signal, "k": facts.k, "threshold": facts.threshold,
              "floor": f"{facts.floor:g}".replace(".", ",")}
    english = german | {"floor": f"{facts.floor:g}"}
    return tuple(Definition(entry.id, entry.de.format_map(german), entry.en.format_map(english))
                 for entry in _ENTRIES if _holds(entry.when, facts))


def _holds(when: str, facts: Facts) -> bool:
    known = {"votes": facts.votes, "clustered": facts.clustered}
    return not when or (not known[when[1:]] if when.startswith("!") else known[when])
