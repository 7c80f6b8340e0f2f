"""The words of a log, as their authors wrote them, for surfaces that search, quote or announce them.

Nothing here is safe to show yet; `genie_core.room.view.entries` is.
"""

from typing import Final

import msgspec

from genie_core.room.protocol.events import (
    AnswerPosted,
    Event,
    FileRef,
    Quote,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import AGENT
from genie_core.room.view.kinds import ABOUT_ROOM, CHANGES, STEPS

LEFT_OUT: Final = ABOUT_ROOM | CHANGES | STEPS
"""Kinds of events without words of their own."""


class Spoken(msgspec.Struct, frozen=True):
    """A message or an answer, in the log as event `seq`."""

    seq: int
    at: float
    by: str
    """Its author; "genie" for an answer."""
    text: str
    message: int
    """The number of the message itself, or of the one it answers, as that log counts it."""
    is_answer: bool = False
    is_whole: bool = True
    """False for the part of an answer whose run failed or was stopped."""
    is_private: bool = False
    to: str = ""
    """The other reader of a private message, or the receiver of an answer."""
    emote: bool = False
    files: tuple[FileRef, ...] = ()
    quotes: tuple[Quote, ...] = ()


def spoken_in(event: Event) -> Spoken | None:
    """Return the message or answer that an event records or recovers; None for any other event."""
    original = event.original
    posted = event.posted
    if posted is not None:
        return Spoken(
            event.seq,
            original.at,
            original.by,
            posted.text,
            event.seq,
            is_private=bool(posted.to or posted.sealed),
            to=posted.to,
            emote=posted.emote,
            files=posted.files,
            quotes=posted.quotes,
        )
    match original.body:
        case AnswerPosted() as answer:
            return _answer(event, answer, is_whole=True)
        case RunFailed() | RunCancelled() as end if end.text:
            return _answer(event, end, is_whole=False)
    return None


def _answer(
    event: Event, body: AnswerPosted | RunFailed | RunCancelled, *, is_whole: bool
) -> Spoken:
    return Spoken(
        event.seq,
        event.original.at,
        AGENT,
        body.text,
        body.message,
        is_answer=True,
        is_whole=is_whole,
        is_private=bool(body.sealed),
        to=(body.receiver or "") if isinstance(body, AnswerPosted) else "",
    )
