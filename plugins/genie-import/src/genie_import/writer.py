"""Make a room of a conversation of another program, or extend one.

The room is one from before there were foundings: nothing in it is signed, and it becomes its
holder's, with a founding, when it is hosted.
"""

import os
import shutil
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import msgspec

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
    MessageEdited,
    MessagePosted,
    RoomCreated,
    RoomSuspended,
    is_moment,
)
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog, staged
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.metadata import SessionMetadata, one_line, summary_of
from genie_core.sessions.session import LOG_NAME, SavedSession
from genie_core.storage.atomic import create_file, make_private_folder, replace_file, sync_data
from genie_core.storage.errors import disk_access
from genie_core.storage.filenames import safe_name
from genie_import.importer import (
    Author,
    Entry,
    Finish,
    History,
    HistoryMessage,
    LeftOut,
)
from genie_import.names import Names
from genie_import.record import (
    LEFT_NAME,
    RECORD_NAME,
    ImportRecord,
    key_of,
    left_lines,
    origin_of,
    read_origin,
    read_record,
    text_digest,
)

MOST_CHARS: Final = 500_000
"""Characters of a message, as many as a room can allow; the rest is left out."""

MOST_AUTHORS: Final = 10_000
"""Authors with a name of their own; further ones share one."""

HOSTED: Final = "you have hosted its room since; --as-copy imports all of it as another room"

_Keyed: TypeAlias = tuple[HistoryMessage, str]
"""A message with its key in the record of the import."""

_CHANGED: Final = "answer that changed since it was imported"
_LONG: Final = "end of a long message"
_OTHERS: Final = Author("\0others", "others")


@dataclass(slots=True)
class ImportedRoom:
    """A room that was made or added to, and the omissions.

    `messages`, `answers` and `edits` are those added; `is_new` says whether the room is.
    """

    saved: SavedSession
    messages: int
    answers: int
    left: Counter[str]
    edits: int = 0
    is_new: bool = True

    @property
    def left_path(self) -> Path:
        """The file with the words that were left out."""
        return self.saved.folder / LEFT_NAME


@dataclass(slots=True)
class ImportReport:
    """The result of an import.

    `known` are titles of conversations without anything new, `empty` of those without a message.
    `waiting` are those whose room can't be added to, with the number of new messages and the reason.
    `left` are entries of no room; of a conversation without a message they have the title.
    """

    rooms: list[ImportedRoom] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    waiting: list[tuple[str, int, str]] = field(default_factory=list)
    left: list[LeftOut] = field(default_factory=list)


def write_rooms(
    catalog: Catalog,
    histories: Iterable[History | LeftOut],
    me: str,
    now: float,
    *,
    as_copy: bool = False,
) -> ImportReport:
    """Make a room of each conversation, all of them or none. Blocks.

    `me` is the name of the person, who hosts them. A conversation that was imported before gets its
    new messages, or with `as_copy` another room.

    Raises:
        NotImportable: one of them can't be read.
        DiskFailure: something can't be written.
    """
    with disk_access("import into", catalog.base), staged(catalog.base) as folder:
        make_private_folder(folder)
        known = {} if as_copy else _imported(catalog)
        work = _Import(catalog, folder, me, now, known)
        for found in histories:
            if isinstance(found, History):
                work.take(found)
            else:
                work.report.left.append(found)
        work.finish()
    return work.report


def _imported(catalog: Catalog) -> dict[str, SavedSession]:
    """Return the imported rooms by their origins; of several, one that was not hosted since."""
    found: dict[str, SavedSession] = {}
    for each in catalog.all():
        if each.metadata is None:
            continue
        folder = catalog.folder(each.id)
        origin = read_origin(folder) or each.metadata.origin
        if origin and (each.metadata.copied or origin not in found):
            found[origin] = SavedSession(folder, each.metadata)
    return found


@dataclass(slots=True)
class _Staged:
    """A conversation in a folder that no list includes, and the room to add it to, if there is one.

    `base` is the number of the last event that this room has.
    """

    place: Path
    title: str
    room: SavedSession | None = None
    base: int = 0
    messages: int = 0
    answers: int = 0
    edits: int = 0
    left: Counter[str] = field(default_factory=Counter)
    metadata: SessionMetadata | None = None
    remember: Callable[[Path], None] | None = None

    @property
    def added(self) -> int:
        return self.messages + self.answers + self.edits

    def imported(self, saved: SavedSession, *, is_new: bool) -> ImportedRoom:
        """Return the report about it."""
        return ImportedRoom(
            saved, self.messages, self.answers, self.left, self.edits, is_new=is_new
        )


class _Import:
    """Conversations on their way into rooms."""

    def __init__(
        self, catalog: Catalog, folder: Path, me: str, now: float, known: dict[str, SavedSession]
    ) -> None:
        self._catalog = catalog
        self._folder = folder
        self._me = me
        self._now = now
        self._known = known
        self._staged: dict[str, _Staged] = {}
        self.report = ImportReport()

    def take(self, history: History) -> None:
        """Write a conversation, or another part of it, into its folder."""
        origin = origin_of(history)
        stage = self._staged.get(origin) or self._stage(origin, history)
        if stage.room is not None and read_record(stage.place) is None:
            return  # it was imported by an earlier version
        owner = stage.room.metadata.owner if stage.room is not None else self._me
        room = _Room(stage.place, origin, stage.title, owner or self._me, self._now)
        room.write(history.entries)
        stage.messages += room.messages
        stage.answers += room.answers
        stage.edits += room.edits
        stage.left += room.left
        stage.metadata = room.metadata(history.source)
        if history.finish is not None:
            stage.remember = room.remembering(history.finish)

    def finish(self) -> None:
        """Move the new parts into place."""
        for stage in self._staged.values():
            if stage.room is not None:
                self._add_to(stage.room, stage)
            elif stage.messages and stage.metadata is not None:
                saved = self._catalog.take_in(stage.place, stage.metadata)
                if stage.remember is not None:
                    stage.remember(saved.engine_path / path_name(saved.metadata.id))
                self.report.rooms.append(stage.imported(saved, is_new=True))
            else:
                self.report.empty.append(stage.title)
                lost = (LeftOut(reason, stage.title) for reason in stage.left.elements())
                self.report.left += lost

    def _stage(self, origin: str, history: History) -> _Staged:
        place = self._folder / str(len(self._staged))
        place.mkdir(0o700)
        title = one_line(history.title) or history.source
        stage = self._staged[origin] = _Staged(place, title, self._known.get(origin))
        if stage.room is not None:
            stage.base = _copy(stage.room, place)
        return stage

    def _add_to(self, room: SavedSession, stage: _Staged) -> None:
        if not stage.added:
            self.report.known.append(stage.title)
        elif not room.metadata.copied or stage.remember is not None:
            self.report.waiting.append((stage.title, stage.added, HOSTED))
        else:
            try:
                _append(room, stage)
            except SessionInUse as error:
                self.report.waiting.append((stage.title, stage.added, str(error)))
            else:
                self.report.rooms.append(stage.imported(room, is_new=False))


def _copy(room: SavedSession, place: Path) -> int:
    """Copy a room's log and the files about its import; returns the number of the last event."""
    for name in (RECORD_NAME, LEFT_NAME):
        if (room.folder / name).exists():
            shutil.copyfile(room.folder / name, place / name)
    with room.reader() as reader, (place / LOG_NAME).open("wb") as out:
        out.writelines(map(encode_line, reader.events()))
        return reader.head


def _append(room: SavedSession, stage: _Staged) -> None:
    """Add the new events to a room's log.

    The record comes first: entries that it names beyond the end of a log are not there.
    """
    with room.held(), LogReader.open(stage.place / LOG_NAME) as reader:
        with room.open_log().log as log:
            for name in (RECORD_NAME, LEFT_NAME):
                if (stage.place / name).exists():
                    replace_file(room.folder / name, (stage.place / name).read_bytes())
            log.write(list(reader.events(stage.base)))
        state = reader.state()
        fresh = summary_of(state, state.head, room.metadata.owner)
        last = stage.metadata.last_activity if stage.metadata is not None else 0.0
        room.update(**fresh, seen=state.head, last_activity=last)


class _Room:
    """A room's folder that is being written, or added to."""

    def __init__(self, place: Path, origin: str, title: str, me: str, now: float) -> None:
        self._place = place
        self._title = title
        self._me = me
        self._now = now
        self._state = _state_in(place / LOG_NAME)
        self._record = read_record(place) or ImportRecord(origin)
        self._record.forget_after(self._state.head)
        self._names = Names(me, self._record.authors)
        self._authors = set(self._record.authors)
        self._out: BinaryIO
        self._left_out: BinaryIO
        self._is_open = False
        self._at: float | None = None
        self._first: float | None = None
        self._met: Counter[str] = Counter()
        self._last = 0
        self._question: _Keyed | None = None
        self._answers: list[_Keyed] = []
        self._seqs = array("q")
        self.left: Counter[str] = Counter()
        self.messages = self.answers = self.edits = 0

    def write(self, entries: Iterable[Entry]) -> None:
        """Write the entries that are new, with the files of a room beside them."""
        with (
            _appending(self._place / LOG_NAME) as self._out,
            _appending(self._place / LEFT_NAME) as self._left_out,
        ):
            for entry in entries:
                self._take(entry)
            self._flush()
            if self._is_open:
                self._add(ROOM, RoomSuspended(self._reason()))
            self._out.flush()
            sync_data(self._out.fileno())
        if not (self._place / LEFT_NAME).stat().st_size:
            (self._place / LEFT_NAME).unlink()
        self._record.authors = {whole_text(key): name for key, name in self._names.given.items()}
        replace_file(self._place / RECORD_NAME, msgspec.json.encode(self._record), sync=False)

    def remembering(self, finish: Finish) -> Callable[[Path], None]:
        """Return the function that adds the memory of the room's engine."""
        seqs, names = self._seqs, self._names
        return lambda folder: finish(folder, seqs, names)

    def metadata(self, source: str) -> SessionMetadata:
        """Return the entry in the list of sessions."""
        head = self._state.head
        return SessionMetadata(
            id="",
            title=self._title,
            kind="hosted",
            created=self._now if self._first is None else self._first,
            name=self._me,
            copied="import",
            origin=self._record.origin,
            tags=(source,),
            seen=head,
            last_activity=self._now if self._at is None else self._at,
            **summary_of(self._state, head, self._me),
        )

    def _take(self, entry: Entry) -> None:
        key = self._numbered(key_of(entry))
        if isinstance(entry, LeftOut):
            self._leave_out(entry, key)
        elif key in self._record.messages:
            self._meet(entry, key)
        elif entry.is_answer and (self._question is not None or self._last):
            self._ask(is_answered=True)
            self._answers.append((entry, key))
        else:
            self._flush()
            self._question = entry, key

    def _numbered(self, key: str) -> str:
        """Return a key that the conversation has for this entry alone."""
        self._met[key] += 1
        return key if self._met[key] == 1 else f"{key}#{self._met[key]}"

    def _leave_out(self, entry: LeftOut, key: str) -> None:
        """Add an entry to the file of those left out, unless a former import did."""
        if entry.id not in self._met and self._record.seq_of(entry.id):
            self.left[f"{entry.reason}, which the room has"] += 1
        elif key not in self._record.left:
            self._record.left.add(key)
            self.left[entry.reason] += 1
            self._left_out.write(left_lines(entry) if entry.text.strip() else b"")

    def _meet(self, message: HistoryMessage, key: str) -> None:
        """Go on behind a message that the room has; another text of it is an edit."""
        self._flush()
        seq, digest = self._record.messages[key]
        if not message.is_answer:
            self._last = seq
        if digest == text_digest(message):
            return
        if message.is_answer:
            changed = LeftOut(_CHANGED, message.text, message.at)
            self._leave_out(changed, self._numbered(key_of(changed)))
        else:
            self.edits += 1
            by = self._author(message)
            self._add(by, MessageEdited(seq, self._text(message)))
            self._record.messages[key] = seq, text_digest(message)

    def _flush(self) -> None:
        self._answer()
        self._ask(is_answered=False)

    def _ask(self, *, is_answered: bool) -> None:
        if self._question is not None:
            message, key = self._question
            self._question = None
            self._say(message, key, is_answered=is_answered or message.is_answered)

    def _say(self, message: HistoryMessage, key: str, *, is_answered: bool) -> None:
        by = self._author(message)
        self.messages += 1
        said = MessagePosted(
            f"import-{self._state.head}",
            self._text(message),
            handler=self._me if is_answered else "",
            emote=message.is_emote,
            reply_to=self._record.seq_of(message.reply_to) if message.reply_to else 0,
        )
        self._last = self._add(by, said)
        self._note(message, key, self._last)

    def _answer(self) -> None:
        """Write an assistant's messages in a row as one answer to the last message.

        If that has an answer, which a former import brought, they are messages.
        """
        answers, self._answers = self._answers, []
        if not answers:
            return
        asked = (self._record.seq_of(each.reply_to) for each, _ in answers if each.reply_to)
        threads = self._state.threads
        message = next((seq for seq in asked if seq in threads), self._last)
        if message not in threads or threads[message].answer is not None:
            for each, key in answers:
                self._say(each, key, is_answered=False)
            return
        self._begin(answers[0][0])
        self.answers += 1
        text = self._cut("\n\n".join(self._text(each) for each, _ in answers))
        seq = self._add(self._me, AnswerPosted(message, text))
        for each, key in answers:
            self._note(each, key, seq)

    def _author(self, message: HistoryMessage) -> str:
        """Return the author's name; let them join before their first message."""
        self._begin(message)
        author = message.author
        if author.key not in self._authors and len(self._authors) >= MOST_AUTHORS:
            author = _OTHERS
        by = self._names.of(author)
        if author.key not in self._authors:
            self._authors.add(author.key)
            if by not in self._state.people:
                kind = "agent" if author.is_agent else ""
                self._add(by, MemberJoined("member", kind=kind))  # type: ignore[arg-type]
        return by

    def _begin(self, message: HistoryMessage) -> None:
        """Take over a message's time, or keep that of the one before; open the room first."""
        if message.at is not None and is_moment(message.at):
            self._at = message.at
        if self._first is None:
            self._first = self._at
        if not self._is_open:
            self._is_open = True
            if not self._state.head:
                self._add(ROOM, RoomCreated(self._record.origin, self._title))
            self._add(ROOM, HostStarted(self._me))
            self._add(self._me, MemberJoined("host"))

    def _text(self, message: HistoryMessage) -> str:
        files = "".join(f"\n[file: {safe_name(each[:FILE_NAME_CHARS])}]" for each in message.files)
        text = whole_text(f"{message.text.rstrip()}{files}".lstrip("\n"))
        return self._cut(text) or "(empty)"

    def _cut(self, text: str) -> str:
        if len(text) > MOST_CHARS:
            rest = LeftOut(_LONG, text[MOST_CHARS:], self._at)
            self._leave_out(rest, self._numbered(key_of(rest)))
        return text[:MOST_CHARS]

    def _reason(self) -> str:
        """Return the reason why the room is closed, which names the missing parts."""
        source = f"imported from {self._record.origin.partition(':')[0]}"
        see = f" (see {LEFT_NAME})" if self._left_out.tell() else ""
        return f"{source}; left out{see}: {left_line(self.left)}" if self.left else source

    def _note(self, message: HistoryMessage, key: str, seq: int) -> None:
        self._seqs.append(seq)
        self._record.messages[key] = seq, text_digest(message)

    def _add(self, by: str, body: AnyBody) -> int:
        at = self._now if self._at is None else self._at
        event = Event(self._state.head + 1, at, by, body)
        self._state.apply(event)
        self._out.write(encode_line(event))
        return event.seq


def left_line(left: Counter[str]) -> str:
    """Return the kinds of entries that were left out with their counts; empty if there are none."""
    return ", ".join(f"{count:,} × {reason}" for reason, count in left.most_common())


def _appending(path: Path) -> BinaryIO:
    """Open a file for appending; create a private one if it is missing."""
    if not path.exists():
        os.close(create_file(path))
    return path.open("ab")


def _state_in(log: Path) -> RoomState:
    if not log.exists():
        return RoomState()
    with LogReader.open(log) as reader:
        return reader.state()
