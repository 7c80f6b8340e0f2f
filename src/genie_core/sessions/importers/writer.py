"""Make a room of a conversation of another program.

The room is one from before there were foundings: nothing in it is signed, and it becomes its
holder's, with a founding, when it is hosted.
"""

import hashlib
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from genie_core.datastore import path_name
from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.events import (
    FILE_NAME_CHARS,
    ROOM,
    AnswerPosted,
    AnyBody,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
    RoomSuspended,
    is_moment,
)
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog, staged
from genie_core.sessions.importers.history import Author, Finish, History, HistoryMessage
from genie_core.sessions.importers.names import Names
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.metadata import SessionMetadata, one_line, summary_of
from genie_core.sessions.session import LOG_NAME, SavedSession
from genie_core.storage.atomic import create_file, make_private_folder, sync_data
from genie_core.storage.errors import disk_access
from genie_core.storage.filenames import safe_name

MOST_CHARS: Final = 500_000
"""Characters of a message, as many as a room can allow; the rest is cut off."""

MOST_AUTHORS: Final = 10_000
"""Authors with a name of their own; further ones share one."""

_OTHERS: Final = Author("\0others", "others")
_ID_CHARS: Final = 80


@dataclass(slots=True)
class ImportedRoom:
    """A room that was made: how many messages and answers it has, and what was left out."""

    saved: SavedSession
    messages: int
    answers: int
    left: Counter[str]


@dataclass(slots=True)
class ImportReport:
    """The result of an import: rooms, and the titles of conversations that are here already or empty."""

    rooms: list[ImportedRoom] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)


def write_rooms(
    catalog: Catalog, histories: Iterable[History], me: str, now: float, *, as_copy: bool = False
) -> ImportReport:
    """Make a room of each conversation, all of them or none. Blocks.

    `me` is the name of the person, who hosts them. Conversations that were imported before are left
    out unless `as_copy` is set.

    Raises:
        NotImportable: one of them can't be read.
        DiskFailure: something can't be written.
    """
    report = ImportReport()
    known = {each.metadata.origin for each in catalog.all() if each.metadata is not None}
    with disk_access("import into", catalog.base), staged(catalog.base) as folder:
        make_private_folder(folder)
        for made in list(_made(histories, folder, me, now, set() if as_copy else known, report)):
            saved = catalog.take_in(made.place, made.metadata)
            if made.remember is not None:
                made.remember(saved.engine_path / path_name(saved.metadata.id))
            report.rooms.append(ImportedRoom(saved, made.messages, made.answers, made.left))
    return report


@dataclass(frozen=True, slots=True)
class _Made:
    """A room in a folder that no list includes; `remember` adds its engine's memory."""

    place: Path
    metadata: SessionMetadata
    messages: int
    answers: int
    left: Counter[str]
    remember: Callable[[Path], None] | None


def _made(
    histories: Iterable[History],
    folder: Path,
    me: str,
    now: float,
    known: set[str],
    report: ImportReport,
) -> Iterator[_Made]:
    """Write the conversations into folders that no list includes."""
    for number, history in enumerate(histories):
        origin = _origin(history)
        title = one_line(history.title) or history.source
        if origin in known:
            report.known.append(title)
            continue
        known.add(origin)
        place = folder / str(number)
        place.mkdir(0o700)
        room = _Room(origin, title, me, now, history.left)
        with os.fdopen(create_file(place / LOG_NAME), "wb") as out:
            room.write(out, history.messages)
            out.flush()
            sync_data(out.fileno())
        if room.messages:
            metadata, finish = room.metadata(history.source), history.finish
            remember = room.remembering(finish) if finish is not None else None
            yield _Made(place, metadata, room.messages, room.answers, room.left, remember)
        else:
            report.empty.append(title)


class _Room:
    """The log of a room that is being written."""

    def __init__(self, origin: str, title: str, me: str, now: float, left: Counter[str]) -> None:
        self._origin = origin
        self._title = title
        self._me = me
        self._now = now
        self.left = left
        self._out: BinaryIO
        self._state = RoomState()
        self._names = Names(me)
        self._authors: set[str] = set()
        self._at: float | None = None
        self._first: float | None = None
        self._ids: dict[str, int] = {}
        self._last = 0
        self._seqs = array("q")
        self.messages = self.answers = 0

    def remembering(self, finish: Finish) -> Callable[[Path], None]:
        """Return what adds the memory of the room's engine."""
        seqs, names = self._seqs, self._names
        return lambda folder: finish(folder, seqs, names)

    def write(self, out: BinaryIO, messages: Iterable[HistoryMessage]) -> None:
        """Write the messages with what a room has beside them."""
        self._out = out
        waiting: HistoryMessage | None = None
        answers: list[HistoryMessage] = []
        for message in messages:
            if message.is_answer and (waiting is not None or self._last):
                if waiting is not None:
                    self._say(waiting, is_answered=True)
                    waiting = None
                answers.append(message)
                continue
            self._answer(answers)
            answers = []
            if waiting is not None:
                self._say(waiting, is_answered=waiting.is_answered)
            waiting = message
        if waiting is not None:
            self._say(waiting, is_answered=waiting.is_answered)
        self._answer(answers)
        if self.messages:
            self._add(ROOM, RoomSuspended(f"imported from {self._origin.partition(':')[0]}"))

    def metadata(self, source: str) -> SessionMetadata:
        """Return what the list of sessions shows."""
        head = self._state.head
        return SessionMetadata(
            id="",
            title=self._title,
            kind="hosted",
            created=self._now if self._first is None else self._first,
            name=self._me,
            copied="import",
            origin=self._origin,
            tags=(source,),
            seen=head,
            last_activity=self._now if self._at is None else self._at,
            **summary_of(self._state, head, self._me),
        )

    def _say(self, message: HistoryMessage, *, is_answered: bool) -> None:
        by = self._author(message)
        self.messages += 1
        self._last = self._add(
            by,
            MessagePosted(
                f"import-{self.messages}",
                self._text(message),
                handler=self._me if is_answered else "",
                emote=message.is_emote,
                reply_to=self._ids.get(message.reply_to, 0) if message.reply_to else 0,
            ),
        )
        self._note(message, self._last)

    def _answer(self, answers: list[HistoryMessage]) -> None:
        """Write what an assistant said in one go as one answer to the last message."""
        if not answers:
            return
        text = "\n\n".join(map(self._text, answers))[:MOST_CHARS]
        asked = (self._ids.get(each.reply_to, 0) for each in answers)
        message = next((each for each in asked if each in self._state.exchanges), self._last)
        self._time(answers[0])
        self.answers += 1
        seq = self._add(self._me, AnswerPosted(message, text))
        for each in answers:
            self._note(each, seq)

    def _author(self, message: HistoryMessage) -> str:
        """Return the author's name; let them join before their first message."""
        self._time(message)
        author = message.author
        if author.key not in self._authors and len(self._authors) >= MOST_AUTHORS:
            author = _OTHERS
        by = self._names.of(author)
        if not self._state.head:
            self._open()
        if author.key not in self._authors:
            self._authors.add(author.key)
            if by not in self._state.people:
                kind = "agent" if author.is_agent else ""
                self._add(by, MemberJoined("member", kind=kind))  # type: ignore[arg-type]
        return by

    def _open(self) -> None:
        self._add(ROOM, RoomCreated(self._origin, self._title))
        self._add(ROOM, HostStarted(self._me))
        self._add(self._me, MemberJoined("host"))

    def _time(self, message: HistoryMessage) -> None:
        """Take over the message's time; one without a time has that of the message before."""
        if message.at is not None and is_moment(message.at):
            self._at = message.at
        if self._first is None:
            self._first = self._at

    def _text(self, message: HistoryMessage) -> str:
        files = "".join(f"\n[file: {_file_name(each)}]" for each in message.files)
        text = whole_text(f"{message.text.rstrip()}{files}".lstrip("\n"))
        if len(text) > MOST_CHARS:
            self.left["end of a long message"] += 1
        return text[:MOST_CHARS] or "(empty)"

    def _note(self, message: HistoryMessage, seq: int) -> None:
        self._seqs.append(seq)
        if message.id:
            self._ids[message.id] = seq

    def _add(self, by: str, body: AnyBody) -> int:
        at = self._now if self._at is None else self._at
        event = Event(self._state.head + 1, at, by, body)
        self._state.apply(event)
        self._out.write(encode_line(event))
        return event.seq


def _origin(history: History) -> str:
    """Return what tells a conversation from others; a long id is replaced by its digest."""
    origin = f"{history.source}:{history.id}"
    if len(origin) <= _ID_CHARS:
        return origin
    digest = hashlib.sha256(history.id.encode(errors="surrogatepass")).hexdigest()
    return f"{history.source}:{digest}"


def _file_name(name: str) -> str:
    return safe_name(name[:FILE_NAME_CHARS])
