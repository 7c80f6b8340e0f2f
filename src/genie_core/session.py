"""The entry point: a group chat whose messages are reasoned about and answered."""

import asyncio
from asyncio import CancelledError, Future, Task
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeAlias
from weakref import finalize

from genie_core.agent.factory import AgentFactory
from genie_core.agent.runner import AgentRunner, Query, Reply
from genie_core.errors import (
    NotOnEventLoop,
    NotUnfinished,
    SessionStopped,
    Stage,
    StageFailed,
    StateError,
)
from genie_core.execution import Answered, Cancelled, Decided, Execution
from genie_core.message import SYSTEM, Attachment, Message
from genie_core.preferences import PreferencesLookup, PreferencesSource
from genie_core.reasoner.base import Response
from genie_core.reasoner.decision import decision
from genie_core.reasoner.factory import GroupReasonerFactory
from genie_core.reasoner.runner import Reasoned, ReasonerRunner
from genie_core.runtime.actor import Actor
from genie_core.runtime.progress import REASONER
from genie_core.runtime.resource_task import WaitLimit
from genie_core.runtime.tasks import check_loop, running_loop, start_task
from genie_core.session_events import SessionEvent, SessionEvents
from genie_core.storage.executions import (
    ExecutionJournal,
    ExecutionRecord,
    RecordedCall,
    Unfinished,
    journalled_approvals,
    written,
)
from genie_core.storage.messages import MessageLog, load_messages
from genie_core.storage.store import Store
from genie_core.validation import (
    check_asker,
    check_attachments,
    check_message,
    check_number,
    check_setting,
)

__all__ = ["Execution", "GroupSession", "RecordedCall", "Unfinished"]

_Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
_PRIVATE: Final = "private"
"""The key, in a person's part of the store, of the agent that answers private queries."""

_STOPPING: Final = "session is stopping"


class GroupSession:
    """Passes each message to its sender's reasoner and, on its decision, to its sender's agent.

    Messages keep the order of the calls to `handle` and `append`. Different senders are served
    concurrently. The messages of one sender are decided one after another, and the resulting
    queries answered one after another. The reasoner does not wait for the agent: a pending approval
    delays that person's later answers, but no decision. With `side_by_side` above 1, so many
    queries of one sender may be answered side by side, if the agent allows it; see `AgentRunner`.

    With a `data_store`, saved messages are loaded first, and new ones wait for that. The caller
    owns the store and may close it after `join`.

    `id` is the store's key for everything of this session: `<id>/session` for the messages and
    `<id>/<owner>/…` for each person's reasoner and agents. Sessions may share a store.

    A `durable` session locks its part of the store until `join` returns, and journals how each
    execution goes on, for `unfinished`. Turn it off for a program that has a lock and a log of runs
    of its own.

    A session belongs to the event loop on which it is first used. Every call from another loop or
    thread raises `NotOnEventLoop` and changes nothing.

    `async with GroupSession(…) as session` begins with all saved messages and ends as by `join`. An
    exception or a cancellation, inside or while it ends, cancels running work, and accepted
    messages are on disk afterwards all the same. Cancelling again leaves without waiting.

    Raises:
        SessionLocked: another durable session of this id has the store open.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the contract's name
        group_reasoner_factory: GroupReasonerFactory,
        agent_factory: AgentFactory,
        data_store: Store | None = None,
        preferences_source: PreferencesSource | None = None,
        *,
        side_by_side: int = 1,
        durable: bool = True,
    ) -> None:
        check_setting("id", id, str)
        check_setting("group_reasoner_factory", group_reasoner_factory, GroupReasonerFactory)
        check_setting("agent_factory", agent_factory, AgentFactory)
        check_setting("data_store", data_store, Store, optional=True)
        check_setting("preferences_source", preferences_source, PreferencesSource, optional=True)
        check_number("side_by_side", side_by_side)
        self.id = id
        self._reasoner_factory = group_reasoner_factory
        self._agent_factory = agent_factory
        lock = data_store.lock(id) if data_store and durable else None
        self._unlock = finalize(self, lock.release) if lock else None
        self._store = data_store.narrowed(id) if data_store else None
        self._preferences = preferences_source
        self._side_by_side = side_by_side
        self._patience = WaitLimit()
        self._wishes = PreferencesLookup(preferences_source, self._patience)
        self._conversation = MessageLog(self._store)
        journalled = durable and data_store is not None
        self._journal = ExecutionJournal(self._conversation.note, active=journalled)
        self._reasoners: dict[str, ReasonerRunner] = {}
        self._agents: dict[tuple[str, bool], AgentRunner] = {}
        self._executions: dict[Execution, Task[None] | None] = {}
        self._events = SessionEvents()
        self._stopping = False
        self._shutdown: Task[None] | None = None
        self._loop = running_loop()
        if self._loop is not None:
            self._conversation.open()

    @property
    def problems(self) -> list[str]:
        """Problems with the files on disk, one line each, for the person."""
        return self._store.problems if self._store else []

    async def __aenter__(self) -> Self:
        self._check_loop("__aenter__")
        await self._conversation.opened()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            await self._cancel_and_join()
            return
        try:
            await self.join()
        except CancelledError:
            await self._cancel_and_join()
            raise

    @property
    def messages(self) -> Sequence[Message]:
        """The messages of this chat, oldest first: a live view that can't be changed.

        Saved messages are in it once they are loaded.
        """
        return self._conversation.view

    async def events(self, after: int = 0) -> AsyncIterator[SessionEvent]:
        """Yield the events after a number, in all executions, then further events as they come.

        Any number of readers may read, as often as they like, until `join` has ended. Numbers grow,
        with gaps where the previews of an ended execution were. The session keeps the latest 2,000
        events, previews aside, and waits for no reader. Private queries are left out: these events
        may be shown to all.

        Raises:
            EventsMissed: the reader is further behind than that.
        """
        self._check_loop("events")
        async for event in self._events.read(after):
            yield event

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called; running work may still go on."""
        return self._stopping

    @property
    def running(self) -> list[Execution]:
        """Running executions, oldest first."""
        return [execution for execution in self._executions if not execution.done]

    @property
    def left_behind(self) -> list[Execution]:
        """Cancelled executions whose agents did not end and were left running."""
        queries = [query for agent in self._agents.values() for query in agent.abandoned]
        return [query.execution for query in queries if query.execution is not None]

    def handle(self, message: Message) -> Execution:
        """Add a message to the chat and start to work on it.

        A text with the receiver "system" needs no decision: the sender's agent answers it.

        Raises:
            SessionStopped: `stop` was called.
            InvalidMessage: the message is empty, can't be stored, or is from "system" in any
                spelling, since agents' messages are not reasoned about.
        """
        self._check_loop("handle")
        check_message(message)
        check_asker(message.sender)
        execution = self._accept(message)

        def begin() -> None:
            saved = self._conversation.add(message, self._journal.handled(execution.id))
            if decided := _addressed(message):
                files = message.attachments
                noted = self._journal.decided(execution.id, decided, files)
                work = partial(self._answer, execution, message, decided, files, noted, saved)
                self._start(execution, work)
                return
            ruling = self._reasoner(message.sender).submit(len(self._conversation.messages) - 1)
            work = partial(self._decide, execution, message, ruling, saved)
            self._start(execution, work, request=ruling)

        self._begin_when_open(execution, begin)
        return execution

    def append(self, message: Message) -> None:
        """Add a message as context only; "system" may be its sender."""
        self._check_loop("append")
        check_message(message)
        self._refuse_when_stopped()
        self._events.received(message)
        self._conversation.when_open(partial(self._conversation.add, message))

    def delegate(
        self,
        query: str,
        *,
        sender: str,
        receiver: str | None = None,
        request_id: str | None = None,
        attachments: Sequence[Attachment] = (),
        reason: str | None = None,
        private: bool = False,
    ) -> Execution:
        """Let the sender's agent answer a query without a decision.

        The chat gets the answer, but not the query. With `private`, it gets neither: a second agent
        of the sender answers, which has a memory of its own, and a process that ends leaves nothing
        to resume.
        """
        self._check_loop("delegate")
        origin = Message(query, sender, receiver, request_id=request_id)
        check_message(origin)
        check_asker(sender)
        files = list(attachments)
        check_attachments(files)
        decided = Decided(decision("delegate"), query, receiver, reason, 0.0)
        execution = self._accept(origin, private=private)

        def begin() -> None:
            noted = self._journal.delegated(execution.id, origin, decided, files)
            work = partial(self._answer, execution, origin, decided, files, noted, private=private)
            self._start(execution, work)

        self._begin_when_open(execution, begin)
        return execution

    async def unfinished(self) -> list[Unfinished]:
        """Return the executions that earlier processes left without an outcome, oldest first.

        They stay in the list until they are resumed, answered or closed.
        """
        self._check_loop("unfinished")
        await self._conversation.opened()
        return [self._as_unfinished(each) for each in self._conversation.unfinished.values()]

    async def get_group_chat_messages(self) -> str:
        """Return the messages of this group chat, oldest first, as a JSON list."""
        self._check_loop("get_group_chat_messages")
        await self._conversation.opened()
        return await self._conversation.to_json()

    async def remembered(self) -> list[Message]:
        """Return the messages that were on disk when the session was opened, oldest first.

        These are the session's own messages; nothing is read again.
        """
        self._check_loop("remembered")
        return await self._conversation.remembered()

    def request_ids(self) -> "Future[set[str]]":
        """Return a future with the request ids of all messages, those from disk included."""
        self._check_loop("request_ids")
        promise: Future[set[str]] = asyncio.get_running_loop().create_future()

        def collect() -> None:
            if not promise.done():
                promise.set_result(set(self._conversation.request_ids))

        self._conversation.when_open(collect)
        return promise

    @staticmethod
    async def load_messages(data_store: Store) -> list[Message] | None:
        """Read the messages saved in a store without opening a session; None if there are none.

        The store is either narrowed to the session's id, or the one given to the session if no
        other session shares it.
        """
        return await load_messages(data_store)

    def stop(self) -> None:
        """Refuse new messages and deny pending approvals; running work goes on.

        Waits that only prepare work (secrets, preferences, tool servers) are limited to
        `resource_task.GRACE` seconds from now on. May be called again.
        """
        check_loop(self._loop, "GroupSession.stop")
        self._stopping = True
        self._patience.limit()
        for execution in self._executions:
            execution.refuse_approvals(_STOPPING)

    async def join(self) -> None:
        """Wait until all work has ended and everything is on disk; stops the session if needed.

        Waits for reasoners and agents as long as they work. To end sooner, cancel the `running`
        executions: work that ignores this, and tool servers that do not close, are abandoned after
        some seconds. Cancelling the wait changes nothing: the work goes on, and `join` can be
        called again.
        """
        self._check_loop("join")
        self.stop()
        if self._shutdown is None or self._shutdown.cancelled():
            self._shutdown = start_task(self._close(), name=f"closing {self.id}")
        await asyncio.shield(self._shutdown)

    async def _close(self) -> None:
        await self._conversation.opened()
        for execution in [each for each, task in self._executions.items() if task is None]:
            self._ended(execution)  # it never began
        while tasks := {task for task in self._executions.values() if task is not None}:
            await asyncio.wait(tasks)
        runners: list[Actor[Any, Any]] = [*self._agents.values(), *self._reasoners.values()]
        for runner in runners:
            runner.stop()
        await asyncio.gather(*(runner.join() for runner in runners))
        if self._store is not None:
            with suppress(StateError):  # the store was closed before, which wrote everything
                await self._store.flush()
        self._events.close()
        if self._unlock is not None:
            self._unlock()

    async def _cancel_and_join(self) -> None:
        for execution in self.running:
            execution.cancel(_STOPPING)
        await self.join()

    def _check_loop(self, method: str) -> None:
        """Bind the session to the running loop, unless it belongs to another one."""
        loop = running_loop()
        if loop is None:
            raise NotOnEventLoop(f"GroupSession.{method}")
        check_loop(self._loop, f"GroupSession.{method}")
        self._loop = loop

    def _accept(
        self, message: Message, *, private: bool = False, id_: str | None = None
    ) -> Execution:
        self._refuse_when_stopped()
        observe = None if private else partial(self._events.record, message)
        execution = Execution(self._preferences, observe)
        execution.id = "" if private else id_ or self._journal.new_id()
        execution.origin = message
        execution.before_cancelling(partial(self._journal.ended, execution.id, "cancelled"))
        self._executions[execution] = None
        if not private:
            self._events.received(message, execution)
        return execution

    def _refuse_when_stopped(self) -> None:
        if self._stopping:
            raise SessionStopped(self.id)

    def _begin_when_open(self, execution: Execution, begin: Callable[[], None]) -> None:
        def attempt() -> None:
            try:
                begin()
            except Exception as error:  # noqa: BLE001 - this execution ends with it, no other does
                _ = self._journal.ended(execution.id, "failed")
                execution.fail(error, "state")
                self._ended(execution)

        self._conversation.when_open(attempt)

    def _start(
        self, execution: Execution, work: _Work, request: "Future[Reasoned] | None" = None
    ) -> None:
        task = start_task(self._see_through(execution, work))
        self._executions[execution] = task
        execution.run_in(task, request)
        task.add_done_callback(lambda _: self._ended(execution))

    def _ended(self, execution: Execution) -> None:
        self._executions.pop(execution, None)
        if execution.done:
            _ = self._journal.ended(execution.id, "cancelled")  # unless its outcome is noted
        execution.record(Cancelled("interrupted"))  # counts only if nothing else ended it

    async def _see_through(self, execution: Execution, work: _Work) -> None:
        try:
            await work()
        except (CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - the execution must end with any of them
            await self._fail(execution, error, "agent")

    async def _fail(self, execution: Execution, error: BaseException, at: Stage) -> None:
        await written(self._journal.ended(execution.id, "failed"))
        execution.fail(error, at)

    async def _decide(
        self,
        execution: Execution,
        message: Message,
        reply: "Future[Reasoned]",
        saved: "Future[None] | None" = None,
    ) -> None:
        try:
            ruling = await reply
        except Exception as error:  # noqa: BLE001 - recorded with its stage
            await _report_unsaved(execution, saved)
            await self._fail(execution, error, "reasoner")
            return
        for usage in ruling.spent:
            execution.spent(REASONER, usage)
        decided = _decided(ruling.response, ruling.elapsed)
        if decided.ignores:
            noted = self._journal.ended(execution.id, "ignored")
            await written(noted)
            await _report_unsaved(execution, saved, ruling.saved)
            execution.record(decided)
            return
        files = ruling.attachments
        noted = self._journal.decided(execution.id, decided, files)
        await self._answer(execution, message, decided, files, noted, saved, ruling.saved)

    async def _answer(
        self,
        execution: Execution,
        message: Message,
        decided: Decided,
        attachments: Sequence[Attachment],
        noted: "Future[None] | None",
        *unsaved: "Future[None] | None",
        private: bool = False,
    ) -> None:
        await written(noted)
        execution.record(decided)
        answers: list[tuple[Message, Future[None] | None]] = []

        def answered(text: str) -> None:
            # Before the agent's memory: a kill in between must not have the query run again.
            if execution.done or not text.strip():
                return
            execution.seal()
            receiver, request = decided.receiver, message.request_id
            answer = Message(str(text), SYSTEM, receiver=receiver, request_id=request)
            marks = self._journal.answered(execution.id)
            answers.append((answer, None if private else self._conversation.add(answer, marks)))

        try:
            owner = message.sender
            reply = await self._ask(
                execution, owner, decided, attachments, answered, private=private
            )
        except Exception:
            await _report_unsaved(execution, *unsaved)
            raise
        [(answer, added)] = answers
        await _report_unsaved(execution, *unsaved, reply.saved, added)
        execution.record(Answered(answer, reply.elapsed, reply.cut))

    async def _ask(
        self,
        execution: Execution,
        owner: str,
        decided: Decided,
        attachments: Sequence[Attachment],
        answered: Callable[[str], None],
        *,
        private: bool,
    ) -> Reply:
        async with self._wishes.along_with_query(owner, decided.receiver) as preferences:
            query = Query(
                text=decided.query or "",
                approvals=journalled_approvals(execution, self._journal),
                attachments=list(attachments),
                preferences=preferences,
                emit=execution.emit,
                execution=execution,
                answered=answered,
            )
            agent = self._agent(owner, private=private)
            promise = agent.submit(query)
        reply = await promise
        if not reply.text.strip():
            raise StageFailed("agent", agent.name, "the agent gave an empty answer")
        return reply

    def _as_unfinished(self, record: ExecutionRecord) -> Unfinished:
        calls = list(record.calls.values())
        return Unfinished(
            record.id,
            record.message,
            record.decided,
            approvals=[call for call in calls if call.approved is None],
            allowed=[call for call in calls if call.approved],
            _resume=self._resume,
            _answer=self._answer_unfinished,
            _close=self._close_unfinished,
        )

    def _take_unfinished(self, id_: str, method: str) -> ExecutionRecord:
        self._check_loop(f"unfinished.{method}")
        self._refuse_when_stopped()
        if id_ not in self._conversation.unfinished:
            raise NotUnfinished(id_)
        return self._conversation.unfinished.pop(id_)

    def _resume(self, id_: str) -> Execution:
        record = self._take_unfinished(id_, "resume")
        message, decided = record.message, record.decided
        execution = self._accept(message, id_=id_)
        _ = self._journal.resumed(id_)
        if decided is not None:
            work = partial(self._answer, execution, message, decided, record.attachments, None)
            self._start(execution, work)
        elif record.index is not None:
            ruling = self._reasoner(message.sender).submit(record.index)
            work = partial(self._decide, execution, message, ruling)
            self._start(execution, work, request=ruling)
        return execution

    def _answer_unfinished(self, id_: str, answer: Message) -> "Future[None]":
        check_message(answer)
        record = self._take_unfinished(id_, "answer")
        if answer.request_id is None:
            answer = replace(answer, request_id=record.message.request_id)
        return self._conversation.add(answer, self._journal.answered(id_))

    def _close_unfinished(self, id_: str, reason: str) -> "Future[None]":
        self._take_unfinished(id_, "close")
        return self._journal.closed(id_, reason)

    def _reasoner(self, owner: str) -> ReasonerRunner:
        if owner not in self._reasoners:
            self._reasoners[owner] = ReasonerRunner(
                owner,
                self._conversation.messages,
                self._reasoner_factory,
                self._store.narrowed(owner) if self._store else None,
                restored=self._conversation.restored,
                patience=self._patience,
            )
        return self._reasoners[owner]

    def _agent(self, owner: str, *, private: bool) -> AgentRunner:
        if (owner, private) not in self._agents:
            store = self._store
            if store is not None and private:
                store = store.narrowed(owner).narrowed(_PRIVATE)
            self._agents[owner, private] = AgentRunner(
                key=SYSTEM,
                name=SYSTEM,
                owner=owner,
                agent_factory=self._agent_factory,
                data_store=store,
                extra_tools={"get_group_chat_messages": self.get_group_chat_messages},
                side_by_side=self._side_by_side,
                patience=self._patience,
            )
        return self._agents[owner, private]


def _addressed(message: Message) -> Decided | None:
    """Return the decision on a text for the agent, which takes no reasoner."""
    if message.receiver != SYSTEM or not message.content.strip():
        return None
    reason = "addressed to the agent"
    return Decided(decision("delegate"), message.content, message.sender, reason, 0.0)


def _decided(response: Response, elapsed: float) -> Decided:
    return Decided(response.decision, response.query, response.receiver, response.reason, elapsed)


async def _report_unsaved(execution: Execution, *promises: "Future[None] | None") -> None:
    """Wait until everything is on disk, and record the unwritten parts."""
    asked = [promise for promise in promises if promise is not None]
    for promise in reversed(asked):  # mostly, there is nothing to wait for after the last one
        await written(promise)
    for promise in asked:
        execution.note_save(promise)
