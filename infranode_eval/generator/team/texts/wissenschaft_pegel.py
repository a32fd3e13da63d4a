"""The German texts of wissenschaft_pegel; {} stands where a fact goes."""

README = """\
Gewässerkundlicher Dienst Wehse

Ausgewertet wird das Hochwasser vom Februar 2026. Offen einsehbar sind nur die Dateien in diesem Ordner:
  verzeichnis.txt  was im Messnetz abgelegt ist
  rechenregel.txt  wie aus Rohwerten Wasserstände werden
Ergebnisse gehören nach ausgabe/, Programm und Eingabewerte für den Abfluss liegen in auswertung/.
Messwerte, Stammdaten, Bilder und Tonnotizen öffnen die Fachleute, die damit beauftragt sind.

Kurznamen der Pegel: obersteg, marienhammer, kolkwehr, unterlinden.
Zeitpunkte haben die Form JJJJ-MM-TT HH:MM, immer mitteleuropäische Zeit.
"""
INDEX = """\
Verzeichnis der Unterlagen zum Hochwasser

stammdaten/kalibrierung.txt – Kalibrierung der vier Pegel, geltende Fassung
stammdaten/messnetz.txt – Beschreibung des Messnetzes mit der Reihenfolge der Pegel
stammdaten/obersteg.txt – Stationsblatt Obersteg mit den Meldestufen
stammdaten/marienhammer.txt – Stationsblatt Marienhammer mit den Meldestufen
stammdaten/kolkwehr.txt – Stationsblatt Kolkwehr mit den Meldestufen
stammdaten/unterlinden.txt – Stationsblatt Unterlinden mit den Meldestufen
messwerte/obersteg.csv – Stundenwerte Obersteg
messwerte/marienhammer.csv – Stundenwerte Marienhammer
messwerte/kolkwehr.csv – Stundenwerte Kolkwehr, zeitweise Ausfall des Loggers
messwerte/unterlinden.csv – Stundenwerte Unterlinden
messwerte/niederschlag.csv – Tagessummen des Niederschlags
bilder/ganglinie.png – Ganglinie des Schreibpegels Kolkwehr, abfotografiert
bilder/messnetz.png – Lageskizze der Pegel an der Wehse
toene/feldnotiz.wav – gesprochene Feldnotiz von der Kontrolle am Pegel
toene/begleitzettel.txt – Angaben zur Feldnotiz
archiv/stationsblatt_2011.txt – altes Stationsblatt Kolkwehr, nicht mehr gültig
archiv/kalibrierung_2019.txt – Kalibrierung von 2019, abgelöst
ki_auswertung/ganglinie.txt – maschinell gelesene Ganglinie, ungeprüft
"""
RULES = """\
Rechenregel

1. Wasserstand = Rohwert + Versatz des Pegels aus der geltenden Kalibrierung. Vorzeichen beachten.
2. Hat sich der Nullpunkt eines Pegels verschoben, kommt vom angegebenen Zeitpunkt an (dieser Zeitpunkt eingeschlossen)
   die Nullpunktverschiebung mit ihrem Vorzeichen hinzu. Für die anderen Pegel und für frühere Stunden gilt nur Nr. 1.
3. Eine Stunde zählt zu einer Meldestufe, wenn der Wasserstand die Stufe erreicht oder übersteigt. Stunden mit Ausfall
   zählen nicht.
4. Höchster Rohwert ist der größte aufgezeichnete Wert; kommt er mehrmals vor, so gilt der früheste Zeitpunkt.
5. Höhe über Normalhöhennull in Metern = Pegelnullpunkt + Wasserstand in Metern.
6. Laufzeit ist die Zahl der Stunden vom höchsten Rohwert des oberhalb gelegenen Pegels bis zum Scheitel.

Abfluss am Pegel Kolkwehr: python3 auswertung/abfluss.py auswertung/parameter.txt
Das Programm liest die vier Werte aus der Datei und gibt Wasserstand, Höhe und Abfluss aus.
"""
PROGRAM = '''\
"""Berechnet Wasserstand, Höhe und Abfluss am Pegel Kolkwehr aus einer Parameterdatei."""
import sys
from fractions import Fraction

# Wasserstand in cm, Abfluss in m3/s
TAFEL = ((100, 8), (200, 39), (300, 96), (350, 138), (400, 192), (450, 263), (500, 350))
NAMEN = ("rohwert_cm", "versatz_cm", "verschiebung_cm", "nullpunkt_m_nhn")


def gelesen(zeilen):
    werte = {}
    for zeile in zeilen:
        name, gleich, wert = zeile.partition("=")
        if gleich and name.strip() in NAMEN:
            werte[name.strip()] = Fraction(wert.strip().replace(",", "."))
    return werte


def abfluss(stand):
    for (unten, wenig), (oben, viel) in zip(TAFEL, TAFEL[1:]):
        if unten <= stand <= oben:
            return wenig + (viel - wenig) * Fraction(stand - unten, oben - unten)
    raise SystemExit("Wasserstand außerhalb der Abflusstafel")


def gerundet(wert, stellen):
    ganz = int(wert * 10**stellen + Fraction(1, 2))
    return f"{ganz // 10**stellen}.{ganz % 10**stellen:0{stellen}}"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as datei:
        werte = gelesen(datei)
    stand = int(werte["rohwert_cm"] + werte["versatz_cm"] + werte["verschiebung_cm"])
    print("Wasserstand:", stand, "cm")
    print("Hoehe:", gerundet(werte["nullpunkt_m_nhn"] + Fraction(stand, 100), 2), "m NHN")
    print("Abfluss:", gerundet(abfluss(stand), 1), "m3/s")
'''
PARAMETERS = """\
# Eingabewerte für den Scheitel am Pegel Kolkwehr
rohwert_cm = ?
versatz_cm = ?
verschiebung_cm = ?
nullpunkt_m_nhn = ?
"""
CALIBRATION = """\
Gewässerkundlicher Dienst Wehse
Kalibrierung der Pegel, gültig ab {since}

Geprüft von: {examiner}
Prüfgerät: {device}

Pegel;Versatz_cm;Pegelnullpunkt_m_NHN
{lines}

Der Versatz gleicht den Einbau der Sonde aus und wird zum Rohwert addiert.
"""
NETWORK = """\
Messnetz an der Wehse

Die vier Pegel liegen, von der Quelle zur Mündung, in dieser Reihenfolge:
Obersteg (Kilometer 61,4), Marienhammer (Kilometer 44,0), Kolkwehr (Kilometer 23,7), Unterlinden (Kilometer 8,2).

Alle Pegel haben einen Logger, der jede volle Stunde einen Rohwert speichert. Kolkwehr hat außerdem einen Schreibpegel,
der ohne Strom arbeitet. Der Logger in Kolkwehr misst nur bis 400 cm; darüber meldet er einen Ausfall.
"""
STATION = """\
Stationsblatt {title}

Gewässer: Wehse
Einzugsgebiet: {area} km²
Meldestufe I: {one} cm
Meldestufe II: {two} cm
Meldestufe III: {three} cm
Die Meldestufen beziehen sich auf den Wasserstand, nicht auf den Rohwert.
"""
OLD_STATION = """\
Stationsblatt Kolkwehr, Stand 2011 (durch Neubau des Pegels überholt)

Gewässer: Wehse
Meldestufe II: {two} cm
Feststellung bei der Kontrolle: Nullpunktverschiebung {shift:+d} cm, gültig ab {day}, {hour} Uhr
Eingetragen von: Hartwig Bölsche
"""
RAIN = """\
tag;niederschlag_mm
2026-02-10;{}
2026-02-11;{}
2026-02-12;{}
2026-02-13;{}
2026-02-14;{}
"""
SLIP = """\
Begleitzettel zur Feldnotiz

Aufgenommen bei der Kontrolle nach dem Hochwasser
Inhalt: Zustand der Pegellatte, Nullpunktverschiebung mit Vorzeichen und Beginn
Die Notiz ist die einzige Aufzeichnung der Kontrolle.
"""
NOTE = """\
Mitteilung der Prüfstelle

Das Ergebnis der Nachprüfung liegt vor. Die neue Kalibrierung gilt auch für das Hochwasser im Februar.
stammdaten/kalibrierung.txt ist ausgetauscht; die bisherige Fassung wird nicht aufbewahrt. Die Pegelnullpunkte sind
unverändert. Im Bericht ist anzugeben, wer die bisherige Kalibrierung mit welchem Gerät geprüft hatte.
"""
READ_BY_MACHINE = """\
Maschinell gelesene Ganglinie Kolkwehr (nicht geprüft)

Scheitel: {level} cm am {day}, {hour} Uhr
Die Vorlage war schräg fotografiert.
"""
SEEN = ("Ganglinie des Schreibpegels Kolkwehr, Rohwerte in cm. Vorwelle: {first} cm am {first_day}, {first_hour} Uhr. "
        "Scheitel: {level} cm am {day}, {hour} Uhr.")
SPOKEN = ("Feldnotiz, Pegel Kolkwehr. Die Pegellatte ist abgesackt. Nullpunktverschiebung: {sign} {shift} Zentimeter. "
          "Sie gilt ab dem {day} {month} {year}, {hour} Uhr.")
HEARD = ("Feldnotiz vom Pegel Kolkwehr: Die Pegellatte ist abgesackt. Nullpunktverschiebung {shift:+d} cm, gültig ab "
         "{day}, {hour} Uhr.")
ORDINALS = {11: "elften", 12: "zwölften"}
QUESTIONS = {
    "r1": """\
Das Hochwasser an der Wehse vom Februar 2026 wird ausgewertet, im Mittelpunkt steht der Pegel Kolkwehr. Welchen \
Versatz und welchen Pegelnullpunkt hat er nach der geltenden Kalibrierung, und welcher Pegel liegt im Messnetz \
unmittelbar oberhalb?

Schreiben Sie ${workspace}/ausgabe/r1.json mit diesen Schlüsseln:
- "versatz_cm": ganze Zahl mit Vorzeichen, Versatz des Pegels Kolkwehr
- "nullpunkt_m_nhn": Zahl mit zwei Nachkommastellen, Pegelnullpunkt in Metern über Normalhöhennull
- "oberhalb": Kurzname des Pegels unmittelbar oberhalb""",
    "r2": """\
Der Logger in Kolkwehr ist während des Scheitels ausgefallen, der Schreibpegel lief weiter. Lesen Sie aus der \
Ganglinie des Schreibpegels den Scheitel ab und bestimmen Sie daraus den vorläufigen Wasserstand nach Nr. 1 der \
Rechenregel.

Schreiben Sie ${workspace}/ausgabe/r2.json mit diesen Schlüsseln:
- "scheitel_roh_cm": ganze Zahl, Rohwert des Scheitels
- "zeitpunkt": Zeitpunkt des Scheitels, JJJJ-MM-TT HH:MM
- "vorlaeufig_cm": ganze Zahl, Wasserstand nach Nr. 1""",
    "r3": """\
Nach dem Hochwasser ist ein Pegel kontrolliert worden; festgehalten ist das Ergebnis in einer gesprochenen Feldnotiz. \
Welcher Pegel war es, um wie viele Zentimeter hat sich sein Nullpunkt verschoben und von wann an gilt das?

Schreiben Sie ${workspace}/ausgabe/r3.json mit diesen Schlüsseln:
- "pegel": Kurzname
- "verschiebung_cm": ganze Zahl mit Vorzeichen, Nullpunktverschiebung
- "gilt_ab": JJJJ-MM-TT HH:MM""",
    "r4": """\
Werten Sie die Stundenwerte aller vier Pegel nach der Rechenregel aus, die Nullpunktverschiebung eingeschlossen. \
Welche Meldestufen gelten, steht im Stationsblatt jedes Pegels. Die Pegel hängen nicht voneinander ab und sind \
gleichzeitig zu bearbeiten: Nach dem Laufprotokoll müssen mindestens drei Bearbeitungen zur selben Zeit im Gange \
gewesen sein.

Schreiben Sie ${workspace}/ausgabe/r4.json mit den Schlüsseln "obersteg", "marienhammer", "kolkwehr" und \
"unterlinden", je ein Objekt mit diesen Schlüsseln:
- "hoechster_rohwert_cm": ganze Zahl, größter vom Logger aufgezeichneter Wert
- "zeitpunkt": dessen Zeitpunkt, JJJJ-MM-TT HH:MM
- "stunden_stufe_2": ganze Zahl, Stunden, die zur Meldestufe II zählen""",
    "r5": """\
Die Kalibrierung ist ausgetauscht worden, lesen Sie dazu die Mitteilung der Prüfstelle in ${workspace}/aufgaben. \
Bestimmen Sie für die drei Pegel ohne Ausfall den höchsten Wasserstand neu (höchster Rohwert und neuer Versatz) und \
für Kolkwehr den neuen Versatz. Halten Sie außerdem fest, wer die beiden Kalibrierungen geprüft hat und welches Gerät \
bei der bisherigen verwendet wurde. Bisherig ist die Kalibrierung, die bei der ersten Aufgabe galt.

Schreiben Sie ${workspace}/ausgabe/r5.json mit diesen Schlüsseln:
- "obersteg", "marienhammer", "unterlinden": je eine ganze Zahl, höchster Wasserstand in cm
- "versatz_kolkwehr_cm": ganze Zahl mit Vorzeichen
- "geprueft_neu": Vor- und Nachname
- "geprueft_bisher": Vor- und Nachname
- "pruefgeraet_bisher": Bezeichnung des Prüfgeräts, Wort für Wort""",
    "r6": """\
Schließen Sie den Bericht zum Scheitel am Pegel Kolkwehr ab, mit neuer Kalibrierung und Nullpunktverschiebung. Tragen \
Sie die vier Werte in ${workspace}/auswertung/parameter.txt ein, jeweils anstelle des Fragezeichens, und berechnen \
Sie damit Wasserstand, Höhe und Abfluss; das Programm ${workspace}/auswertung/abfluss.py bleibt unverändert. Die \
Laufzeit zählt vom Pegel unmittelbar oberhalb.

Schreiben Sie ${workspace}/ausgabe/r6.json mit diesen Schlüsseln:
- "wasserstand_cm": ganze Zahl, Scheitelwasserstand
- "hoehe_m_nhn": Zahl mit zwei Nachkommastellen
- "abfluss_m3_s": Zahl mit einer Nachkommastelle
- "meldestufe": ganze Zahl von 0 bis 3, höchste Stufe, die der Scheitel erreicht (0: keine)
- "laufzeit_h": ganze Zahl, Laufzeit in Stunden nach Nr. 6""",
}
