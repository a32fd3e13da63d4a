"""The German texts of medizin_wochenbericht; {} stands where a fact goes."""

README = """\
Gesundheitsamt Hasebruch, Sachgebiet Infektionsschutz

Was hier liegt, darf die Berichtsstelle selbst einsehen:
  verzeichnis.txt   welche Unterlage wo liegt
  auftrag.txt       der Auftrag für den Wochenbericht
  zaehlregel.txt    wie gezählt und gerundet wird
Ergebnisse kommen nach ausgabe/, der Bericht selbst entsteht in entwurf/.
Meldelisten, Regelwerk, Tabellen, Bilder und Anrufe öffnet nur, wer damit beauftragt ist.
"""
INDEX = """\
Verzeichnis der Unterlagen zur Meldewoche 47

meldungen/dornsee.csv – Meldeliste Kreis Dornsee
meldungen/wiehau.csv – Meldeliste Kreis Wiehau
meldungen/lammeroth.csv – Meldeliste Kreis Lammeroth
meldungen/ostrahden.csv – Meldeliste Kreis Ostrahden
regelwerk/falldefinition.txt – Falldefinition, gültig in dieser Saison
regelwerk/meldeweg.txt – Meldeweg für Praxen und Labore
regelwerk/datenschutz.txt – Hinweise zum Datenschutz
tabellen/wochentabelle.txt – Wochentabelle: Einwohner und Schwellen
tabellen/praxen.txt – Liste der meldenden Praxen
bilder/vorwoche.png – Balkendiagramm: Fälle der Vorwoche je Kreis
bilder/karte.png – Kartenskizze der vier Kreise
anrufe/nachmeldung.wav – Mitschnitt: Anruf des Labors mit einer Nachmeldung
anrufe/mitschnitt.txt – Angaben zum Mitschnitt
transkripte/nachmeldung.txt – Mitschrift des Anrufs, automatisch erstellt, nicht abgehört
archiv/falldefinition_2023.txt – Falldefinition der Saison 2023/24, außer Kraft
archiv/vorabauszug.txt – Vorabauszug zur Vorwoche, Stand Donnerstag, überholt
"""
ORDER = """\
Auftrag: Wochenbericht Atemwegsinfektionen, Meldewoche 47 des Jahres 2026

Kreise: Dornsee, Wiehau, Lammeroth, Ostrahden
Meldewoche: Montag, 16. November 2026, bis Sonntag, 22. November 2026
Vergleich: Meldewoche 46 (Vorwoche)
Abgabe an die Landesstelle: Mittwoch, 12 Uhr
Verantwortlich: Dr. Swantje Ohlmeyer, Vertretung: Ruben Tiedgen
"""
RULES = """\
Zählregel

1. Welche Meldungen Fälle sind, bestimmt die Falldefinition dieser Saison.
2. Eine Meldung gehört in die Meldewoche, in der sie eingegangen ist.
3. Krankenhausfälle sind Fälle mit dem Eintrag „ja“ in der Spalte krankenhaus.
4. Was ein Labor telefonisch nachmeldet, beruht auf PCR und wird für den genannten Kreis
   zu den Fällen der Meldewoche 47 addiert.
5. Inzidenz = Fälle × 100.000 / Einwohner, kaufmännisch auf eine Nachkommastelle gerundet.
6. Stufe: „niedrig“ unter der Schwelle „erhöht“, „erhöht“ ab dieser Schwelle, „stark erhöht“ ab
   der Schwelle „stark erhöht“. Verglichen wird die gerundete Inzidenz.
7. Veränderung zur Vorwoche = (Fälle − Fälle der Vorwoche) × 100 / Fälle der Vorwoche,
   kaufmännisch auf eine Nachkommastelle gerundet. Bei einem Rückgang steht ein Minus davor.
"""
RESULTS = "Für die Ergebnisse: je Aufgabe eine JSON-Datei in UTF-8, benannt nach der Aufgabe.\n"
REPORT = """\
Gesundheitsamt Hasebruch
Wochenbericht Atemwegsinfektionen, Meldewoche 47

Fälle im Berichtsgebiet: <FAELLE>
Fälle der Vorwoche: <VORWOCHE>
Veränderung: <VERAENDERUNG> %
Höchste Inzidenz: <KREIS> mit <INZIDENZ> je 100.000 Einwohner
Kreise der Stufe „erhöht“ oder „stark erhöht“: <ANZAHL>
Bezugsgrößen: Wochentabelle <PRUEFZEICHEN>
"""
STYLE = """\
Schreibweise im Bericht

Eingesetzte Zahlen ohne Tausenderpunkt, Nachkommastelle nach einem Komma, kein Pluszeichen bei
einem Anstieg. Kreise werden genannt wie im Auftrag, ohne das Wort „Kreis“.
"""
DEFINITION = """\
Falldefinition Atemwegsinfektionen, Saison 2026/27

A. Erreger
Erfasst werden Influenza A, Influenza B, RSV und SARS-CoV-2. Rhinoviren werden zwar gemeldet,
gehen aber nicht in den Wochenbericht ein.

B. Nachweis
Ein Fall liegt vor, wenn der Erreger durch PCR oder durch einen Antigentest nachgewiesen ist.
{clinical}

C. Bereinigung
Dubletten zählen nicht; gültig bleibt die Meldung, auf die der Vermerk verweist.
Zurückgezogene Meldungen zählen nicht.
"""
CLINICAL_OUT = "Das klinische Bild allein genügt nicht."
OLD_DEFINITION = """\
Falldefinition Atemwegsinfektionen, Saison 2023/24 (außer Kraft)

Erfasst werden Influenza A, Influenza B, RSV und SARS-CoV-2.
Ein Fall liegt vor bei Nachweis durch PCR oder Antigentest. Im Zusammenhang mit einem Ausbruch
genügt das klinische Bild; die Meldestelle prüft den Zusammenhang nicht nach.
Dubletten und zurückgezogene Meldungen zählen nicht.
Schwelle „erhöht“: {raised} Fälle je 100.000 Einwohner und Woche.
"""
TABLE = """\
Wochentabelle 2026/27: Bezugsgrößen für den Wochenbericht
Prüfzeichen dieser Fassung: {mark}

Kreis        Einwohner
{rows}

Schwellen (Fälle je 100.000 Einwohner und Woche)
  erhöht ab {raised}
  stark erhöht ab {strong}
"""
ERRATUM = """\
Erratum zur Wochentabelle 2026/27

In der Wochentabelle waren die Einwohnerzahlen der Kreise Wiehau und Lammeroth vertauscht, und
die Schwelle „erhöht“ stammte aus einer früheren Saison. Die Tabelle in tabellen/ ist ersetzt; die
fehlerhafte Fassung wird nicht aufbewahrt. Gerechnet wird ab sofort mit der neuen Fassung.
Der Korrekturvermerk an die Landesstelle führt beide Fassungen mit ihrem Prüfzeichen auf.
"""
ROUTE = """\
Meldeweg

Praxen melden über das Portal, Labore über die Schnittstelle. Fällt diese aus, nimmt die
Rufbereitschaft Nachmeldungen am Telefon entgegen und schneidet sie mit Einwilligung mit.
Maßgeblich ist der Mitschnitt, nicht die Mitschrift.
"""
PRIVACY = """\
Datenschutz

Meldelisten enthalten keine Namen; das Alter ist nur als Altersgruppe angegeben. Die Listen
verlassen das Haus nicht; in Berichten erscheinen nur Summen.
"""
PRACTICES = """\
Meldende Praxen in dieser Saison

Dornsee: Praxis am Kirchsteig, Praxis Dr. Uhlhorn
Wiehau: Hausärzte an der Bleiche, Kinderpraxis Vollrath
Lammeroth: Praxis Dr. Inken Suhr
Ostrahden: Gemeinschaftspraxis Torfkai, Praxis Melchers
"""
RECORDING = """\
Angaben zum Mitschnitt

Anruferin: Labor Quistorp, diensthabende Assistenz
Angenommen von: Rufbereitschaft des Gesundheitsamts
Anlass: Nachmeldung zur Meldewoche 47
Die Einwilligung liegt vor. Abgehört und bestätigt wurde der Mitschnitt noch nicht.
"""
TRANSCRIPT = """\
Automatische Mitschrift (ungeprüft)

Labor Quistorp. Nachmeldung für den Kreis Ostrahden: {cases} Fälle RSV,
davon {hospital} im Krankenhaus.
Erkennungsgüte: mittel. Zahlendreher sind möglich.
"""
EARLY = """\
Vorabauszug zur Vorwoche (Stand Donnerstag, überholt)

Fälle der Meldewoche 46 nach den bis dahin vorliegenden Meldungen:
{rows}
Der endgültige Stand wird als Balkendiagramm veröffentlicht.
"""
QUESTIONS = {
    "r1": """\
Für den Wochenbericht der Meldewoche 47 brauchen wir zuerst die Bezugsgrößen. Wie viele Einwohner führt die \
Wochentabelle für den Kreis Wiehau, ab welcher Inzidenz gilt die Lage als „erhöht“, und zählt nach der \
geltenden Falldefinition eine Meldung als Fall, die sich nur auf das klinische Bild stützt?

Schreiben Sie ${workspace}/ausgabe/r1.json mit diesen Schlüsseln:
- "einwohner_wiehau": ganze Zahl
- "schwelle_erhoeht": ganze Zahl, Fälle je 100.000 Einwohner und Woche
- "klinisch_zaehlt": true oder false""",
    "r2": """\
Womit vergleichen wir? Die endgültigen Fallzahlen der Vorwoche sind nur als Balkendiagramm veröffentlicht. Stellen Sie \
die Fälle der Meldewoche 46 je Kreis fest und bilden Sie die Summe.

Schreiben Sie ${workspace}/ausgabe/r2.json mit diesen Schlüsseln, jeweils als ganze Zahl:
- "dornsee", "wiehau", "lammeroth", "ostrahden": Fälle der Meldewoche 46
- "summe": Fälle aller vier Kreise""",
    "r3": """\
Zählen Sie aus den vier Meldelisten die Fälle und die Krankenhausfälle der Meldewoche 47 aus; es gelten die \
Falldefinition dieser Saison und die Zählregel. Eine telefonische Nachmeldung bleibt hier noch außer Betracht. Die \
Listen der Kreise sind unabhängig voneinander und gleichzeitig auszuwerten: Das Laufprotokoll muss zeigen, dass zu \
einem Zeitpunkt mindestens zwei Auswertungen liefen.

Schreiben Sie ${workspace}/ausgabe/r3.json mit diesen Schlüsseln:
- "dornsee", "wiehau", "lammeroth", "ostrahden": je ein Objekt mit "faelle" und "krankenhaus" (ganze Zahlen)
- "faelle_gesamt": ganze Zahl, Fälle aller vier Kreise""",
    "r4": """\
Ein Labor hat angerufen und Fälle zur Meldewoche 47 nachgemeldet; maßgeblich ist der Mitschnitt. Welchen Kreis \
betrifft die Nachmeldung, wie viele Fälle sind es, wie viele davon im Krankenhaus, und welche Zahlen ergeben sich \
damit für diesen Kreis?

Schreiben Sie ${workspace}/ausgabe/r4.json mit diesen Schlüsseln:
- "kreis": Name des Kreises, ohne das Wort „Kreis“
- "nachgemeldet": ganze Zahl, nachgemeldete Fälle
- "davon_krankenhaus": ganze Zahl
- "faelle_neu": ganze Zahl, Fälle des Kreises aus Aufgabe 3 und der Nachmeldung zusammen
- "krankenhaus_neu": ganze Zahl, Krankenhausfälle des Kreises, ebenso""",
    "r5": """\
Zur Wochentabelle ist ein Erratum erschienen (${workspace}/aufgaben/erratum.txt). Bestimmen Sie die Bezugsgrößen für \
den Kreis Wiehau neu, dazu seine Inzidenz in der Meldewoche 47 und die Stufe nach der Zählregel. Für den \
Korrekturvermerk brauchen wir die Prüfzeichen der neuen und der bisherigen Fassung; bisherig ist die Fassung, die bei \
der ersten Aufgabe galt.

Schreiben Sie ${workspace}/ausgabe/r5.json mit diesen Schlüsseln:
- "einwohner_wiehau": ganze Zahl nach der neuen Fassung
- "schwelle_erhoeht": ganze Zahl nach der neuen Fassung
- "inzidenz_wiehau": Zahl mit einer Nachkommastelle
- "stufe_wiehau": "niedrig", "erhöht" oder "stark erhöht"
- "pruefzeichen_neu", "pruefzeichen_bisher": Text, genau wie in der Tabelle""",
    "r6": """\
Schließen Sie den Wochenbericht mit allen bisherigen Ergebnissen ab, also mit der Nachmeldung und mit der jetzt \
geltenden Wochentabelle. Ersetzen Sie in ${workspace}/entwurf/wochenbericht.txt jeden Platzhalter in spitzen Klammern \
(samt den Klammern) durch seinen Wert und lassen Sie den übrigen Text, wie er ist; wie Zahlen zu schreiben sind, steht \
in ${workspace}/entwurf/schreibweise.txt.

Schreiben Sie außerdem ${workspace}/ausgabe/r6.json mit diesen Schlüsseln:
- "faelle_gesamt": ganze Zahl, Fälle der Meldewoche 47 in allen vier Kreisen
- "veraenderung_prozent": Zahl mit einer Nachkommastelle, Veränderung der Gesamtzahl zur Vorwoche
- "inzidenzen": Objekt mit "dornsee", "wiehau", "lammeroth", "ostrahden", je eine Zahl mit einer Nachkommastelle
- "hoechste_inzidenz": Name des Kreises, ohne das Wort „Kreis“
- "kreise_ueber_schwelle": ganze Zahl, Kreise der Stufe „erhöht“ oder „stark erhöht“""",
}
