"""Opens what a room's log has sealed for one person: private messages, and requests to their agent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from genie_core.room.protocol.events import Event, MessagePosted, RecoveredEvent, SealedBody
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.sealing import unseal, without_content
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread

if TYPE_CHECKING:
    from genie_core.room.security.identity import Identity

B = TypeVar("B", bound=SealedBody)

NO_AGENT: Final = (
    "you have no agent of your own here: the host's would answer, and the host would read it"
)
AGENTS_READ_ALL: Final = "agents that are members write and read only what all members read"


def objection_to_private(state: RoomState, author: str, to: str) -> str:
    """Return why the author can't write privately to this member; empty if they can.

    With their own name as `to`, they write to their agent.
    """
    person = state.people.get(to)
    if person is None:
        return f"{to} has never been in this room"
    if person.is_agent or state.members.is_agent(author):
        return AGENTS_READ_ALL
    if not {fold_name(author), fold_name(to)} <= state.keys.keys():
        return f"the room does not know the key of {to}"
    if to == author and (person.role == "guest" or not person.engine):
        return NO_AGENT
    return ""


@dataclass(frozen=True, slots=True)
class PrivateReader:
    """Reads a log for the owner of an identity.

    A state gets events as `shown` returns them. What is sealed for others has no content, and
    neither has a sealed entry whose host shows one.
    """

    identity: "Identity"

    def shown(self, event: Event, keys: Mapping[str, str]) -> Event:
        """Return an event with what it has sealed; `keys` are the room's, by folded name."""
        body = event.body
        if isinstance(body, RecoveredEvent):
            body = msgspec.structs.replace(body, event=self.shown(body.event, keys))
        elif isinstance(body, SealedBody) and body.sealed:
            body = self._opened(body, event.by, keys)
        return event if body is event.body else msgspec.structs.replace(event, body=body)

    def open_state(self, state: RoomState) -> None:
        """Open what a state has that was restored from a snapshot of the log."""
        for thread in state.exchanges.values():
            if thread.is_private:
                self._open_thread(thread, state.keys)
        for call in state.proposals.values():
            if call.sealed:
                opened = self._opened(call.call, call.owner, state.keys)
                call.agent, call.tool, call.arguments = opened.agent, opened.tool, opened.arguments
                call.because, call.effects = opened.because, opened.effects

    def _open_thread(self, thread: MessageThread, keys: Mapping[str, str]) -> None:
        thread.said = self._opened(thread.said, thread.author, keys)
        if thread.edit is not None:
            thread.edit = self._opened(thread.edit, thread.author, keys)
        if thread.decision is not None:
            thread.decision = self._opened(thread.decision, thread.handler, keys)
        if thread.answer is not None:
            thread.answer = self._opened(thread.answer, thread.handler, keys)
        if thread.error is not None:
            thread.error = self._opened(thread.error, thread.handler, keys)
        if thread.cancelled is not None:
            thread.cancelled = self._opened(thread.cancelled, thread.handler, keys)

    def _opened(self, body: B, by: str, keys: Mapping[str, str]) -> B:
        author = keys.get(fold_name(by), "")
        is_mine = author == self.identity.key
        if not author or not (is_mine or self._may_be_reader(body, keys)):
            return without_content(body)
        return unseal(body, author, self.identity, 0 if is_mine else 1) or without_content(body)

    def _may_be_reader(self, body: SealedBody, keys: Mapping[str, str]) -> bool:
        if not isinstance(body, MessagePosted):
            return True
        return keys.get(fold_name(body.to)) == self.identity.key
