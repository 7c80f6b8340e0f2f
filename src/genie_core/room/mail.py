"""What one person sends to a room and gets from it: messages, and the files that they bring."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from genie_core.room.audience import Audience
from genie_core.room.client import RoomClient
from genie_core.room.files.sync import FileSync
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.held import Held
from genie_core.room.outbox import MAX_UNSENT
from genie_core.room.protocol.errors import TooManyUnsent
from genie_core.room.protocol.events import Event, FileRef, Quote
from genie_core.room.protocol.frames import FilePiece, FileStored, FrameRefused
from genie_core.room.seat import Link, LinkStatus, Unsent
from genie_core.storage.filenames import safe_name


class Mail:
    """Sends messages in the order in which they were typed, none before its files have arrived.

    What waits here comes after what the `client` still has to send. `arrived` is told the digest
    of each file of the room that is here from now on. Between `start` and `aclose` files travel.
    """

    def __init__(
        self,
        library: FileSync,
        client: RoomClient,
        audience: Audience,
        arrived: Callable[[str], None],
    ) -> None:
        self._library = library
        self._client = client
        self._audience = audience
        self._arrived = arrived
        self._held = Held(library.is_sent)

    @property
    def unsent(self) -> tuple[Unsent, ...]:
        """Messages typed here and not acknowledged yet, oldest first."""
        return *self._client.unsent, *self._held.waiting

    def start(self) -> None:
        """Begin to exchange files, whenever there is a connection."""
        self._library.start(self._client.ask, self._on_transfer)

    async def aclose(self) -> None:
        """Finish what is being written, and exchange no more files."""
        await self._library.aclose()

    def say(
        self, text: str, *, emote: bool, files: Sequence[FileRef], quotes: Sequence[Quote]
    ) -> None:
        """Send a message as soon as its files have arrived.

        Raises:
            TooLong: the room does not take so long a text.
            TooManyUnsent: too much waits already.

        """
        if len(self.unsent) >= MAX_UNSENT:
            raise TooManyUnsent(MAX_UNSENT)
        unsent = self._client.compose(text, emote=emote, files=files, quotes=quotes)
        if self._held.keeps(unsent):
            self._audience.listener.on_unsent(self.unsent)
        else:
            self._client.send(unsent)

    def hold(self, unsent: Iterable[Unsent]) -> None:
        """Keep messages, and bring their files again, until there is a connection.

        A file that is gone is left out: the room would refuse all of the message for it.
        """
        self._held.hold(unsent)
        for each in self._held.waiting:
            for file in each.files:
                if not self._library.resend(file):
                    self._leave_out(file.digest, safe_name(file.name))

    async def attach(self, path: Path) -> FileRef:
        """Take a file of this machine in, and begin to send it.

        Raises:
            NoSuchFile: this seat takes no files.
            GenieError: it can't be read, or is too large.

        """
        return await self._library.attach(path)

    def bring(self, file: FileRef) -> bool:
        """Begin to send a file that an earlier seat here took in; False if it is gone."""
        return self._library.resend(file)

    def detach(self, digest: str) -> None:
        """Stop to send an attached file after all, unless a message brings it."""
        brought = {file.digest for unsent in self.unsent for file in unsent.files}
        if digest not in brought:
            self._library.cancel(digest)

    def file(self, digest: str) -> Path | None:
        """Where a file of the room is on this machine; None if it has not arrived (yet)."""
        return self._library.path(digest)

    def recall(self, files: Iterable[FileRef]) -> None:
        """Take note of the files that the own copy of the room names."""
        self._library.expect(files)

    def on_event(self, event: Event) -> None:
        """Fetch what a new event brings."""
        self._library.on_event(event)

    def on_file(self, answer: FileStored | FilePiece | FrameRefused) -> None:
        """Take in what the room says about a file."""
        self._library.on_answer(answer)

    def on_link(self, status: LinkStatus) -> None:
        """Go on with files, or pause, and send what need not wait any more."""
        if status.link is Link.ONLINE:
            self._library.on_online(self._client.limits)
            self._release()  # from here on it is known what the room takes
        else:
            self._library.on_offline()

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Tell which messages wait, and let those go for which the client has space now."""
        self._release()
        self._audience.listener.on_unsent((*unsent, *self._held.waiting))

    def _on_transfer(self, transfer: Transfer) -> None:
        self._audience.listener.on_transfer(transfer)
        if transfer.complete and transfer.direction is Direction.DOWN:
            self._arrived(transfer.digest)
        if (
            transfer.problem
            and transfer.direction is Direction.UP
            and not self._library.has(transfer.digest)
        ):
            self._leave_out(transfer.digest, transfer.name)
        if transfer.complete or transfer.problem:
            self._release()

    def _leave_out(self, digest: str, name: str) -> None:
        if self._held.leave_out(digest):
            self._audience.warn(f"{name} is no longer on this machine; your message goes without")

    def _release(self) -> None:
        """Send what waited for its files, in the order in which it was typed."""
        waiting = self._held.waiting
        for unsent, problem in self._held.release(self._client.send):
            self._audience.listener.on_rejected(unsent, str(problem))
        if self._held.waiting != waiting:
            self._audience.listener.on_unsent(self.unsent)
