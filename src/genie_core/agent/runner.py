"""Running one person's agent, and the agents that it directs."""

import asyncio
import json
import logging
from asyncio import Future
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from uuid import uuid4

from genie_core.actor import Actor
from genie_core.agent.approval import ApprovalContext
from genie_core.agent.base import Agent, AgentInput, AsyncTool
from genie_core.agent.factory import AgentFactory
from genie_core.datastore import DataStore
from genie_core.errors import ActorStopped, GenieError, StageFailed, stage
from genie_core.message import Attachment
from genie_core.state import StateKeeper

log = logging.getLogger(__name__)


def _discard(_text: str) -> None:
    """Ignore a piece of text that nobody follows."""


@dataclass(frozen=True, slots=True)
class Query:
    """What an agent is asked, and whom it asks for approval meanwhile."""

    text: str
    approvals: ApprovalContext
    attachments: list[Attachment] = field(default_factory=list)
    preferences: str | None = None
    emit: Callable[[str], None] = _discard


@dataclass(frozen=True, slots=True)
class Reply:
    """What the agent said, the seconds it needed, and the promise of its state being saved."""

    text: str
    elapsed: float
    saved: "Future[None]"


class AgentRunner(Actor[Query, Reply]):
    """Puts queries to one agent of one person, and runs the subagents it asks for.

    `key` names the agent's saved state in `data_store`, which must be the owner's part of it; the
    state of subagents lies below it, so that no two parents can share a subagent. `extra_tools`
    are offered, besides `run_subagent`, to agents that direct others.
    """

    def __init__(
        self,
        key: str,
        name: str,
        owner: str,
        agent_factory: AgentFactory,
        data_store: DataStore | None = None,
        extra_tools: dict[str, AsyncTool] | None = None,
        *,
        path: str | None = None,
    ) -> None:
        super().__init__(
            f"agent {path or name!r} of {owner}", agent_factory.agent_info(name).idle_timeout
        )
        self._key = key
        self._agent_name = name
        self._owner = owner
        self._factory = agent_factory
        self._store = data_store
        self._extra_tools = extra_tools or {}
        self._path = path
        self._state = StateKeeper(self.name, key, data_store)
        self._agent: Agent | None = None
        self._query: Query | None = None
        self._subagents: dict[tuple[str, str], AgentRunner] = {}

    @property
    def path(self) -> str:
        """How this agent is shown to whoever approves its tool calls."""
        return self._path or self._agent_name

    @asynccontextmanager
    async def resources(self) -> AsyncIterator[None]:
        """Make the agent, give it its memory and open its tool servers."""
        tools = {**self._extra_tools, "run_subagent": self.run_subagent}
        agent = self._factory.create_agent(self._agent_name, self._owner, tools)
        await self._state.restore(agent)
        async with AsyncExitStack() as servers:
            with stage("tools", f"tool servers of {self.name}"):
                await servers.enter_async_context(agent.mcp())
            self._agent = agent
            try:
                yield
            finally:
                self._agent = None
                self._state.release(agent)

    async def serve(self, request: Query) -> Reply:
        """Have the agent answer; a run that is cancelled is remembered as far as it came."""
        assert self._agent is not None, "requests are only served inside resources()"  # noqa: S101 - an invariant of Actor
        agent = self._agent
        began = perf_counter()
        query = AgentInput(request.text, request.attachments, request.preferences)
        callback = request.approvals.approval_callback(self.path)
        self._query = request
        try:
            with stage("agent", self.name):
                text = await agent.run_streaming(query, callback, request.emit)
        except asyncio.CancelledError:
            if self._agent is agent:
                self._remember_partial(agent)
            raise
        finally:
            if self._query is request:
                self._query = None
        if self._agent is not agent:
            raise ActorStopped(self.name)  # left behind: another instance has the memory now
        if not isinstance(text, str):
            raise StageFailed("agent", self.name, f"answered with {type(text).__name__}, not text")
        return Reply(text, perf_counter() - began, self._state.save(agent))

    async def run_subagent(
        self,
        query: str,
        subagent_name: str,
        subagent_instance: str | None = None,
        attachments: list[Attachment] = [],  # noqa: B006 - the contract's default; only read
    ) -> str:
        """Put a query to another agent and return what it answers.

        The answer is a JSON object with subagent_name, subagent_instance and subagent_response.
        A subagent remembers earlier queries. To go on with one, pass the instance id from its
        last answer; without an id, a new one without memory is started. Hand on attachments only
        if the subagent must open the files itself.

        Args:
            query: What to ask, complete in itself.
            subagent_name: Which kind of agent to ask.
            subagent_instance: The 8-digit hexadecimal id of an instance that answered before.
            attachments: Descriptions of the files the subagent needs.

        """
        parent = self._query
        if parent is None:
            raise GenieError(f"{self.name} can run subagents only while it answers a query")
        self._factory.agent_info(subagent_name)  # an unknown name must not create anything
        instance = subagent_instance or uuid4().hex[:8]
        runner = self._subagent(subagent_name, instance)
        reply = await runner.submit(Query(query, parent.approvals, list(attachments)))
        return json.dumps(
            {
                "subagent_name": subagent_name,
                "subagent_instance": instance,
                "subagent_response": reply.text,
            },
            ensure_ascii=False,
        )

    @property
    def subagents(self) -> list[str]:
        """The subagents held here, as `name:instance`.

        One that was put away is let go when another one starts, if its memory is on disk.
        """
        return [f"{name}:{instance}" for name, instance in self._subagents]

    @property
    def active_subagents(self) -> list[str]:
        """Those of the subagents, as `name:instance`, that are not put away."""
        held = self._subagents.items()
        return [f"{name}:{instance}" for (name, instance), runner in held if runner.active]

    @property
    def dispensable(self) -> bool:
        """Whether an equal runner could be made from what is on disk."""
        subagents = self._subagents.values()
        return not self.active and self._state.on_disk and all(s.dispensable for s in subagents)

    def stop(self) -> None:
        """Take nothing new, here and in all subagents."""
        super().stop()
        for subagent in self._subagents.values():
            subagent.stop()

    async def join(self) -> None:
        """Wait until this agent and its subagents are put away."""
        await super().join()
        for subagent in list(self._subagents.values()):
            await subagent.join()

    def _remember_partial(self, agent: Agent) -> None:
        try:
            saved = self._state.save(agent)
        except GenieError as error:
            log.warning("the cancelled run is not remembered: %s", error)
        else:
            log.debug("saving the cancelled run: %s", saved)

    def _subagent(self, name: str, instance: str) -> "AgentRunner":
        if (name, instance) not in self._subagents:
            self._subagents = {
                key: runner for key, runner in self._subagents.items() if not runner.dispensable
            }
            title = f"{name}:{instance}"
            self._subagents[name, instance] = AgentRunner(
                key=title,
                name=name,
                owner=self._owner,
                agent_factory=self._factory,
                data_store=self._store.narrowed(self._key) if self._store else None,
                extra_tools=self._extra_tools,
                path=f"{self._path}/{title}" if self._path else title,
            )
        return self._subagents[name, instance]
