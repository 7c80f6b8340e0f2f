"""Effects of commands about files: saving and opening. Nothing here runs a file."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import platformdirs

from genie_core.errors import FileNotSaved, GenieError
from genie_core.room.commands.arguments import SaveRequest
from genie_core.room.commands.outcome import NotDone, Outcome, Result
from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.settings.locations import folder_at
from genie_core.storage.filenames import safe_name, save_copy
from genie_core.text.safe import visible_line

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

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
"""How programs begin, under any name."""


COPIED: Final = "It is copied instead."


class NotOpened(GenieError):
    """A file or an address that is not opened, and why; `instead` names a remedy."""

    def __init__(self, name: str, why: str, instead: str = "Use /save.") -> None:
        super().__init__(f"Can't open {name}: {why}. {instead}".rstrip())
        self.name = name
        self.why = why


async def save(
    joined: "JoinedRoom", request: SaveRequest, chosen: MessageThread | None = None
) -> Outcome:
    """Save a file of the room in a folder. Raises `FileNotSaved` or `NoSuchPlace`."""
    file, place = stored_file(joined, request.file, chosen)
    return Result(f"Saved as {await asyncio.to_thread(save_to, place, file.name, request.to)}")


async def show_stored(
    joined: "JoinedRoom", wanted: str, chosen: MessageThread | None = None
) -> None:
    """Open a file of the room with the system's program for it. Raises `NotOpened`."""
    file, place = stored_file(joined, wanted, chosen)
    await show(await asyncio.to_thread(copy_to_show, place, file.name))


def stored_file(
    joined: "JoinedRoom", wanted: str, chosen: MessageThread | None = None
) -> tuple[FileRef, Path]:
    """Find a file and its place on this machine. Raises `NotDone` if it is nowhere."""
    file = find_file(joined.state, wanted, chosen)
    if file is None:
        named = f"called {visible_line(wanted)}" if wanted else "here"
        raise NotDone(f"There is no file {named}.")
    place = joined.files.path(file.digest)
    if place is None:
        raise NotDone(f"{visible_line(file.name)} has not arrived yet.")
    return file, place


def file_names(state: RoomState, chosen: MessageThread | None = None) -> list[str]:
    """The names of all files in the room, the likeliest to be meant first."""
    return list(dict.fromkeys(file.name for files in _messages(state, chosen) for file in files))


def find_file(state: RoomState, wanted: str, chosen: MessageThread | None = None) -> FileRef | None:
    """Find a file by its number in a message or by its name; without either, the first one.

    The message is the selected one, if it has files, else the newest that has some. A name is
    looked for in all.
    """
    messages = list(_messages(state, chosen))
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


def _messages(state: RoomState, chosen: MessageThread | None) -> Iterator[tuple[FileRef, ...]]:
    if chosen is not None and chosen.said.files:
        yield chosen.said.files
    for thread in reversed(state.threads.values()):
        if thread.said.files and thread is not chosen:
            yield thread.said.files


def save_to(source: Path, name: str, to: str) -> Path:
    """Copy a file to where a person wants it, beside existing files; returns where it is. Blocks.

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
        NotOpened: there is none, or it failed; `instead` names a remedy.
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
