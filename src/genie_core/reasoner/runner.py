"""Runs one person's reasoner over the conversation."""

from asyncio import Future
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

from genie_core.errors import ActorStopped, StageFailed, StateError
from genie_core.message import SYSTEM, Attachment, Message
from genie_core.reasoner.base import GroupReasoner, Response
from genie_core.reasoner.decision import decision
from genie_core.reasoner.factory import GroupReasonerFactory
from genie_core.runtime.actor import Actor
from genie_core.runtime.progress import Usage, What, reporting_to, stage
from genie_core.runtime.resource_task import WaitLimit
from genie_core.storage.agent_state import StateKeeper
from genie_core.storage.store import Store
from genie_core.text.thoughts import without_thoughts

_HANDED_OVER: Final = "attachments"  # the key of how far a person's attachments are handed over
_AHEAD: Final = "ahead"  # the key of how many messages it counts that were lost, or shown twice


@dataclass(slots=True)
class Reasoned:
    """A reasoner's response with its circumstances.

    `attachments` are those of the messages so far that no earlier delegation passed on, `elapsed`
    the seconds it took, `saved` completes when the reasoner's state is on disk, and `spent` is the
    usage per model.
    """

    response: Response
    attachments: list[Attachment]
    elapsed: float
    saved: "Future[None]"
    spent: tuple[Usage, ...] = ()


class _Bill:
    """Sums up a decision's usage."""

    def __init__(self) -> None:
        self._usages: dict[tuple[str, bool], Usage] = {}

    @property
    def usages(self) -> tuple[Usage, ...]:
        return tuple(self._usages.values())

    def spent(self, usage: Usage) -> None:
        key = usage.model, usage.cost is None
        known = self._usages.get(key)
        self._usages[key] = usage if known is None else known + usage

    def doing(self, what: What, detail: str) -> None:
        """Nothing: a decision is over too soon to be watched."""


class ReasonerRunner(Actor[int, Reasoned]):
    """Asks one person's reasoner about messages, given by their index in `messages`.

    `messages` is the live conversation, shared with its owner; it may grow at any time, but a
    reasoner never sees beyond the message that it decides on.

    `restored` is how many of them came from disk. A saved state may be newer than the last messages
    on disk, and then counts more than there are.

    The position up to which attachments were passed on is kept apart from the reasoner's
    `processed`, and saved when it changes.
    """

    def __init__(
        self,
        owner: str,
        messages: Sequence[Message],
        factory: GroupReasonerFactory,
        data_store: Store | None = None,
        *,
        restored: int = 0,
        patience: WaitLimit | None = None,
    ) -> None:
        super().__init__(f"reasoner of {owner}", factory.group_reasoner_idle_timeout, patience)
        self._owner = owner
        self._messages = messages
        self._factory = factory
        self._store = data_store
        self._state = StateKeeper(self.name, "reasoner", data_store)
        self._reasoner: GroupReasoner | None = None
        self._restored: int | None = restored
        self._ahead = 0
        self._handed_over = 0
        self._stage = stage("reasoner", self.name)

    @asynccontextmanager
    async def resources(self) -> AsyncIterator[None]:
        """Create the reasoner and restore its memory."""
        reasoner = await self._factory.make_group_reasoner(self._owner)
        await self._state.restore(reasoner)
        if self._restored is not None:
            await self._find_place(reasoner, self._restored)
            self._restored = None
        self._reasoner = reasoner
        try:
            yield
        finally:
            self._reasoner = None
            self._state.release(reasoner)

    async def serve(self, request: int) -> Reasoned:
        """Process all messages up to this one and decide on it."""
        assert self._reasoner is not None, "requests are only served inside resources()"  # noqa: S101 - an invariant of Actor
        reasoner = self._reasoner
        began = perf_counter()
        bill = _Bill()
        with self._stage, reporting_to(bill):
            updates = self._updates(reasoner, request)
            before = reasoner.processed
            raw = await reasoner.run(updates)
        if not self._in_charge():
            raise ActorStopped(self.name)
        if before - self._ahead > request:
            self._note_repeated(reasoner.processed - before)
        saved = self._state.save(reasoner)  # with any answer, it has taken the messages in
        with self._stage:
            response = _understood(raw, self.name)
        attachments: list[Attachment] = []
        if response.decision.value == "delegate":
            attachments = self._hand_over(request)
        return Reasoned(response, attachments, perf_counter() - began, saved, bill.usages)

    def _hand_over(self, position: int) -> list[Attachment]:
        fresh = self._messages[self._handed_over : position + 1]
        self._handed_over = position + 1
        attachments = [each for message in fresh for each in message.attachments]
        if attachments and self._store is not None:
            # A failure is among the store's problems; at worst they are handed over once more.
            _ = self._store.save(_HANDED_OVER, self._handed_over)
        return attachments

    async def _find_place(self, reasoner: GroupReasoner, restored: int) -> None:
        """Find the restored messages that the reasoner has not seen.

        It may have seen some that were lost. Their number is saved: once newer messages take their
        place, it can't be determined any more.
        """
        self._handed_over = min(await self._saved_count(_HANDED_OVER), restored)
        before = await self._saved_count(_AHEAD)
        with self._stage:
            processed = reasoner.processed
            self._ahead = max(before if processed >= before else 0, processed - restored)
        if self._store is not None and self._ahead != before:
            _ = self._store.save(_AHEAD, self._ahead)  # a failure is among the store's problems

    def _note_repeated(self, count: int) -> None:
        """Remember that the reasoner counts messages twice: it was shown one that it knew."""
        self._ahead += count
        if self._store is not None:
            _ = self._store.save(_AHEAD, self._ahead)  # a failure is among the store's problems

    async def _saved_count(self, key: str) -> int:
        if self._store is None:
            return 0
        try:
            count = await self._store.load(key)
        except StateError:  # nothing is there, or it can't be read, which the store reports
            return 0
        return count if isinstance(count, int) and count > 0 else 0

    def _updates(self, reasoner: GroupReasoner, position: int) -> list[Message]:
        seen = reasoner.processed - self._ahead
        return list(self._messages[min(max(seen, 0), position) : position + 1])


class GroupReasonerRunner(Actor[list[Message], Response]):
    """Asks one person's reasoner about a conversation; for use without a session.

    The reasoner's state is kept in the owner's part of `data_store`. `key` is only a label.
    """

    def __init__(
        self,
        key: str,
        owner: str,
        group_reasoner_factory: GroupReasonerFactory,
        data_store: Store | None = None,
    ) -> None:
        name = f"reasoner of {owner}"
        super().__init__(name, group_reasoner_factory.group_reasoner_idle_timeout)
        self.key = key
        self.owner = owner
        self._factory = group_reasoner_factory
        store = data_store.narrowed(owner) if data_store else None
        self._state = StateKeeper(name, "reasoner", store)
        self._reasoner: GroupReasoner | None = None

    def invoke(self, messages: list[Message]) -> "Future[Response]":
        """Decide on the last message of a conversation.

        The reasoner gets the messages that it has not seen. One for "system" needs no decision.

        Raises:
            ActorStopped: `stop` was called; a `RuntimeError`.
        """
        return self.submit(list(messages))

    @asynccontextmanager
    async def resources(self) -> AsyncIterator[None]:
        """Create the reasoner and restore its memory."""
        reasoner = await self._factory.make_group_reasoner(self.owner)
        await self._state.restore(reasoner)
        self._reasoner = reasoner
        try:
            yield
        finally:
            self._reasoner = None
            self._state.release(reasoner)

    async def serve(self, request: list[Message]) -> Response:
        """Let the reasoner decide, and save its state."""
        assert self._reasoner is not None, "requests are only served inside resources()"  # noqa: S101 - an invariant of Actor
        last = request[-1]
        if last.receiver == SYSTEM:
            return Response(decision("delegate"), last.content, last.sender)
        with stage("reasoner", self.name):
            raw = await self._reasoner.run(
                request[min(self._reasoner.processed, len(request) - 1) :]
            )
        _ = self._state.save(self._reasoner)  # a failure is among the store's problems
        with stage("reasoner", self.name):
            return _understood(raw, self.name)


def _understood(raw: Any, subject: str) -> Response:
    """Accept any object with a response's attributes, such as group-sense's own."""
    if not hasattr(raw, "decision"):
        raise StageFailed("reasoner", subject, f"returned {type(raw).__name__}, not a Response")
    decided = decision(getattr(raw.decision, "value", raw.decision))
    query = raw.query
    if decided.value == "delegate" and not (isinstance(query, str) and query.strip()):
        raise StageFailed("reasoner", subject, "delegated without saying what to ask the agent")
    receiver, reason = raw.receiver or None, getattr(raw, "reason", None) or None
    for name, value in (("query", query), ("receiver", receiver), ("reason", reason)):
        if value is not None and not isinstance(value, str):
            raise StageFailed(
                "reasoner", subject, f"gave {type(value).__name__} as {name}, not text"
            )
    return Response(decided, query, receiver, reason and (without_thoughts(reason) or None))
