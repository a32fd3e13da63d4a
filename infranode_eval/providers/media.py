"""Pictures, sounds and films in a chat message: told by their hash, sent as their bytes in a vendor's own form."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any

MODALITIES = ("image", "audio", "video")
_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3", "audio/ogg": "ogg", "audio/flac": "flac"}


class Media(dict[str, Any]):
    """A part of a message's content. As JSON it is {"type": "media", "sha256", "mime", "bytes", "path"}, so that
    journals, keys and transcripts hold no bytes; those stand in `data`. path: what the model knows it by."""

    def __init__(self, sha256: str, mime: str, path: str, data: bytes) -> None:
        super().__init__(type="media", sha256=sha256, mime=mime, bytes=len(data), path=path)
        self.data = data

    @property
    def modality(self) -> str:
        return self["mime"].partition("/")[0]

    @property
    def text(self) -> str:
        """The bytes in base64."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def uri(self) -> str:
        return f"data:{self['mime']};base64,{self.text}"

    @property
    def format(self) -> str:
        """Of a sound, as APIs name it."""
        return _FORMATS.get(self["mime"], self["mime"].partition("/")[2])


def media_in(message: Mapping[str, Any]) -> list[Media]:
    """The attachments of a message, in order."""
    content = message.get("content")
    return [part for part in content if isinstance(part, Media)] if isinstance(content, list) else []


def parts_sent(content: list[Any], form: Callable[[Media], Mapping[str, Any]]) -> Iterator[Any]:
    """The parts of a content with every attachment in the form of an API."""
    for part in content:
        yield form(part) if isinstance(part, Media) else part
