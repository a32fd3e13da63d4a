"""A secret of a picture or sound is found wherever a text, a name or a chunk tells it, and nowhere else."""

from __future__ import annotations

import struct
import zlib
from datetime import date

import pytest

from infranode_eval.generator.team.leak import Secret, leaks

DAY = Secret("day", (date(2026, 9, 14),))
POWER = Secret("power", (1180,))
SHORT = Secret("dafuer", (23,))
VOTES = Secret("votes", (23, 11, 4))
CODE = Secret("code", ("E-417",))
HALF = Secret("half", ("22,5",))


@pytest.mark.parametrize(("secret", "text", "why"), [
    (DAY, "am 14. September 2026", "as a letter has it"), (DAY, "am 14.\n  September", "over a line's end"),
    (DAY, "am 14.\u00a0September", "with a blank that does not break"), (DAY, "14.09.2026", "in digits"),
    (DAY, "14.9.26", "short"), (DAY, '{"tag": "2026-09-14"}', "ISO"), (DAY, "14. SEPT. 2026", "abbreviated, large"),
    (DAY, "am vierzehnten September", "in words"), (DAY, "datei 20260914", "compact"),
    (DAY, "１４.０９.２０２６", "in full-width digits"), (DAY, "14. Sep\u00adtember", "with a soft hyphen"),
    (POWER, "1.180 m²", "grouped"), (POWER, "1180", "plain"), (POWER, "eintausendeinhundertachtzig", "in words"),
    (SHORT, "23 Ja-Stimmen", "a number of its own"), (SHORT, "dreiundzwanzig", "in words"), (SHORT, "(23)", "in marks"),
    (VOTES, "Ja 23, Nein 11, Enthaltung 4", "all parts together"), (VOTES, "vier, elf und dreiundzwanzig", "any order"),
    (CODE, "Fehler e-417", "any case"), (HALF, "22.5 kW", "with a dot"),
])
def test_told(secret: Secret, text: str, why: str) -> None:
    assert [leak.what for leak in leaks({"akten/a.txt": text.encode()}, [secret])] == [secret.name], why


@pytest.mark.parametrize(("secret", "text", "why"), [
    (DAY, "am 15. September 2026", "another day"), (DAY, "114.09.", "part of a longer number"),
    (DAY, "im September 2026", "the month alone"), (SHORT, "2023", "inside a longer number"),
    (SHORT, "1.23 und 23,5 und 23.09.2026", "part of other numbers"), (SHORT, "dreiundzwanzigste", "part of a word"),
    (VOTES, "§ 4 und § 11", "a part is missing"), (VOTES, "23" + " x" * 200 + " 11 4", "parts far from each other"),
    (Secret("pair", (4, 4)), "nur eine 4", "one number is not two"), (CODE, "E-4170", "a longer code"),
])
def test_not_told(secret: Secret, text: str, why: str) -> None:
    assert leaks({"akten/a.txt": text.encode()}, [secret]) == [], why


def test_a_name_tells() -> None:
    assert [str(leak) for leak in leaks({"bilder/amtsblatt_2026-09-14.png": _png()}, [DAY])] == [
        "bilder/amtsblatt_2026-09-14.png: tells day ('2026-09-14')"]


def test_a_chunk_of_a_picture_tells_and_its_pixels_do_not() -> None:
    text = b"Comment\0am 14. September 2026"
    assert leaks({"a.png": _png(("tEXt", text))}, [DAY])
    assert not leaks({"a.png": _png(("IDAT", text))}, [DAY])


def test_a_chunk_of_a_sound_tells_and_its_samples_do_not() -> None:
    assert leaks({"a.wav": _wav(("LIST", b"23  "))}, [SHORT])
    assert not leaks({"a.wav": _wav(("data", b" 23 "))}, [SHORT])


def test_a_file_in_no_known_form_is_searched_byte_by_byte() -> None:
    assert leaks({"a.bin": b"\xff\xfe 23 \xff"}, [SHORT])


def _png(*chunks: tuple[str, bytes]) -> bytes:
    body = b"".join(struct.pack(">I", len(data)) + name.encode() + data + struct.pack(">I", zlib.crc32(data))
                    for name, data in [("IHDR", b"\0" * 13), *chunks, ("IEND", b"")])
    return b"\x89PNG\r\n\x1a\n" + body


def _wav(*chunks: tuple[str, bytes]) -> bytes:
    body = b"".join(name.encode() + struct.pack("<I", len(data)) + data for name, data in chunks)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WAVE" + body
