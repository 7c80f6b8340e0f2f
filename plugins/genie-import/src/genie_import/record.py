"""Files in a room's folder about its import: the entries that it has, and those left out."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.events import is_moment
from genie_core.text.safe import visible
from genie_import.importer import History, HistoryMessage, LeftOut

T = TypeVar("T")

RECORD_NAME: Final = "import.json"
LEFT_NAME: Final = "left-out.txt"

_ID_CHARS: Final = 80


class ImportRecord(msgspec.Struct):
    """The entries of a conversation that a room has; a later import adds only new ones.

    `authors` are the names of authors in the room, by their keys. `messages` are the numbers of
    events with a digest of the text, by the message's id or else a digest of all of it. `left` are
    digests of the entries left out.
    """

    origin: str
    authors: dict[str, str] = {}
    messages: dict[str, tuple[int, str]] = {}
    left: set[str] = set()

    def seq_of(self, id_: str) -> int:
        """Return the number of a message's event; 0 if the room does not have it."""
        return self.messages.get(id_, (0, ""))[0]

    def forget_after(self, head: int) -> None:
        """Forget messages behind the end of the log, which an interrupted import did not write."""
        if any(seq > head for seq, _ in self.messages.values()):
            self.messages = {key: each for key, each in self.messages.items() if each[0] <= head}


class _Origin(msgspec.Struct):
    origin: str = ""


def read_record(folder: Path) -> ImportRecord | None:
    """Return the record of a room's import; None without one that can be read. Blocks."""
    return _read(folder, ImportRecord)


def read_origin(folder: Path) -> str:
    """Return the conversation that a room was imported from; empty if that is not recorded."""
    found = _read(folder, _Origin)
    return found.origin if found is not None else ""


def _read(folder: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode((folder / RECORD_NAME).read_bytes(), type=kind)
    except (OSError, ValueError):
        return None


def origin_of(history: History) -> str:
    """Return the name that tells a conversation from others; a digest replaces a long id."""
    origin = whole_text(f"{history.source}:{history.id}")
    return origin if len(origin) <= _ID_CHARS else f"{history.source}:{_digest(history.id, 64)}"


def key_of(entry: HistoryMessage | LeftOut) -> str:
    """Return the id of a message, or else a digest of the entry."""
    if isinstance(entry, HistoryMessage):
        if entry.id:
            return whole_text(entry.id)
        return _digest(f"{entry.author.key}\0{entry.at}\0{text_digest(entry)}")
    return _digest(f"{entry.reason}\0{entry.at}\0{entry.id}\0{entry.text}")


def text_digest(message: HistoryMessage) -> str:
    """Return a digest of a message's text and files."""
    return _digest("\0".join((message.text, *message.files)), 12)


def _digest(text: str, length: int = 32) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:length]


def left_lines(entry: LeftOut) -> bytes:
    """Return the paragraph about an entry in the file of those left out."""
    at = ""
    if entry.at is not None and is_moment(entry.at):
        at = f", {datetime.fromtimestamp(entry.at, UTC):%Y-%m-%d %H:%M} UTC"
    return whole_text(f"# {entry.reason}{at}\n{visible(entry.text)}\n\n").encode()
