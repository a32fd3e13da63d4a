"""The German texts of recht_satzung; {} stands where a fact goes."""

README = """\
Stadt Auenbruck, Amt für Tiefbau und Beiträge

In diesem Ordner stehen die Unterlagen, die Sie selbst lesen dürfen:
  aktenplan.txt    welche Unterlage wo liegt
  vorgang.txt      die Eckdaten der Abrechnung
  rechenregel.txt  wie Flächen und Beiträge berechnet werden
Ergebnisse gehören nach ausgabe/, Programme und Vorlagen liegen in entwurf/.
Die Akten selbst, Bilder und Tonaufnahmen sind nur den Sachbearbeitungen zugänglich.

Alle Datumsangaben in Ergebnissen haben die Form JJJJ-MM-TT.
"""
INDEX = """\
Aktenplan zur Abrechnung Tuchmacherstraße

akten/satzung.txt – Straßenausbaubeitragssatzung, geltende Fassung
akten/bauakte.txt – Bauakte mit Bauprogramm und Einstufung der Straße
akten/vermessung.txt – Vermerk über die Vermessung
akten/schriftwechsel.txt – Schriftwechsel mit der Baufirma
bezirke/nord.csv – Grundstücke im Abrechnungsgebiet Nord
bezirke/mitte.csv – Grundstücke im Abrechnungsgebiet Mitte
bezirke/sued.csv – Grundstücke im Abrechnungsgebiet Süd
bilder/amtsblatt.png – Amtsblatt, eingescannte Titelseite mit der Bekanntmachung
bilder/lageplan.png – Lageplan der Abrechnungsgebiete
toene/ratssitzung.wav – Tonaufnahme der Abstimmung im Rat
toene/aufnahme.txt – Angaben zur Tonaufnahme
archiv/protokoll_entwurf.txt – Niederschrift der Ratssitzung, nicht genehmigter Entwurf
archiv/satzung_2011.txt – Straßenausbaubeitragssatzung von 2011, aufgehoben
ki_zusammenfassung/amtsblatt.txt – automatische Zusammenfassung der Bekanntmachung, ungeprüft
"""
CASE = """\
Vorgang: Abrechnung des Ausbaus der {street}

Beitragsfähiger Aufwand: {cost},00 EUR
Die Einstufung der Straße ergibt sich aus der Bauakte.

Grundstück für den Musterbescheid
  Flurstück: {plot} (Abrechnungsgebiet Mitte)
  Grundstücksfläche: {area} m²
  Nutzungsfaktor: {factor}
  Eigentümer: Friedhelm Sandvoß
  Einwendung gegen die Abrechnung, eingegangen am {received}
"""
RULES = """\
Rechenregel

1. Beitragsfläche eines Grundstücks = Grundstücksfläche × Nutzungsfaktor.
2. In die Gesamtfläche gehen nur Grundstücke ein, die beitragspflichtig sind.
3. Umlagefähig ist der Anteil der Beitragspflichtigen am beitragsfähigen Aufwand,
   in Prozent nach der geltenden Satzung.
4. Beitrag = umlagefähiger Betrag × Beitragsfläche / Gesamtfläche,
   erst am Schluss kaufmännisch auf volle Cent gerundet (ab einem halben Cent nach oben).
5. Einwendungen werden je Abrechnungsgebiet gezählt, auch die von Grundstücken,
   die nicht beitragspflichtig sind.

Aufruf des Programms:
  python3 entwurf/beitrag.py AUFWAND_EURO ANTEIL_PROZENT GESAMTFLAECHE BEITRAGSFLAECHE
Beträge mit Dezimalpunkt. Ausgabe ist eine Zeile: Beitrag: <Zahl> Cent
"""
BROKEN = '''\
"""Berechnet den Beitrag eines Grundstücks nach aufgaben/rechenregel.txt."""
import sys
from decimal import ROUND_DOWN, Decimal


def beitrag_in_cent(aufwand, anteil, gesamtflaeche, flaeche):
    umlage = aufwand * (100 - anteil) / 100
    beitrag = umlage * flaeche / gesamtflaeche
    return int((beitrag * 100).quantize(Decimal(1), rounding=ROUND_DOWN))


if __name__ == "__main__":
    print("Beitrag:", beitrag_in_cent(*map(Decimal, sys.argv[1:5])), "Cent")
'''
REPAIRED = BROKEN.replace("(100 - anteil)", "anteil").replace("ROUND_DOWN", "ROUND_HALF_UP")
NOTICE = """\
Bescheid über einen Straßenausbaubeitrag (Vorlage)

Beitrag: ________ EUR
Beschluss des Rates (dafür : dagegen : enthalten): ________
Abrechnung bekannt gemacht am: ________
Einwendungen waren möglich bis: ________
Ihre Einwendung ist rechtzeitig / verspätet eingegangen.
"""
STATUTE = """\
Stadt {town}

Satzung über die Erhebung von Beiträgen für den Ausbau von Straßen
(Straßenausbaubeitragssatzung)
vom {signed}

§ 1 Gegenstand
Für die Verbesserung und Erneuerung öffentlicher Straßen erhebt die Stadt Beiträge von
denjenigen, deren Grundstücke durch die Maßnahme einen Vorteil haben.

§ 2 Beitragsfähiger Aufwand
Zum Aufwand gehören Fahrbahn, Gehwege, Entwässerung und Beleuchtung. Kosten der laufenden
Unterhaltung gehören nicht dazu. Maßgeblich sind die tatsächlichen Kosten.

§ 3 Anteil der Beitragspflichtigen
Vom beitragsfähigen Aufwand tragen die Beitragspflichtigen
{shares}
Den übrigen Teil trägt die Stadt.

§ 4 Maßstab
Der umlagefähige Betrag wird nach Beitragsflächen verteilt. Die Beitragsfläche ist die
Grundstücksfläche, vervielfacht mit dem Nutzungsfaktor.

§ 5 Beitragspflicht
Beitragspflichtig ist, wer bei Bekanntgabe des Bescheids im Grundbuch eingetragen ist.
Grundstücke der Stadt und öffentliche Grünflächen sind nicht beitragspflichtig.

§ 6 Abrechnung
Nach Abschluss der Arbeiten beschließt der Rat über die Abrechnung. Sie wird im Amtsblatt
bekannt gemacht.

§ 7 Einwendungen
Einwendungen gegen die Abrechnung können binnen {period} Tagen nach der Bekanntmachung erhoben
werden. Der Tag der Bekanntmachung wird nicht mitgezählt. Eine Einwendung ist rechtzeitig, wenn
sie spätestens am letzten Tag der Frist bei der Stadt eingeht.

§ 8 Fälligkeit
Der Beitrag wird einen Monat nach Bekanntgabe des Bescheids fällig. Auf Antrag kann er in
bis zu zehn Jahresraten gezahlt werden.

§ 9 Inkrafttreten
Diese Satzung tritt am Tag nach ihrer Bekanntmachung in Kraft.
{end}

{town}, den {signed}

gez. {signer}
{office}
"""
NOTE = """\
Mitteilung des Hauptamts

Der Rat hat die Straßenausbaubeitragssatzung neu gefasst. In akten/satzung.txt liegt ab sofort
nur noch die neue Fassung; die bisherige wird in den Akten nicht mehr geführt.
Die neue Fassung ist auf die laufende Abrechnung der Tuchmacherstraße anzuwenden.
Für den Vermerk zur Akte werden die Unterzeichner beider Fassungen benötigt.
"""
WORKS = """\
Bauakte Tuchmacherstraße

Bauherrin: Stadt Auenbruck
Abschnitt: vom Gerbergraben bis zur Walkmühle
Bauprogramm: Fahrbahn in Asphalt, beidseitige Gehwege, Entwässerung, Beleuchtung
Bauzeit: April 2025 bis Juni 2026

Einstufung: Die Tuchmacherstraße sammelt den Verkehr der angrenzenden Wohngebiete und führt ihn
der Landesstraße zu. Sie ist als Haupterschließungsstraße eingestuft. Die frühere Einstufung als
Anliegerstraße ist mit dem Umbau entfallen.
"""
SURVEY = """\
Vermerk Vermessung

Die Grenzpunkte beiderseits der Tuchmacherstraße sind geprüft. Abweichungen zum Liegenschafts-
kataster liegen innerhalb der zulässigen Toleranz. Die Flächen in den Listen der
Abrechnungsgebiete sind daher unverändert zu übernehmen.
"""
LETTERS = """\
Schriftwechsel mit der Baufirma

Die Firma Quandt & Söhne Tiefbau teilt mit, dass alle Nachträge abgerechnet sind.
Das Amt für Tiefbau bestätigt die Abnahme ohne Mängel. Weitere Forderungen bestehen nicht.
"""
RECORDING = """\
Tonaufnahme aus dem Rat der Stadt Auenbruck

Inhalt: Bekanntgabe des Ergebnisses der Abstimmung über die Abrechnung der Tuchmacherstraße
Sprecher: Vorsitz der Sitzung
Eine genehmigte Niederschrift liegt noch nicht vor; bis dahin gilt die Aufnahme.
"""
DRAFT_OF_MINUTES = """\
Niederschrift der Ratssitzung (ENTWURF, nicht genehmigt)

Abrechnung der Tuchmacherstraße
Nach kurzer Aussprache wird abgestimmt.
Ergebnis nach Mitschrift: {} Ja-Stimmen, {} Nein-Stimmen, {} Enthaltungen.
Anmerkung der Schriftführung: Zahlen nach Gehör notiert, noch abzugleichen.
"""
SUMMARY_TEXT = """\
Automatische Zusammenfassung (nicht geprüft)

Im Amtsblatt der Stadt Auenbruck wurde die Abrechnung der Tuchmacherstraße veröffentlicht.
Tag der Bekanntmachung: {}.
Betroffen sind die Abrechnungsgebiete Nord, Mitte und Süd.
"""
GAZETTE_LINES = (
    "Der Rat der Stadt hat die Abrechnung des Ausbaus der",
    "Tuchmacherstraße beschlossen. Die Unterlagen liegen im",
    "Amt für Tiefbau und Beiträge während der Dienststunden",
    "zur Einsicht aus.",
    "",
    "Einwendungen gegen die Abrechnung sind schriftlich oder zur",
    "Niederschrift zu erheben. Die Frist richtet sich nach der",
    "Straßenausbaubeitragssatzung; sie beginnt am Tag nach",
    "der Bekanntmachung.",
)
QUESTIONS = {
    "r1": """\
Der Ausbau der Tuchmacherstraße wird abgerechnet. Welcher Anteil am Aufwand entfällt nach der geltenden \
Straßenausbaubeitragssatzung auf die Beitragspflichtigen, wenn man die Einstufung der Straße laut Bauakte zugrunde \
legt, und wie viele Tage haben die Betroffenen Zeit für Einwendungen gegen die Abrechnung?

Schreiben Sie ${workspace}/ausgabe/r1.json mit diesen Schlüsseln:
- "anteil_prozent": ganze Zahl, Anteil der Beitragspflichtigen in Prozent
- "frist_tage": ganze Zahl, Frist für Einwendungen in Tagen""",
    "r2": """\
Die Abrechnung ist im Amtsblatt bekannt gemacht worden. Maßgeblich ist die eingescannte Titelseite. Bestimmen Sie den \
Tag der Bekanntmachung und mit der Frist aus der ersten Aufgabe den letzten Tag für Einwendungen.

Schreiben Sie ${workspace}/ausgabe/r2.json mit diesen Schlüsseln:
- "bekanntmachung": Tag der Bekanntmachung, JJJJ-MM-TT
- "fristende": letzter Tag für Einwendungen, JJJJ-MM-TT (der Tag der Bekanntmachung zählt nicht mit)""",
    "r3": """\
Wie hat der Rat über die Abrechnung abgestimmt? Maßgeblich ist die Tonaufnahme der Sitzung.

Schreiben Sie ${workspace}/ausgabe/r3.json mit diesen Schlüsseln, jeweils als ganze Zahl:
- "dafuer": Stimmen für die Vorlage
- "dagegen": Stimmen gegen die Vorlage
- "enthaltungen": Enthaltungen""",
    "r4": """\
Die Satzung ist neu gefasst worden; beachten Sie die Mitteilung des Hauptamts in ${workspace}/aufgaben. Stellen Sie \
die Werte der neuen Fassung für die Tuchmacherstraße fest, berechnen Sie den letzten Tag für Einwendungen neu (der Tag \
der Bekanntmachung bleibt, wie er war) und nennen Sie, wer die neue Fassung und wer die bisherige Fassung \
unterzeichnet hat. Bisherige Fassung ist die, die bei der ersten Aufgabe galt.

Schreiben Sie ${workspace}/ausgabe/r4.json mit diesen Schlüsseln:
- "anteil_prozent": ganze Zahl, Anteil der Beitragspflichtigen nach der neuen Fassung
- "frist_tage": ganze Zahl, Frist für Einwendungen nach der neuen Fassung
- "fristende": neuer letzter Tag für Einwendungen, JJJJ-MM-TT
- "unterzeichnet_neu": Vor- und Nachname ohne Amtsbezeichnung
- "unterzeichnet_bisher": Vor- und Nachname ohne Amtsbezeichnung""",
    "r5": """\
Werten Sie die Grundstückslisten der drei Abrechnungsgebiete Nord, Mitte und Süd nach der Rechenregel aus: je Gebiet \
die Summe der Beitragsflächen und die Zahl der Einwendungen. Die Gebiete hängen nicht voneinander ab und sind \
gleichzeitig zu bearbeiten; nach dem Laufprotokoll müssen mindestens zwei Bearbeitungen zur selben Zeit im Gange \
gewesen sein.

Schreiben Sie ${workspace}/ausgabe/r5.json mit diesen Schlüsseln:
- "nord", "mitte", "sued": je ein Objekt mit "flaeche" (ganze Zahl, Summe der Beitragsflächen in m²) und \
"einwendungen" (ganze Zahl)
- "gesamtflaeche": ganze Zahl, Summe der drei Flächen in m²""",
    "r6": """\
Bereiten Sie den Musterbescheid für das Flurstück aus ${workspace}/aufgaben/vorgang.txt vor. Das Programm \
${workspace}/entwurf/beitrag.py rechnet nicht so, wie es die Rechenregel verlangt: Berichtigen Sie es (Aufruf und Form \
der Ausgabe bleiben) und berechnen Sie damit den Beitrag nach der jetzt geltenden Satzung mit der Gesamtfläche aller \
drei Gebiete.

Schreiben Sie ${workspace}/ausgabe/r6.json mit diesen Schlüsseln:
- "beitrag_cent": ganze Zahl, Beitrag in Cent
- "abstimmung": Text der Form "dafür:dagegen:enthaltungen", nur Zahlen und Doppelpunkte
- "bekanntmachung": Tag der Bekanntmachung, JJJJ-MM-TT
- "fristende": letzter Tag für Einwendungen nach der jetzt geltenden Satzung, JJJJ-MM-TT
- "einwendung_rechtzeitig": true oder false, ob die Einwendung aus vorgang.txt rechtzeitig eingegangen ist""",
}
