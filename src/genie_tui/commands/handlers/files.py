"""Commands about files: attaching and quoting, saving and opening. Nothing here runs a file."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import platformdirs

from genie_core.errors import FileNotSaved, GenieError
from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.names import fold_name
from genie_core.settings.locations import folder_at
from genie_core.storage.filenames import safe_name, save_copy
from genie_core.text.format import file_size
from genie_core.text.safe import visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.parse import QuoteRequest, SaveRequest
from genie_tui.screens.dialogs.pick import CarefulPickScreen, Row
from genie_tui.widgets.timeline.prose import links_in
from genie_tui.widgets.timeline.timeline import nothing_chosen

if TYPE_CHECKING:
    from genie_core.room.state.thread import MessageThread

OPEN_TIMEOUT: Final = 20.0
"""Seconds after which a program that opens a file is taken to show it."""

_SHOWN: Final = frozenset(
    (
        *("pdf", "png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "avif", "heic"),
        *("mp3", "wav", "ogg", "opus", "flac", "m4a", "mp4", "m4v", "mkv", "webm", "mov"),
        *("txt", "md", "rst", "csv", "tsv", "log", "json", "yaml", "yml", "toml", "xml"),
        *("docx", "xlsx", "pptx", "odt", "ods", "odp", "rtf", "epub"),
    )
)
"""Endings of files that programs show and none runs. All others are refused, known or not."""

_RUN: Final = (
    b"#!",
    b"\x7fELF",
    b"MZ",
    b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"[Desktop Entry]",
)
"""How programs begin, whatever their names end in."""


COPIED: Final = "It is copied instead."
NOTHING_TO_OPEN: Final = "The message has no link and no file."


class NotOpened(GenieError):
    """A file or an address that is not opened, and why; `instead` says what to do."""

    def __init__(self, name: str, why: str, instead: str = "Use /save.") -> None:
        super().__init__(f"Can't open {name}: {why}. {instead}".rstrip())
        self.name = name
        self.why = why


def attach(context: RoomContext, text: str) -> None:
    context.attachments.attach(context.joined, text)


def detach(context: RoomContext, name: str) -> None:
    context.attachments.detach(name)


def thread(context: RoomContext, request: QuoteRequest) -> None:
    context.attachments.quote(context.joined, request)


def save(context: RoomContext, request: SaveRequest) -> None:
    """Save a file of the room in a folder."""
    if (found := _local_file(context, request.file)) is not None:
        file, place = found
        context.start(_save(context, place, file.name, request.to), "files")


def open_file(context: RoomContext, wanted: str) -> None:
    """Open a file of the room with the system's program for it."""
    if (found := _local_file(context, wanted)) is not None:
        file, place = found
        context.start(_open(context, place, file.name), "files")


def open_selected(context: RoomContext) -> None:
    """Open a link or a file of the selected message or answer; let the person pick among several."""
    exchange = context.timeline.chosen
    if exchange is None:
        context.screen.notify(nothing_chosen(keymap_of(context.screen)))
        return
    links, files = _to_open(context, exchange)
    rows = [Row(each, each) for each in links]
    rows += [Row(str(n), file.name, file_size(file.size)) for n, file in enumerate(files, 1)]

    def picked(wanted: str | None) -> None:
        if wanted in links:
            context.start(open_link(context, wanted), "files")
        elif wanted:
            open_file(context, wanted)

    if len(rows) > 1:
        _ = context.screen.app.push_screen(CarefulPickScreen("Open", rows), picked)
    elif rows:
        picked(rows[0].id)
    else:
        context.screen.notify(NOTHING_TO_OPEN)


def _to_open(
    context: RoomContext, exchange: "MessageThread"
) -> tuple[list[str], Sequence[FileRef]]:
    """Return the links and files of the selected message or answer."""
    is_answer = context.timeline.is_answer_chosen and exchange.answer is not None
    links = links_in(exchange.answer.text if is_answer and exchange.answer else exchange.text)
    return links, () if is_answer else exchange.said.files


def file_names(context: RoomContext) -> list[str]:
    """The names of all files in the room, the likeliest to be meant first."""
    return list(dict.fromkeys(file.name for files in _messages(context) for file in files))


def find_file(context: RoomContext, wanted: str) -> FileRef | None:
    """Find a file by its number in a message or by its name; without either, the first one.

    The message is the selected one, if it has files, else the newest that has some. A name is
    looked for in all.
    """
    messages = list(_messages(context))
    if not messages:
        return None
    files = messages[0]
    if not wanted:
        return files[0]
    numbered = {str(number): file for number, file in enumerate(files, 1)}
    if wanted in numbered:
        return numbered[wanted]
    name = fold_name(wanted)
    return next((f for files in messages for f in files if fold_name(f.name) == name), None)


def _messages(context: RoomContext) -> Iterator[tuple[FileRef, ...]]:
    chosen = context.timeline.chosen
    if chosen is not None and chosen.said.files:
        yield chosen.said.files
    for exchange in reversed(context.joined.state.exchanges.values()):
        if exchange.said.files and exchange is not chosen:
            yield exchange.said.files


def _local_file(context: RoomContext, wanted: str) -> tuple[FileRef, Path] | None:
    """Find a file and where it is on this machine; warn if it is nowhere."""
    file = find_file(context, wanted)
    if file is None:
        named = f"called {visible_line(wanted)}" if wanted else "here"
        context.warn(f"There is no file {named}.")
        return None
    place = context.joined.files.path(file.digest)
    if place is None:
        context.warn(f"{visible_line(file.name)} has not arrived yet.")
        return None
    return file, place


async def _save(context: RoomContext, place: Path, name: str, to: str) -> None:
    try:
        saved = await asyncio.to_thread(save_to, place, name, to)
    except GenieError as error:
        context.warn(str(error))
    else:
        context.screen.notify(f"Saved as {saved}", timeout=8)


async def open_link(context: RoomContext, address: str) -> None:
    """Open a link with the system's program for it; copy it if there is none."""
    try:
        await run_opener(address, address, COPIED)
    except GenieError as error:
        context.screen.app.copy_to_clipboard(address)
        context.warn(str(error))


async def _open(context: RoomContext, place: Path, name: str) -> None:
    try:
        await show(await asyncio.to_thread(copy_to_show, place, name))
    except GenieError as error:
        context.warn(str(error))


def save_to(source: Path, name: str, to: str) -> Path:
    """Copy a file to where a person wants it, beside what is there; returns where it is. Blocks.

    `to` is a folder, or a new name in one; empty stands for the folder of downloads.

    Raises:
        FileNotSaved: the system does not allow it, or there is no such folder.
        NoSuchPlace: `to` can't be one.
    """
    folder, name = _target(name, to)
    return save_copy(source, folder, name)


def copy_to_show(source: Path, name: str) -> Path:
    """Copy a file, if it is one to look at, to a folder that only this person can enter. Blocks.

    Raises:
        NotOpened: it is one that could run.
        FileNotSaved: it can't be copied.
    """
    name = safe_name(name)
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    if ending not in _SHOWN:
        raise NotOpened(name, f"files like .{ending} could run" if ending else "it has no ending")
    try:
        with source.open("rb") as file:
            head = file.read(64)
        folder = Path(tempfile.mkdtemp(prefix="genie-"))
    except OSError as error:
        raise FileNotSaved(name, tempfile.gettempdir(), str(error.strerror)) from error
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_RUN):
        folder.rmdir()
        raise NotOpened(name, "it is a program, whatever its name says")
    return save_copy(source, folder, name)


async def show(path: Path) -> None:
    """Have the system's program for such files show it; returns once it does.

    Raises:
        NotOpened: there is none, or it failed.
    """
    await run_opener(str(path), path.name, "Use /save.")


async def run_opener(target: str, name: str, instead: str) -> None:
    """Have the system's program open a path or an address; returns once it does.

    Raises:
        NotOpened: there is none, or it failed; `instead` says what to do.
    """
    command = "open" if sys.platform == "darwin" else "xdg-open"
    opener = shutil.which(command)
    if opener is None:
        raise NotOpened(name, f"{command} not found", instead)
    process = await asyncio.create_subprocess_exec(
        opener,
        target,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = await asyncio.wait_for(process.wait(), OPEN_TIMEOUT)
    except TimeoutError:
        return
    if code:
        raise NotOpened(name, f"{command} failed with code {code}", instead)


def _target(name: str, to: str) -> tuple[Path, str]:
    if not to:
        folder = platformdirs.user_downloads_path()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileNotSaved(name, str(folder), str(error.strerror)) from error
        return folder, name
    place = folder_at(to)
    if place.is_dir():
        return place, name
    if to.endswith("/") or not place.parent.is_dir():
        raise FileNotSaved(name, str(place), "there is no such folder")
    return place.parent, place.name
