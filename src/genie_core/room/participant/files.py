"""The files of a joined room, as members attach and receive them."""

from collections.abc import Callable
from pathlib import Path

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import OnEvent, PendingChanged, warning
from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.files.sync import FileSync
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.protocol.events import FileRef
from genie_core.storage.filenames import safe_name


class RoomFiles:
    """Attaches files to messages, and holds messages until their files are sent.

    `arrived` is called with the digest of each downloaded file.
    """

    def __init__(
        self,
        sync: FileSync,
        connection: RoomConnection,
        emit: OnEvent,
        arrived: Callable[[str], None],
    ) -> None:
        self.sync = sync
        self._connection = connection
        self._emit = emit
        self._arrived = arrived
        connection.queue.is_sent = sync.is_sent

    async def attach(self, path: Path) -> FileRef:
        """Read a file of this machine and start to send it; `Transfer` events report its progress.

        Raises:
            NoSuchFile: files can't be attached here.
            GenieError: it can't be read, is no file, or is too large for the room.
        """
        return await self.sync.attach(path)

    def bring(self, file: FileRef) -> bool:
        """Send a file attached in an earlier session; False if it is gone."""
        return self.sync.resend(file)

    def detach(self, digest: str) -> None:
        """Stop sending an attached file, unless a pending message names it."""
        pending = self._connection.messages.pending
        if digest not in {file.digest for message in pending for file in message.files}:
            self.sync.cancel(digest)

    def path(self, digest: str) -> Path | None:
        """Return the path of a file on this machine; None until it has arrived."""
        return self.sync.path(digest)

    def start(self) -> None:
        """Exchange files from now on, while connected."""
        self.sync.start(self._connection.queue.ask, self._on_transfer)

    def restore(self) -> None:
        """Send the files of pending messages again, leaving out missing ones.

        The room would refuse a whole message because of one missing file.
        """
        for message in self._connection.messages.pending:
            for file in message.files:
                if not self.sync.resend(file):
                    self._leave_out(file.digest, safe_name(file.name))

    def on_connection(self, status: ConnectionStatus) -> None:
        """Resume or pause transfers."""
        if status.state is ConnectionState.ONLINE:
            self.sync.on_online(self._connection.messages.limits)
            self._connection.messages.release()
        else:
            self.sync.on_offline()

    def _on_transfer(self, transfer: Transfer) -> None:
        self._emit(transfer)
        if transfer.complete and transfer.direction is Direction.DOWN:
            self._arrived(transfer.digest)
        if (
            transfer.problem
            and transfer.direction is Direction.UP
            and not self.sync.has(transfer.digest)
        ):
            self._leave_out(transfer.digest, transfer.name)
        if transfer.complete or transfer.problem:
            self._connection.messages.release()

    def _leave_out(self, digest: str, name: str) -> None:
        if self._connection.queue.leave_out(digest):
            self._emit(warning(f"{name} is no longer on this machine; your message goes without"))
            self._emit(PendingChanged(self._connection.messages.pending))
