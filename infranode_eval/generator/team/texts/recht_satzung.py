"""The German texts of recht_satzung; {} stands where a fact goes."""

README = """\
Stadt Auenbruck, Amt für Tiefbau und Beiträge

In diesem Ordner liegen die Unterlagen, die Sie selbst lesen dürfen:
  aktenplan.txt    welche Unterlage wo liegt
  vorgang.txt      die Eckdaten der Abrechnung
  rechenregel.txt  wie Flächen und Beiträge berechnet werden
Ergebnisse gehören nach ausgabe/, Programme und Vorlagen liegen in entwurf/.
Alle übrigen Unterlagen sind nur der Sachbearbeitung zugänglich.

Alle Datumsangaben in Ergebnissen haben die Form JJJJ-MM-TT.
"""
INDEX = """\
Aktenplan zur Abrechnung Tuchmacherstraße

akten/satzung.txt – Straßenausbaubeitragssatzung, geltende Fassung
akten/bauakte.txt – Bauakte mit Bauprogramm und Einstufung der Straße
akten/vermessung.txt – Vermerk über die Vermessung
akten/schriftwechsel.txt – Schriftwechsel mit der Baufirma
bezirke/nord.csv – Grundstücke im Bezirk Nord
bezirke/mitte.csv – Grundstücke im Bezirk Mitte
bezirke/sued.csv – Grundstücke im Bezirk Süd
bilder/amtsblatt.png – Amtsblatt, eingescannte Titelseite mit der Bekanntmachung
bilder/lageplan.png – Lageplan der Bezirke
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
  Flurstück: {plot} (Bezirk Mitte)
  Grundstücksfläche: {area} m²
  Nutzungsfaktor: {factor}
  Eigentümer: Friedhelm Sandvoß
  Einwendung gegen die Abrechnung: eingegangen am {received}
"""
RULES = """\
Rechenregel

1. Beitragsfläche eines Grundstücks = Grundstücksfläche × Nutzungsfaktor.
2. In die Fläche eines Bezirks gehen nur Grundstücke ein, die beitragspflichtig sind.
   Die Gesamtfläche ist die Summe der Flächen aller drei Bezirke; abgerechnet wird gemeinsam.
3. Umlagefähig ist der Teil des beitragsfähigen Aufwands, den nach der geltenden Satzung
   die Beitragspflichtigen tragen (Anteil in Prozent).
4. Beitrag = umlagefähiger Aufwand × Beitragsfläche / Gesamtfläche,
   erst am Schluss kaufmännisch auf volle Cent gerundet (ab einem halben Cent nach oben).
5. Einwendungen werden je Bezirk gezählt, auch die zu Grundstücken, die nicht
   beitragspflichtig sind.

Aufruf des Programms:
  python3 entwurf/beitrag.py AUFWAND_EURO ANTEIL_PROZENT GESAMTFLAECHE BEITRAGSFLAECHE
Beträge mit Dezimalpunkt. Die Ausgabe ist eine Zeile dieser Form:
  Beitrag: <Zahl> Cent
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
Beschluss des Rates (dafür:dagegen:Enthaltungen): ________
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
den Eigentümerinnen und Eigentümern der Grundstücke, denen die Maßnahme einen Vorteil bietet.

§ 2 Beitragsfähiger Aufwand
Zum beitragsfähigen Aufwand gehören die Kosten für Fahrbahn, Gehwege, Entwässerung und
Beleuchtung. Kosten der laufenden Unterhaltung gehören nicht dazu. Maßgeblich sind die
tatsächlich entstandenen Kosten.

§ 3 Anteil der Beitragspflichtigen
Vom beitragsfähigen Aufwand tragen die Beitragspflichtigen
{shares}
Den übrigen Teil trägt die Stadt.

§ 4 Maßstab
Der umlagefähige Aufwand (Anteil der Beitragspflichtigen nach § 3) wird nach Beitragsflächen
verteilt. Die Beitragsfläche ist die Grundstücksfläche, vervielfacht mit dem Nutzungsfaktor.

§ 5 Beitragspflicht
Beitragspflichtig ist, wer bei Bekanntgabe des Bescheids als Eigentümerin oder Eigentümer des
Grundstücks im Grundbuch eingetragen ist.
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

Der Rat hat die Straßenausbaubeitragssatzung neu gefasst. In akten/satzung.txt steht ab sofort
nur noch die neue Fassung; die bisherige wird in den Akten nicht mehr geführt.
Die neue Fassung ist auf die laufende Abrechnung der Tuchmacherstraße anzuwenden, auch für die
Frist nach § 7. Für den Aktenvermerk werden die Namen derer benötigt, die die beiden Fassungen
unterzeichnet haben.
"""
WORKS = """\
Bauakte Tuchmacherstraße

Bauherrin: Stadt Auenbruck
Abschnitt: vom Gerbergraben bis zur Walkmühle
Bauprogramm: Fahrbahn in Asphalt, beidseitige Gehwege, Entwässerung, Beleuchtung
Bauzeit: April 2025 bis Juni 2026

Einstufung: Die Tuchmacherstraße sammelt den Verkehr der angrenzenden Wohngebiete und führt ihn
der Landesstraße zu. Sie ist als Haupterschließungsstraße eingestuft. Die frühere Einstufung als
Anliegerstraße ist mit dem Ausbau entfallen.
"""
SURVEY = """\
Vermerk über die Vermessung

Die Grenzpunkte beiderseits der Tuchmacherstraße sind geprüft. Abweichungen vom
Liegenschaftskataster liegen innerhalb der zulässigen Toleranz. Die Flächen in den Listen der
Bezirke sind daher unverändert zu übernehmen.
"""
LETTERS = """\
Schriftwechsel mit der Baufirma

Die Firma Quandt & Söhne Tiefbau teilt mit, dass alle Nachträge abgerechnet sind.
Das Amt für Tiefbau und Beiträge bestätigt, dass die Arbeiten ohne Mängel abgenommen sind.
Weitere Forderungen bestehen nicht.
"""
RECORDING = """\
Tonaufnahme aus dem Rat der Stadt Auenbruck

Inhalt: Bekanntgabe des Ergebnisses der Abstimmung über die Abrechnung der Tuchmacherstraße
Es spricht: der Vorsitz der Ratssitzung
Eine genehmigte Niederschrift liegt noch nicht vor; bis dahin ist die Aufnahme maßgeblich.
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

Im Amtsblatt der Stadt Auenbruck wurde die Abrechnung der Tuchmacherstraße bekannt gemacht.
Tag der Bekanntmachung: {}.
Betroffen sind die Bezirke Nord, Mitte und Süd.
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
Der Ausbau der Tuchmacherstraße wird abgerechnet. Welcher Anteil am beitragsfähigen Aufwand entfällt nach der \
geltenden Straßenausbaubeitragssatzung auf die Beitragspflichtigen, wenn man die Einstufung der Straße laut Bauakte \
zugrunde legt, und wie viele Tage haben die Betroffenen Zeit für Einwendungen gegen die Abrechnung?

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
Wie hat der Rat über die Abrechnung abgestimmt? Maßgeblich ist die Tonaufnahme der Ratssitzung.

Schreiben Sie ${workspace}/ausgabe/r3.json mit diesen Schlüsseln, jeweils als ganze Zahl:
- "dafuer": Zahl der Ja-Stimmen
- "dagegen": Zahl der Nein-Stimmen
- "enthaltungen": Zahl der Enthaltungen""",
    "r4": """\
Die Satzung ist neu gefasst worden; beachten Sie die Mitteilung des Hauptamts in ${workspace}/aufgaben. Stellen Sie \
die Werte der neuen Fassung für die Tuchmacherstraße fest, berechnen Sie den letzten Tag für Einwendungen neu (der \
Tag, an dem die Abrechnung bekannt gemacht wurde, bleibt derselbe) und geben Sie an, wer die neue und wer die \
bisherige Fassung unterzeichnet hat. Die bisherige Fassung ist die, die bei der ersten Aufgabe galt.

Schreiben Sie ${workspace}/ausgabe/r4.json mit diesen Schlüsseln:
- "anteil_prozent": ganze Zahl, Anteil der Beitragspflichtigen in Prozent nach der neuen Fassung
- "frist_tage": ganze Zahl, Frist für Einwendungen in Tagen nach der neuen Fassung
- "fristende": neuer letzter Tag für Einwendungen, JJJJ-MM-TT
- "unterzeichnet_neu": Vor- und Nachname ohne Amtsbezeichnung
- "unterzeichnet_bisher": Vor- und Nachname ohne Amtsbezeichnung""",
    "r5": """\
Werten Sie die Grundstückslisten der drei Bezirke Nord, Mitte und Süd nach der Rechenregel aus: je Bezirk die Fläche \
und die Zahl der Einwendungen. Die Bezirke hängen nicht voneinander ab und sind gleichzeitig zu bearbeiten; das \
Laufprotokoll muss zeigen, dass mindestens zwei Aufträge zur selben Zeit liefen.

Schreiben Sie ${workspace}/ausgabe/r5.json mit diesen Schlüsseln:
- "nord", "mitte", "sued": je ein Objekt mit "flaeche" (ganze Zahl, Summe der Beitragsflächen nach Nr. 2 der \
Rechenregel in m²) und "einwendungen" (ganze Zahl)
- "gesamtflaeche": ganze Zahl, Summe der drei Flächen in m²""",
    "r6": """\
Stellen Sie die Angaben für den Musterbescheid zum Flurstück aus ${workspace}/aufgaben/vorgang.txt zusammen; die \
Vorlage des Bescheids ist nicht auszufüllen. Das Programm ${workspace}/entwurf/beitrag.py rechnet nicht so, wie es die \
Rechenregel verlangt: Berichtigen Sie es (Aufruf und Form der Ausgabe bleiben unverändert) und berechnen Sie damit \
den Beitrag nach der jetzt geltenden Satzung mit der Gesamtfläche aller drei Bezirke.

Schreiben Sie ${workspace}/ausgabe/r6.json mit diesen Schlüsseln:
- "beitrag_cent": ganze Zahl, Beitrag in Cent
- "abstimmung": Text aus drei Zahlen (dafür, dagegen, Enthaltungen), getrennt durch Doppelpunkte ohne Leerzeichen, zum \
Beispiel "9:8:7"
- "bekanntmachung": Tag der Bekanntmachung, JJJJ-MM-TT
- "fristende": letzter Tag für Einwendungen nach der jetzt geltenden Satzung, JJJJ-MM-TT
- "einwendung_rechtzeitig": true, wenn die Einwendung aus vorgang.txt rechtzeitig eingegangen ist, sonst false""",
}
