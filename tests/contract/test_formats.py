"""What earlier programs and saved sessions are made of stays as it is; see `formats`."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.contract.formats import FILE, formats, history, strays
from tests.genie_core.sessions.log_content import read_lines

from genie_core.assistant.what_if.report import WhatIfReport
from genie_core.room.protocol.codec import decode_client, decode_server, encode
from genie_core.room.security.invite import read_invite, write_invite
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.sessions.export.header import decode_header
from genie_core.sessions.labels import Label
from genie_core.sessions.log.format import decode_line, encode_line
from genie_core.sessions.metadata import SessionMetadata, encode_metadata
from genie_core.sessions.view_state import View

KEPT: dict[str, Any] = json.loads(FILE.read_text())
WRITTEN = formats(history())


def again(kind: Any) -> Callable[[bytes], bytes]:
    """Read a value of JSON and write it."""
    return lambda data: msgspec.json.encode(msgspec.json.decode(data, type=kind))


READ: dict[str, Callable[[bytes], bytes]] = {
    "to the room": lambda data: encode(decode_client(data, len(data))),
    "from the room": lambda data: encode(decode_server(data)),
    "events": lambda data: encode_line(decode_line(data[:-1], first=False)),
    "room.json": lambda data: encode_metadata(msgspec.json.decode(data, type=SessionMetadata)),
    "view.json": again(View),
    "labels.jsonl": again(Label),
    "whatif": again(WhatIfReport),
    "passes.json": lambda data: InviteTokens.decode(data).encode(),
    "export": lambda data: msgspec.json.encode(decode_header(data, "file")) + b"\n",
    "an invite": lambda data: write_invite(read_invite(data.decode())).encode(),
}


def test_every_class_is_one_of_a_union() -> None:
    assert strays() == []


def test_format_file_lists_exactly_all() -> None:
    assert {name: list(kept) for name, kept in KEPT.items() if name != "history"} == {
        name: list(written) for name, written in WRITTEN.items()
    }


@pytest.mark.parametrize(
    ("section", "entry"),
    [(section, entry) for section, entries in WRITTEN.items() for entry in entries],
)
def test_it_is_written_as_ever(section: str, entry: str) -> None:
    assert json.loads(json.dumps(WRITTEN[section][entry])) == KEPT[section][entry]


@pytest.mark.parametrize("section", ["to the room", "from the room", "events"])
def test_each_class_of_a_union_is_read_as_ever(section: str) -> None:
    for kept in KEPT[section].values():
        for text in (kept["all"], kept["least"]):
            assert READ[section](text.encode()).decode() == text


@pytest.mark.parametrize("name", [name for name in READ if name in KEPT["files"]])
def test_a_file_is_read_as_ever(name: str) -> None:
    kept = KEPT["files"][name]
    text = kept if isinstance(kept, str) else kept["all"]
    assert READ[name](text.encode()).decode() == text


def test_a_log_is_read_as_ever() -> None:
    content = read_lines(history())
    assert content.told() == []
    assert b"".join(map(encode_line, content.events)) == history()
