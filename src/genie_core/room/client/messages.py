"""Sends messages to a room."""

import secrets
from collections.abc import Callable, Iterable, Sequence

from genie_core.room.client.events import Deliver, MessageRejected, PendingChanged
from genie_core.room.client.model import PendingMessage
from genie_core.room.client.send_queue import SendQueue
from genie_core.room.client.signer import Signer
from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.errors import TooLong
from genie_core.room.protocol.events import ChangeBody, FileRef, MessageEdited, Quote
from genie_core.room.protocol.frames import ChangeMessage
from genie_core.room.protocol.limits import Limits


class Messages:
    """Sends messages in the order in which they were written, each after its files."""

    def __init__(
        self, queue: SendQueue, signer: Signer, deliver: Deliver, clock: Callable[[], float]
    ) -> None:
        self.limits = Limits()
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
    ) -> str:
        """Send a message; returns the id of its future `MessagePosted` event.

        Until the room acknowledges the message, it is sent again on each connection. `reply_to` is
        the number of the message or answer that it replies to.

        Raises:
            TooLong: the text exceeds the room's limit.
            TooManyUnsent: too many messages wait.
        """
        text, limit = whole_text(text), self.limits.text_chars
        if len(text) > limit:
            raise TooLong(len(text), limit)
        id_ = secrets.token_hex(8)
        self._queue.send(
            PendingMessage(id_, text, emote, self._clock(), tuple(files), tuple(quotes), reply_to)
        )
        self._signer.note(id_)
        self._deliver(PendingChanged(self.pending))
        return id_

    def change(self, body: ChangeBody) -> bool:
        """Edit or delete a message of this person, or react to any; False while offline.

        The room's `Event` with such a body confirms it. A refusal becomes a notice.

        Raises:
            TooLong: the new text exceeds the room's limit.
        """
        limit = self.limits.text_chars
        if isinstance(body, MessageEdited) and len(body.text) > limit:
            raise TooLong(len(body.text), limit)
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
