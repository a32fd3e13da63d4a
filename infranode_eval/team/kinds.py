"""What a file is, told from its first bytes: its name may say anything."""

from __future__ import annotations

from dataclasses import dataclass

_M4A = (b"M4A ", b"M4B ", b"F4A ")
_STILLS = (b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1", b"crx ")


@dataclass(frozen=True, slots=True)
class Kind:
    """modality: "text", "image", "audio", "video", or None for bytes that no agent perceives."""

    mime: str
    modality: str | None


TEXT = Kind("text/plain", "text")
UNKNOWN = Kind("application/octet-stream", None)


def kind_of(data: bytes) -> Kind:
    """PNG, JPEG, GIF, WEBP; WAV, MP3, OGG, FLAC, M4A; MP4, WEBM. Else text, or UNKNOWN for bytes that hold a NUL."""
    mime = _media(data[:64])
    if mime is not None:
        return UNKNOWN if mime == UNKNOWN.mime else Kind(mime, mime.partition("/")[0])
    return UNKNOWN if b"\0" in data or data.startswith(b"%PDF-") else TEXT


def _media(head: bytes) -> str | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12])
    if head.startswith(b"fLaC"):
        return "audio/flac"
    if head.startswith(b"OggS\0"):
        return UNKNOWN.mime if b"theora" in head else "audio/ogg"
    if head.startswith(b"\x1aE\xdf\xa3"):
        return "video/webm" if b"webm" in head else UNKNOWN.mime
    if head[4:8] == b"ftyp" and head[8:12] not in _STILLS:
        return "audio/mp4" if head[8:12] in _M4A else "video/mp4"
    return "audio/mpeg" if _is_mp3(head) else None


def _is_mp3(head: bytes) -> bool:
    """A tag, or the header of a frame of layer III whose bit rate and sampling rate exist."""
    if head.startswith(b"ID3") and len(head) >= 10 and head[3] < 0xFF and all(byte < 0x80 for byte in head[6:10]):
        return head[3] in (2, 3, 4)
    return (len(head) >= 4 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2 and head[1] & 0x18 != 0x08
            and head[2] >> 4 not in (0, 15) and head[2] & 0x0C != 0x0C)
