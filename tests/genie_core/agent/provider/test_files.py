import os
from pathlib import Path

import pytest

from genie_core.agent.provider.files import Family, described, family_of, read_file
from genie_core.errors import AttachmentError
from genie_core.message import Attachment

pytestmark = pytest.mark.timeout(100)

ANY: tuple[Family, ...] = ("image", "audio", "video", "text", "pdf")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


@pytest.mark.parametrize(
    ("media_type", "family"),
    [
        ("image/png", "image"),
        ("Text/Markdown; charset=utf-8", "text"),
        ("application/json", "text"),
        ("application/ld+json", "text"),
        ("image/svg+xml", "text"),
        ("application/pdf", "pdf"),
        ("audio/wav", "audio"),
        ("application/zip", None),
        ("", None),
    ],
)
def test_media_type_gives_file_family(media_type: str, family: Family | None) -> None:
    assert family_of(media_type) == family


async def test_read_file_has_sdk_fields(path: Path) -> None:
    file = await read_file(Attachment(str(path), "note", "TEXT/plain; charset=utf-8"), ANY)
    assert (file.name, file.media_type, file.family) == ("note", "text/plain", "text")
    assert (file.data, file.text) == (b"content", "content")
    assert file.data_url == "data:text/plain;base64,Y29udGVudA=="


def test_the_line_about_a_file_names_it(path: Path) -> None:
    line = described(Attachment(str(path), "My file", "text/plain"))
    assert "'My file'" in line
    assert "'text/plain'" in line
    assert str(path) in line


async def test_unread_type_is_named_before_read() -> None:
    with pytest.raises(AttachmentError, match=r"'archive': .* 'application/zip'"):
        await read_file(Attachment("/gone", "archive", "application/zip"), ANY)
    with pytest.raises(AttachmentError, match="'audio/wav', only image, pdf"):
        await read_file(Attachment("/gone", "song", "audio/wav"), ("pdf", "image"))


@pytest.mark.parametrize("name", ["gone", "null\0"])
async def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(AttachmentError, match="report"):
        await read_file(Attachment(str(tmp_path / name), "report", "text/plain"), ANY)


async def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(AttachmentError, match="is not a file"):
            await read_file(Attachment(str(place), "pipe", "text/plain"), ANY)


async def test_a_file_that_is_too_large_is_not_read(path: Path) -> None:
    with pytest.raises(AttachmentError, match="7 bytes"):
        await read_file(Attachment(str(path), "big", "text/plain"), ANY, most=3)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
async def test_claimed_size_is_not_trusted() -> None:
    path = Path("/proc/self/status")
    assert path.stat().st_size == 0
    attachment = Attachment(str(path), "endless", "text/plain")
    with pytest.raises(AttachmentError, match="'endless': has more than the 3 bytes"):
        await read_file(attachment, ANY, most=3)
    assert (await read_file(attachment, ANY)).data


async def test_text_that_is_none_is_named(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\xfa")
    file = await read_file(Attachment(str(path), "letter", "text/plain"), ANY)
    with pytest.raises(AttachmentError, match=r"letter.*UTF-8"):
        _ = file.text
