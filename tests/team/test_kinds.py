"""What a file is, told from its first bytes."""

import pytest

from infranode_eval.team.kinds import kind_of

TABLE = (
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png", "image", "PNG"),
    (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg", "image", "JPEG"),
    (b"GIF89a\1\0", "image/gif", "image", "GIF"), (b"GIF87a\1\0", "image/gif", "image", "the older GIF"),
    (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp", "image", "WEBP"),
    (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav", "audio", "WAV"),
    (b"RIFF\x24\0\0\0AVI LIST", "application/octet-stream", None, "another RIFF"),
    (b"ID3\x04\0\0\0\0\0\x0a", "audio/mpeg", "audio", "MP3 with a tag"),
    (b"\xff\xfb\x90\x64\0\0", "audio/mpeg", "audio", "MP3, MPEG 1 layer III"),
    (b"\xff\xf3\x40\xc4\0\0", "audio/mpeg", "audio", "MP3, MPEG 2 layer III"),
    (b"OggS\0\2\0\0\0\0\0\0\0\0\0\0", "audio/ogg", "audio", "OGG"),
    (b"OggS\0\2" + bytes(22) + b"\x80theora", "application/octet-stream", None, "an OGG film is none of ours"),
    (b"fLaC\0\0\0\x22", "audio/flac", "audio", "FLAC"),
    (b"\0\0\0\x20ftypisom\0\0\2\0", "video/mp4", "video", "MP4"),
    (b"\0\0\0\x20ftypM4A \0\0\2\0", "audio/mp4", "audio", "MP4 with sound only"),
    (b"\0\0\0\x20ftypavif\0\0\0\0", "application/octet-stream", None, "AVIF, a picture that few models take"),
    (b"\x1aE\xdf\xa3\x9fB\x86\x81\1B\x82\x84webm", "video/webm", "video", "WEBM"),
    (b"\x1aE\xdf\xa3\x9fB\x86\x81\1B\x82\x88matroska", "application/octet-stream", None, "MKV"),
    (b"%PDF-1.7\n%", "application/octet-stream", None, "PDF is no text, though it may hold no NUL"),
    (b"\x7fELF\2\1\1\0", "application/octet-stream", None, "a program"),
    (b"", "text/plain", "text", "an empty file"),
    ("Grüße\n".encode(), "text/plain", "text", "UTF-8"),
    ("Grüße\n".encode("latin-1"), "text/plain", "text", "text in another encoding is still text"),
    (b"\xff\xfea\0b\0", "application/octet-stream", None, "UTF-16 is not taken for MP3"),
    (b"ID3 ist ein Format", "text/plain", "text", "text that begins like a tag"),
    (b"GIF ist ein Format", "text/plain", "text", "text that begins like a picture"),
    (b"RIFF", "text/plain", "text", "a cut file is judged by what is there"),
    (b"x" * 70_000 + b"\0", "application/octet-stream", None, "a NUL far behind"),
)


@pytest.mark.parametrize(("data", "mime", "modality", "why"), TABLE, ids=[row[3] for row in TABLE])
def test_the_content_decides(data, mime, modality, why):
    assert (kind_of(data).mime, kind_of(data).modality) == (mime, modality)
