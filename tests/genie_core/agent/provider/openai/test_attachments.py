"""Files on their way to a model."""

import base64
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.agent.provider.openai.doubles import Desk, ask

from genie_core.errors import AttachmentError
from genie_core.message import Attachment

pytestmark = pytest.mark.timeout(100)


def attachment(folder: Path, name: str, media_type: str, content: bytes = b"content") -> Attachment:
    path = folder / name
    path.write_bytes(content)
    return Attachment(str(path), name, media_type)


def parts(desk: Desk) -> list[dict[str, Any]]:
    body = desk.last.body
    return [
        part
        for each in (body["messages"] if desk.api == "chat" else body["input"])
        if each.get("role") == "user" and not isinstance(each["content"], str)
        for part in each["content"]
    ]


async def test_line_describes_each_file(desk: Desk, tmp_path: Path) -> None:
    files = [
        attachment(tmp_path, "dot.png", "image/png"),
        attachment(tmp_path, "paper.pdf", "application/pdf"),
        attachment(tmp_path, "note.md", "text/markdown; charset=utf-8", "née".encode()),
        attachment(tmp_path, "table.json", "application/json", b"{}"),
    ]
    await ask(desk.agent(), "look", attachments=files)
    query, *rest = parts(desk)
    lines, contents = rest[::2], rest[1::2]
    assert query["text"] == "look"
    assert [file.name in line["text"] for file, line in zip(files, lines, strict=True)] == [
        True
    ] * 4
    image, pdf, note, table = contents
    encoded = base64.b64encode(b"content").decode()
    assert f"data:image/png;base64,{encoded}" in str(image)
    assert f"data:application/pdf;base64,{encoded}" in str(pdf)
    assert "paper.pdf" in str(pdf)
    assert (note["text"], table["text"]) == ("née", "{}")


async def test_files_stay_in_the_history(desk: Desk, tmp_path: Path) -> None:
    agent = desk.agent()
    await ask(agent, "look", attachments=[attachment(tmp_path, "dot.png", "image/png")])
    fresh = desk.agent()
    fresh.set_serialized(agent.get_serialized())
    await ask(fresh, "again")
    assert any("base64" in str(part) for part in parts(desk))


@pytest.mark.parametrize("media_type", ["audio/wav", "video/mp4", "application/zip", "odd"])
async def test_other_types_are_refused_by_name(desk: Desk, tmp_path: Path, media_type: str) -> None:
    with pytest.raises(AttachmentError, match=media_type) as refused:
        await ask(desk.agent(), attachments=[attachment(tmp_path, "file", media_type)])
    assert isinstance(refused.value, ValueError)
    assert desk.server.requests == []
