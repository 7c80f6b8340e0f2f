"""The messages of a room as an agent reads them: one JSON object per line."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import (
    ChangeBody,
    Event,
    FileRef,
    Quote,
)
from genie_core.room.state.members import Person
from genie_core.room.state.room_state import AGENT, RoomState
from genie_core.room.view.entries import AnswerEntry, MessageEntry, NoticeEntry, Reactions
from genie_core.room.view.kinds import ABOUT_ROOM, STEPS
from genie_core.room.view.reader import entry_of
from genie_core.room.view.spoken import spoken_in
from genie_core.room.view.wording import DELETED
from genie_core.storage.filenames import safe_name
from genie_core.text.safe import visible, visible_line

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
    """A message, an answer, or a change of either."""

    seq: int
    at: str
    by: str
    """Its author; "genie" for an answer."""
    text: str
    by_agent: bool = False
    """Whether a member that is an agent wrote it."""
    owner: str = ""
    """The person whose agent answers."""
    answers: int = 0
    """The number of the message that it answers."""
    incomplete: bool = False
    files: tuple[Attached, ...] = ()
    quotes: tuple[Quoted, ...] = ()
    caution: str = ""
    """Why it may not be its author's."""
    reply_to: int = 0
    """The number of the message or answer that it replies to."""
    marks: tuple[str, ...] = ()
    """Remarks of a word each, such as "edited"."""
    reactions: tuple[str, ...] = ()
    """The reactions to it by now, each with the names of those who reacted so."""
    changes: int = 0
    """The number of the message that was edited, deleted or reacted to; `text` says how."""


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


LEFT_OUT: Final = ABOUT_ROOM | STEPS
"""Kinds of events that are no lines: `who` tells of members, and runs are their owners' affair."""


def is_message(event: Event) -> bool:
    """Whether an event is a message or an answer, complete or not; private ones are for people."""
    said = spoken_in(event)
    return said is not None and not said.is_private


def is_line(event: Event, state: RoomState, since: int) -> bool:
    """Whether an event tells news to who knows the messages up to `since`: one, or its change.

    Later messages read as their authors left them, with the reactions to them.
    """
    if is_message(event):
        return True
    thread = state.changed_by(event)
    return thread is not None and thread.seq <= since and not thread.is_private


def is_own(event: Event, name: str) -> bool:
    """Whether an event is a message or a change by this member; answers are their agent's."""
    is_answer = event.posted is None and not isinstance(event.original.body, ChangeBody)
    return event.original.by == name and not is_answer


def contains(event: Event, words: Sequence[str], state: RoomState) -> bool:
    """Whether author, text and file names of a message contain all words, in lower case."""
    entry = entry_of(event, state)
    match entry:
        case MessageEntry():
            found = " ".join((entry.author, entry.text, *(file.name for file in entry.files)))
        case AnswerEntry():
            found = f"{AGENT} {entry.text}"
        case _:
            return False
    return all(word in found.casefold() for word in words)


def line_of(event: Event, room: JoinedRoom) -> Line:
    """Return the line of an event that `is_line`."""
    original, entry = event.original, entry_of(event, room.state, tab=0)
    at = datetime.fromtimestamp(original.at, UTC).isoformat(timespec="seconds")
    match entry:
        case MessageEntry():
            return _message(entry, at, room)
        case AnswerEntry():
            return Line(
                event.seq,
                at,
                AGENT,
                entry.text,
                owner=entry.owner,
                answers=entry.message,
                incomplete=bool(entry.incomplete),
                caution=entry.caveat,
                reactions=_reactions(entry.reactions),
            )
        case NoticeEntry():
            return Line(event.seq, at, visible_line(original.by), entry.text, changes=entry.message)
    raise ValueError(f"event {event.seq} is no message")


def _message(entry: MessageEntry, at: str, room: JoinedRoom) -> Line:
    text = f"* {entry.author} {entry.text}" if entry.emote else entry.text
    return Line(
        entry.seq,
        at,
        entry.author,
        f"({DELETED})" if entry.is_deleted else text,
        by_agent=entry.by_agent,
        files=tuple(_attached(each.file, room) for each in entry.files if each.file is not None),
        quotes=tuple(_quoted(each.quote) for each in entry.quotes if each.quote is not None),
        caution=entry.caveat,
        reply_to=entry.reply_to,
        marks=entry.marks,
        reactions=_reactions(entry.reactions),
    )


def _reactions(reactions: Reactions) -> tuple[str, ...]:
    return tuple(f"{reaction} {', '.join(names)}" for reaction, names in reactions)


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


def _attached(file: FileRef, room: JoinedRoom) -> Attached:
    path = room.files.path(file.digest)
    return Attached(safe_name(file.name), file.size, str(path) if path is not None else "")


def _quoted(quote: Quote) -> Quoted:
    lines = tuple(f"{visible_line(one.sender)}: {visible(one.text, tab=0)}" for one in quote.lines)
    return Quoted(visible_line(quote.title or quote.room), lines)
