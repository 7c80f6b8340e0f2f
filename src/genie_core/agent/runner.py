"""Run one person's agent and its subagents."""

import asyncio
import logging
from asyncio import Future
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from genie_core.agent.approval import Approval, ApprovalContext, ApprovalQueue
from genie_core.agent.base import Agent, AgentInput, AsyncTool, CutAnswer
from genie_core.agent.factory import AgentFactory
from genie_core.agent.instance import Instance
from genie_core.errors import (
    ActorStopped,
    AttachmentError,
    GenieError,
    StageFailed,
    public_summary,
    summary,
)
from genie_core.message import Attachment
from genie_core.runtime.actor import Actor, Pool
from genie_core.runtime.overrides import extends
from genie_core.runtime.progress import Usage, What, note, reporting_to, stage
from genie_core.runtime.resource_task import WaitLimit, raise_if_cancelled
from genie_core.storage.agent_state import StateKeeper
from genie_core.storage.journal import encode_json
from genie_core.storage.store import Store
from genie_core.text.thoughts import TextFilter

if TYPE_CHECKING:
    from genie_core.execution import Execution

log = logging.getLogger(__name__)

MOST_ALIKE: Final = 8
"""How many agents of one name may wait for each other, so that a cycle ends."""


BESIDE_AFTER: Final = 5.0
"""Seconds after which a run no longer holds up the next one, where several may run."""

_CUT: Final = "This answer is incomplete: the model's length limit ended it."


def _discard(_text: str) -> None:
    """Ignore a piece of text."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query to an agent, and the callback for approvals.

    An `execution` also receives the reports of subagents that run for it. `answered` is called with
    the answer before the agent's memory of it is saved.
    """

    text: str
    approvals: ApprovalContext
    attachments: list[Attachment] = field(default_factory=list)
    preferences: str | None = None
    emit: Callable[[str], None] = _discard
    execution: "Execution | None" = None
    answered: Callable[[str], None] = _discard


@dataclass(frozen=True, slots=True)
class _Reports:
    """Forwards one agent's reports with its path, and notes whether a tool works for it."""

    path: str
    run: "_Run"
    execution: "Execution | None"

    def spent(self, usage: Usage) -> None:
        if self.execution is not None:
            self.execution.spent(self.path, usage)

    def doing(self, what: What, detail: str) -> None:
        if what in _ACTIVITIES:
            self.run.is_calling = what == "calling"
            self.run.runner.reconsider()
        if self.execution is not None:
            self.execution.doing(self.path, what, detail)


@dataclass(frozen=True, slots=True)
class Reply:
    """The agent's text, the seconds it took, and the future of its saved state.

    `cut`: the model's length limit ended the text.
    """

    text: str
    elapsed: float
    saved: "Future[None]"
    cut: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A runner's place in a hierarchy, and the parts that it shares with the others."""

    path: str
    above: tuple[str, ...]  # the names of the agents that wait for this one, the first one first
    store: Store | None
    pool: Pool


class _Visible:
    """Passes the pieces of an answer on without its thoughts."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._reader = TextFilter()

    def emit(self, piece: str) -> None:
        if shown := self._reader.feed(piece):
            self._emit(shown)

    def flush(self) -> None:
        """Pass the rest of an incomplete answer on."""
        if shown := self._reader.finish(complete=False):
            self._emit(shown)


_ACTIVITIES: Final = frozenset({"asking", "thinking", "writing", "calling"})


@dataclass(slots=True, eq=False)
class _Run:
    """A running query, for the tools called meanwhile.

    `asked` are its unanswered approval requests; `is_calling`: the last that it did is a tool call.
    """

    runner: "AgentRunner"
    query: Query | None
    began: float = field(default_factory=perf_counter)
    asked: int = 0
    is_calling: bool = False

    @property
    def is_held_up(self) -> bool:
        """Whether the next run need not wait for this one."""
        return bool(self.asked or self.is_calling) or perf_counter() - self.began >= BESIDE_AFTER


@dataclass(frozen=True, slots=True)
class _NotingQueue:
    """Passes approval requests on, and notes that the run waits for their answers."""

    queue: ApprovalQueue
    run: _Run

    async def put(self, item: Approval, /) -> None:
        self.run.asked += 1
        item.ftr.add_done_callback(self._answered)
        self.run.runner.reconsider()
        await self.queue.put(item)

    def _answered(self, _ftr: "Future[bool]") -> None:
        self.run.asked -= 1


_current: ContextVar[_Run | None] = ContextVar("run", default=None)


class AgentRunner(Actor[Query, Reply]):
    """Sends queries to one agent of one person, and runs its subagents.

    `key` names the agent's saved state in the owner's part of `data_store`, and the sender of its
    approval requests. The state of subagents lies below it, so that no two parents share a
    subagent. `extra_tools` are offered, besides `run_subagent`, to all agents of the hierarchy that
    direct others.

    Queries are answered one after another. With `side_by_side` above 1, and an agent that allows
    it, so many may run side by side: the next one starts as soon as each earlier one waits for an
    approval or a tool, or has run for `BESIDE_AFTER` seconds.
    """

    def __init__(
        self,
        key: str,
        name: str,
        owner: str,
        agent_factory: AgentFactory,
        data_store: Store | None = None,
        extra_tools: dict[str, AsyncTool] | None = None,
        *,
        side_by_side: int = 1,
        patience: WaitLimit | None = None,
        _place: _Place | None = None,
    ) -> None:
        if _place is None:
            _place = _Place(key, (), data_store.narrowed(owner) if data_store else None, Pool())
        super().__init__(
            f"agent {_place.path!r} of {owner}",
            agent_factory.agent_info(name).idle_timeout,
            patience,
        )
        self._key = key
        self._agent_name = name
        self._owner = owner
        self._factory = agent_factory
        self._extra_tools = extra_tools or {}
        self._place = _place
        self._state = StateKeeper(self.name, key, _place.store)
        self._agent: Agent | None = None
        self._side_by_side = side_by_side
        self._runs: list[_Run] = []
        self._subagents: dict[Instance, AgentRunner] = {}

    @property
    def path(self) -> str:
        """The agent's path as shown in approvals."""
        return self._place.path

    @property
    def subagents(self) -> list[str]:
        """The subagents in memory, as `name:instance`.

        A released one is dropped when another one starts, if its memory is on disk.
        """
        return [instance.title for instance in self._subagents]

    @property
    def active_subagents(self) -> list[str]:
        """The subagents in memory, as `name:instance`."""
        return [each.title for each, runner in self._subagents.items() if runner.active]

    @property
    def dispensable(self) -> bool:
        """Whether an equal runner could be created from disk."""
        subagents = self._subagents.values()
        return not self.active and self._state.on_disk and all(s.dispensable for s in subagents)

    @asynccontextmanager
    async def resources(self) -> AsyncIterator[None]:
        """Create the agent, restore its memory and open its tool servers."""
        tools = {**self._extra_tools, "run_subagent": self.run_subagent}
        agent = await self._factory.make_agent(self._agent_name, self._owner, tools)
        await self._state.restore(agent)
        async with AsyncExitStack() as servers:
            with stage("tools", f"tool servers of {self.name}"):
                await servers.enter_async_context(agent.mcp())
            raise_if_cancelled()  # code that swallowed that must not take a successor's place
            self._agent = agent
            try:
                yield
            finally:
                self._agent = None
                self._state.release(agent)

    async def serve(self, request: Query) -> Reply:
        """Run the agent; a cancelled run is remembered up to that point."""
        assert self._agent is not None, "requests are only served inside resources()"  # noqa: S101 - an invariant of Actor
        agent = self._agent
        query = AgentInput(request.text, request.attachments, request.preferences)
        run = _Run(self, request)
        approvals = replace(request.approvals, queue=_NotingQueue(request.approvals.queue, run))
        callback = approvals.approval_callback(self.path)
        visible = _Visible(request.emit)
        _current.set(run)  # for this request's task and those below it
        try:
            with (
                self._listed(run),
                stage("agent", self.name),
                reporting_to(_Reports(self.path, run, request.execution)),
            ):
                if extends(agent, "run_streaming", "run"):
                    text = await agent.run_streaming(query, callback, visible.emit)
                else:
                    text = await agent.run(query, callback)
        except asyncio.CancelledError:
            visible.flush()
            if self._in_charge():
                _ = self._remember(agent)  # a failure is among the store's problems
            raise
        except StageFailed:
            visible.flush()
            raise
        finally:
            run.query = None
        if not self._in_charge():
            raise ActorStopped(self.name)
        if not isinstance(text, str):
            raise StageFailed("agent", self.name, f"answered with {type(text).__name__}, not text")
        elapsed, cut = perf_counter() - run.began, isinstance(text, CutAnswer)
        shown = self._shown(text, cut=cut)
        request.answered(shown)
        return Reply(shown, elapsed, self._remember(agent), cut)

    def _shown(self, text: str, *, cut: bool) -> str:
        """Return an answer without thoughts. Raises `StageFailed` if nothing else is in it."""
        reader = TextFilter()
        reader.feed(text)
        reader.finish(complete=not cut)
        if reader.call:
            called = f" of {reader.call_name}" if reader.call_name else ""
            raise StageFailed("agent", self.name, f"wrote a call{called} as text, so none was made")
        if reader.thought and not reader.text.strip():
            raise StageFailed("agent", self.name, "gave thoughts but no answer; ask again")
        return reader.text

    @property
    def may_overlap(self) -> bool:
        return self._side_by_side > 1

    def may_start_beside(self) -> bool:
        """Whether the next query may start while others run; see the class."""
        return (
            len(self._runs) == self.serving < self._side_by_side
            and self._agent is not None
            and getattr(self._agent, "runs_side_by_side", False)
            and all(run.is_held_up for run in self._runs)
        )

    @contextmanager
    def _listed(self, run: _Run) -> Iterator[None]:
        """Count a run as running, and let the next one start once it takes long."""
        self._runs.append(run)
        timer = asyncio.get_running_loop().call_later(BESIDE_AFTER, self.reconsider)
        try:
            yield
        finally:
            timer.cancel()
            self._runs.remove(run)

    def invoke(self, input: AgentInput, context: ApprovalContext) -> "Future[str]":  # noqa: A002 - as in Agent.run
        """Send a query whose approvals `context` asks for; the future is the answer's text.

        For use without a session. Cancelling the future cancels the run.

        Raises:
            ActorStopped: `stop` was called; a `RuntimeError`.
        """
        query = Query(input.query, context, input.attachments, input.preferences)
        reply = self.submit(query)
        text: Future[str] = asyncio.get_running_loop().create_future()
        reply.add_done_callback(partial(_pass_text_on, text))
        text.add_done_callback(lambda _: reply.cancel())
        return text

    async def run(self, input: AgentInput) -> AsyncGenerator[Approval | str, None]:  # noqa: A002 - as in Agent.run
        """Send a query and yield the approval requests, then the answer.

        For use without a session. Closing the iterator early cancels the run.
        """
        asked: asyncio.Queue[Approval | None] = asyncio.Queue()
        query = Query(input.query, ApprovalContext(asked), input.attachments, input.preferences)
        reply = self.submit(query)
        reply.add_done_callback(lambda _: asked.put_nowait(None))
        try:
            while (approval := await asked.get()) is not None:
                yield approval
            yield (await reply).text
        finally:
            reply.cancel()

    async def run_subagent(
        self,
        query: str,
        subagent_name: str,
        subagent_instance: str | None = None,
        attachments: list[Attachment] = [],  # noqa: B006 - the contract's default; only read
    ) -> str:
        """Put a query to another agent; returns its answer as JSON.

        A subagent_response that begins with "Error:" says why there is no answer.

        Args:
            query: What to ask, complete in itself.
            subagent_name: Which kind of agent to ask.
            subagent_instance: The id from an earlier answer, to go on with that agent and its
                memory; without one, a new agent is asked.
            attachments: Files that the agent must open itself.

        Raises:
            ValueError: If there is no such agent, or an attachment is not described in full.
        """
        self._factory.agent_info(subagent_name)  # an unknown name must not create anything
        files = _described(attachments)
        asking = self._query_at_work()
        self._check_circle(subagent_name)
        instance = Instance.of(subagent_name, subagent_instance)
        asked = Query(query, asking.approvals, files, execution=asking.execution)
        answer = await _ask(self._subagent(instance), asked)
        return _as_json(
            subagent_name=subagent_name,
            subagent_instance=instance.id,
            subagent_response=answer,
        )

    def stop(self) -> None:
        """Accept no more requests. Subagents serve running ones until `join` stops them."""
        super().stop()
        if not self.active:
            self._stop_subagents()

    async def join(self) -> None:
        """Wait until this agent and its subagents are closed."""
        await super().join()
        if self._stopping:
            self._stop_subagents()
        await asyncio.gather(*(subagent.join() for subagent in self._subagents.values()))

    def _stop_subagents(self) -> None:
        for subagent in self._subagents.values():
            subagent.stop()

    def _remember(self, agent: Agent) -> "Future[None]":
        saved = self._state.save(agent)
        if self._agent is None:  # its tool servers broke meanwhile, and it was released too early
            self._state.release(agent)
        return saved

    def _query_at_work(self) -> Query:
        run = _current.get()
        if run is None or run.runner is not self or run.query is None:
            raise GenieError(f"{self.name} can run subagents only while it answers a query")
        return run.query

    def _check_circle(self, name: str) -> None:
        if (*self._place.above, self._agent_name).count(name) == MOST_ALIKE:
            raise GenieError(
                f"{self.name} can run no {name!r}: {MOST_ALIKE} of them wait for an answer already"
            )

    def _subagent(self, instance: Instance) -> "AgentRunner":
        runner = self._subagents.get(instance)
        if runner is None:
            self._subagents = {
                each: runner for each, runner in self._subagents.items() if not runner.dispensable
            }
            runner = self._subagents[instance] = self._new_subagent(instance)
        self._place.pool.use(runner)
        return runner

    def _new_subagent(self, instance: Instance) -> "AgentRunner":
        place = self._place
        below = _Place(
            path=f"{place.path}/{instance.title}" if place.above else instance.title,
            above=(*place.above, self._agent_name),
            store=place.store.narrowed(self._key) if place.store else None,
            pool=place.pool,
        )
        return AgentRunner(
            instance.key,
            instance.name,
            self._owner,
            self._factory,
            extra_tools=self._extra_tools,
            patience=self._patience,
            _place=below,
        )


def _pass_text_on(text: "Future[str]", reply: "Future[Reply]") -> None:
    if text.done():  # it was cancelled
        return
    if (error := reply.exception()) is not None:
        text.set_exception(error)
    else:
        text.set_result(reply.result().text)


async def _ask(subagent: AgentRunner, query: Query) -> str:
    """Return the answer, or the reason for none: the caller's run continues either way."""
    try:
        reply = await subagent.submit(query)
    except Exception as error:
        # A model hears of any failure and can try something else.
        log.warning("%s failed", subagent.name, exc_info=True)
        told = public_summary(error)
        note(told, summary(error))
        return f"Error: {told}"
    if query.execution is not None:
        reply.saved.add_done_callback(query.execution.note_save)
    if not reply.text.strip():
        return f"Error: {subagent.name} gave an empty answer"
    return f"{reply.text}\n\n[{_CUT}]" if reply.cut else reply.text


def _described(given: Any) -> list[Attachment]:
    """Accept attachments as objects or, from a model, as JSON objects or null."""
    return [each if isinstance(each, Attachment) else _attachment(each) for each in given or ()]


def _attachment(fields: Any) -> Attachment:
    try:
        attachment = Attachment.deserialize(fields)
    except (TypeError, LookupError):
        raise AttachmentError(repr(fields), "needs a path, a name and a media_type") from None
    return attachment


def _as_json(**fields: str) -> str:
    return encode_json(fields).decode()
