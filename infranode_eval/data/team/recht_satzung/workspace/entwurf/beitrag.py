"""Berechnet den Beitrag eines Grundstücks nach aufgaben/rechenregel.txt."""
import sys
from decimal import ROUND_DOWN, Decimal


def beitrag_in_cent(aufwand, anteil, gesamtflaeche, flaeche):
    umlage = aufwand * (100 - anteil) / 100
    beitrag = umlage * flaeche / gesamtflaeche
    return int((beitrag * 100).quantize(Decimal(1), rounding=ROUND_DOWN))


if __name__ == "__main__":
    print("Beitrag:", beitrag_in_cent(*map(Decimal, sys.argv[1:5])), "Cent")
