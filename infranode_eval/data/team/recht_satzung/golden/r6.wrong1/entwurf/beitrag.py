"""Berechnet den Beitrag eines Grundstücks nach aufgaben/rechenregel.txt."""
import sys
from decimal import ROUND_HALF_UP, Decimal


def beitrag_in_cent(aufwand, anteil, gesamtflaeche, flaeche):
    umlage = aufwand * anteil / 100
    beitrag = umlage * flaeche / gesamtflaeche
    return int((beitrag * 100).quantize(Decimal(1), rounding=ROUND_HALF_UP))


if __name__ == "__main__":
    print("Beitrag:", beitrag_in_cent(*map(Decimal, sys.argv[1:5])), "Cent")
