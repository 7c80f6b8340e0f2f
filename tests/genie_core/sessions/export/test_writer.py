"""Exports as files: complete, private, and over nothing that was there."""

import base64
import errno
import io
import os
import re
import stat
from hashlib import sha256
from pathlib import Path

import pytest
from tests.genie_core.sessions.recorded import Recorded
from tests.genie_core.sessions.sample import BORN, DIGEST, FILE, SECRETS, log_bytes, saved_room

from genie_core.room.protocol.events import Event, FileRef, MessagePosted, RoomCreated
from genie_core.sessions.errors import NotExported
from genie_core.sessions.export.formats import (
    AddedFormat,
    AnyFormat,
    ExportFormat,
    InTheWay,
    NoForm,
    default_name,
    form_of,
)
from genie_core.sessions.export.importing import import_room
from genie_core.sessions.export.writer import NoFolder, print_out, write_export
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import DiskFailure

RECORDINGS = (AddedFormat("cast"), AddedFormat("svg"))
FORMS = (*ExportFormat, *RECORDINGS)

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture
def saved(tmp_path: Path) -> SavedSession:
    (tmp_path / "sessions").mkdir()
    return saved_room(tmp_path / "sessions")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("form", FORMS)
def test_each_format_is_private_to_owner(
    saved: SavedSession, folder: Path, form: AnyFormat
) -> None:
    path = folder / default_name(saved.id, form, attachments=False)
    assert write_export(saved, path, form) == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert form_of(path.name) == form
    assert names_in(folder) == [path.name]
    data = path.read_bytes()
    assert b"see the file" in data
    assert not any(secret in data for secret in SECRETS)


def test_what_is_there_is_replaced_only_by_force(saved: SavedSession, folder: Path) -> None:
    path = folder / "room.md"
    path.write_text("of somebody")
    with pytest.raises(InTheWay, match="--force"):
        write_export(saved, path, ExportFormat.MARKDOWN)
    assert path.read_text() == "of somebody"
    write_export(saved, path, ExportFormat.MARKDOWN, force=True)
    assert path.read_text().startswith("# Standup")
    assert names_in(folder) == ["room.md"]


def test_a_full_disk_leaves_what_was_there(
    saved: SavedSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = folder / "room.md"
    path.write_text("of somebody")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFailure, match="free some space"):
        write_export(saved, path, ExportFormat.MARKDOWN, force=True)
    assert path.read_text() == "of somebody"
    assert names_in(folder) == ["room.md"]


def test_no_folder_is_a_clear_error(saved: SavedSession, folder: Path) -> None:
    with pytest.raises(NoFolder, match=r"no folder .*none"):
        write_export(saved, folder / "none" / "room.html", ExportFormat.HTML)


def test_a_device_is_written_to_as_it_is(saved: SavedSession) -> None:
    write_export(saved, Path(os.devnull), ExportFormat.LINES, force=True)
    assert not Path(os.devnull).is_file()


def test_lines_with_files_can_be_imported(saved: SavedSession, folder: Path) -> None:
    path = folder / "room.zip"
    assert write_export(saved, path, ExportFormat.LINES, attachments=True) == []
    with path.open("rb") as source:
        imported = import_room(folder / "there", source, "room.zip")
    assert imported.saved.log_path.read_bytes() == log_bytes()
    assert imported.notes == []


def test_markdown_has_its_files_beside_it(saved: SavedSession, folder: Path) -> None:
    path = folder / "room.md"
    write_export(saved, path, ExportFormat.MARKDOWN, attachments=True)
    (address,) = re.findall(r"\]\((.*)\)", path.read_text())
    assert (folder / address).read_bytes() == FILE
    assert stat.S_IMODE((folder / address).stat().st_mode) == 0o600
    path.unlink()
    with pytest.raises(InTheWay, match="room-files"):
        write_export(saved, path, ExportFormat.MARKDOWN, attachments=True)
    assert names_in(folder) == ["room-files"]
    write_export(saved, path, ExportFormat.MARKDOWN, attachments=True, force=True)


def with_files(saved: SavedSession, *contents: bytes) -> None:
    """Let the room be one of files only, named like ways out of their folder."""
    blobs = BlobStore(saved.folder / BLOBS_NAME)
    files = []
    for content in contents:
        (source := saved.folder / "source").write_bytes(content)
        files.append(FileRef(blobs.add(source)[0], "../../a b(c).svg", len(content)))
        source.unlink()
    events = [
        Event(1, BORN, "", RoomCreated("r1", "Standup")),
        Event(2, BORN, "ann", MessagePosted("m", "look", files=tuple(files))),
    ]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))


def test_no_name_of_a_file_leads_elsewhere(saved: SavedSession, folder: Path) -> None:
    with_files(saved, DRAWING, PICTURE)
    write_export(saved, folder / "room.md", ExportFormat.MARKDOWN, attachments=True)
    assert names_in(folder) == ["room-files", "room.md"]
    assert all(name.endswith("-a b(c).svg") for name in names_in(folder / "room-files"))
    addresses = re.findall(r"\]\((.*?)\)\n", (folder / "room.md").read_text())
    assert len(addresses) == 2
    assert not any(set(address) & set(" ()") for address in addresses)


def test_page_shows_pictures_links_others(saved: SavedSession, folder: Path) -> None:
    """A drawing can hold a script, so it is nothing to be shown."""
    with_files(saved, DRAWING, PICTURE)
    write_export(saved, folder / "room.html", ExportFormat.HTML, attachments=True)
    page = (folder / "room.html").read_text()
    assert f'<img src="data:image/png;base64,{base64.b64encode(PICTURE).decode()}"' in page
    assert (
        f'<a href="data:application/octet-stream;base64,{base64.b64encode(DRAWING).decode()}"'
        in page
    )
    assert "svg+xml" not in page


@pytest.mark.parametrize("form", [ExportFormat.MARKDOWN, ExportFormat.HTML, ExportFormat.LINES])
def test_files_that_are_not_here_are_told_of(
    saved: SavedSession, folder: Path, form: AnyFormat
) -> None:
    BlobStore(saved.folder / BLOBS_NAME).remove(DIGEST)
    (note,) = write_export(saved, folder / "room", form, attachments=True)
    assert "not stored here" in note


@pytest.mark.parametrize("form", RECORDINGS)
def test_a_recording_holds_no_files(saved: SavedSession, folder: Path, form: AnyFormat) -> None:
    with pytest.raises(NotExported, match="no attached files"):
        write_export(saved, folder / "room.cast", form, attachments=True)
    assert names_in(folder) == []


@pytest.mark.parametrize("form", FORMS)
def test_printing_equals_writing(saved: SavedSession, folder: Path, form: AnyFormat) -> None:
    write_export(saved, folder / "room", form)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_out(saved, form, out)
    assert out.buffer.getvalue() == (folder / "room").read_bytes()
    text = io.StringIO()
    print_out(saved, form, text)
    assert text.getvalue().encode() == (folder / "room").read_bytes()


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


def test_terminal_gets_no_raw_lines(saved: SavedSession) -> None:
    terminal = Terminal()
    for attachments in (False, True):
        with pytest.raises(NotExported, match="a terminal may obey"):
            print_out(saved, ExportFormat.LINES, terminal, attachments=attachments)
    assert terminal.getvalue() == ""
    print_out(saved, ExportFormat.MARKDOWN, terminal)
    assert terminal.getvalue()


def test_printed_markdown_takes_no_files(saved: SavedSession) -> None:
    with pytest.raises(NotExported, match="name a file"):
        print_out(saved, ExportFormat.MARKDOWN, io.StringIO(), attachments=True)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.mark.parametrize("ending", ["md", "html", "jsonl", "zip", "cast", "svg"])
def test_file_name_decides_format(recorded: Recorded, tmp_path: Path, ending: str) -> None:
    saved = recorded.said("Garden", "hi there")
    wanted = tmp_path / f"out.{ending}"
    write_export(saved, wanted)
    assert wanted.stat().st_size
    with pytest.raises(InTheWay):
        write_export(saved, wanted)


def test_attached_files_come_if_wanted(recorded: Recorded, tmp_path: Path) -> None:
    content = b"plant apples"
    here = FileRef(sha256(content).hexdigest(), "notes.txt", len(content), "text/plain")
    away = FileRef("0" * 64, "gone.txt", 9, "text/plain")
    saved = recorded.session("Garden", MessagePosted("1", "see this", files=(here, away)))
    assert recorded.store.attached(saved.id) == []
    (tmp_path / "notes").write_bytes(content)
    BlobStore(saved.folder / "blobs").add(tmp_path / "notes")
    assert recorded.store.attached(saved.id) == [len(content)]
    write_export(saved, tmp_path / "out.md")
    assert not (tmp_path / "out-files").exists()
    wanted = tmp_path / "out.md"
    (note,) = write_export(saved, wanted, attachments=True, force=True)
    assert "gone.txt" in note
    assert len(list((tmp_path / "out-files").iterdir())) == 1


def test_a_name_that_says_nothing_is_refused(recorded: Recorded, tmp_path: Path) -> None:
    saved = recorded.said("Garden", "hi there")
    with pytest.raises(NoForm, match=r"\.jsonl"):
        write_export(saved, tmp_path / "out.doc")
    assert not (tmp_path / "out.doc").exists()
