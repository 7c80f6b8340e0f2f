from dataclasses import asdict
from pathlib import Path

import pytest

from genie_core.message import Attachment, Message, Thread


def nested() -> Message:
    picture = Attachment(path="/tmp/a.png", name="a", media_type="image/png")
    quoted = Message("before", "bob", attachments=[picture])
    return Message(
        "hello",
        "alice",
        receiver="bob",
        threads=[Thread("other", [quoted])],
        attachments=[picture],
        request_id="r1",
    )


def test_asdict_round_trip_keeps_all() -> None:
    assert Message.deserialize(asdict(nested())) == nested()


def test_serialize_equals_asdict() -> None:
    assert nested().serialize() == asdict(nested())


def test_fields_with_defaults_may_be_missing() -> None:
    assert Message.deserialize({"content": "hi", "sender": "bob"}) == Message("hi", "bob")


def test_an_attachment_reads_its_file(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(b"text")
    assert Attachment(str(path), "note", "text/plain").bytes() == b"text"


async def test_what_an_attachment_reads_may_be_awaited(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(b"text")
    assert await Attachment(str(path), "note", "text/plain").bytes() == b"text"


def test_an_attachment_without_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _ = Attachment(str(tmp_path / "gone"), "gone", "text/plain").bytes()
