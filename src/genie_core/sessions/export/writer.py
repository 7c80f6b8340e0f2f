"""Write exports completely or not at all, never replacing a file unasked."""

import base64
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, TextIO, TypeAlias
from urllib.parse import quote

from genie_core.errors import GenieError
from genie_core.extensions import load_extension
from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.media import HEAD_BYTES, media_type
from genie_core.sessions.errors import NotExported
from genie_core.sessions.export.choices import EVERYTHING, Choices
from genie_core.sessions.export.formats import (
    EXPORTERS,
    IMAGES,
    AddedFormat,
    AnyFormat,
    ExportFormat,
    InTheWay,
    NoForm,
    form_of,
)
from genie_core.sessions.export.jsonl import pieces, write_bundle, write_lines
from genie_core.sessions.export.transcript import FileAddress, nowhere
from genie_core.sessions.session import SavedSession
from genie_core.storage.atomic import create_file
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import disk_access
from genie_core.storage.filenames import safe_name

Exporter: TypeAlias = Callable[[SavedSession, Choices], Iterator[str]]
"""Yields a session, from one place to another: the interface of an entry point in `EXPORTERS`."""

_OTHER: Final = "application/octet-stream"


class NoFolder(GenieError):
    """The target folder of an export is missing."""

    template = "there is no folder {folder}; make it first, or choose another one"
    folder: Path


def write_export(
    saved: SavedSession,
    path: Path,
    form: AnyFormat | None = None,
    *,
    attachments: bool = False,
    choices: Choices = EVERYTHING,
    force: bool = False,
) -> list[str]:
    """Write an export to a private file; returns notes for the person. Blocks.

    Without a `form`, the suffix of the file names it, and a zip archive has the attached files.
    Attached files go into the archive of JSON lines, into a page, or into a folder beside a
    Markdown file. HTML of many messages has its pages in a folder beside an index. Without `force`
    nothing is replaced; with it, an existing file stays until everything is written.

    Raises:
        NoForm: the suffix names no format.
        InTheWay: a file of that name exists.
        NoFolder: its folder is missing.
        NotExported: the format holds no files, or the room changed meanwhile.
        NoExtension: no installed plugin writes the format.
        DamagedSession: the room can't be read.
        DiskFailure: something can't be read or written.
    """
    if form is None:
        attachments |= path.suffix.lower() == ".zip"
        if (form := form_of(path.name)) is None:
            raise NoForm(str(path))
    place: FileAddress = nowhere
    notes: list[str] = []
    with disk_access("write", path):
        if not path.parent.is_dir():
            raise NoFolder(path.parent)
        if not force and path.exists():
            raise InTheWay(path)
        if attachments and form is ExportFormat.MARKDOWN:
            place = _Beside(saved, path, notes, force=force)
        _check_choices(saved, form, choices, attachments=attachments)
        if form is ExportFormat.HTML:
            place = _inside(saved, notes) if attachments else nowhere
            _write_pages(saved, path, place, choices, force=force)
            return notes
        with fresh_file(path, force=force) as out:
            notes += write_to(
                saved,
                form,
                out,
                attachments=attachments,
                place=place,
                choices=choices,
            )
    return notes


def _write_pages(
    saved: SavedSession, path: Path, place: FileAddress, choices: Choices, *, force: bool
) -> None:
    """Write HTML: one page, or an index of several, which is written last."""
    from genie_core.sessions.export.html import PAGE, HtmlPages, page_name
    from genie_core.sessions.export.transcript import open_transcript

    folder = path.with_name(f"{path.stem}-pages")
    is_device = path.exists() and not path.is_file()
    with open_transcript(saved, choices, page=0 if is_device else PAGE, signed=True) as transcript:
        pages = HtmlPages(transcript, place, path.name, folder.name)
        count = len(transcript.outline.pages)
        if count > 1:
            if folder.exists() and not force:
                raise InTheWay(folder)
            folder.mkdir(mode=0o700, exist_ok=True)
            for number, page in enumerate(pages.several(), 1):
                with fresh_file(folder / page_name(number), force=True) as out:
                    _write(page, out)
        with fresh_file(path, force=force) as out:
            _write(pages.index() if count > 1 else pages.single(), out)
    if force:
        _remove_pages(folder, count if count > 1 else 0)


def _remove_pages(folder: Path, after: int) -> None:
    """Remove the pages of an earlier export that the present one has not replaced."""
    if not folder.is_dir():
        return
    for page in folder.glob("*.html"):
        if page.stem.isdecimal() and int(page.stem) > after:
            page.unlink()
    with suppress(OSError):  # other files are in it
        folder.rmdir()


def write_to(
    saved: SavedSession,
    form: AnyFormat,
    out: IO[bytes],
    *,
    attachments: bool = False,
    place: FileAddress = nowhere,
    choices: Choices = EVERYTHING,
) -> list[str]:
    """Write an export to an open file; errors and result as `write_export`.

    HTML is a single page. Errors of the target are `OSError`. `place` returns the addresses of
    attached files for Markdown.
    """
    _check_choices(saved, form, choices, attachments=attachments)
    match form:
        case ExportFormat.LINES:
            return (write_bundle if attachments else write_lines)(saved, out)
        case ExportFormat.MARKDOWN:
            from genie_core.sessions.export.markdown import markdown

            if attachments and place is nowhere:
                raise NotExported(saved.id, "Markdown has its files beside it; name a file for it")
            return _write(markdown(saved, place, choices), out)
        case ExportFormat.HTML:
            from genie_core.sessions.export.html import html

            notes: list[str] = []
            inside = _inside(saved, notes) if attachments else nowhere
            return [*_write(html(saved, inside, choices), out), *notes]
        case AddedFormat(name):
            if attachments:
                raise NotExported(saved.id, f"{name} holds no attached files")
            export: Exporter = load_extension(EXPORTERS, name)
            return _write(export(saved, choices), out)


def print_out(
    saved: SavedSession,
    form: AnyFormat,
    out: TextIO,
    *,
    attachments: bool = False,
    choices: Choices = EVERYTHING,
) -> list[str]:
    """Write an export to an output stream; errors and result as `write_to`.

    JSON lines are never written to a terminal, as they are not made safe.
    """
    if form is ExportFormat.LINES and out.isatty():
        raise NotExported(saved.id, "a terminal may obey what is in it; name a file, or pipe it on")
    binary: IO[bytes] | None = getattr(out, "buffer", None)
    if binary is not None:
        out.flush()
        notes = write_to(saved, form, binary, attachments=attachments, choices=choices)
        binary.flush()
        return notes
    with tempfile.TemporaryFile() as file:
        notes = write_to(saved, form, file, attachments=attachments, choices=choices)
        file.seek(0)
        out.write(file.read().decode("utf-8", "backslashreplace"))
    return notes


def _check_choices(
    saved: SavedSession, form: AnyFormat, choices: Choices, *, attachments: bool
) -> None:
    """Refuse choices that a format can't keep; raises `NotExported`."""
    if form is ExportFormat.LINES and choices != EVERYTHING:
        raise NotExported(saved.id, "jsonl is complete; choose a part of it in markdown or html")
    if isinstance(form, AddedFormat) and choices != Choices(choices.first, choices.last):
        raise NotExported(saved.id, f"{form.value} can't hide anything; use markdown or html")
    if choices.hides and attachments:
        raise NotExported(saved.id, "nothing can be hidden in attached files; leave them out")


def _write(text: Iterator[str], out: IO[bytes]) -> list[str]:
    for piece in text:
        out.write(piece.encode("utf-8", "replace"))
    return []


@contextmanager
def fresh_file(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a new file that gets its name when the block succeeds; write to a device directly.

    Raises:
        InTheWay: a file of that name exists, and `force` is not set.
    """
    if not force and path.is_file():
        raise InTheWay(path)
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    fresh = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.new")
    descriptor = create_file(fresh)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        _name(fresh, path, force=force)
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def _name(fresh: Path, path: Path, *, force: bool) -> None:
    """Give a complete file its name, unless that was taken meanwhile."""
    if force:
        fresh.replace(path)
        return
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        raise InTheWay(path) from None
    except OSError:  # the disk knows no second names for files
        if path.exists():
            raise InTheWay(path) from None
        fresh.rename(path)


def _inside(saved: SavedSession, notes: list[str]) -> Callable[[FileRef], str]:
    """Return addresses that contain the files' content."""
    blobs = BlobStore(saved.folder / BLOBS_NAME)

    def place(file: FileRef) -> str:
        if blobs.size(file.digest) is None:
            notes.append(f"the file {safe_name(file.name)!r} is not stored here and left out")
            return ""
        content = b"".join(pieces(blobs, file.digest))
        media = media_type(content[:HEAD_BYTES])
        kind = media if media in IMAGES else _OTHER
        return f"data:{kind};base64,{base64.b64encode(content).decode()}"

    return place


class _Beside:
    """Copies files into a folder beside an export as they are requested."""

    def __init__(self, saved: SavedSession, path: Path, notes: list[str], *, force: bool) -> None:
        self._blobs = BlobStore(saved.folder / BLOBS_NAME)
        self._folder = path.with_name(f"{path.stem}-files")
        self._notes = notes
        self._done: dict[str, str] = {}
        if self._folder.exists() and not force:
            raise InTheWay(self._folder)

    def __call__(self, file: FileRef) -> str:
        """Copy a file once and return its address from the export."""
        if file.digest not in self._done:
            self._done[file.digest] = self._copied(file)
        return self._done[file.digest]

    def _copied(self, file: FileRef) -> str:
        if self._blobs.size(file.digest) is None:
            self._notes.append(f"the file {safe_name(file.name)!r} is not stored here and left out")
            return ""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        name = f"{file.digest[:8]}-{safe_name(file.name)}"
        with fresh_file(self._folder / name, force=True) as out:
            for data in pieces(self._blobs, file.digest):
                out.write(data)
        return quote(f"{self._folder.name}/{name}")
