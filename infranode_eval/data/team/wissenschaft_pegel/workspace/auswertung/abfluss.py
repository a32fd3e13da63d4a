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
