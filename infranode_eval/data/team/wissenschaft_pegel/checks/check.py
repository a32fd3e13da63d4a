"""The check of a scenario's rounds: compares an answer with expected.json, and prints OK or a reason in German.

Shipped as checks/check.py in every scenario and run with `python3 -I`, so it is whole in itself:

    check.py ROUND ANSWER SCRIPTS [--runs FILE] [--before FILE]        exit 0 right, 1 wrong or unreadable
"""

import argparse
import json
import os
import sys

LARGEST = 1_000_000     # bytes of an answer


class Wrong(Exception):
    """The answer does not count; the text says why and never what would be right."""


def main(arguments=None):
    chosen = _arguments(arguments)
    with open(os.path.join(chosen.scripts, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)[chosen.round]
    try:
        compare(expected["answer"], read_answer(chosen.answer), expected["accept"])
        if expected["overlap"]:
            demand_overlap(read_runs(chosen.runs), chosen.round, expected["overlap"])
        if expected["before"] is not None:
            demand_output(chosen.before, expected["before"])
    except Wrong as reason:
        print(reason)
        return 1
    print("OK")
    return 0


def read_answer(path):
    """The JSON object of a file."""
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError:
        raise Wrong(f"fehlt: {name}") from None
    if len(raw) > LARGEST:
        raise Wrong(f"zu groß: {name}")
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Wrong(f"kein JSON: {name}") from None
    if not isinstance(value, dict):
        raise Wrong(f"kein JSON-Objekt: {name}")
    return value


def compare(expected, actual, accept, path=""):
    """Raise Wrong at the first key that is missing or differs; further keys of the answer do not matter."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            raise Wrong(f"kein Objekt: {path}")
        for key, value in expected.items():
            inner = f"{path}.{key}" if path else key
            if key not in actual:
                raise Wrong(f"fehlt: {inner}")
            compare(value, actual[key], accept, inner)
    elif isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            raise Wrong(f"keine Liste mit {len(expected)} Einträgen: {path}")
        for place, value in enumerate(expected):
            compare(value, actual[place], accept, f"{path}[{place}]")
    elif not any(same(value, actual) for value in [expected, *accept.get(path, [])]):
        raise Wrong(f"falsch: {path}")


def same(expected, actual):
    """Texts without blanks around them, numbers by value; a truth value is no number, a text no number."""
    if isinstance(expected, bool) or isinstance(actual, bool) or expected is None or actual is None:
        return expected is actual
    if isinstance(expected, str):
        return isinstance(actual, str) and " ".join(expected.split()) == " ".join(actual.split())
    return isinstance(actual, int | float) and expected == actual


def read_runs(path):
    """The events of the run log."""
    if path is None:
        raise Wrong("das Laufprotokoll fehlt")
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError):
        raise Wrong("das Laufprotokoll fehlt") from None


def demand_overlap(events, round_id, wanted):
    """Raise Wrong unless at some point `wanted` runs of the round had started and not ended."""
    under_way, most = set(), 0
    for event in events:
        if event["round"] == round_id and event["event"] == "start":
            under_way.add(event["run"])
        elif event["event"] == "end":
            under_way.discard(event["run"])
        most = max(most, len(under_way))
    if most < wanted:
        raise Wrong(f"nicht gleichzeitig bearbeitet: höchstens {most} statt {wanted} Läufe")


def demand_output(path, expected):
    """Raise Wrong unless the program printed what it must."""
    try:
        with open(path or "", encoding="utf-8", errors="replace") as file:
            printed = file.read()
    except OSError:
        raise Wrong("die Ausgabe des Programms fehlt") from None
    if _lines(printed) != _lines(expected):
        raise Wrong("das Programm rechnet falsch")


def _lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def _arguments(arguments):
    parser = argparse.ArgumentParser()
    for name in ("round", "answer", "scripts"):
        parser.add_argument(name)
    parser.add_argument("--runs")
    parser.add_argument("--before")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
