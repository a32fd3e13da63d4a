"""check.py RUNDE ANTWORT SOLL: vergleicht eine Antwort mit dem Soll; ohne ihre Werte zu verraten."""
import json
import sys

runde, antwort, soll = sys.argv[1:4]
erwartet = json.load(open(soll, encoding="utf-8"))[runde]
try:
    gefunden = json.load(open(antwort, encoding="utf-8"))
except FileNotFoundError:
    sys.exit("es gibt keine Antwort")
except ValueError:
    sys.exit("die Antwort ist kein JSON")
if not isinstance(gefunden, dict):
    sys.exit("die Antwort ist kein Objekt")
falsch = [name for name in erwartet if gefunden.get(name) != erwartet[name]]
if falsch:
    sys.exit("falsch: " + ", ".join(falsch))
print("OK")
