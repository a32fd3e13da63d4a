"""Spoken sentences, made so that the same sentence gives the same WAV."""

from __future__ import annotations

import array
import io
import math
import shutil
import struct
import subprocess
import sys
import tempfile
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lm_eval_task.errors import DataError, UsageError

RATE, VOICE, SPEED = 16_000, "de", 135        # hertz, the voice's name, words a minute
CHUNKS = ("fmt ", "data")                     # the only ones of a WAV: no other may carry a text
_PEAK_DB = -3                                 # sox brings the loudest sample here: espeak's own level may clip
_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Measured:
    """seconds; hertz; channels; bytes a sample; peak and mean level in decibels below full scale (silence: -inf);
    clipped: how many samples stand at full scale."""

    seconds: float
    rate: int
    channels: int
    width: int
    peak_db: float
    mean_db: float
    clipped: int


def speak(text: str) -> bytes:
    """The WAV of a German text: 16 kHz, one channel, 16 bits.

    -D because sox otherwise dithers at random, and the facts hang on the hash of the file. Raise UsageError where
    espeak-ng or sox is missing or fails.
    """
    with tempfile.TemporaryDirectory() as name:
        raw, done = Path(name) / "raw.wav", Path(name) / "done.wav"
        _run("espeak-ng", "-v", VOICE, "-s", str(SPEED), "-w", str(raw), text)
        _run("sox", "-D", str(raw), "-r", str(RATE), "-c", "1", "-b", "16", str(done), "norm", str(_PEAK_DB))
        return done.read_bytes()


def measure(wav: bytes) -> Measured:
    """Length and level. Raise DataError if it is no WAV with samples of 16 bits."""
    try:
        with wave.open(io.BytesIO(wav)) as file:
            rate, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            samples = array.array("h", file.readframes(file.getnframes())) if width == 2 else None
    except (wave.Error, EOFError) as error:
        raise DataError(f"is no WAV ({error})") from None
    if samples is None:
        raise DataError(f"has samples of {width} bytes, expected 2")
    if sys.byteorder == "big":
        samples.byteswap()
    peak = max((abs(s) for s in samples), default=0)
    mean = math.sqrt(sum(s * s for s in samples) / len(samples)) if samples else 0.0
    return Measured(len(samples) / channels / rate, rate, channels, width, _decibels(peak), _decibels(mean),
                    sum(abs(s) >= 32_767 for s in samples))


def chunks(wav: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and payload of each chunk. Raise DataError if it is no RIFF file or ends within a chunk."""
    if wav[:4] != b"RIFF" or wav[8:12] != b"WAVE":
        raise DataError("is no WAV: RIFF or WAVE is missing")
    place = 12
    while place + 8 <= len(wav):
        name, length = struct.unpack("<4sI", wav[place:place + 8])
        yield name.decode("latin-1"), wav[place + 8:place + 8 + length]
        place += 8 + length + length % 2
    if place != len(wav):
        raise DataError("is no whole WAV: it ends within a chunk")


def versions() -> dict[str, str]:
    """What the bytes of a sound depend on. Raise UsageError where a program is missing."""
    return {"espeak-ng": _run("espeak-ng", "--version").split("Data at:")[0].strip(),
            "sox": _run("sox", "--version").split(":", 1)[-1].strip()}


def _decibels(value: float) -> float:
    return 20 * math.log10(value / 32_768) if value else -math.inf


def _run(program: str, *arguments: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise UsageError(f"sounds need {program}, which is not installed: apt-get install {program}")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise UsageError(f"{program} failed: {done.stderr.strip()[-200:]}")
    return done.stdout
