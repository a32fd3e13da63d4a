"""Auslastung einer Ladesäule nach aufgaben/rechenregel.txt."""
import sys
from decimal import ROUND_HALF_UP, Decimal


def auslastung(energie_wh, leistung_kw, stunden, ausfall):
    betriebsstunden = stunden - ausfall
    moeglich_wh = leistung_kw * 1000 * betriebsstunden
    return (energie_wh * 100 / moeglich_wh).quantize(Decimal("0.1"), rounding=ROUND_HALF_UP)


if __name__ == "__main__":
    wert = auslastung(*map(Decimal, sys.argv[1:5]))
    print("Auslastung:", str(wert).replace(".", ","), "%")
