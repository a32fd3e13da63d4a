"""The check of a round: what counts as right, and a reason in German for what does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.generator.team import verdict

ANSWER = {"tag": "2026-09-14", "anteil": 55, "name": "Ute Kroog", "gebiete": {"nord": 2.5, "liste": [1, "a"]},
          "ja": True}
ACCEPT = {"name": ["Bürgermeisterin Ute Kroog"], "gebiete.liste[1]": ["A"]}


def answered(tmp_path: Path, content: Any, *, overlap: int = 0, before: str | None = None, runs: Any = None,
             printed: str | None = None) -> tuple[int, str]:
    """Exit code and output of the script, run as a round runs it."""
    expected = {"r1": {"answer": ANSWER, "accept": ACCEPT, "overlap": overlap, "before": before}}
    (tmp_path / "expected.json").write_text(json.dumps(expected), "utf-8")
    (tmp_path / "check.py").write_bytes(Path(verdict.__file__).read_bytes())
    more = []
    if content is not None:
        (tmp_path / "r1.json").write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    if runs is not None:
        (tmp_path / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs), "utf-8")
        more += ["--runs", str(tmp_path / "runs.jsonl")]
    if printed is not None:
        (tmp_path / "before.txt").write_text(printed, "utf-8")
        more += ["--before", str(tmp_path / "before.txt")]
    done = subprocess.run([sys.executable, "-I", tmp_path / "check.py", "r1", tmp_path / "r1.json", tmp_path, *more],
                          capture_output=True, encoding="utf-8", timeout=10, env={"PYTHONUTF8": "1"})
    assert not done.stderr
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize(("change", "said", "why"), [
    ({}, "OK", "as expected"), ({"mehr": 1}, "OK", "further keys do not matter"),
    ({"anteil": 55.0}, "OK", "the same number"), ({"name": "  Ute  Kroog "}, "OK", "blanks do not matter"),
    ({"name": "Bürgermeisterin Ute Kroog"}, "OK", "a further right value"),
    ({"gebiete": {"nord": 2.5, "liste": [1, "A"]}}, "OK", "in a list, too"),
    ({"anteil": 54}, "falsch: anteil", "another number"), ({"anteil": "55"}, "falsch: anteil", "a text is no number"),
    ({"anteil": True}, "falsch: anteil", "nor is a truth value"), ({"ja": 1}, "falsch: ja", "nor a number one"),
    ({"anteil": None}, "falsch: anteil", "nothing"), ({"name": "ute kroog"}, "falsch: name", "another name"),
    ({"gebiete": {"nord": 2.4, "liste": [1, "a"]}}, "falsch: gebiete.nord", "in an object"),
    ({"gebiete": {"liste": [1, "a"]}}, "fehlt: gebiete.nord", "missing in an object"),
    ({"gebiete": {"nord": 2.5, "liste": [1]}}, "keine Liste mit 2 Einträgen: gebiete.liste", "too short"),
    ({"gebiete": 3}, "kein Objekt: gebiete", "no object"),
])
def test_compared(tmp_path: Path, change: dict[str, Any], said: str, why: str) -> None:
    assert answered(tmp_path, ANSWER | change) == (0 if said == "OK" else 1, said), why


@pytest.mark.parametrize(("content", "said"), [
    (None, "fehlt: r1.json"), (b"{", "kein JSON: r1.json"), (b"\xff", "kein JSON: r1.json"),
    (b"[1]", "kein JSON-Objekt: r1.json"), (b"[" * 100_000, "kein JSON: r1.json"),
    (b" " * 1_000_001, "zu groß: r1.json"), (b"{}", "fehlt: tag"),
    (b"\xef\xbb\xbf" + json.dumps(ANSWER).encode(), "OK"),
])
def test_read(tmp_path: Path, content: bytes | None, said: str) -> None:
    assert answered(tmp_path, content) == (0 if said == "OK" else 1, said)


def _log(*events: str) -> list[dict[str, Any]]:
    """"+3" starts run 3 in r1, "-3" ends it, "+3@r2" in another round."""
    rows = []
    for event in events:
        run, _, round_id = event[1:].partition("@")
        rows.append({"event": "start" if event[0] == "+" else "end", "run": run, "subagent": "a", "session": "s",
                     "round": round_id or "r1"})
    return rows


@pytest.mark.parametrize(("runs", "said", "why"), [
    (_log("+1", "+2", "-1", "-2"), "OK", "two at once"),
    (_log("+1", "-1", "+2", "-2"), "nicht gleichzeitig bearbeitet: höchstens 1 statt 2 Läufe", "one after the other"),
    (_log("+1@r0", "+2", "-2"), "nicht gleichzeitig bearbeitet: höchstens 1 statt 2 Läufe", "one of another round"),
    (_log("+1", "+2"), "OK", "not yet ended"),
    ([], "nicht gleichzeitig bearbeitet: höchstens 0 statt 2 Läufe", "no run at all"),
    (None, "das Laufprotokoll fehlt", "no log"),
])
def test_overlap(tmp_path: Path, runs: Any, said: str, why: str) -> None:
    assert answered(tmp_path, ANSWER, overlap=2, runs=runs) == (0 if said == "OK" else 1, said), why


@pytest.mark.parametrize(("printed", "said"), [
    ("Beitrag: 12 Cent\n", "OK"), ("\n Beitrag: 12 Cent \n\n", "OK"),
    ("Beitrag: 13 Cent", "das Programm rechnet falsch"),
    ("", "das Programm rechnet falsch"), (None, "die Ausgabe des Programms fehlt")])
def test_output(tmp_path: Path, printed: str | None, said: str) -> None:
    assert answered(tmp_path, ANSWER, before="Beitrag: 12 Cent", printed=printed) == (0 if said == "OK" else 1, said)


def test_no_reason_tells_what_is_right(tmp_path: Path) -> None:
    for key in ANSWER:
        code, said = answered(tmp_path, ANSWER | {key: "x"})
        assert (code, str(ANSWER[key]) in said) == (1, False)
