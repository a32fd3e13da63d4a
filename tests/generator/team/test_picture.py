"""Pictures: the same calls give the same bytes, in three kinds of chunks; a clear word where Pillow is missing."""

from __future__ import annotations

import sys

import pytest

from infranode_eval.generator.team import picture
from lm_eval_task.errors import DataError, UsageError
from tests.needs import need


def sheet() -> picture.Sheet:
    need("PIL")
    drawn = picture.Sheet(400, 300)
    drawn.text(20, 20, "Größe: 23", 28, bold=True)
    plot = picture.Plot(60, 80, 380, 250, 0, 100)
    drawn.axes(plot, (0, 50, 100))
    drawn.bars(plot, {"Nord": 30, "Süd": 70})
    drawn.curve(plot, (10, 90, 20))
    return drawn


def test_the_same_calls_give_the_same_bytes() -> None:
    assert sheet().png() == sheet().png()


def test_only_these_chunks() -> None:
    names = [name for name, _ in picture.chunks(sheet().png())]
    assert set(names) == set(picture.CHUNKS)
    assert (names[0], names[-1]) == ("IHDR", "IEND")


@pytest.mark.parametrize(("value", "y"), [(0, 250), (100, 80), (50, 165)])
def test_a_value_has_its_height(value: float, y: int) -> None:
    assert picture.Plot(60, 80, 380, 250, 0, 100).height_of(value) == y


def test_a_bar_is_as_high_as_its_value() -> None:
    need("PIL")
    drawn = picture.Sheet(300, 300)
    drawn.bars(picture.Plot(0, 100, 200, 200, 0, 100), {"a": 50, "b": 100}, form=None)
    inside = [drawn.image.getpixel((50, y)) == picture.PALE for y in (145, 155)]
    assert inside == [False, True]
    assert drawn.image.getpixel((150, 110)) == picture.PALE


@pytest.mark.parametrize("broken", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n\0\0", b"\x89PNG\r\n\x1a\n\0\0\0\x09IDATxx"])
def test_what_is_no_whole_png_is_said(broken: bytes) -> None:
    with pytest.raises(DataError, match="PNG"):
        list(picture.chunks(broken))


def test_without_pillow_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UsageError, match="pip install pillow"):
        picture.Sheet(10, 10)


def test_versions_name_the_tool_and_each_font() -> None:
    need("PIL")
    assert {"pillow", "freetype2", "zlib", "DejaVuSans.ttf", "DejaVuSans-Bold.ttf"} <= set(picture.versions())
