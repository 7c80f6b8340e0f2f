"""Sending messages to a room."""

import secrets
from collections.abc import Callable, Iterable, Sequence

from genie_core.room.client.events import Deliver, MessageRejected, PendingChanged
from genie_core.room.client.model import PendingMessage
from genie_core.room.client.send_queue import SendQueue
from genie_core.room.client.signer import Signer
from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.errors import TooLong
from genie_core.room.protocol.events import FileRef, Quote
from genie_core.room.protocol.limits import Limits


class Messages:
    """Sends messages in the order in which they were written, each once its files have arrived."""

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
    ) -> str:
        """Send a message; returns the id that its `MessagePosted` event will have.

        It is kept, and sent again on each connection, until the room acknowledges it.

        Raises:
            TooLong: the room does not take so long a text.
            TooManyUnsent: too much is waiting already.

        """
        whole, limit = whole_text(text), self.limits.text_chars
        if len(whole) > limit:
            raise TooLong(len(whole), limit)
        id_ = secrets.token_hex(8)
        self._queue.send(
            PendingMessage(id_, whole, emote, self._clock(), tuple(files), tuple(quotes))
        )
        self._signer.note(id_)
        self._deliver(PendingChanged(self.pending))
        return id_

    def typing(self) -> None:
        """Tell the others that this person is typing; cheap to call on every key."""
        self._queue.typing()

    def restore(self, messages: Iterable[PendingMessage]) -> None:
        """Take over messages of an earlier session, which go with the next `release`."""
        kept = list(messages)
        self._queue.restore(kept)
        for message in kept:
            self._signer.note(message.id)

    def release(self) -> None:
        rejected = self._queue.release()
        for message in rejected:
            reason = str(TooLong(len(message.text), self.limits.text_chars))
            self._deliver(MessageRejected(message, reason))
        if rejected:
            self._deliver(PendingChanged(self.pending))
