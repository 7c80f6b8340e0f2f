"""What the timeline consists of: one small value per thing that is shown.

Entries hold text that is safe to show already: it is spelt out when they are made.
"""

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TypeAlias


class Tone(Enum):
    """How a note wants to be read."""

    QUIET = "quiet"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Day:
    """A new day starts here."""

    day: date


@dataclass(frozen=True, slots=True)
class Divider:
    """Something changed for the whole room, so that what follows stands apart."""

    text: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """Messages belong here that are not shown; so many, None if that is not known.

    `between` two parts that are shown, otherwise above all of them. `lost` if they can't be had.
    """

    messages: int | None
    between: bool = False
    lost: bool = False


@dataclass(frozen=True, slots=True)
class FileLine:
    """A file of a message; `number` counts them from 1, `about` is its type and size."""

    number: int
    digest: str
    name: str
    about: str


@dataclass(frozen=True, slots=True)
class QuoteLine:
    """Messages of another room that a message brings along, folded to one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened in the room. `message` is what it is about, 0 for nothing said.

    `opens` a run of notes, which is set off from what was said before.
    """

    at: float
    mark: str
    text: str
    opens: bool
    tone: Tone = Tone.QUIET
    message: int = 0


@dataclass(frozen=True, slots=True)
class Speech:
    """A message by a person. `opens` a new group, which gets a line with name and time.

    `voucher` says from whose copy it was recovered, empty for what was said here.
    """

    message: int
    at: float
    author: str
    text: str
    emote: bool
    opens: bool
    files: tuple[FileLine, ...] = ()
    quotes: tuple[QuoteLine, ...] = ()
    voucher: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """An agent's answer to `message`.

    `receiver` is who it is for, `owner` whose agent it is where that is somebody else. `quote`
    repeats what was asked if that is not right above. `elapsed` is in seconds, None while the
    answer is still being written. `voucher` is as in `Speech`. `incomplete` says why it ends where
    it does, after `mark` and in this `tone`; empty for an answer that is complete.
    """

    message: int
    at: float
    receiver: str
    owner: str
    text: str
    quote: str
    elapsed: float | None
    voucher: str = ""
    incomplete: str = ""
    mark: str = ""
    tone: Tone = Tone.QUIET


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that was typed here and that the room has not acknowledged."""

    author: str
    text: str
    emote: bool
    opens: bool
    files: tuple[FileLine, ...] = ()
    quotes: tuple[QuoteLine, ...] = ()


Entry: TypeAlias = Earlier | Day | Divider | Note | Speech | Reply | Waiting


def message_of(entry: Entry) -> int:
    """The number of the message that an entry is about, 0 if it is about none."""
    match entry:
        case Note(message=message) | Speech(message=message) | Reply(message=message):
            return message
        case Earlier() | Day() | Divider() | Waiting():
            return 0


def said_in(entry: Entry) -> str | None:
    """What can be copied from an entry; None if nobody said anything there."""
    match entry:
        case Speech(text=text) | Reply(text=text) | Waiting(text=text):
            return text
        case Earlier() | Day() | Divider() | Note():
            return None
