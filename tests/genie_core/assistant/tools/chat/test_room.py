"""The room as installed programs read it."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from genie_core.assistant.tools.catalog import PROGRAM_TOOLS
from genie_core.assistant.tools.chat.room import MOST_CHARS, RoomTools
from genie_core.errors import AttachmentError
from genie_core.message import Attachment, Message


def room(*messages: Message, members: Any = ()) -> RoomTools:
    async def fetch() -> str:
        return json.dumps([each.serialize() for each in messages])

    return RoomTools(fetch, lambda: members)


def test_tools_match_policy() -> None:
    assert tuple(each.__name__ for each in room().all()) == PROGRAM_TOOLS


async def test_history_is_read_from_its_end() -> None:
    tools = room(*(Message(f"say {number}", "ann") for number in range(1, 8)))
    heading, *lines = map(json.loads, (await tools.get_group_chat_messages(2)).splitlines())
    assert heading == {"messages": 2, "earlier": 5}
    assert [(each["number"], each["content"]) for each in lines] == [(6, "say 6"), (7, "say 7")]
    heading, *lines = map(json.loads, (await tools.get_group_chat_messages(3, 5)).splitlines())
    assert heading == {"messages": 2, "earlier": 0}
    assert [each["content"] for each in lines] == ["say 1", "say 2"]
    [heading] = (await tools.get_group_chat_messages(3, 50)).splitlines()
    assert json.loads(heading)["messages"] == 0


async def test_history_line_is_short() -> None:
    file = Attachment("/files/x", "x.txt", "text/plain")
    message = Message("é" * (MOST_CHARS + 1), "ann", "bob", attachments=[file])
    line = json.loads((await room(message).get_group_chat_messages()).splitlines()[1])
    assert len(line["content"]) == MOST_CHARS + 1
    assert (line["receiver"], line["attachments"]) == ("bob", ["x.txt"])
    assert "/files/x" not in json.dumps(line)


async def test_who_is_here() -> None:
    assert await room(members=["ann (host)"]).who_is_here() == "- ann (host)"
    known = await room(
        Message("a", "ann"), Message("b", "system"), Message("c", "ann")
    ).who_is_here()
    assert known.endswith("so far: ann.")


async def test_attachments_are_read(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("old")
    (tmp_path / "2").write_text("abcdef")
    (tmp_path / "3").write_bytes(b"image")
    (tmp_path / "4").write_bytes(b"%PDF")
    names = ("a.txt", "text/plain"), ("a.txt", "text/plain"), ("b.png", "image/png")
    files = [
        Attachment(str(tmp_path / str(number)), *about)
        for number, about in enumerate((*names, ("c.pdf", "application/pdf")), 1)
    ]
    tools = room(
        Message("one", "ann", attachments=files[:1]), Message("two", "bob", attachments=files[1:])
    )
    assert await tools.read_attachment("a.txt") == "abcdef"
    assert await tools.read_attachment("a.txt", 4) == "ef"
    image = await tools.read_attachment("b.png")
    assert (image["type"], base64.b64decode(image["data"])) == ("image", b"image")
    with pytest.raises(AttachmentError):
        await tools.read_attachment("c.pdf")
    with pytest.raises(ValueError, match="no message has an attached file"):
        await tools.read_attachment("/etc/passwd")
