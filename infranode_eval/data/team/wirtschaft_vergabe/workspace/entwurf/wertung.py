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
