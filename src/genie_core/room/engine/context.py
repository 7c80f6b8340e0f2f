"""What an engine knows of its room: the conversation as the engine's messages.

Each engine message carries the sequence number of the event it stands for as its request id, so
that after a restart the engine's memory can be compared with the room's log.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from genie_core.agent.provider.files import MAX_BYTES, family_of
from genie_core.errors import GenieError
from genie_core.message import SYSTEM, Attachment, Message, Thread
from genie_core.room.engine.verification import Verifier
from genie_core.room.protocol.events import FileRef, MessagePosted, Quote
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.session import GroupSession
from genie_core.storage.filenames import safe_name

logger = logging.getLogger(__name__)

CONTEXT_LIMIT: Final = 200
"""Messages and answers of the past that an engine is told when it enters a room."""

Place: TypeAlias = Callable[[str], Path | None]
"""Where a file with this digest is on this machine; None if it is not here (yet)."""


@dataclass(frozen=True, slots=True)
class MissingMessage:
    """A message or, unless `said`, an answer that the log has and the engine's memory lacks."""

    exchange: MessageThread
    message: Message
    said: bool


class ContextSync:
    """Keeps a session's context up to date with what other members write, answer and attach.

    Messages that the `verifier` doubts, or that the session refuses, are left out. `place` finds
    files on this machine; files that have not arrived are named, and told once more when they have.
    """

    def __init__(
        self, session: GroupSession, owner: str, verifier: Verifier, place: Place | None
    ) -> None:
        self._session = session
        self._owner = owner
        self._verifier = verifier
        self._place = place
        self._awaited: dict[str, tuple[str, FileRef]] = {}

    def message(self, exchange: MessageThread) -> Message:
        """Return a message in the session's form, with the files that are here."""
        return as_message(exchange, self._place)

    def catch_up(self, item: MissingMessage) -> None:
        """Add what the session has not saved."""
        verifier, exchange = self._verifier, item.exchange
        doubts = verifier.doubts_message if item.said else verifier.doubts_answer
        if not doubts(exchange):
            self._append(item.message)
            self.await_files(exchange)

    def on_said(self, exchange: MessageThread) -> None:
        self.catch_up(MissingMessage(exchange, self.message(exchange), said=True))

    def on_answered(self, exchange: MessageThread) -> None:
        answer = as_answer(exchange, self._owner)
        if answer is not None and not self._verifier.doubts_answer(exchange):
            self._append(answer)

    def await_files(self, exchange: MessageThread) -> None:
        for file in exchange.said.files:
            if self._place is not None and self._place(file.digest) is None:
                self._awaited[file.digest] = exchange.author, file

    def on_file(self, digest: str) -> None:
        """Add a file that has arrived after its message."""
        author, file = self._awaited.pop(digest, ("", None))
        if file is not None and self._place is not None:
            message = late_file(author, file, self._place)
            if message is not None:
                self._append(message)

    def _append(self, message: Message) -> None:
        try:
            self._session.append(message)
        except GenieError as error:  # the log is data, not a fault
            logger.warning("left out of the engine's context: %s", error)


def as_message(exchange: MessageThread, place: Place | None = None) -> Message:
    """Turn a person's message into the engine's form.

    `place` finds files on this machine; without it they are left out. Files that have not arrived
    (see `late_file`), or that no agent reads, are only named: given one, an agent would not answer
    at all, and it is given all files since it was last asked.
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
    """The message for a file of an earlier message that has arrived; None if no agent reads it."""
    attachments = _attachments([file], place) if _is_readable(file) else []
    if not attachments:
        return None
    return Message(f"(the file {_names([file])} is here now)", author, attachments=attachments)


def _is_readable(file: FileRef) -> bool:
    return family_of(file.media) is not None and file.size <= MAX_BYTES


def _names(files: Sequence[FileRef]) -> str:
    return ", ".join(safe_name(file.name) for file in files)


def _in_place_of_text(said: MessagePosted) -> str:
    """The content of a message that has files or quotes, but no text."""
    names = [safe_name(file.name) for file in said.files] or [quote.title for quote in said.quotes]
    return f"({', '.join(names)})" if names else "(nothing)"


def _as_thread(quote: Quote) -> Thread:
    return Thread(quote.title or quote.room, [Message(one.text, one.sender) for one in quote.lines])


def _attachments(files: Sequence[FileRef], place: Place) -> list[Attachment]:
    """The files that are here: a missing one would fail the agent that reads it."""
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
        exchange.answer.text, SYSTEM, receiver=exchange.answer.receiver, request_id=str(mark)
    )


def missing(
    state: RoomState,
    owner: str,
    remembered: Sequence[Message],
    limit: int = CONTEXT_LIMIT,
    place: Place | None = None,
) -> list[MissingMessage]:
    """Find what the engine of `owner` lacks as context, in the room's order.

    Returns at most the last `limit`, and nothing from before the engine's first memory: entering an
    old room does not make a model read all of it.
    """
    known = {(message.request_id, message.sender == SYSTEM) for message in remembered}
    first = min((int(mark) for mark, _ in known if mark and mark.isdecimal()), default=0)
    found: list[tuple[int, MissingMessage]] = []
    for exchange in reversed(state.exchanges.values()):
        if exchange.seq < first or len(found) >= 2 * limit:
            break
        said = as_message(exchange, place)
        if (said.request_id, False) not in known:
            found.append((exchange.seq, MissingMessage(exchange, said, said=True)))
        answer = as_answer(exchange, owner)
        if answer is not None and (answer.request_id, True) not in known:
            found.append((exchange.answered_seq or 0, MissingMessage(exchange, answer, said=False)))
    found.sort(key=lambda pair: pair[0])
    return [item for _, item in found[-limit:]]
