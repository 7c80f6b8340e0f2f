"""Attachments in a prompt."""

import base64
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.agent.provider.acp.rig import Sink, Stage, ask

from genie_core.errors import AttachmentError
from genie_core.message import Attachment


@pytest.fixture
def files(tmp_path: Path) -> list[Attachment]:
    made = []
    for name, media_type in (
        ("a.txt", "text/plain"),
        ("b.png", "image/png"),
        ("c.wav", "audio/wav"),
        ("d.pdf", "application/pdf"),
    ):
        (tmp_path / name).write_bytes(name.encode())
        made.append(Attachment(str(tmp_path / name), name, media_type))
    return made


async def sent(stage: Stage, files: list[Attachment], able: list[str], sink: Sink) -> list[Any]:
    stage.script(able=able)
    await ask(stage.agent(), "look", attachments=files, sink=sink)
    blocks: list[Any] = stage.all("prompt")[0]["blocks"]
    assert blocks[0]["text"] == "look"
    assert all("Attached file: name=" in each["text"] for each in blocks[1::2])
    return blocks[2::2]


async def test_files_are_embedded_by_capability(stage: Stage, files: list[Attachment]) -> None:
    sink = Sink()
    text, image, audio, pdf = await sent(stage, files, ["image", "audio", "embeddedContext"], sink)
    assert text["resource"]["text"] == "a.txt"
    assert image["type"] == "image"
    assert base64.b64decode(image["data"]) == b"b.png"
    assert audio["type"] == "audio"
    assert base64.b64decode(pdf["resource"]["blob"]) == b"d.pdf"
    assert sink.of("note") == []


async def test_text_only_program_gets_links(stage: Stage, files: list[Attachment]) -> None:
    sink = Sink()
    text, *others = await sent(stage, files, [], sink)
    assert text == {"type": "text", "text": "a.txt"}
    assert [each["type"] for each in others] == ["resource_link"] * 3
    assert others[0]["uri"] == Path(files[1].path).as_uri()
    assert len(sink.of("note")) == 3
    assert "takes no image files: it got a link to 'b.png'" in sink.of("note")[0]


async def test_a_type_that_no_model_reads_is_refused(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\0")
    stage.script()
    odd = Attachment(str(tmp_path / "x.bin"), "x.bin", "application/x-odd")
    with pytest.raises(AttachmentError):
        await ask(stage.agent(), attachments=[odd])
    assert stage.all("prompt") == []
