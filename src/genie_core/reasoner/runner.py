"""Running one person's reasoner over the conversation."""

from asyncio import Future
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from genie_core.actor import Actor
from genie_core.datastore import DataStore
from genie_core.errors import StageFailed, stage
from genie_core.message import Attachment, Message
from genie_core.reasoner.base import Decision, GroupReasoner, Response
from genie_core.reasoner.factory import GroupReasonerFactory
from genie_core.state import StateKeeper


@dataclass(frozen=True, slots=True)
class Ruling:
    """A reasoner's response, and what goes with it.

    `attachments` are those of the messages it took in since it last delegated, `elapsed` the
    seconds it needed, and `saved` is done when its state is on disk.
    """

    response: Response
    attachments: list[Attachment]
    elapsed: float
    saved: "Future[None]"


class ReasonerRunner(Actor[int, Ruling]):
    """Asks one person's reasoner about messages, each given by its position in `messages`.

    `messages` is the live conversation, shared with its owner; it may grow at any time, but a
    reasoner never sees beyond the message that it decides on.

    `restored` is how many of them came from disk. A reasoner's saved state can have outlived the
    last messages it saw, and then counts more than there are.
    """

    def __init__(
        self,
        owner: str,
        messages: Sequence[Message],
        factory: GroupReasonerFactory,
        data_store: DataStore | None = None,
        *,
        restored: int = 0,
    ) -> None:
        super().__init__(f"reasoner of {owner}", factory.group_reasoner_idle_timeout)
        self._owner = owner
        self._messages = messages
        self._factory = factory
        self._state = StateKeeper(self.name, "reasoner", data_store)
        self._reasoner: GroupReasoner | None = None
        self._restored: int | None = restored
        self._ahead = 0
        self._attachments: list[Attachment] = []

    @asynccontextmanager
    async def resources(self) -> AsyncIterator[None]:
        """Make the reasoner and give it its memory."""
        reasoner = self._factory.create_group_reasoner(self._owner)
        await self._state.restore(reasoner)
        self._reasoner = reasoner
        if self._restored is not None:
            self._ahead = max(0, reasoner.processed - self._restored)
            self._restored = None
        try:
            yield
        finally:
            self._reasoner = None
            self._state.release(reasoner)

    async def serve(self, request: int) -> Ruling:
        """Let the reasoner take in everything up to the message, and decide on it."""
        assert self._reasoner is not None, "requests are only served inside resources()"  # noqa: S101 - an invariant of Actor
        reasoner = self._reasoner
        began = perf_counter()
        with stage("reasoner", self.name):
            updates = self._updates(reasoner, request)
            raw = await reasoner.run(updates)
            response = _understood(raw, updates[-1])
        for message in updates:
            self._attachments += message.attachments
        attachments: list[Attachment] = []
        if response.decision is Decision.DELEGATE:
            attachments, self._attachments = self._attachments, []
        elapsed = perf_counter() - began
        return Ruling(response, attachments, elapsed, self._state.save(reasoner))

    def _updates(self, reasoner: GroupReasoner, position: int) -> list[Message]:
        seen = reasoner.processed - self._ahead
        return list(self._messages[min(max(seen, 0), position) : position + 1])


def _understood(raw: Any, message: Message) -> Response:
    """Accept any object with a response's attributes, such as group-sense's own."""
    if raw is None:
        raise StageFailed("reasoner", f"reasoner of {message.sender}", "returned no response")
    decision = Decision(getattr(raw.decision, "value", raw.decision))
    query = raw.query
    if decision is Decision.DELEGATE and not query:
        query = message.content  # told to act but not what on: the message speaks for itself
    return Response(decision, query, raw.receiver or None, getattr(raw, "reason", None) or None)
