"""What an engine knows of its room beyond what it is to answer."""

import logging

from genie_core.errors import GenieError
from genie_core.message import Message
from genie_core.room.engine.context import Missing, Place, as_answer, as_message, late_file
from genie_core.room.engine.verification import Trust
from genie_core.room.protocol.events import FileRef
from genie_core.room.state.thread import MessageThread
from genie_core.session import GroupSession

logger = logging.getLogger(__name__)


class Briefing:
    """Keeps a session's context up to date with what others say, answer and attach.

    What `trust` doubts is left out, and so is what the session will not have. Files have a `place`
    on this machine; those that are not here yet are told of by name, and once more when they are.
    """

    def __init__(
        self, session: GroupSession, owner: str, trust: Trust, place: Place | None
    ) -> None:
        self._session = session
        self._owner = owner
        self._trust = trust
        self._place = place
        self._awaited: dict[str, tuple[str, FileRef]] = {}

    def message(self, exchange: MessageThread) -> Message:
        """A message as the session is to get it, with the files that are here."""
        return as_message(exchange, self._place)

    def catch_up(self, item: Missing) -> None:
        """Tell what the session has not saved."""
        if not self._trust.doubts(item):
            self._tell(item.message)
            self.await_files(item.exchange)

    def on_said(self, exchange: MessageThread) -> None:
        """Tell what somebody has said that is not for this engine to answer."""
        self.catch_up(Missing(exchange, self.message(exchange), said=True))

    def on_answered(self, exchange: MessageThread) -> None:
        """Tell what another engine has answered."""
        answer = as_answer(exchange, self._owner)
        if answer is not None and not self._trust.doubts_answer(exchange):
            self._tell(answer)

    def await_files(self, exchange: MessageThread) -> None:
        """Remember which files of a message the session has only heard of."""
        for file in exchange.said.files:
            if self._place is not None and self._place(file.digest) is None:
                self._awaited[file.digest] = exchange.author, file

    def on_file(self, digest: str) -> None:
        """Tell of a file that is here now, if the session has only heard of it so far."""
        author, file = self._awaited.pop(digest, ("", None))
        if file is not None and self._place is not None:
            message = late_file(author, file, self._place)
            if message is not None:
                self._tell(message)

    def _tell(self, message: Message) -> None:
        """Add context. What the session will not have is left out: the log is data, not a fault."""
        try:
            self._session.append(message)
        except GenieError as error:
            logger.warning("left out of the engine's context: %s", error)
