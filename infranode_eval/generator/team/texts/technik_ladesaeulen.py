"""The German texts of technik_ladesaeulen; {} stands where a fact goes."""

README = """\
Stadtwerke Ellerbrück, Betriebsführung Ladeinfrastruktur

Zum Nachlesen für die Leitstelle:
  ablage.txt        wo die Unterlagen liegen
  stoerung.txt      die offene Störung an LS-117
  rechenregel.txt   Auswertung der Ladeprotokolle, Prüftermine, Auslastung
Ergebnisse werden in ausgabe/ abgelegt, Programme liegen in werkstatt/.
Register, Handbuch, Fotos, Protokolle und Anrufe sind den Fachkräften vorbehalten.

Alle Datumsangaben in Ergebnissen: JJJJ-MM-TT.
"""
INDEX = """\
Ablage der Ladeinfrastruktur

register/ladesaeulen.csv – Ladesäulenregister, eine Zeile je Säule
register/lesehilfe.txt – Bedeutung der Spalten im Register
handbuch/fehlercodes.txt – Fehlercodes mit Maßnahme und Frist
handbuch/wartung.txt – Prüfabstände nach Nennleistung
handbuch/sicherheit.txt – Sicherheitsregeln für Arbeiten an Säulen
fotos/typenschild.png – Typenschild der Säule LS-117 nach dem Umbau
fotos/standort.png – Lageskizze der Säulen am Hafenkai
hotline/anruf.wav – Mitschnitt: Anruf bei der Störungshotline wegen LS-117
hotline/dienstplan.txt – Besetzung der Hotline
protokolle/hafenkai.csv – Ladeprotokoll Standort Hafenkai
protokolle/bahnhof.csv – Ladeprotokoll Standort Bahnhof
protokolle/markthalle.csv – Ladeprotokoll Standort Markthalle
protokolle/klinikum.csv – Ladeprotokoll Standort Klinikum
ki_auszug/typenschild.txt – Angaben zum Typenschild, von einer KI zusammengestellt, ungeprüft
altbestand/register_2022.csv – Ladesäulenregister von 2022, nicht mehr gepflegt
altbestand/ticket_2024.txt – erledigte Störung an LS-117 aus dem Jahr 2024
"""
FAULT = """\
Offene Störung

Säule: LS-117 (Schnellladesäule, umgebaut im Frühjahr)
Gemeldet über die Störungshotline; eine schriftliche Meldung liegt nicht vor.
Betrachteter Monat: September 2026, {hours} Stunden
Ausfall der Säule in diesem Monat: {outage} Stunden
Sachbearbeitung: Tjark Hollmann, Vertretung: Mareike Suhrbier
"""
RULES = """\
Rechenregel

1. Ladeprotokolle: Gezählt werden Ladevorgänge der Art „Kunde“, die im betrachteten Monat begonnen
   haben und bei denen mindestens 500 Wh abgegeben wurden.
2. Nach einem Verbindungsabbruch sendet eine Säule einen Vorgang noch einmal. Zeilen mit derselben
   Vorgangsnummer stimmen überein und zählen zusammen nur einmal.
3. Nächste Prüfung = Tag der letzten Prüfung + Prüfabstand in Monaten, am selben Kalendertag.
4. Auslastung = abgegebene Energie / (Nennleistung × Betriebsstunden), in Prozent. Betriebsstunden
   sind die Stunden des Monats ohne die Ausfallstunden. 1 kWh sind 1000 Wh. Erst am Schluss wird
   kaufmännisch auf eine Nachkommastelle gerundet.

Aufruf des Programms:
  python3 werkstatt/auslastung.py ENERGIE_WH LEISTUNG_KW STUNDEN_MONAT STUNDEN_AUSFALL
Ausgabe ist eine Zeile, zum Beispiel: Auslastung: 7,5 %
"""
RESULTS = "Ablage für Ergebnisse: zu jeder Aufgabe eine JSON-Datei (UTF-8) mit deren Namen.\n"
BROKEN = '''\
"""Auslastung einer Ladesäule nach aufgaben/rechenregel.txt."""
import sys
from decimal import ROUND_DOWN, Decimal


def auslastung(energie_wh, leistung_kw, stunden, ausfall):
    betriebsstunden = stunden + ausfall
    moeglich_wh = leistung_kw * 100 * betriebsstunden
    return (energie_wh * 100 / moeglich_wh).quantize(Decimal("0.1"), rounding=ROUND_DOWN)


if __name__ == "__main__":
    wert = auslastung(*map(Decimal, sys.argv[1:5]))
    print("Auslastung:", str(wert).replace(".", ","), "%")
'''
FIXES = (("stunden + ausfall", "stunden - ausfall"), ("leistung_kw * 100 *", "leistung_kw * 1000 *"),
         ("ROUND_DOWN", "ROUND_HALF_UP"))
LOGBOOK = """\
Notizen aus der Werkstatt

auslastung.py wurde bei der Umstellung von Kilowattstunden auf Wattstunden angepasst. Seitdem
passen die Werte nicht mehr zu den Monatsberichten. Noch nicht nachgesehen.
"""
COLUMNS = """\
Spalten des Registers

saeule: Kennung; standort: Name des Standorts; typ: Bauart laut Hersteller
ladepunkte: Zahl der Ladepunkte; leistung_kw: Nennleistung, soweit erfasst
firmware: eingespielter Stand; letzte_pruefung: Tag der letzten Prüfung
wartung: zuständiger Betrieb
Nach einem Umbau gilt das Typenschild, bis die Leistung nachgetragen ist.
"""
CODES = """\
Fehlercodes der Baureihe Kolumbus

Code   Maßnahme                      Frist in Stunden
{rows}

Die Frist läuft ab Eingang der Meldung. Vor der Maßnahme ist die Säule freizuschalten.
"""
UPKEEP = """\
Wartung: Prüfabstände nach Nennleistung

bis 75 kW: alle 24 Monate
über 75 kW bis 150 kW: alle 12 Monate
über 150 kW: alle 6 Monate

Es gilt die Nennleistung, die auf dem Typenschild steht.
"""
SAFETY = """\
Sicherheitsregeln

Arbeiten an Säulen nur zu zweit. Freischalten, gegen Wiedereinschalten sichern, Spannungsfreiheit
feststellen. Zwischenkreise brauchen zehn Minuten, um sich zu entladen.
"""
ROSTER = """\
Besetzung der Störungshotline

Frühdienst: Greta Wulfes. Spätdienst: Enno Radtke. Nachts übernimmt die Leitstelle.
Anrufe werden mit Einwilligung mitgeschnitten. Eine Niederschrift gibt es nicht.
"""
EXTRACT = """\
Typenschild LS-117 (von einer KI aus alten Unterlagen zusammengestellt, ungeprüft)

Typ: Kolumbus 4
Seriennummer: {serial}
Nennleistung: {power} kW
Netzanschluss: 400 V, 50 Hz
"""
OLD_TICKET = """\
Störung LS-117, Frühjahr 2024 (erledigt)

Anzeige: Fehlercode {code} an Ladepunkt {point}
Maßnahme: {remedy}
Bearbeitet von der Rufbereitschaft, Säule wieder in Betrieb.
"""
FIRMWARE_NOTE = """\
Neu in der Ablage

Der Hersteller hat eine Firmwaretabelle herausgegeben, sie liegt unter handbuch/firmware.csv.
Das Ladesäulenregister liegt in neuem Stand vor; ein Wartungsbetrieb ist ausgeschieden, seine
Säulen sind neu vergeben. Der frühere Stand des Registers wird nicht aufbewahrt. Das Übergabeschreiben
zu LS-117 nennt den bisherigen und den neuen Betrieb.
"""
QUESTIONS = {
    "r1": """\
An der Ladesäule LS-117 liegt eine Störung vor. Was steht im Ladesäulenregister zu dieser Säule?

Schreiben Sie ${workspace}/ausgabe/r1.json mit diesen Schlüsseln:
- "standort": Text wie im Register
- "typ": Text wie im Register
- "firmware": Text wie im Register
- "letzte_pruefung": JJJJ-MM-TT""",
    "r2": """\
Zur Störung an LS-117 gibt es nur den Anruf bei der Hotline. Stellen Sie anhand des Mitschnitts den Fehlercode und \
den Ladepunkt fest und anhand der Fehlercodes im Handbuch, was in welcher Frist zu tun ist.

Schreiben Sie ${workspace}/ausgabe/r2.json mit diesen Schlüsseln:
- "fehlercode": Buchstabe und Ziffern ohne Zwischenraum, wie im Handbuch
- "ladepunkt": ganze Zahl
- "massnahme": Text, wörtlich wie im Handbuch
- "frist_stunden": ganze Zahl""",
    "r3": """\
Die Säule wurde umgebaut, ihre Leistung fehlt deshalb im Register. Maßgeblich ist das Typenschild. Bestimmen Sie \
Nennleistung und Seriennummer, den Prüfabstand nach dem Handbuch und daraus, gerechnet ab der letzten Prüfung aus der \
ersten Aufgabe, den Tag der nächsten Prüfung.

Schreiben Sie ${workspace}/ausgabe/r3.json mit diesen Schlüsseln:
- "nennleistung_kw": ganze Zahl
- "seriennummer": Text, genau wie auf dem Schild
- "pruefabstand_monate": ganze Zahl
- "naechste_pruefung": JJJJ-MM-TT""",
    "r4": """\
Werten Sie die Ladeprotokolle der Standorte Hafenkai, Bahnhof, Markthalle und Klinikum für den betrachteten Monat nach \
der Rechenregel aus: je Standort die Zahl der gezählten Ladevorgänge und die dabei abgegebene Energie. Keine \
Auswertung hängt von einer anderen ab; sie sollen nebeneinander laufen, und das Laufprotokoll muss mindestens zwei \
davon gleichzeitig zeigen.

Schreiben Sie ${workspace}/ausgabe/r4.json mit diesen Schlüsseln:
- "hafenkai", "bahnhof", "markthalle", "klinikum": je ein Objekt mit "vorgaenge" und "energie_wh" (ganze Zahlen)
- "gesamt_wh": ganze Zahl, Energie aller vier Standorte in Wh""",
    "r5": """\
Hinzugekommen sind eine Firmwaretabelle und ein neuer Stand des Registers; beachten Sie \
${workspace}/aufgaben/hinweis.txt. Welche Firmware hat LS-117 jetzt, welche ist nach Typ und Nennleistung vorgesehen, \
und wann ist nach dem neuen Register die nächste Prüfung fällig? Nennen Sie für das Übergabeschreiben außerdem den \
neuen und den bisherigen Wartungsbetrieb; bisherig ist der, den das Register bei der ersten Aufgabe führte.

Schreiben Sie ${workspace}/ausgabe/r5.json mit diesen Schlüsseln:
- "firmware_ist": Text wie im neuen Register
- "firmware_soll": Text wie in der Firmwaretabelle
- "aktualisieren": true, wenn beide voneinander abweichen, sonst false
- "naechste_pruefung": JJJJ-MM-TT
- "wartung_neu", "wartung_bisher": Name des Betriebs wie im Register""",
    "r6": """\
Schließen Sie die Störung ab. ${workspace}/werkstatt/auslastung.py rechnet falsch: Berichtigen Sie das Programm nach \
der Rechenregel, ohne Aufruf und Form der Ausgabe zu ändern, und bestimmen Sie damit die Auslastung von LS-117 im \
betrachteten Monat. Die Stunden stehen in ${workspace}/aufgaben/stoerung.txt, die Energie ergibt sich aus den \
gezählten Ladevorgängen dieser Säule.

Schreiben Sie ${workspace}/ausgabe/r6.json mit diesen Schlüsseln:
- "energie_wh": ganze Zahl, Energie von LS-117 im betrachteten Monat
- "auslastung_prozent": Zahl mit einer Nachkommastelle
- "nennleistung_kw": ganze Zahl
- "fehlercode": wie in Aufgabe 2
- "naechste_pruefung": JJJJ-MM-TT nach dem jetzigen Register
- "auftrag_an": Wartungsbetrieb, der jetzt zuständig ist""",
}
