"""Pictures with text, bars and curves, drawn so that the same calls give the same PNG."""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lm_eval_task.errors import DataError, UsageError

if TYPE_CHECKING:
    from PIL import Image

WHITE, BLACK, GREY, PALE = 255, 0, 110, 205
CHUNKS = ("IHDR", "IDAT", "IEND")               # the only ones of a PNG: no other may carry a text or a time
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_FONTS = {(False, False): "DejaVuSans.ttf", (True, False): "DejaVuSans-Bold.ttf",
          (False, True): "DejaVuSansMono.ttf", (True, True): "DejaVuSansMono-Bold.ttf"}


@dataclass(frozen=True, slots=True)
class Plot:
    """Where bars or a curve stand: the box in pixels, and the values at its lower and upper edge."""

    left: int
    top: int
    right: int
    bottom: int
    low: float
    high: float

    def height_of(self, value: float) -> int:
        """The y of a value, in pixels."""
        return round(self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top))


class Sheet:
    """A grey picture of `width` × `height` pixels; (0, 0) is its upper left corner."""

    def __init__(self, width: int, height: int, paper: int = WHITE) -> None:
        pillow = _pillow()
        self.image: Image.Image = pillow.Image.new("L", (width, height), paper)
        self._draw = pillow.ImageDraw.Draw(self.image)

    def text(self, x: int, y: int, text: str, size: int = 24, *, bold: bool = False, mono: bool = False,
             anchor: str = "la", ink: int = BLACK) -> None:
        """Write one line; `anchor` as Pillow has it: "la" from the left, "ma" centred, "ra" to the right."""
        self._draw.text((x, y), text, fill=ink, font=_font(size, bold, mono), anchor=anchor)

    def paragraph(self, x: int, y: int, lines: Sequence[str], size: int = 24, *, leading: float = 1.5) -> int:
        """Write lines below each other. Return the y below the last one."""
        for line in lines:
            self.text(x, y, line, size)
            y += round(size * leading)
        return y

    def rule(self, x: int, y: int, to_x: int, to_y: int, *, width: int = 2, ink: int = BLACK) -> None:
        self._draw.line((x, y, to_x, to_y), fill=ink, width=width)

    def frame(self, left: int, top: int, right: int, bottom: int, *, width: int = 3, fill: int | None = None) -> None:
        self._draw.rectangle((left, top, right, bottom), outline=BLACK, width=width, fill=fill)

    def polygon(self, points: Sequence[tuple[int, int]], *, fill: int | None = None, width: int = 2) -> None:
        self._draw.polygon(list(points), outline=BLACK, fill=fill, width=width)

    def axes(self, plot: Plot, ticks: Sequence[float], *, size: int = 22, form: str = "{:g}") -> None:
        """Both axes, and a pale line with its value at each tick."""
        for tick in ticks:
            y = plot.height_of(tick)
            self.rule(plot.left, y, plot.right, y, width=1, ink=PALE)
            self.text(plot.left - 12, y, form.format(tick), size, anchor="rm")
        self.rule(plot.left, plot.top, plot.left, plot.bottom)
        self.rule(plot.left, plot.bottom, plot.right, plot.bottom)

    def bars(self, plot: Plot, values: Mapping[str, float], *, size: int = 24, form: str | None = "{:g}") -> None:
        """One bar a value with its name below and, unless `form` is None, its value above."""
        step = (plot.right - plot.left) / len(values)
        for place, (name, value) in enumerate(values.items()):
            middle = round(plot.left + (place + 0.5) * step)
            top, half = plot.height_of(value), round(step * 0.3)
            self._draw.rectangle((middle - half, top, middle + half, plot.bottom), fill=PALE, outline=BLACK, width=2)
            self.text(middle, plot.bottom + 12, name, size, anchor="ma")
            if form is not None:
                self.text(middle, top - 8, form.format(value), size, bold=True, anchor="mb")

    def curve(self, plot: Plot, values: Sequence[float]) -> list[tuple[int, int]]:
        """A line through the values at equal steps from left to right. Return its points in pixels."""
        step = (plot.right - plot.left) / (len(values) - 1)
        points = [(round(plot.left + n * step), plot.height_of(value)) for n, value in enumerate(values)]
        self._draw.line(points, fill=BLACK, width=4)
        return points

    def png(self) -> bytes:
        """The PNG, smallest form; nothing in it tells a time, a tool or a text."""
        out = io.BytesIO()
        self.image.save(out, "PNG", optimize=True)
        return out.getvalue()


def chunks(png: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and payload of each chunk. Raise DataError if it is no PNG or ends within a chunk."""
    if not png.startswith(_SIGNATURE):
        raise DataError("is no PNG: the signature is missing")
    place = len(_SIGNATURE)
    while place < len(png):
        if place + 12 > len(png):
            raise DataError("is no whole PNG: it ends within a chunk")
        length, name = struct.unpack(">I4s", png[place:place + 8])
        yield name.decode("latin-1"), png[place + 8:place + 8 + length]
        place += 12 + length
    if place != len(png):
        raise DataError("is no whole PNG: it ends within a chunk")


def versions() -> dict[str, str]:
    """What the bytes of a picture depend on. Raise UsageError where Pillow or a font is missing."""
    pillow = _pillow()
    found = {"pillow": pillow.__version__}
    for part in ("freetype2", "zlib", "zlib_ng"):
        found[part] = str(pillow.features.version(part))
    for bold, mono in _FONTS:
        with open(_font(10, bold, mono).path, "rb") as file:
            found[_FONTS[bold, mono]] = hashlib.sha256(file.read()).hexdigest()[:16]
    return found


def _pillow() -> Any:
    """Late: only who writes a scenario needs it."""
    try:
        import PIL
        from PIL import Image, ImageDraw, ImageFont, features  # noqa: F401 - become attributes of PIL
    except ImportError:
        raise UsageError("pictures need Pillow, which is not installed: pip install pillow") from None
    return PIL


def _font(size: int, bold: bool, mono: bool) -> Any:
    fonts = _pillow().ImageFont
    try:
        return fonts.truetype(_FONTS[bold, mono], size, layout_engine=fonts.Layout.BASIC)
    except OSError:
        raise UsageError(f"pictures need the font {_FONTS[bold, mono]}, which is not installed: "
                         "apt-get install fonts-dejavu-core") from None
