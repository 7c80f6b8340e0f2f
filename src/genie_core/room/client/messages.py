"""Sends messages to a room."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from genie_core.room.client.events import Deliver, MessageRejected, PendingChanged
from genie_core.room.client.model import PendingMessage
from genie_core.room.client.send_queue import SendQueue
from genie_core.room.client.signer import Signer
from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.errors import NotPrivate, QuietUnknown, TooLong
from genie_core.room.protocol.events import (
    ChangeBody,
    FileRef,
    MessageEdited,
    MessagePosted,
    Quote,
)
from genie_core.room.protocol.frames import KNOWN, QUIET, ChangeMessage
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.private import objection_to_private


class Messages:
    """Sends messages in the order in which they were written, each after its files."""

    def __init__(
        self, queue: SendQueue, signer: Signer, deliver: Deliver, clock: Callable[[], float]
    ) -> None:
        self.limits = Limits()
        self.host_knows: tuple[str, ...] = KNOWN
        self._queue = queue
        self._signer = signer
        self._deliver = deliver
        self._clock = clock

    @property
    def pending(self) -> tuple[PendingMessage, ...]:
        """The messages that the room has not acknowledged, oldest first."""
        return self._queue.pending

    def send(
        self,
        text: str,
        *,
        emote: bool = False,
        files: Sequence[FileRef] = (),
        quotes: Sequence[Quote] = (),
        reply_to: int = 0,
        to: str = "",
        quiet: bool = False,
    ) -> str:
        """Send a message; returns the id of its future `MessagePosted` event.

        Until the room acknowledges the message, it is sent again on each connection. `reply_to` is
        the number of the message or answer that it replies to. With `to`, only that member can read
        it, and with this person's own name only they and their agent; it takes neither files nor
        quotes. A `quiet` message rings no bell and shows no notification.

        Raises:
            NotPrivate: the message can't be sent privately.
            QuietUnknown: the host's program doesn't know quiet messages.
            TooLong: the text exceeds the room's limit.
            TooManyUnsent: too many messages wait.
        """
        text, limit = whole_text(text), self.limits.text_chars
        if len(text) > limit:
            raise TooLong(len(text), limit)
        if quiet and QUIET not in self.host_knows:
            raise QuietUnknown("the host's")
        id_ = secrets.token_hex(8)
        sealed: tuple[bytes, ...] = ()
        if to:
            to = self._reader_named(to)
            if files or quotes:
                raise NotPrivate("files and quotes can't be sent privately")
            sealed = self._signer.sealed_for(MessagePosted(id_, text), to).sealed
        about = self._signer.state.signature_of(reply_to) or b""
        message = PendingMessage(id_, text, emote, self._clock(), tuple(files), tuple(quotes))
        message = replace(message, reply_to=reply_to, to=to, about=about, sealed=sealed)
        self._queue.send(replace(message, quiet=quiet))
        self._signer.note(id_)
        self._deliver(PendingChanged(self.pending))
        return id_

    def _reader_named(self, name: str) -> str:
        """Return a member's name as the room spells it."""
        state, folded = self._signer.state, fold_name(name)
        spelled = next((each for each in state.people if fold_name(each) == folded), name)
        if why := objection_to_private(state, self._signer.name, spelled):
            raise NotPrivate(why)
        return spelled

    def change(self, body: ChangeBody) -> bool:
        """Edit or delete a message of this person, or react to any; False while offline.

        The room's `Event` with such a body confirms it. A refused edit becomes an `EditRejected`,
        any other refusal a notice.

        Raises:
            NotPrivate: the message is too old to know who may read its new text.
            TooLong: the new text exceeds the room's limit.
        """
        limit = self.limits.text_chars
        if isinstance(body, MessageEdited):
            if len(body.text) > limit:
                raise TooLong(len(body.text), limit)
            if body.message not in self._signer.state.threads:
                raise NotPrivate("the message is too old to be edited")
            return self._queue.ask(ChangeMessage(body, secrets.token_hex(8)))
        return self._queue.ask(ChangeMessage(body))

    def typing(self) -> None:
        """Show the other members that this person is typing; cheap enough for every key."""
        self._queue.typing()

    def restore(self, messages: Iterable[PendingMessage]) -> None:
        """Add messages of an earlier session; the next `release` sends them."""
        restored = list(messages)
        self._queue.restore(restored)
        for message in restored:
            self._signer.note(message.id)

    def release(self) -> None:
        rejected = self._queue.release()
        for message in rejected:
            reason = str(TooLong(len(message.text), self.limits.text_chars))
            self._deliver(MessageRejected(message, reason))
        if rejected:
            self._deliver(PendingChanged(self.pending))
