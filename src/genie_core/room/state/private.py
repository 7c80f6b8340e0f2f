"""Opens content sealed for one person: private messages, and requests to their agent."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from genie_core.room.protocol.events import (
    ApprovalRequested,
    Event,
    MessageEdited,
    MessagePosted,
    RecoveredEvent,
    SealedBody,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.sealing import CONTENT, unseal, without_content
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

    A state gets events as `shown` returns them. Events sealed for others have no content, and
    neither has a sealed entry whose host shows one. Steps of an engine are opened by its owner
    alone.
    """

    identity: "Identity"

    def shown(self, event: Event, state: RoomState) -> Event:
        """Return an event with its sealed content; `state` is the room up to it, or later."""
        body = event.body
        if isinstance(body, RecoveredEvent):
            body = msgspec.structs.replace(body, event=self.shown(body.event, state))
        elif isinstance(body, SealedBody) and body.sealed:
            body = self._opened(body, event.by, state)
        return event if body is event.body else msgspec.structs.replace(event, body=body)

    def open_state(self, state: RoomState) -> None:
        """Open the sealed content of a state that was restored from a snapshot of the log."""
        for thread in state.threads.values():
            if thread.is_private:
                self._open_thread(thread, state)
        for call in state.calls.values():
            if call.sealed:
                opened = self._opened(call.call, call.owner, state)
                for name in CONTENT[ApprovalRequested]:
                    setattr(call, name, getattr(opened, name))

    def _open_thread(self, thread: MessageThread, state: RoomState) -> None:
        thread.said = self._opened(thread.said, thread.author, state)
        if thread.edit is not None:
            thread.edit = self._opened(thread.edit, thread.author, state)
        if thread.decision is not None:
            thread.decision = self._opened(thread.decision, thread.handler, state)
        if thread.answer is not None:
            thread.answer = self._opened(thread.answer, thread.handler, state)
        if thread.error is not None:
            thread.error = self._opened(thread.error, thread.handler, state)
        if thread.cancelled is not None:
            thread.cancelled = self._opened(thread.cancelled, thread.handler, state)

    def _opened(self, body: B, by: str, state: RoomState) -> B:
        author = state.keys.get(fold_name(by), "")
        is_mine = author == self.identity.key
        if not author or not (is_mine or self._may_be_reader(body, state)):
            return without_content(body)
        return unseal(body, author, self.identity, 0 if is_mine else 1) or without_content(body)

    def _may_be_reader(self, body: SealedBody, state: RoomState) -> bool:
        if isinstance(body, MessageEdited):
            message = state.threads.get(body.message)
            if message is None:
                return True  # it is read back, and so is its message
            body = message.said
        if not isinstance(body, MessagePosted):
            return False
        return state.keys.get(fold_name(body.to)) == self.identity.key
