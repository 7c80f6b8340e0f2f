from pathlib import Path

import pytest
from pydantic_ai.messages import BinaryContent

from genie_core.agent.provider.pydantic_ai.attachments import prompt_with
from genie_core.errors import AttachmentError
from genie_core.message import Attachment


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


async def test_a_query_without_files_stays_text() -> None:
    assert await prompt_with("q", []) == "q"


@pytest.mark.parametrize(
    "media_type", ["image/png", "application/pdf", "text/plain", "text/markdown; charset=utf-8"]
)
async def test_a_file_is_described_and_sent(file: Path, media_type: str) -> None:
    prompt = await prompt_with("q", [Attachment(str(file), "My file", media_type)])
    assert isinstance(prompt, list)
    query, description, content = prompt
    assert query == "q"
    assert isinstance(description, str)
    assert "My file" in description
    assert str(file) in description
    assert isinstance(content, BinaryContent)
    assert content.data == b"content"
    assert content.media_type == media_type.split(";")[0]


async def test_a_type_that_no_model_reads_is_named(file: Path) -> None:
    with pytest.raises(AttachmentError, match="application/zip"):
        await prompt_with("q", [Attachment(str(file), "archive", "application/zip")])


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(AttachmentError, match=r"report.*gone"):
        await prompt_with("q", [Attachment(str(tmp_path / "gone"), "report", "text/plain")])


@pytest.mark.parametrize("media_type", ["application/json", "application/x-sh", "image/svg+xml"])
async def test_text_of_any_type_is_sent_as_text(file: Path, media_type: str) -> None:
    prompt = await prompt_with("q", [Attachment(str(file), "code", media_type)])
    assert isinstance(prompt[-1], BinaryContent)
    assert prompt[-1].media_type == "text/plain"


async def test_a_text_file_that_is_no_text_is_named(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(AttachmentError, match="letter"):
        await prompt_with("q", [Attachment(str(file), "letter", "text/plain")])
