"""`genie-tui sessions export` and `import`: a saved room as a file, and back."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, TextIO, TypeAlias, cast

from genie_core.errors import GenieError
from genie_core.sessions.errors import NotImportable
from genie_core.sessions.export.formats import (
    STANDARD,
    AnyFormat,
    ExportFormat,
    NoForm,
    default_name,
    form_of,
    format_named,
)
from genie_core.settings.locations import Locations, folder_at, short_path
from genie_core.settings.model import Settings
from genie_core.storage.atomic import make_private_folder, reason
from genie_core.storage.errors import disk_access
from genie_tui.cli.options import CommandParser
from genie_tui.cli.output import safe_line
from genie_tui.plugins import command_extension

if TYPE_CHECKING:
    from genie_core.sessions.export.choices import Choices
    from genie_core.sessions.session import SavedSession

ImportHistory: TypeAlias = Callable[[Path, argparse.Namespace, Settings, Locations, TextIO], int]
"""Takes in other programs' conversations: the extension of `sessions import`."""


class NotAFolder(GenieError):
    """Several sessions are to be written to one file."""

    template = (
        "several sessions need a folder, and {output!r} is no folder that is there; make it "
        "first, or choose another one"
    )
    output: str


def export_sessions(options: argparse.Namespace, locations: Locations, out: TextIO) -> int:
    """Write sessions to files, or print one; returns the exit code.

    Raises:
        UnknownSession: there is no such session; then none is written.
        InTheWay: the file is there already.
        NoForm: neither its name nor an option names a format.
        NoFolder: there is no folder for it.
        NotAFolder: there are several sessions, and no folder for them.
        NoSuchPlace: this can't be a file.
        NoPlace: this names no place in a log.
        BadRedactions: this file says nothing to redact.
        NotExported: this can't be written in this form.
        DiskFailure: something can't be read or written.
    """
    from genie_core.sessions.catalog import Catalog
    from genie_core.sessions.export.writer import print_out

    catalog = Catalog(locations.sessions)
    every = [catalog.find(wanted) for wanted in options.ids]
    choices = _choices(options)
    if len(every) > 1 and not _is_folder(options.output):
        raise NotAFolder(options.output)
    if options.output == STANDARD:
        form, attachments = _form(options), _with_attachments(options)
        (saved,) = every
        print_notes(print_out(saved, form, out, attachments=attachments, choices=choices))
        return 0
    for saved in every:
        _export(saved, options, choices, out)
    return 0


def _export(
    saved: "SavedSession", options: argparse.Namespace, choices: "Choices", out: TextIO
) -> None:
    from genie_core.sessions.export.writer import write_export

    form, attachments = _form(options), _with_attachments(options)
    path = folder_at(options.output)
    if _is_folder(options.output):
        path /= default_name(saved.id, form, attachments=attachments)
    notes = write_export(
        saved,
        path,
        form,
        attachments=attachments,
        choices=choices,
        force=options.force,
    )
    print_notes(notes)
    out.write(f"{safe_line(saved.id)} is written to {safe_line(short_path(path))}\n")


def _is_folder(output: str) -> bool:
    path = folder_at(output)
    with disk_access("write", path):
        return path.is_dir()


def _choices(options: argparse.Namespace) -> "Choices":
    from genie_core.sessions.export.choices import Choices, read_place, read_redactions

    return Choices(
        first=read_place(options.first) if options.first else None,
        last=read_place(options.last) if options.last else None,
        messages_only=options.messages_only,
        arguments=not options.no_arguments,
        pseudonyms=options.pseudonyms,
        redactions=read_redactions(folder_at(options.redact)) if options.redact else (),
    )


def import_session(
    options: argparse.Namespace, settings: Settings, locations: Locations, out: TextIO
) -> int:
    """Take a session in, or another program's conversations; returns the exit code.

    Raises:
        NotImportable: it is none of them, or was changed or damaged.
        PluginMissing: it is no exported session, and no plugin reads others.
        AlreadySaved: it is here already.
        DiskFailure: something can't be read or written.
    """
    from genie_core.sessions.export.importing import import_room, is_export

    base = locations.sessions
    path = None if options.file == STANDARD else folder_at(options.file)
    if path is not None and not is_export(path):
        import_history: ImportHistory = command_extension("sessions import")
        return import_history(path, options, settings, locations, out)
    with opened_source(options.file, base) as (source, name):
        imported = import_room(base, source, name, as_copy=options.as_copy)
    print_notes(imported.notes)
    title = imported.saved.metadata.shown_title
    out.write(f"{safe_line(title)!r} is here now: {safe_line(imported.saved.id)}\n")
    return 0


def _form(options: argparse.Namespace) -> AnyFormat:
    if options.format:
        return format_named(options.format)
    form = form_of(options.output)
    if form is None and Path(options.output).suffix and not Path(options.output).is_dir():
        raise NoForm(options.output)
    return form or ExportFormat.MARKDOWN


def _with_attachments(options: argparse.Namespace) -> bool:
    """Whether to include files; a .zip name implies it."""
    is_zip = Path(options.output).suffix.lower() == ".zip"
    return bool(options.attachments) or (is_zip and _form(options) is ExportFormat.LINES)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes to the standard error output."""
    sys.stderr.writelines(f"note: {safe_line(note)}\n" for note in notes)


@contextmanager
def opened_source(text: str, base: Path) -> Iterator[tuple[BinaryIO, str]]:
    """The input, readable from any place, and its name. Blocks.

    Input from a pipe is kept below `base` meanwhile.

    Raises:
        NoSuchPlace: this names no file.
        NotImportable: it can't be opened.
        DiskFailure: there is no place for it.
    """
    if text == STANDARD:
        with _kept(sys.stdin.buffer, base) as kept:
            yield kept, "the standard input"
        return
    path = folder_at(text)
    try:
        opened = path.open("rb")
    except OSError as error:
        raise NotImportable(text, reason(error)) from error
    with opened:
        if opened.seekable():
            yield opened, text
            return
        with _kept(opened, base) as kept:
            yield kept, text


@contextmanager
def _kept(source: IO[bytes], base: Path) -> Iterator[BinaryIO]:
    """Copy the input from a pipe into an unnamed file."""
    with disk_access("write in", base):
        make_private_folder(base)
        file = tempfile.TemporaryFile(dir=base)  # noqa: SIM115 - it is closed below
    with file:
        with disk_access("write in", base):
            shutil.copyfileobj(source, file)
            file.seek(0)
        yield cast("BinaryIO", file)


def add_export(command: CommandParser) -> None:
    command.used = frozenset()
    command.add_argument(
        "ids", metavar="ID", nargs="+", help="a session's name, or the start of it"
    )
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="",
        help="where to: a file, or a folder, also for several sessions; - prints it (default: the "
        "session's name, in the current folder)",
    )
    command.add_argument(
        "--format",
        metavar="FORMAT",
        help="markdown, html, jsonl, cast or svg, or one of another plugin; jsonl is complete and "
        "can be imported, cast is a terminal recording, svg an animated picture of a short part "
        "(default: what the file's name ends in, or else markdown)",
    )
    command.add_argument(
        "--attachments",
        action="store_true",
        help="with the files that people attached; jsonl becomes a zip archive then",
    )
    command.add_argument("--force", action="store_true", help="replace a file that is there")
    part = command.add_argument_group(
        "what of it, in markdown and html; --from and --to in cast and svg, too"
    )
    command.note(
        part.add_argument(
            "--from",
            dest="first",
            metavar="SEQ|DATE",
            default="",
            help="the first entry, or the day or time, such as 2026-11-21 or 2026-11-21T14:30",
        )
    )
    command.note(
        part.add_argument(
            "--to", dest="last", metavar="SEQ|DATE", default="", help="the last entry, day or time"
        )
    )
    command.note(
        part.add_argument(
            "--messages-only",
            action="store_true",
            help="only messages and answers, no other entries",
        )
    )
    command.note(
        part.add_argument(
            "--no-arguments", action="store_true", help="leave out what tools were called with"
        )
    )
    command.note(
        part.add_argument(
            "--pseudonyms",
            action="store_true",
            help="replace the names of people, also in texts, and leave out keys and signatures",
        )
    )
    command.note(
        part.add_argument(
            "--redact",
            metavar="FILE",
            default="",
            help="replace what is in this file by ▇▇▇: words, or regular expressions between slashes, "
            "one a line",
        )
    )


def add_import(command: CommandParser) -> None:
    command.used = frozenset({"name"})
    command.add_argument(
        "file",
        metavar="FILE",
        help="a session that was exported as jsonl or zip, - for the standard input; or an export of "
        "ChatGPT, Claude, Slack, Discord or group-genie, or a log of WeeChat or irssi: a file, a "
        "zip archive or a folder",
    )
    command.add_argument(
        "--as-copy", action="store_true", help="import what is here already as another room"
    )
