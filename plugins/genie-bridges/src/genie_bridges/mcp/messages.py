"""The messages of a room as an agent reads them: one JSON object per line."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import (
    AnswerPosted,
    Event,
    FileRef,
    MessagePosted,
    Quote,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.members import Person
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.wording import DELETED, caveat
from genie_core.storage.filenames import safe_name
from genie_core.text.safe import visible, visible_line

GENIE: Final = "genie"
"""The author's name of the answers of people's agents."""

MOST_CHARS: Final = 40_000
"""Characters of all messages in one result; one that is longer is cut."""

_encode: Final = msgspec.json.Encoder().encode


class Attached(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of a message; `path` is where it is on this machine, empty until it has arrived."""

    name: str
    bytes: int
    path: str = ""


class Quoted(msgspec.Struct, frozen=True):
    """Messages of another room that came with a message."""

    room: str
    messages: tuple[str, ...]


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message or an answer.

    `by_agent`: a member that is an agent wrote it. An answer is by "genie", the agent of `owner`,
    and `answers` is the number of the message. `caution` says why it may not be its author's.
    """

    seq: int
    at: str
    by: str
    text: str
    by_agent: bool = False
    owner: str = ""
    answers: int = 0
    incomplete: bool = False
    files: tuple[Attached, ...] = ()
    quotes: tuple[Quoted, ...] = ()
    caution: str = ""


class Page(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line of a result.

    `last` is the number to continue from: nothing up to it is new. `more`: there is more after it.
    `searched_from` is the number of the earliest event that was searched. `unsent` messages wait for
    the connection; `refused` tells once of those that the room refused later.
    """

    room: str
    last: int
    more: bool = False
    timed_out: bool = False
    searched_from: int = 0
    unsent: int = 0
    connection: str = ""
    refused: tuple[str, ...] = ()


class Member(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person or an agent in the room."""

    name: str
    role: str
    you: bool = False
    muted: bool = False


def is_message(event: Event) -> bool:
    """Whether an event is a message or an answer, complete or not; private ones are for people."""
    match event.told.body:
        case MessagePosted(to="") | AnswerPosted(sealed=()):
            return True
        case RunFailed(text=text) | RunCancelled(text=text):
            return bool(text)
    return False


def is_by(event: Event, name: str) -> bool:
    """Whether an event is a message by a member."""
    told = event.told
    return isinstance(told.body, MessagePosted) and told.by == name


def contains(event: Event, words: Sequence[str], state: RoomState) -> bool:
    """Whether author, text and file names of a message contain all words, in lower case."""
    told = event.told
    match told.body:
        case MessagePosted() as posted:
            said = _as_left(event.seq, posted, state)
            found = " ".join((told.by, said.text, *(file.name for file in said.files)))
        case AnswerPosted(text=text) | RunFailed(text=text) | RunCancelled(text=text):
            found = f"{GENIE} {text}"
        case _:
            return False
    found = found.casefold()
    return all(word in found for word in words)


def _as_left(seq: int, said: MessagePosted, state: RoomState) -> MessagePosted:
    """Return a message as its author left it, if it is one of the latest."""
    known = state.exchanges.get(seq)
    if known is None:
        return said
    if known.is_deleted:
        return msgspec.structs.replace(said, text="", files=(), quotes=())
    return msgspec.structs.replace(said, text=known.text)


def line_of(event: Event, room: JoinedRoom) -> Line:
    """Return the line of an event that `is_message`."""
    told, state = event.told, room.state
    at = datetime.fromtimestamp(told.at, UTC).isoformat(timespec="seconds")
    by, voucher = visible_line(told.by), event.by if told is not event else ""
    caution = caveat(voucher, state.doubt_of(event.seq))
    match told.body:
        case MessagePosted() as posted:
            known, said = state.exchanges.get(event.seq), _as_left(event.seq, posted, state)
            text = f"* {by} {said.text}" if said.emote else said.text
            if known is not None and known.is_deleted:
                text = f"({DELETED})"
            return Line(
                event.seq,
                at,
                by,
                _safe(text),
                by_agent=state.members.is_agent(told.by),
                files=tuple(_attached(file, room) for file in said.files),
                quotes=tuple(map(_quoted, said.quotes)),
                caution=caution,
            )
        case AnswerPosted(message=message, text=text, cut=cut):
            return Line(
                event.seq,
                at,
                GENIE,
                _safe(text),
                owner=by,
                answers=state.recovered.get(message, message) if voucher else message,
                incomplete=cut,
                caution=caution,
            )
        case RunFailed(message=message, text=text) | RunCancelled(message=message, text=text):
            return Line(
                event.seq,
                at,
                GENIE,
                _safe(text),
                owner=by,
                answers=message,
                incomplete=True,
                caution=caution,
            )
    raise ValueError(f"event {event.seq} is no message")


def member_of(person: Person, me: str) -> Member:
    """Describe a member: an agent has this as its role, unless it only reads."""
    role = "agent" if person.is_agent and person.role != "observer" else person.role
    return Member(visible_line(person.name), role, person.name == me, person.muted)


def text_of(head: Page, lines: Iterable[Line | Member]) -> str:
    """Return a result as text, one JSON object per line."""
    return "\n".join(_encode(each).decode() for each in (head, *lines))


def first_that_fit(lines: Sequence[Line]) -> list[Line]:
    """Return as many lines from the start as fit into one result, at least one."""
    return _fitting(lines)


def last_that_fit(lines: Sequence[Line]) -> list[Line]:
    """Return as many lines from the end as fit into one result, at least one."""
    return _fitting(lines[::-1])[::-1]


def _fitting(lines: Sequence[Line]) -> list[Line]:
    kept: list[Line] = []
    room = MOST_CHARS
    for line in lines:
        size = len(_encode(line))
        if size > room:
            break
        kept.append(line)
        room -= size
    if lines and not kept:
        cut = lines[0].text[: MOST_CHARS // 2] + "… (cut: it is too long)"
        kept = [msgspec.structs.replace(lines[0], text=cut, quotes=())]
    return kept


def _safe(text: str) -> str:
    return visible(text, tab=0)


def _attached(file: FileRef, room: JoinedRoom) -> Attached:
    path = room.files.path(file.digest)
    return Attached(safe_name(file.name), file.size, str(path) if path is not None else "")


def _quoted(quote: Quote) -> Quoted:
    lines = tuple(f"{visible_line(one.sender)}: {_safe(one.text)}" for one in quote.lines)
    return Quoted(visible_line(quote.title or quote.room), lines)
