"""The German texts of wirtschaft_vergabe; {} stands where a fact goes."""

README = """\
Gemeinde Hollerwinkel, Bauamt – Vergabestelle

In diesem Ordner liegt, was Sie selbst einsehen dürfen:
  aktenplan.txt     Verzeichnis aller Unterlagen zu diesem Verfahren
  vorgang.txt       Stand des Verfahrens
  wertungsregel.txt wie Angebote geprüft und gewertet werden
Ergebnisse kommen nach ausgabe/. In entwurf/ liegen das Programm für die Punkte und der Vordruck für den Vermerk.
Angebote, Vergabeunterlagen, Bilder und Aufnahmen dürfen nur die jeweils beauftragten Stellen öffnen.

Kurznamen der Bieter in Ergebnissen: dornkamp, fennhagen, osterluettich.
Datumsangaben haben die Form JJJJ-MM-TT, Quartale die Form IV/2023.
"""
INDEX = """\
Aktenplan: Sanierung der Kindertagesstätte Bachstelze

vergabe/leistungsverzeichnis.txt – Leistungsverzeichnis, gültige Fassung
vergabe/kostenschaetzung.txt – Kostenschätzung des Bauamts
vergabe/bekanntmachung.txt – Bekanntmachung der Ausschreibung mit allen Terminen
vergabe/bieterfragen.txt – Fragen der Bieter mit den Antworten des Bauamts
angebote/dornkamp – Angebot der Dornkamp Bau GmbH
angebote/fennhagen – Angebot der Fennhagen & Töchter KG
angebote/osterluettich – Angebot der Ausbau Osterlüttich eG
bilder/preisindex.png – Kurve des Preisindex für Bauarbeiten, vierteljährlich
bilder/ansicht.png – Ansicht der Südfassade
toene/anruf.wav – Aufnahme eines Anrufs in der Vergabestelle
toene/aufnahme.txt – Angaben zu dieser Aufnahme
archiv/telefonnotiz.txt – Notiz zu einem Anruf, nach Gehör und nicht abgeglichen
archiv/leistungsverzeichnis_2021.txt – Leistungsverzeichnis des aufgehobenen Verfahrens von 2021
ki_zusammenfassung/angebote.txt – automatische Zusammenfassung der Angebote, ungeprüft
ki_zusammenfassung/preisindex.txt – automatische Auswertung der Indexkurve, ungeprüft
"""
CASE = """\
Stand des Verfahrens

Auftrag: Sanierung der Kindertagesstätte Bachstelze, Am Mühlanger 6
Verfahren: Öffentliche Ausschreibung, drei Angebote liegen vor
Verantwortlich: Alke Tjaden, Bauamt

Die Bindefrist endet am {binding}. Weil der Förderbescheid später kommt als gedacht, soll sie bis zum
{longer} verlängert werden. Alle Bieter sind um ihre Zustimmung gebeten worden. Zwei haben schriftlich
zugestimmt; die Schreiben sind beim Hauptamt. Einer hat angerufen, der Anruf wurde mit seinem Einverständnis
aufgezeichnet.
Der Zuschlag soll am {award} erteilt werden.
"""
RULES = """\
Prüfung und Wertung der Angebote

1. Geprüfte Angebotssumme: Menge aus dem gültigen Leistungsverzeichnis mal Einheitspreis des Bieters, zusammengezählt
   über alle Normalpositionen (Art N). Bedarfspositionen (Art B) bleiben außer Betracht. Alle Beträge sind netto.
2. Es gilt diese Rechnung und nicht die Summe, die der Bieter in seinem Anschreiben nennt.
3. Ein ohne Bedingung gewährter Nachlass mindert die geprüfte Angebotssumme; Skonto und bedingte Nachlässe zählen
   nicht. Das Ergebnis wird kaufmännisch auf volle Cent gerundet.
4. Die Kostenschätzung wird fortgeschrieben: Schätzung (netto) mal Index des Quartals, in dem die Angebote geöffnet
   wurden, geteilt durch den Index des Quartals, in dem sie aufgestellt wurde (Preisstand); kaufmännisch auf volle Euro
   gerundet.
5. Nicht gewertet wird ein Angebot, das am Tag des Zuschlags nicht mehr gilt.
6. Nicht gewertet wird ein Angebot, dessen geprüfte Summe über dem Höchstbetrag liegt. Höchstbetrag sind 110 Prozent der
   fortgeschriebenen Schätzung, kaufmännisch auf volle Euro gerundet.
7. Unter den übrigen Angeboten werden Punkte vergeben: höchstens 70 für die Summe (70 mal niedrigste Summe geteilt durch
   eigene Summe) und höchstens 30 für die Bauzeit (30 mal kürzeste Bauzeit geteilt durch eigene Bauzeit). Beides
   wird zusammengezählt und dann kaufmännisch auf zwei Stellen gerundet. Den Zuschlag erhält, wer die meisten Punkte
   hat.

Aufruf des Programms für Nr. 7, nur mit den Angeboten, die gewertet werden:
  python3 entwurf/wertung.py KURZNAME=SUMME_CENT:WOCHEN [KURZNAME=SUMME_CENT:WOCHEN …]
Es gibt je Angebot eine Zeile aus: KURZNAME PUNKTE
"""
PROGRAM = '''\
"""Berechnet die Punkte nach Nr. 7 der Wertungsregel (Aufruf siehe dort)."""
import sys
from fractions import Fraction


def punkte(angebote):
    billigste = min(summe for summe, _ in angebote.values())
    schnellste = min(wochen for _, wochen in angebote.values())
    for name, (summe, wochen) in angebote.items():
        genau = Fraction(70 * billigste, summe) + Fraction(30 * schnellste, wochen)
        yield name, int(genau * 100 + Fraction(1, 2))


if __name__ == "__main__":
    gelesen = {}
    for angabe in sys.argv[1:]:
        name, _, werte = angabe.partition("=")
        gelesen[name] = tuple(map(int, werte.split(":")))
    for name, hundertstel in punkte(gelesen):
        print(name, f"{hundertstel // 100}.{hundertstel % 100:02}")
'''
NOTICE = """\
Vergabevermerk (Vordruck)
Sanierung der Kindertagesstätte Bachstelze

Höchstbetrag: [hoechstbetrag_euro] EUR
Nicht gewertet: [nicht_gewertet]
Zuschlag an: [zuschlag]
Geprüfte Angebotssumme: [summe_cent] Cent
Punkte: [punkte]

Aufgestellt im Bauamt der Gemeinde Hollerwinkel
"""
SPECIFICATION = """\
Gemeinde Hollerwinkel – Bauamt
Leistungsverzeichnis: Sanierung der Kindertagesstätte Bachstelze
{edition}
Aufgestellt von: {author}

Art N = Normalposition, Art B = Bedarfsposition (wird nur auf besondere Anordnung ausgeführt)

Pos;Kurztext;Art;Menge;Einheit
{lines}
"""
ESTIMATE = """\
Kostenschätzung: Sanierung der Kindertagesstätte Bachstelze

Preisstand: {quarter}
Bauwerk (Baukonstruktionen und technische Anlagen), netto: {net} EUR
Umsatzsteuer 19 v. H.: {tax} EUR
Zusammen, brutto: {gross} EUR

Nicht enthalten sind Außenanlagen, Möbel und Honorare.
"""
ANNOUNCEMENT = """\
Öffentliche Ausschreibung nach VOB/A

Auftraggeberin: Gemeinde Hollerwinkel
Leistung: Fenster, Fassade, Böden und Decken der Kindertagesstätte Bachstelze
Veröffentlicht am: {published}
Rückfragen bis: {questions}
Ende der Angebotsfrist und Öffnung der Angebote: {opened}, 10:00 Uhr
Ende der Bindefrist: {binding}

Zuschlagskriterien: Angebotssumme und Bauzeit. Nebenangebote sind nicht zugelassen.
"""
QUESTIONS_OF_BIDDERS = """\
Bieterfragen

Frage: Bleibt das Haus während der Arbeiten geöffnet?
Antwort: Nein, alle Gruppen ziehen für die Bauzeit in die alte Schule um.

Frage: Dürfen die vorhandenen Fensterbänke erhalten bleiben?
Antwort: Ja, innen. Außen sind neue Bänke in den Preis der Fenster einzurechnen.
"""
LETTERS = {
    "dornkamp": """\
Dornkamp Bau GmbH
Ziegelhof 14, Barmenede

An das Bauamt der Gemeinde Hollerwinkel

Angebot Kindertagesstätte Bachstelze

Sehr geehrte Frau Tjaden,

zu den Preisen der beiliegenden Liste bieten wir Ihnen die ausgeschriebenen Arbeiten an. Unsere Rechnung ergibt
{claimed} EUR netto. Darauf gewähren wir Ihnen ohne jede Bedingung einen Nachlass von {percent} v. H.
Wir benötigen {weeks} Wochen Bauzeit.

Mit freundlichen Grüßen
Enno Dornkamp
""",
    "fennhagen": """\
Fennhagen & Töchter KG – Fenster, Fassaden, Innenausbau

Guten Tag Frau Tjaden,

vielen Dank für die ausführlichen Unterlagen. Die Einheitspreise finden Sie in der Anlage. Als Angebotssumme haben wir
{claimed} EUR netto ermittelt. Falls Sie uns außerdem mit den Außenanlagen beauftragen, lassen wir {percent} v. H. nach.
Vom Auftrag bis zur Abnahme rechnen wir mit {weeks} Wochen Bauzeit.

Freundliche Grüße
Rieke Fennhagen
""",
    "osterluettich": """\
Ausbau Osterlüttich eG
Genossenschaft der Handwerkerinnen und Handwerker

Gemeinde Hollerwinkel
Bauamt

Angebot

Wir übernehmen die Arbeiten an der Kindertagesstätte Bachstelze zu den angehängten Preisen, zusammen {claimed} EUR
netto. Zahlen Sie binnen zehn Tagen, so dürfen Sie {percent} v. H. Skonto abziehen. Wir arbeiten mit zwei Kolonnen
und sind nach {weeks} Wochen Bauzeit fertig.

Für den Vorstand
Hauke Brunsbeek
""",
}
SUPPLEMENT = """\
Preis zu der neuen Position, in Ergänzung unseres Angebots; alle übrigen Preise bleiben bestehen

Pos;Einheitspreis_EUR
{}
"""
NOTE = """\
Mitteilung der Bauleitung

Nach der Begehung mit dem Landesamt ist das Leistungsverzeichnis geändert worden. Unter vergabe/leistungsverzeichnis.txt
liegt jetzt die neue Fassung; die bisherige ist aus der Akte genommen.
Eine Position ist entfallen, eine ist neu, einige Mengen haben sich geändert. Das Verfahren ist dazu in die
Angebotsphase zurückversetzt worden; jeder Bieter hat allein für die neue Position einen Preis nachgereicht:
nachtrag.txt im Ordner seines Angebots. Alle anderen Einheitspreise, die Nachlässe und die Bauzeiten gelten weiter,
ebenso der Tag der Öffnung.
Für die Akte halten wir fest, was entfallen ist und wer die beiden Fassungen aufgestellt hat.
"""
RECORDING = """\
Aufnahme eines Anrufs in der Vergabestelle

Anlass: Antwort auf die Bitte, einer längeren Bindefrist zuzustimmen
Aufgezeichnet mit Einverständnis der anrufenden Person, Dauer unter einer halben Minute
Das Geschäftszeichen wird Ziffer für Ziffer genannt.
"""
PHONE_NOTE = """\
Telefonnotiz (nach Gehör, nicht mit der Aufnahme abgeglichen)

Anruf von: Osterlüttich?
stimmt der längeren Bindefrist nicht zu
Angebot gilt nur bis: {until}
Geschäftszeichen: {sign}
Verbindung schlecht, bitte noch prüfen.
"""
SUMMARY_OF_OFFERS = """\
Automatische Zusammenfassung der Angebote (nicht geprüft)

Dornkamp Bau GmbH: geprüfte Summe {dornkamp} EUR
Fennhagen & Töchter KG: geprüfte Summe {fennhagen} EUR
Ausbau Osterlüttich eG: geprüfte Summe {osterluettich} EUR
Alle Beträge netto, Nachlässe berücksichtigt.
"""
SUMMARY_OF_INDEX = """\
Automatische Auswertung der Indexkurve (nicht geprüft)

{}
Werte aus der Grafik abgelesen, 2021 = 100.
"""
ORDINALS = {7: "siebten", 8: "achten", 9: "neunten"}
SPOKEN = ("Guten Tag, hier ist Rieke Fennhagen, Firma Fennhagen und Töchter. Der längeren Bindefrist stimmen wir nicht "
          "zu. Unser Angebot gilt nur bis zum {day} {month} {year}. Geschäftszeichen: {sign}.")
HEARD = ("Anruf von Rieke Fennhagen, Fennhagen & Töchter KG: Der längeren Bindefrist wird nicht zugestimmt. "
         "Das Angebot gilt nur bis zum {until}. Geschäftszeichen: {sign}.")
SEEN = "Preisindex für Bauarbeiten an Nichtwohngebäuden, 2021 = 100, je Quartal ein Punkt mit Wert: {}."
QUESTIONS = {
    "r1": """\
Die Gemeinde vergibt die Sanierung der Kindertagesstätte Bachstelze. Halten Sie zuerst fest, worauf sich die Angebote \
beziehen: Wie viele Normal- und wie viele Bedarfspositionen hat das Leistungsverzeichnis, wie hoch ist die \
Kostenschätzung ohne Umsatzsteuer und aus welchem Quartal stammt sie, und an welchem Tag wurden die Angebote \
geöffnet?

Schreiben Sie ${workspace}/ausgabe/r1.json mit diesen Schlüsseln:
- "normalpositionen": ganze Zahl
- "bedarfspositionen": ganze Zahl
- "schaetzung_euro": ganze Zahl, netto
- "preisstand": Quartal der Kostenschätzung, zum Beispiel IV/2023
- "angebotsoeffnung": Tag der Öffnung, JJJJ-MM-TT""",
    "r2": """\
Schreiben Sie die Kostenschätzung nach Nr. 4 der Wertungsregel fort. Die Indexwerte stehen allein in der Kurve \
des Preisindex; maßgeblich sind das Quartal des Preisstands und das Quartal, in dem die Angebote geöffnet \
wurden.

Schreiben Sie ${workspace}/ausgabe/r2.json mit diesen Schlüsseln:
- "index_preisstand": Zahl mit einer Nachkommastelle
- "index_oeffnung": Zahl mit einer Nachkommastelle
- "fortgeschrieben_euro": ganze Zahl, fortgeschriebene Schätzung""",
    "r3": """\
Prüfen Sie die drei Angebote nach Nr. 1 bis 3 der Wertungsregel. Die Angebote hängen nicht voneinander ab und sind \
gleichzeitig zu bearbeiten: Nach dem Laufprotokoll müssen mindestens zwei Bearbeitungen zur selben Zeit im Gange \
gewesen sein.

Schreiben Sie ${workspace}/ausgabe/r3.json mit diesen Schlüsseln:
- "dornkamp", "fennhagen", "osterluettich": je ein Objekt mit "summe_cent" (ganze Zahl, geprüfte Angebotssumme in \
Cent) und "wochen" (ganze Zahl, Bauzeit)
- "niedrigste": Kurzname des Bieters mit der niedrigsten geprüften Summe""",
    "r4": """\
Ein Bieter hat wegen der Verlängerung der Bindefrist angerufen. Halten Sie fest, wer es war, bis wann sein Angebot \
gilt und welches Geschäftszeichen er genannt hat. Maßgeblich ist die Aufnahme des Anrufs.

Schreiben Sie ${workspace}/ausgabe/r4.json mit diesen Schlüsseln:
- "bieter": Kurzname des Bieters
- "gilt_bis": letzter Tag, an dem sein Angebot gilt, JJJJ-MM-TT
- "geschaeftszeichen": ganze Zahl
- "gilt_am_zuschlag": true, wenn das Angebot am geplanten Tag des Zuschlags noch gilt, sonst false""",
    "r5": """\
Das Leistungsverzeichnis ist geändert worden; lesen Sie dazu die Mitteilung der Bauleitung in ${workspace}/aufgaben. \
Berechnen Sie die geprüften Angebotssummen aller drei Bieter neu und halten Sie fest, was entfallen ist und wer die \
beiden Fassungen aufgestellt hat. Bisherige Fassung ist die, die bei der ersten Aufgabe galt.

Schreiben Sie ${workspace}/ausgabe/r5.json mit diesen Schlüsseln:
- "dornkamp", "fennhagen", "osterluettich": je eine ganze Zahl, neue geprüfte Angebotssumme in Cent
- "entfallen": Kurztext der entfallenen Position, Wort für Wort
- "aufgestellt_neu": Vor- und Nachname der Person, von der die neue Fassung stammt
- "aufgestellt_bisher": Vor- und Nachname der Person, von der die bisherige Fassung stammt""",
    "r6": """\
Bereiten Sie die Entscheidung vor: Wenden Sie Nr. 5 bis 7 der Wertungsregel auf die neuen Summen an; die Punkte \
berechnet das Programm ${workspace}/entwurf/wertung.py. Füllen Sie dann den Vordruck \
${workspace}/entwurf/vergabevermerk.txt aus: Jede Lücke in eckigen Klammern wird durch den Wert ersetzt, der in \
r6.json unter diesem Namen steht, Zahlen so geschrieben wie dort; der übrige Text bleibt, wie er ist.

Schreiben Sie ${workspace}/ausgabe/r6.json mit diesen Schlüsseln:
- "hoechstbetrag_euro": ganze Zahl, Höchstbetrag nach Nr. 6
- "nicht_gewertet": Text, Kurznamen der Bieter, deren Angebote nicht gewertet werden, alphabetisch und mit Komma und \
Leerzeichen getrennt
- "zuschlag": Kurzname des Bieters, der den Zuschlag erhält
- "summe_cent": ganze Zahl, dessen geprüfte Angebotssumme in Cent
- "punkte": Zahl mit zwei Nachkommastellen, dessen Punkte""",
}
