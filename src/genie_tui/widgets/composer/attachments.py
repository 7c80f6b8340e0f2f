"""Attachments of the next message: files, and messages quoted from other rooms.

A file is attached by command, or by pasting its path, as terminals do when files are dropped on
them: plainly, in quotes, with backslashes before spaces, or as a `file://` address; several are
divided by spaces or line breaks.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from textual.content import Content
from textual.widgets import Static

from genie_core.room.protocol.events import FileRef, Quote
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.wording import quote_name, quote_text
from genie_core.text.format import counted, file_size
from genie_core.text.safe import visible, visible_line
from genie_tui.commands.keymap import Keymap, keymap_of
from genie_tui.commands.keys import Scope
from genie_tui.transfers import FileTransfers
from genie_tui.widgets.approvals.call_text import text_content

MOST_CHARS: Final = 50_000
"""Characters that may be quoted together."""

LONGEST_PASTE: Final = 8_000
"""Characters of a pasted text that may name files."""

MOST_FILES: Final = 16
"""Files that one paste may name."""

_BEGINNINGS: Final = ("/", "~", "'/", '"/', "'~", '"~', "file://")
_MUTED: Final = "$foreground-muted"


@dataclass(slots=True)
class Attachments:
    """The files that are being read, those that are ready, and the quotes."""

    reading: list[Path] = field(default_factory=list)
    files: list[FileRef] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.reading or self.files or self.quotes)

    @property
    def quoted(self) -> int:
        return sum(map(quoted_chars, self.quotes))

    def names(self) -> list[str]:
        files = [file.name for file in self.files]
        return [*files, *(path.name for path in self.reading), *map(_title, self.quotes)]

    def add(self, file: FileRef) -> bool:
        """Attach a file; returns False if it is attached already."""
        if any(each.digest == file.digest for each in self.files):
            return False
        self.files.append(file)
        return True

    def remove(self, name: str) -> bool:
        """Remove all of this name, or everything if it is empty; returns False if there is none."""
        before = len(self.names())
        wanted = fold_name(name)

        def stays(each: str) -> bool:
            return bool(name) and fold_name(each) != wanted

        self.files = [file for file in self.files if stays(file.name)]
        self.reading = [path for path in self.reading if stays(path.name)]
        self.quotes = [quote for quote in self.quotes if stays(_title(quote))]
        return len(self.names()) < before

    def take(self) -> tuple[tuple[FileRef, ...], tuple[Quote, ...]]:
        """Remove and return the items ready to be sent."""
        taken = tuple(self.files), tuple(self.quotes)
        self.files, self.quotes = [], []
        return taken


class AttachmentLine(Static):
    """The lines above the composer: one chip for each attachment, and the question about a paste.

    Hidden while there is neither.
    """

    DEFAULT_CSS = """
    AttachmentLine {
        display: none;
        &.-filled { display: block; }
    }
    """

    def __init__(self, attachments: Attachments, transfers: FileTransfers) -> None:
        super().__init__(markup=False)
        self._attachments = attachments
        self._transfers = transfers
        self._offered: Sequence[tuple[Path, int]] = ()

    def offer(self, files: Sequence[tuple[Path, int]]) -> None:
        """Ask whether to attach these files, given with their sizes; withdraw it if there are none."""
        self._offered = files
        self.show()

    def show(self) -> None:
        lines = [line for line in (self._chips(), self._question()) if line]
        self.set_class(bool(lines), "-filled")
        self.update(Content("\n").join(lines))

    def _question(self) -> Content:
        if not self._offered:
            return Content("")
        names = ", ".join(
            f"{visible_line(path.name)} ({file_size(size)})" for path, size in self._offered
        )
        keymap = keymap_of(self)
        return Content.assemble(
            (f"attach {names}?  ", "$text-accent"),
            (keymap.text(Scope.COMPOSER, "send"), "bold $text-accent"),
            (" attaches · ", _MUTED),
            (cancel_key(keymap), "bold $text-accent"),
            (" inserts the path as text", _MUTED),
        )

    def _chips(self) -> Content:
        attached = self._attachments
        chips = [
            *(self._file(file.digest, file.name, file.size) for file in attached.files),
            *(_chip(f"▤ {visible_line(path.name)}", "reading…") for path in attached.reading),
            *(
                _chip(f"❝ {quote_name(quote)}", counted(len(quote.lines), "message"))
                for quote in attached.quotes
            ),
        ]
        if not chips:
            return Content("")
        hint = Content.styled("/detach removes them", _MUTED)
        return Content("   ").join([*chips, hint])

    def _file(self, digest: str, name: str, size: int) -> Content:
        sending = self._transfers.is_sending(digest)
        status = self._transfers.status(digest)
        more = f" · {status.text}" if sending or status.style == "failed" else ""
        return _chip(f"▤ {visible_line(name)}", file_size(size) + more)


# The content of the questions before attaching and sending


def agents_here(state: RoomState) -> list[str]:
    """Return the people present whose agents read along; safe to show."""
    return [visible_line(person.name) for person in state.present() if person.engine]


def others_here(state: RoomState, me: str) -> list[str]:
    """Return the other people who are present; safe to show."""
    return [visible_line(person.name) for person in state.present() if person.name != me]


def sending_question(
    text: str, files: Sequence[FileRef], quotes: Sequence[Quote], state: RoomState, me: str
) -> Content:
    """Return the next message's parts and readers."""
    things = [*map(_file_line, files), *map(_quote_line, quotes)]
    shown = [Content.styled(f"“{visible(text)}”", "italic")] if text.strip() else []
    return Content("\n").join([*shown, *things, Content(""), *_receivers(state, me, _sum(things))])


def quote_question(quote: Quote, state: RoomState, me: str) -> Content:
    """Return the messages of another room, and who would see them."""
    count = counted(len(quote.lines), "message")
    amount = f"{count}, {quoted_chars(quote):,} characters"
    head = Content.assemble(
        (f"❝ {quote_name(quote)}", "$text-primary"),
        (f"  {visible_line(quote.room)} · {amount}", _MUTED),
    )
    text = Content("\n".join(quote_text(quote)))
    return Content("\n").join([head, *_receivers(state, me, "them"), Content(""), text])


def message_question(text: str, state: RoomState, me: str) -> Content:
    """Return a message that a program has written, and who would see it."""
    return Content("\n").join([*_receivers(state, me, "it"), Content(""), text_content(text)])


def _receivers(state: RoomState, me: str, things: str) -> list[Content]:
    people, agents = others_here(state, me), agents_here(state)
    seen = f"Every member of this room sees {things}: {_list(people)}." if people else ""
    seen = seen or f"No other member is here now. Members who join later see {things} too."
    lines = [Content(seen)]
    if agents:
        owned = _list(f"{name}'s agent" for name in agents)
        is_one = len(agents) == 1
        said = (
            f" gets {things}, and so does its model."
            if is_one
            else f" get {things}, and so do their models."
        )
        lines.append(Content.assemble((owned, "$text-accent"), said))
    return lines


def _sum(things: Sequence[Content]) -> str:
    return "it" if len(things) == 1 else f"these {len(things)}"


def _file_line(file: FileRef) -> Content:
    return Content.assemble(
        (f"▤ {visible_line(file.name)}", "$text-primary"), (f" ({file_size(file.size)})", _MUTED)
    )


def _quote_line(quote: Quote) -> Content:
    count = counted(len(quote.lines), "message")
    return Content.assemble((f"❝ {quote_name(quote)}", "$text-primary"), (f" ({count})", _MUTED))


def _list(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


# The files that a paste names


def may_name_files(text: str) -> bool:
    """Whether a text begins like an absolute path, so that the disk is worth asking."""
    text = text.strip()
    return 1 < len(text) <= LONGEST_PASTE and text.startswith(_BEGINNINGS)


def files_named(text: str) -> tuple[Path, ...]:
    """Return the files that a text names, none if it names anything else. Blocks."""
    for paths in _readings(text.strip()):
        if 0 < len(paths) <= MOST_FILES and all(map(_is_file, paths)):
            return tuple(dict.fromkeys(path.absolute() for path in paths))
    return ()


def _readings(text: str) -> Iterator[list[Path]]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield [path for path in map(_path, lines) if path is not None]
    try:
        words = [word for line in lines for word in shlex.split(line)]
    except ValueError:  # a quote that stays open
        return
    paths = [_path(word) for word in words]
    yield [path for path in paths if path is not None] if None not in paths else []


def _path(text: str) -> Path | None:
    if text.startswith("file://"):
        return _from_address(text)
    try:
        return Path(text).expanduser() if text and "\0" not in text else None
    except RuntimeError:  # no such user
        return None


def _from_address(text: str) -> Path | None:
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    path = unquote(parts.path)
    here = parts.netloc in ("", "localhost")
    return Path(path) if here and path.startswith("/") and "\0" not in path else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def quoted_chars(quote: Quote) -> int:
    return sum(len(line.text) + len(line.sender) for line in quote.lines)


def _title(quote: Quote) -> str:
    return quote.title or quote.room


def _chip(name: str, about: str) -> Content:
    return Content.assemble((name, "$text-primary"), (f" {about}", _MUTED))


def cancel_key(keymap: Keymap) -> str:
    """The key that cancels in the composer; it may be the one that leaves it."""
    name = "cancel" if keymap.named(Scope.COMPOSER, "cancel").keys else "leave"
    return keymap.text(Scope.COMPOSER, name)
