"""What the page about saved rooms says of files, fields and lines is so."""

import argparse
import json
import re
import typing
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.exceptions import InvalidSignature
from tests.docs.pages import DOCS, one_line, rows
from tests.docs.sample_log import sample_lines
from tests.genie_core.sessions.log_content import read_lines

from genie_core.room.participant.presence import TOKENS_NAME
from genie_core.room.protocol.events import AnyBody, Body, Event
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.check import check
from genie_core.sessions.export.writer import write_export
from genie_core.sessions.labels import LABELS_NAME, Label
from genie_core.sessions.lock import LOCK_NAME
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.metadata import FORMAT, OLDEST, PREVIEW_CHARS, SessionMetadata
from genie_core.sessions.session import (
    CHANGES_NAME,
    ENGINE_NAME,
    LOG_NAME,
    METADATA_NAME,
    WITHHELD_NAME,
)
from genie_core.sessions.view_state import VIEW_NAME, View
from genie_core.storage.blobs import BLOBS_NAME
from genie_import.record import LEFT_NAME, RECORD_NAME
from genie_tui.cli.commands import parser

PAGE = (DOCS / "session-format.md").read_text()
CODE = re.compile(r"`([^`\n]+)`")
BODIES: tuple[type[Body], ...] = typing.get_args(AnyBody)


def section(title: str) -> str:
    _, found, rest = PAGE.partition(f"\n## {title}\n")
    assert found
    return rest.partition("\n## ")[0]


def fence(language: str, place: int = 0) -> str:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found[place]


LINES = (DOCS / "session-format.jsonl").read_bytes().splitlines(keepends=True)


def tag(body: type[Body]) -> str:
    return str(body.__struct_config__.tag)


def test_event_types_list_all_fields() -> None:
    told = {CODE.findall(name)[0]: CODE.findall(fields) for name, fields, _ in rows(PAGE, "type")}
    assert told == {
        tag(body): [each.encode_name for each in msgspec.structs.fields(body)] for body in BODIES
    }


def test_sample_lines_cover_every_type() -> None:
    content = read_lines(b"".join(LINES))
    assert content.told() == []
    assert [encode_line(event) for event in content.events] == LINES
    assert {type(event.body) for event in content.events} == set(BODIES)


def test_lines_are_signed_and_chained() -> None:
    assert sample_lines() == LINES


def test_the_lines_are_those_of_a_room() -> None:
    state = RoomState()
    for event in read_lines(b"".join(LINES)).events:
        state.apply(event)
    assert (state.title, state.messages) == ("Standup", 5)


def test_the_way_to_check_a_line_is_right() -> None:
    names: dict[str, Any] = {}
    exec(fence("python"), names)  # noqa: S102 - the page's own code is what is tested
    read_event: Callable[[bytes], dict[str, Any]] = names["read_event"]
    for number, line in enumerate(LINES, 1):
        assert read_event(line)["seq"] == number
        with pytest.raises(ValueError, match="damaged"):
            read_event(line.replace(b"1795", b"1796", 1))


def test_the_way_to_verify_an_export_is_right(tmp_path: Path) -> None:
    """Only code of the pages runs, on a file that the program has written."""
    names: dict[str, Any] = {}
    protocol = (DOCS / "protocol.md").read_text()
    for code in (
        fence("python"),
        fence("python", 1),
        protocol.partition("```python\n")[2].partition("```")[0],
    ):
        exec(code, names)  # noqa: S102 - the pages' own code is what is tested
    verify: Callable[[bytes], None] = names["verify"]
    saved = Catalog(tmp_path).create("Standup", 1.0)
    saved.log_path.write_bytes(b"".join(LINES))
    write_export(saved, tmp_path / "room.jsonl")
    export = (tmp_path / "room.jsonl").read_bytes()
    verify(export)
    with pytest.raises(InvalidSignature):
        verify(with_checksums(export.replace(b"thanks", b"thanx!")))


def with_checksums(export: bytes) -> bytes:
    """A file whose lines were changed by one who knows how checksums are made, but has no key."""
    header, *lines = export.splitlines(keepends=True)
    texts = [line.rpartition(b',"crc":"')[0] for line in lines]
    return header + b"".join(b'%b,"crc":"%08x"}\n' % (text, zlib.crc32(text)) for text in texts)


def test_the_fields_of_a_line_are_told() -> None:
    told = [CODE.findall(name)[0] for name, *_ in rows(section("The log"), "field")]
    assert told == [*Event.__struct_fields__, "crc"]
    assert list(json.loads(LINES[1])) == told


def test_record_fields_are_listed_in_order() -> None:
    rest = one_line(section("room.json"))
    cells = [name for name, _ in rows(section("room.json"), "field")]
    assert [name for cell in cells for name in CODE.findall(cell)] == list(
        SessionMetadata.__struct_fields__
    )
    assert f"the format of the folder: {FORMAT}" in rest
    assert f"at most {PREVIEW_CHARS} characters" in rest


def test_the_fields_of_a_view_are_told() -> None:
    assert set(CODE.findall(section("view.json"))) == set(View.__struct_fields__)


def test_the_example_of_a_label_is_one() -> None:
    line = fence("json")
    assert msgspec.json.encode(msgspec.json.decode(line, type=Label)).decode() == line.strip()
    assert set(CODE.findall(section("labels.jsonl"))) <= {*Label.__struct_fields__, "wrong"}


def test_the_files_are_called_so() -> None:
    told = [CODE.findall(name)[0].rstrip("/") for name, *_ in rows(PAGE, "file")]
    assert sorted(told) == sorted(
        [
            LOG_NAME,
            METADATA_NAME,
            INDEX_NAME,
            BLOBS_NAME,
            LABELS_NAME,
            VIEW_NAME,
            "whatif",
            WITHHELD_NAME,
            TOKENS_NAME,
            ENGINE_NAME,
            CHANGES_NAME,
            LOCK_NAME,
            RECORD_NAME,
            LEFT_NAME,
        ]
    )


def test_every_version_is_told() -> None:
    assert [row[0] for row in rows(PAGE, "version")] == [
        str(each) for each in range(OLDEST, FORMAT + 1)
    ]
    assert f"Format **{FORMAT}**" in PAGE


def test_a_room_of_these_lines_is_in_order(tmp_path: Path) -> None:
    saved = Catalog(tmp_path).create("Standup", 1.0)
    saved.log_path.write_bytes(b"".join(LINES))
    found = check(saved.folder)
    assert [each for each in found.problems if "file" not in each] == []
    assert found.remarks == ["1 event can't be shown: the log is damaged here"]


def is_understood(known: argparse.ArgumentParser, arguments: list[str]) -> bool:
    try:
        known.parse_args(arguments)
    except SystemExit:
        return False
    return True


def test_every_command_exists() -> None:
    known = parser()
    found = [
        code.replace("SEQ", "7").replace("--reasoner", "--reasoner x")
        for code in CODE.findall(PAGE)
        if code.startswith("genie-tui ")
    ]
    assert len(found) >= 6
    assert [code for code in found if not is_understood(known, code.split()[1:])] == []
