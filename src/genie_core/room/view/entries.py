"""The entries of a room: one small value for each thing that a surface shows.

All texts are safe to show. A `MessageEntry` reads as its author left it by now.
"""

from datetime import date
from enum import Enum
from typing import TypeAlias

import msgspec

from genie_core.room.view.wording import FileLine, QuoteLine, because, with_caveat

Reactions: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Reactions in the order in which they came first, each with the names of those who reacted so."""

Move: TypeAlias = tuple[str, bool]
"""A name, and whether that person came."""


class Tone(Enum):
    """The tone of an entry; the value is the style of its line in a list."""

    BUSY = "busy"
    QUIET = "quiet"
    GOOD = "good"
    ASKS = "asks"
    BAD = "bad"


class ReplyLine(msgspec.Struct, frozen=True):
    """The start of the message or answer that a message replies to."""

    by: str
    text: str
    """As its author left it, in one line; empty if they deleted it."""


class MessageEntry(msgspec.Struct, frozen=True):
    """A message of a member, in the log as event `message`."""

    message: int
    at: float
    author: str
    text: str
    emote: bool = False
    opens: bool = True
    """Whether it starts a group, which gets a line with name and time."""
    files: tuple[FileLine, ...] = ()
    quotes: tuple[QuoteLine, ...] = ()
    caveat: str = ""
    """From whose copy it was recovered, and its problem; empty for any other."""
    by_agent: bool = False
    reply: ReplyLine | None = None
    reply_to: int = 0
    """The number of its original, as its author gave it; 0 for none."""
    is_deleted: bool = False
    marks: tuple[str, ...] = ()
    """Remarks of a word each, such as "edited", which every surface shows."""
    reactions: Reactions = ()
    private: str = ""
    """The other reader of a private message: a member, or "genie"."""

    @property
    def seq(self) -> int:
        return self.message


class AnswerEntry(msgspec.Struct, frozen=True):
    """An agent's answer to `message`, complete or not."""

    message: int
    at: float
    receiver: str
    owner: str
    """The person whose agent it is."""
    text: str
    quote: str = ""
    """The start of the question, where that is not right above."""
    elapsed: float | None = 0.0
    """Seconds until it was complete; None while it is being written."""
    caveat: str = ""
    reactions: Reactions = ()
    incomplete: str = ""
    """Why it ends early; empty if it is complete."""
    mark: str = ""
    tone: Tone = Tone.GOOD
    private: bool = False
    seq: int = 0


class RunEntry(msgspec.Struct, frozen=True):
    """A step of the work on `message` without a text of its own: a decision, or an end."""

    seq: int
    message: int
    at: float
    mark: str
    tone: Tone
    subject: str
    verb: str
    owner: str
    reason: str = ""
    query: str = ""
    """The question that the reasoner passed on, in one line."""
    caveat: str = ""
    private: bool = False

    @property
    def text(self) -> str:
        return f"{self.subject} {self.verb}"

    @property
    def line(self) -> str:
        """The whole of it, with its mistakes."""
        return with_caveat(because(self.text, self.query or self.reason), self.caveat)


class CallEntry(msgspec.Struct, frozen=True):
    """A tool call that waits for an answer, or that has one."""

    seq: int
    message: int
    at: float
    mark: str
    tone: Tone
    text: str
    number: int
    """The number of the event that asks for the call; 0 if that is not known."""
    owner: str
    reason: str = ""
    given: str = ""
    """The arguments of the call in one line."""
    effects: str = ""
    """Its effects, in one line; empty if that is not known."""
    outcome: str = ""
    caveat: str = ""
    private: bool = False

    @property
    def line(self) -> str:
        """The whole of it, with its mistakes."""
        more = self.reason if self.outcome else self.given
        return with_caveat(because(self.text, more), self.caveat)


class NoticeEntry(msgspec.Struct, frozen=True):
    """A change of the room or of a message, in a line."""

    at: float
    mark: str
    text: str
    opens: bool = True
    """Whether it starts a run of notices, which is set off from the messages before."""
    tone: Tone = Tone.QUIET
    message: int = 0
    """The message that it is about; 0 for none."""
    moves: tuple[Move, ...] = ()
    """The members who came and went, in order, in a notice that may take up the next ones."""
    quote: str = ""
    """Author and start of the message that it is about; empty without one."""
    sets_off: bool = False
    """Whether the whole room changes, so that a line across sets off the following entries."""
    seq: int = 0

    @property
    def line(self) -> str:
        return self.text


class DayEntry(msgspec.Struct, frozen=True):
    """The start of a day."""

    day: date


class GapEntry(msgspec.Struct, frozen=True):
    """Messages that are not shown here: their number, None if that is not known."""

    messages: int | None
    between: bool = False
    """Whether it is between two shown parts, otherwise above all of them."""
    lost: bool = False
    """Whether they can't be read."""


class UnsentEntry(msgspec.Struct, frozen=True):
    """A message that was written here and that the room has not acknowledged."""

    author: str
    text: str
    emote: bool
    opens: bool
    files: tuple[FileLine, ...] = ()
    quotes: tuple[QuoteLine, ...] = ()
    private: str = ""


Entry: TypeAlias = MessageEntry | AnswerEntry | RunEntry | CallEntry | NoticeEntry
"""An entry of one event."""

TimelineEntry: TypeAlias = (
    GapEntry | DayEntry | NoticeEntry | MessageEntry | AnswerEntry | UnsentEntry
)
"""An entry of a conversation, in which notices say how runs end and calls were answered."""
