import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.protocol.media import HEAD_BYTES, TEXT, UNKNOWN, media_type

OFFICE = "application/vnd.openxmlformats-officedocument"


def packed(*files: tuple[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files:
            archive.writestr(name, content)
    return buffer.getvalue()


def office(folder: str) -> bytes:
    return packed(("[Content_Types].xml", "x" * 400), ("_rels/.rels", "x"), (folder, "x" * 99))


@pytest.mark.parametrize(
    ("head", "media"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0\1", "image/jpeg"),
        (b"GIF89a\1\0\1\0", "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 " + bytes(8), "image/webp"),
        (b"%PDF-1.7\n1 0 obj\n", "application/pdf"),
        (packed(("a.txt", "hi")), "application/zip"),
        (office("word/document.xml"), f"{OFFICE}.wordprocessingml.document"),
        (office("xl/workbook.xml"), f"{OFFICE}.spreadsheetml.sheet"),
        (b"RIFF\x24\0\0\0WAVEfmt " + bytes(20), "audio/wav"),
        (b"ID3\3\0\0\0\0\0\0" + bytes(20), "audio/mpeg"),
        (b"fLaC\0\0\0\x22" + bytes(30), "audio/flac"),
        (b"hello\n", TEXT),
        ("naïve — ünïcode ✓\n".encode(), TEXT),
        (b"\xef\xbb\xbfwith a mark", TEXT),
        (b"\x1b[31mred\x1b[0m\n", TEXT),
        (b"BM is two letters, and this is text", TEXT),
        (b"MZ is, too", TEXT),
        (b"<svg onload='alert(1)'></svg>", TEXT),
        (b"MZ\x90\0\3\0\0\0", UNKNOWN),
        ("grüße".encode("latin-1"), UNKNOWN),
        (bytes(range(256)), UNKNOWN),
        (b"", UNKNOWN),
    ],
)
def test_the_first_bytes_tell_the_type(head: bytes, media: str) -> None:
    assert media_type(head) == media


def test_cut_character_is_still_text() -> None:
    text = ("x" + "é" * HEAD_BYTES).encode()
    assert media_type(text) == TEXT
    assert media_type(text[: HEAD_BYTES // 2]) == TEXT


MAGIC = st.sampled_from(
    [
        b"",
        b"PK\3\4",
        b"RIFF",
        b"\x1a\x45\xdf\xa3",
        b"OggS",
        b"\0\0\0\x18ftyp",
        b"%PDF",
        b"BM",
        b"II*\0",
    ]
)


@given(MAGIC, st.binary(max_size=400))
def test_any_bytes_have_a_type(magic: bytes, rest: bytes) -> None:
    kind, _, name = media_type(magic + rest).partition("/")
    assert kind.isalpha()
    assert name.isascii()
    assert name
