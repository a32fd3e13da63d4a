"""Sounds: the same sentence gives the same bytes, in one form, loud enough and never clipped."""

from __future__ import annotations

import array
import io
import math
import shutil
import wave

import pytest

from infranode_eval.generator.team import sound
from lm_eval_task.errors import DataError, UsageError
from tests.needs import need_program


def wav(samples: list[int], *, width: int = 2, rate: int = 16_000) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(array.array("h", samples).tobytes() if width == 2 else bytes(samples))
    return out.getvalue()


@pytest.fixture(scope="module")
def spoken() -> bytes:
    for program in ("espeak-ng", "sox"):
        need_program(program, shutil.which(program))
    return sound.speak("Dafür: dreiundzwanzig.")


def test_the_same_sentence_gives_the_same_bytes(spoken: bytes) -> None:
    assert sound.speak("Dafür: dreiundzwanzig.") == spoken


def test_format_and_level(spoken: bytes) -> None:
    found = sound.measure(spoken)
    assert (found.rate, found.channels, found.width, found.clipped) == (16_000, 1, 2, 0)
    assert 1 < found.seconds < 4
    assert -3.1 < found.peak_db < -2.9
    assert -30 < found.mean_db < -10
    assert [name for name, _ in sound.chunks(spoken)] == list(sound.CHUNKS)


@pytest.mark.parametrize(("samples", "peak", "mean", "clipped"), [
    ([0] * 160, -math.inf, -math.inf, 0), ([16_384, -16_384] * 80, -6.02, -6.02, 0), ([32_767] * 160, 0, 0, 160),
    ([-32_768] + [0] * 15, 0, -12.04, 1), ([], -math.inf, -math.inf, 0),
])
def test_measured(samples: list[int], peak: float, mean: float, clipped: int) -> None:
    found = sound.measure(wav(samples))
    assert (found.peak_db, found.mean_db) == (pytest.approx(peak, abs=0.01), pytest.approx(mean, abs=0.01))
    assert (found.clipped, found.seconds) == (clipped, len(samples) / 16_000)


@pytest.mark.parametrize("broken", [b"", b"RIFF....WAVE", wav([1, 2], width=1), b"OggS" * 20])
def test_no_samples_of_16_bits(broken: bytes) -> None:
    with pytest.raises(DataError):
        sound.measure(broken)


def test_a_wav_that_ends_within_a_chunk() -> None:
    with pytest.raises(DataError, match="within a chunk"):
        list(sound.chunks(wav([1, 2, 3])[:-2]))


def test_without_a_program_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="apt-get install espeak-ng"):
        sound.speak("eins")
