"""The page's words in English and German: each text in both languages at once, the style sheet shows one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from infranode_eval.harmless import clean
from infranode_eval.shipped import DATA, read_shipped
from infranode_eval.statistics import Interval
from infranode_eval.tables import ABSENT

if TYPE_CHECKING:
    from markupsafe import Markup

WORDS = DATA / "page" / "words.json"


class Words:
    """Markup for texts in two languages; `words("key", n=3)` fills {n}, and every value is escaped."""

    def __init__(self, texts: Mapping[str, Sequence[str]]) -> None:
        from markupsafe import Markup, escape  # part of the extra [report]

        self._texts, self._markup, self._escape = texts, Markup, escape

    @classmethod
    def shipped(cls) -> Words:
        """The words that come with the package."""
        return cls(read_shipped("page/words.json"))

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def __call__(self, key: str, **values: object) -> Markup:
        english, german = (self._filled(text, values) for text in self._texts[key])
        return self.both(english, german)

    def english(self, key: str) -> str:
        return self._texts[key][0]

    def both(self, english: str, german: str) -> Markup:
        """One text where both are equal, else a span for each language. Arguments that are no Markup are escaped."""
        if english == german:
            return self._escape(english)
        return self._markup('<span class="en" lang="en">{}</span><span class="de" lang="de">{}</span>').format(
            english, german)

    def same(self, text: str) -> Markup:
        """A name or number that reads alike in both languages."""
        return self._escape(clean(text))

    def valued(self, key: str, value: str) -> Markup:
        """"set-up S": what a field is, and its value."""
        return self._markup("{} {}").format(self(key), clean(value))

    def joined(self, separator: str, parts: Sequence[str]) -> Markup:
        return self._markup(separator).join(parts)

    def percent(self, value: float | None) -> Markup:
        """0–1 with one decimal, without the sign, with the decimal mark of each language."""
        if value is None:
            return self.same(ABSENT)
        text = f"{100 * value:.1f}"
        return self.both(text, text.replace(".", ","))

    def number(self, value: float | None, decimals: int) -> Markup:
        """With the decimal mark of each language."""
        text = ABSENT if value is None else f"{value:.{decimals}f}"
        return self.both(text, text.replace(".", ","))

    def limits(self, interval: Interval) -> Markup:
        """The limits in per cent: 77.0–91.5."""
        text = f"{100 * interval.low:.1f}–{100 * interval.high:.1f}"
        return self.both(text, text.replace(".", ","))

    def for_script(self, bench: bool = False) -> dict[str, Sequence[str]]:
        """Those that the script puts in. bench: the page shows bench cases and nothing else."""
        found = {key: text for key, text in self._texts.items()
                 if key.startswith(("js_", "kind_")) or key == "play_control"}
        cases = {key: text for key, text in found.items() if key.endswith("_bench")}
        return {key: cases.get(f"{key}_bench", text) if bench else text for key, text in found.items()
                if key not in cases}

    def _filled(self, text: str, values: Mapping[str, object]) -> Markup:
        """Markup among the values is our own; plain values are made visible and escaped."""
        shown = {name: value if isinstance(value, self._markup) else clean(str(value))
                 for name, value in values.items()}
        return self._markup(self._escape(text)).format(**shown)
