"""check.py RUNDE ANTWORT SOLL: vergleicht eine Antwort mit dem Soll; ohne ihre Werte zu verraten."""
import json
import sys


def durchgefallen(warum):
    print(warum)
    sys.exit(1)


runde, antwort, soll = sys.argv[1:4]
erwartet = json.load(open(soll, encoding="utf-8"))[runde]
try:
    gefunden = json.load(open(antwort, encoding="utf-8"))
except FileNotFoundError:
    durchgefallen("es gibt keine Antwort")
except ValueError:
    durchgefallen("die Antwort ist kein JSON")
if not isinstance(gefunden, dict):
    durchgefallen("die Antwort ist kein Objekt")
falsch = [name for name in erwartet if gefunden.get(name) != erwartet[name]]
if falsch:
    durchgefallen("falsch: " + ", ".join(falsch))
print("OK")
