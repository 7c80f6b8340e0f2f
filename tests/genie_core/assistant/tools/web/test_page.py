import gzip
import tracemalloc
import zlib

import pytest

from genie_core.assistant.tools.web.page import UnreadablePage, decoded, is_html, unpacked


def test_what_is_packed_is_unpacked() -> None:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    for coding, packed in (
        ("", b"tea"),
        ("identity", b"tea"),
        ("GZIP ", gzip.compress(b"tea")),
        ("deflate", zlib.compress(b"tea")),
        ("deflate", raw.compress(b"tea") + raw.flush()),
    ):
        assert unpacked(packed, coding, 100) == b"tea"
        assert unpacked(packed, coding, 2) == b"te"
    cut_off = gzip.compress("".join(map(str, range(10_000))).encode())[:5_000]
    assert unpacked(cut_off, "gzip", 100_000).startswith(b"01234")


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "zstd"])
def test_what_was_not_asked_for_is_not_unpacked(coding: str) -> None:
    with pytest.raises(UnreadablePage, match="not supported"):
        unpacked(b"", coding, 100)
    with pytest.raises(UnreadablePage, match="damaged"):
        unpacked(b"tea", "gzip", 100)


def test_a_bomb_does_not_go_off() -> None:
    bomb = gzip.compress(bytes(100_000_000), 1)
    tracemalloc.start()
    try:
        assert len(unpacked(bomb, "gzip", 1_000)) == 1_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_declared_charset_decodes_text() -> None:
    for body, media in (
        ("Grüße".encode(), "text/plain"),
        ("Grüße".encode("latin-1"), 'text/plain; charset="ISO-8859-1"'),
        ("Grüße".encode("utf-16"), "text/plain"),
        (b"\xef\xbb\xbf" + "Grüße".encode(), ""),
        ("Grüße".encode(), "text/plain; charset=no-such-charset"),
    ):
        assert decoded(body, media) == "Grüße"
    page = '<meta charset="windows-1252">Grüße'
    assert decoded(page.encode("cp1252"), "text/html") == page


def test_what_is_no_text_is_told_from_it() -> None:
    assert decoded(b"\x89PNG\0", "image/png") is None
    assert decoded(bytes(range(1, 256)), "application/octet-stream") is None


@pytest.mark.parametrize("charset", ["hex", "zip", "rot13", "unicode_escape", "punycode", "idna"])
def test_a_charset_cannot_name_something_else(charset: str) -> None:
    assert decoded(b"\\x41-abc", f"text/plain; charset={charset}") == "\\x41-abc"


def test_html_is_known_by_type_or_start() -> None:
    assert is_html("x", "text/html; charset=utf-8")
    assert is_html("  <!-- x --> <!DOCTYPE HTML>", "")
    assert not is_html("<html>", "text/plain")
    assert not is_html("{}", "")
