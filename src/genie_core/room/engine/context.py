"""The room's conversation as the engine's messages.

Each engine message carries the sequence number of the event it stands for as its request id, so
that after a restart what the engine has saved can be compared with what the room's log says.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from genie_core.agent.provider.files import MAX_BYTES, family_of
from genie_core.message import SYSTEM, Attachment, Message, Thread
from genie_core.room.protocol.events import FileRef, MessagePosted, Quote
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.storage.filenames import safe_name

CONTEXT_LIMIT: Final = 200
"""Messages and answers of the past that an engine is told when it comes to a room."""

Place: TypeAlias = Callable[[str], Path | None]
"""Where a file with this digest is on this machine; None if it is not here (yet)."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A message that the log has and the engine's memory lacks."""

    exchange: MessageThread
    message: Message
    said: bool


def as_message(exchange: MessageThread, place: Place | None = None) -> Message:
    """Turn what a person said into the engine's form.

    `place` tells where files are on this machine; without it they are left out. Those that are not
    here yet (see `late_file`), or that no agent reads, are only named: an agent that was handed one
    would not answer at all, and it is handed all that came since it was last asked, whoever
    attached them.
    """
    said = exchange.said
    content = f"* {exchange.author} {said.text}" if said.emote else said.text
    if not content.strip():
        content = _in_place_of_text(said)
    readable = [file for file in said.files if _is_readable(file)]
    if place and (rest := [file for file in said.files if file not in readable]):
        content = f"{content}\n(attached, but not to be read by agents: {_names(rest)})"
    if place and (absent := [file for file in readable if place(file.digest) is None]):
        content = f"{content}\n(attached, but not here yet: {_names(absent)})"
    return Message(
        content=content,
        sender=exchange.author,
        request_id=str(exchange.seq),
        threads=[_as_thread(quote) for quote in said.quotes],
        attachments=_attachments(readable, place) if place else [],
    )


def late_file(author: str, file: FileRef, place: Place) -> Message | None:
    """What to tell an engine when a file of an earlier message has come; None if it is none to read."""
    attachments = _attachments([file], place) if _is_readable(file) else []
    if not attachments:
        return None
    return Message(f"(the file {_names([file])} is here now)", author, attachments=attachments)


def _is_readable(file: FileRef) -> bool:
    return family_of(file.media) is not None and file.size <= MAX_BYTES


def _names(files: Sequence[FileRef]) -> str:
    return ", ".join(safe_name(file.name) for file in files)


def _in_place_of_text(said: MessagePosted) -> str:
    """What a message says that brings something and has no words of its own."""
    names = [safe_name(file.name) for file in said.files] or [quote.title for quote in said.quotes]
    return f"({', '.join(names)})" if names else "(nothing)"


def _as_thread(quote: Quote) -> Thread:
    return Thread(quote.title or quote.room, [Message(one.text, one.sender) for one in quote.lines])


def _attachments(files: Sequence[FileRef], place: Place) -> list[Attachment]:
    """Those of the files that are here: one that is not would fail the agent that wants to read it."""
    found = [(file, place(file.digest)) for file in files]
    return [Attachment(str(path), safe_name(file.name), file.media) for file, path in found if path]


def as_answer(exchange: MessageThread, owner: str) -> Message | None:
    """Turn an answer into the engine's form; None if there is none yet.

    The owner's own engine has marked its answers with the message they answer, others' answers
    are marked with their own number.
    """
    if exchange.answer is None or exchange.answered_seq is None:
        return None
    mark = exchange.seq if exchange.handler == owner else exchange.answered_seq
    return Message(
        exchange.answer.text,
        SYSTEM,
        receiver=exchange.answer.receiver,
        request_id=str(mark),
    )


def missing(
    state: RoomState,
    owner: str,
    remembered: Sequence[Message],
    limit: int = CONTEXT_LIMIT,
    place: Place | None = None,
) -> list[Missing]:
    """Find what the engine of `owner` lacks as context, in the room's order.

    What lies before the engine's first memory stays unknown to it, and of the rest the last
    `limit`: somebody who enters an old room does not make a model read all of it.
    """
    known = {(message.request_id, message.sender == SYSTEM) for message in remembered}
    first = min((int(mark) for mark, _ in known if mark and mark.isdecimal()), default=0)
    found: list[tuple[int, Missing]] = []
    for exchange in reversed(state.exchanges.values()):
        if exchange.seq < first or len(found) >= 2 * limit:
            break
        said = as_message(exchange, place)
        if (said.request_id, False) not in known:
            found.append((exchange.seq, Missing(exchange, said, said=True)))
        answer = as_answer(exchange, owner)
        if answer is not None and (answer.request_id, True) not in known:
            found.append((exchange.answered_seq or 0, Missing(exchange, answer, said=False)))
    found.sort(key=lambda pair: pair[0])
    return [item for _, item in found[-limit:]]
