"""The conversation of a room as messages in an engine's context.

Each message has the number of its event as request id, so that a restarted engine can compare its
memory with the room's log.
"""

import logging
import re
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
from genie_core.room.state.thread import MessageThread, Reply
from genie_core.session import GroupSession
from genie_core.storage.filenames import safe_name

logger = logging.getLogger(__name__)

CONTEXT_LIMIT: Final = 200
"""Most messages and answers that are added to the context of an engine that enters a room."""

CHANGED_CHARS: Final = 80
"""Characters of a message that tell which one was edited or deleted."""

_NOTE: Final = re.compile(
    r"\((?=\W{0,9}(?:in\W{1,9}reply|attached|the\W{1,9}file|changed\W{1,9}the|took\W{1,9}back)\b)",
    re.IGNORECASE,
)
"""Where something begins in a text that reads like a note about a message."""

_MARKS: Final = str.maketrans("“”„‟", '""""')

Place: TypeAlias = Callable[[str], Path | None]
"""Returns the path of the file with a digest; None if it is not on this machine (yet)."""


@dataclass(frozen=True, slots=True)
class MissingMessage:
    """A message or, unless `said`, an answer that is in the log but not in the engine's memory."""

    thread: MessageThread
    message: Message
    said: bool


class ContextSync:
    """Adds other members' messages, answers and files to a session's context.

    Leaves out private messages, and those that the `verifier` doubts or the session refuses.
    `place` finds files on this machine. A message names files that are missing; each is added when
    it arrives.
    """

    def __init__(
        self, session: GroupSession, owner: str, verifier: Verifier, place: Place | None
    ) -> None:
        self._session = session
        self._owner = owner
        self._verifier = verifier
        self._place = place
        self._awaited: dict[str, tuple[str, FileRef]] = {}

    def message(self, thread: MessageThread) -> Message:
        """Return a message for the session, with the files that are here."""
        return as_message(thread, self._place, self._verifier.reply_of(thread))

    def catch_up(self, item: MissingMessage) -> None:
        """Add a message or an answer that the session has not saved."""
        verifier, thread = self._verifier, item.thread
        if thread.is_private:
            return
        doubts = verifier.doubts_message if item.said else verifier.doubts_answer
        if not doubts(thread):
            self._append(item.message)
            self.await_files(thread)

    def on_said(self, thread: MessageThread) -> None:
        self.catch_up(MissingMessage(thread, self.message(thread), said=True))

    def on_answered(self, thread: MessageThread) -> None:
        answer = as_answer(thread, self._owner)
        is_shared = not thread.is_private
        if answer is not None and is_shared and not self._verifier.doubts_answer(thread):
            self._append(answer)

    def on_changed(self, thread: MessageThread, seq: int) -> None:
        """Add that a message was edited or deleted, by the event `seq`."""
        if not (thread.is_private or self._verifier.doubts_message(thread)):
            self._append(as_change(thread, seq))

    def await_files(self, thread: MessageThread) -> None:
        for file in thread.said.files:
            if self._place is not None and self._place(file.digest) is None:
                self._awaited[file.digest] = sender_of(thread), file

    def on_file(self, digest: str) -> None:
        """Add a file that arrived after its message."""
        author, file = self._awaited.pop(digest, ("", None))
        if file is not None and self._place is not None:
            message = late_file(author, file, self._place)
            if message is not None:
                self._append(message)

    def _append(self, message: Message) -> None:
        try:
            self._session.append(message)
        except GenieError as error:  # other members' messages may be invalid
            logger.warning("left out of the engine's context: %s", error)


def sender_of(thread: MessageThread) -> str:
    """Return a message's author for the engine; an agent's name is marked, as no name has a space."""
    return f"{thread.author} (agent)" if thread.by_agent else thread.author


def as_message(
    thread: MessageThread, place: Place | None = None, reply: Reply | None = None
) -> Message:
    """Convert a person's message for the engine, with its original.

    `place` finds files on this machine; without it, files are left out. Files that have not arrived
    (see `late_file`) or that agents can't read are only named, because an agent that gets such a
    file fails. It gets all files since its last run, so one file would break every later answer.
    """
    said = thread.said
    sender = sender_of(thread)
    text = _as_theirs(thread.text)
    content = f"* {sender} {text}" if said.emote else text
    if thread.is_deleted:
        content = "(deleted)"
    elif not content.strip():
        content = _in_place_of_text(said)
    if reply is not None:
        quoted = "a deleted message" if reply.is_deleted else f"“{_in_line(reply.text)}”"
        content = f"{content}\n(in reply to {reply.author}: {quoted})"
    readable = [file for file in said.files if _is_readable(file)]
    if place and (rest := [file for file in said.files if file not in readable]):
        content = f"{content}\n(attached, but not readable by agents: {_names(rest)})"
    if place and (absent := [file for file in readable if place(file.digest) is None]):
        content = f"{content}\n(attached, but not here yet: {_names(absent)})"
    return Message(
        content=content,
        sender=sender,
        request_id=str(thread.seq),
        threads=[_as_thread(quote) for quote in said.quotes if not quote.is_mark],
        attachments=_attachments(readable, place) if place else [],
    )


def as_change(thread: MessageThread, seq: int) -> Message:
    """Return a message for the engine that says how an earlier one was changed, by event `seq`."""
    before = _in_line(thread.said.text[:CHANGED_CHARS])
    what = f"(changed the message “{before}…” to)\n{_as_theirs(thread.text)}"
    if thread.is_deleted:
        what = f"(took back the message “{before}…”; do not act on it)"
    return Message(what, sender_of(thread), request_id=str(seq))


def _as_theirs(text: str) -> str:
    """Return a person's text in which a backslash stands before a text like a note of ours."""
    return _NOTE.sub(r"\\(", text)


def _in_line(text: str) -> str:
    """Return a person's text in one line, for quotation marks that it can't close."""
    return _as_theirs(" ".join(text.split()).translate(_MARKS))


def late_file(author: str, file: FileRef, place: Place) -> Message | None:
    """Return a message for a file that arrived after its message; None if agents can't read it."""
    attachments = _attachments([file], place) if _is_readable(file) else []
    if not attachments:
        return None
    return Message(f"(the file {_names([file])} is here now)", author, attachments=attachments)


def _is_readable(file: FileRef) -> bool:
    return family_of(file.media) is not None and file.size <= MAX_BYTES


def _names(files: Sequence[FileRef]) -> str:
    return ", ".join(safe_name(file.name) for file in files)


def _in_place_of_text(said: MessagePosted) -> str:
    """Return the content of a message with files or quotes but no text."""
    names = [safe_name(file.name) for file in said.files] or [quote.title for quote in said.quotes]
    return f"({', '.join(names)})" if names else "(nothing)"


def _as_thread(quote: Quote) -> Thread:
    return Thread(quote.title or quote.room, [Message(one.text, one.sender) for one in quote.lines])


def _attachments(files: Sequence[FileRef], place: Place) -> list[Attachment]:
    paths = [(file, place(file.digest)) for file in files]
    return [Attachment(str(path), safe_name(file.name), file.media) for file, path in paths if path]


def as_answer(thread: MessageThread, owner: str) -> Message | None:
    """Convert an answer for the engine; None if there is none yet.

    Answers of the owner's engine have the number of their message as request id, other answers
    their own number.
    """
    if thread.answer is None or thread.answered_seq is None:
        return None
    mark = thread.seq if thread.handler == owner else thread.answered_seq
    return Message(
        thread.answer.text, SYSTEM, receiver=thread.answer.receiver, request_id=str(mark)
    )


def missing(
    state: RoomState,
    owner: str,
    remembered: Sequence[Message],
    limit: int = CONTEXT_LIMIT,
    place: Place | None = None,
    reply_of: Callable[[MessageThread], Reply | None] | None = None,
) -> list[MissingMessage]:
    """Find the messages and answers that the engine of `owner` lacks, in the room's order.

    Returns at most the last `limit`, and none from before the engine's first saved message, so that
    a model that enters an old room does not read all of it.
    """
    known = {(message.request_id, message.sender == SYSTEM) for message in remembered}
    first = min((int(mark) for mark, _ in known if mark and mark.isdecimal()), default=0)
    items: list[tuple[int, MissingMessage]] = []
    for thread in reversed(state.threads.values()):
        if thread.seq < first or len(items) >= 2 * limit:
            break
        if thread.is_private:
            continue
        said = as_message(thread, place, (reply_of or state.reply_of)(thread))
        changed = state.amended.get(thread.seq)
        if (said.request_id, False) not in known:
            items.append((thread.seq, MissingMessage(thread, said, said=True)))
        elif changed is not None and (str(changed), False) not in known:
            change = as_change(thread, changed)
            items.append((changed, MissingMessage(thread, change, said=True)))
        answer = as_answer(thread, owner)
        if answer is not None and (answer.request_id, True) not in known:
            items.append((thread.answered_seq or 0, MissingMessage(thread, answer, said=False)))
    items.sort(key=lambda pair: pair[0])
    return [item for _, item in items[-limit:]]
