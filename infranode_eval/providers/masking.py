"""Secrets kept out of whatever an endpoint sends back: keys, header values, passwords of proxies."""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"
_LEAST = 8          # characters; what is shorter is a placeholder ("EMPTY"), and its letters stand in any text
_QUOTED_FROM = 11   # endpoints quote the beginning of longer keys, followed by asterisks ("sk-ab****yz")


class Mask:
    """Replaces secrets, also in the forms in which JSON and endpoints write them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._text = re.compile("|".join(longest_first)) if forms else None
        self._data = re.compile("|".join(longest_first).encode()) if forms else None

    def text(self, text: str) -> str:
        return text if self._text is None else self._text.sub(MASK, text)

    def data(self, data: bytes) -> bytes:
        return data if self._data is None else self._data.sub(MASK.encode(), data)


def _forms(secret: str) -> Iterable[str]:
    """Patterns of a secret and, for a header value of several words, of each long word."""
    for part in {secret.strip(), *secret.split()}:
        if len(part) < _LEAST:
            continue
        yield "".join(r"\\*" + re.escape(c) if c in '"/\\' else re.escape(c) for c in part)   # JSON inside JSON
        if len(part) >= _QUOTED_FROM and re.fullmatch(r"[\w-]{5}", part[:5]):
            yield re.escape(part[:5]) + r"[\w-]*\*[\w*-]*"
