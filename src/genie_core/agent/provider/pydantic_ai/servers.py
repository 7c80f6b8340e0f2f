"""Run without tool servers that do not work."""

import asyncio
import logging
from asyncio import Event, Future, Task
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import InstructionPart
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from genie_core.agent.provider.pydantic_ai.clients import has_gone, is_stale, leaves_of, name_of
from genie_core.agent.provider.tool_limit import note_left_out, within_limit
from genie_core.agent.provider.tool_server_outages import (
    CLOSE_TIMEOUT,
    START_TIMEOUT,
    Paused,
    Unwatched,
    Watch,
    failure,
    late,
    note_outage,
    note_ready,
    note_waiting,
    outage_instruction,
    reason,
    shown,
    start_of,
    waiting_instruction,
)
from genie_core.errors import StageFailed
from genie_core.runtime.progress import doing
from genie_core.runtime.tasks import start_task

log = logging.getLogger(__name__)


class ServerOut(ToolFailed):
    """A call that failed because the tool's server is gone."""


@dataclass(slots=True)
class Health:
    """Whether a tool server is usable.

    `holds` are the tasks that keep it open, including those of earlier runs that are not over.
    """

    outage: Exception | None = None
    holds: list["_Hold"] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return any(hold.entered for hold in self.holds)


@dataclass
class ToleratedServer(WrapperToolset[Any]):
    """A toolset whose server may be down: it has no tools then, and the model gets the reason.

    A server that was down is tried again when the toolset is next opened, at the next run unless
    `watch` pauses it. One that stops meanwhile is out for the rest of the run.
    """

    health: Health = field(default_factory=Health)
    watch: Watch = field(default_factory=Unwatched)
    offered: dict[str, str] = field(default_factory=dict)
    """The tools that it has offered last, with their descriptions."""

    @property
    def name(self) -> str:
        """The server's display name."""
        return ", ".join(map(name_of, leaves_of(self.wrapped))) or type(self.wrapped).__name__

    @property
    def failure(self) -> StageFailed | None:
        """The error that made it unusable, as an error of the whole run."""
        if self.health.outage is None:
            return None
        return failure(self.name, self.health.outage)

    @property
    def has_failed(self) -> bool:
        outage = self.health.outage
        return outage is not None and not isinstance(outage, Paused)

    async def __aenter__(self) -> Self:
        """Do nothing: `all_open` has opened the toolset, or is about to."""
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Do nothing; see `__aenter__`."""

    async def open(self) -> bool:
        """Open the toolset, or record why it can't be opened."""
        if not self.health.is_open:
            self.health.outage = None
        if self.health.outage is not None:
            return False
        try:
            async with asyncio.timeout(START_TIMEOUT) as limit:
                await self._open()
        except Exception as error:  # noqa: BLE001 - the run goes on without it
            self._went_out(late(START_TIMEOUT) if limit.expired() else error)
            return False
        except BaseException:
            self.watch.closed()
            raise
        return True

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await self._usable_tools(ctx)
        # Set once: a run beside this one counts them at any time.
        self.offered = {name: tool.tool_def.description or "" for name, tool in tools.items()}
        if tools:
            self.watch.ready(self.offered)
        return tools

    async def _usable_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        if self.health.outage is None and self.health.is_open:
            try:
                return await super().get_tools(ctx)
            except Exception as error:
                if not has_gone(error):
                    raise
                self._went_out(error)
        return {}

    async def get_instructions(self, ctx: RunContext[Any]) -> Any:
        """Tell the model about an outage, or a start that takes long."""
        if self.health.outage is not None:
            return InstructionPart(content=self._instruction())
        if not self.health.is_open:
            return InstructionPart(content=waiting_instruction(self.name))
        return await super().get_instructions(ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call the tool; if the server is gone, report that instead of asking for a retry."""
        if self.health.outage is not None:
            raise ServerOut(self._instruction())
        try:
            return await super().call_tool(name, tool_args, ctx, tool)
        except Exception as error:
            if not has_gone(error):
                raise
            self._went_out(error)
            raise ServerOut(self._instruction()) from error

    async def _open(self) -> None:
        if self.health.is_open:
            await self.wrapped.__aenter__()
            return
        self.watch.starting()
        doing("asking", start_of(self.name))
        if await self._opens_stale():
            await close_clients(self.wrapped)
            if await self._opens_stale():
                raise ConnectionError("it ended at once")
        self.watch.ready()

    async def _opens_stale(self) -> bool:
        """Open the toolset; return whether its server had died and it was closed again."""
        await self.wrapped.__aenter__()
        try:
            stale = await is_stale(self.wrapped)
        except BaseException:
            await self.close()
            raise
        if stale:
            await self.close()
        return stale

    async def close(self) -> None:
        """Close the toolset; a lost server needs no closing."""
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self.wrapped.__aexit__(None, None, None)
        except Exception:
            # No run uses it any more; a server that died is started again for the next run.
            log.warning("tool server %s did not close cleanly", shown(self.name), exc_info=True)

    def give_up(self, error: Exception) -> None:
        """Continue the run without the server."""
        self.health.outage = None
        self._went_out(error)

    def _went_out(self, error: Exception) -> None:
        if self.health.outage is None:
            self.health.outage = error
            note_outage(self.name, error)
            if not isinstance(error, Paused):
                self.watch.down(reason(error))

    def _instruction(self) -> str:
        assert self.health.outage is not None, "only asked for after an outage"  # noqa: S101 - both callers look
        return outage_instruction(self.name, self.health.outage)


class _Hold:
    """Keeps one server open during a run, in the task that opens and closes it.

    `opened` is done when the run need not wait any more. A start that the run does not wait for
    goes on behind the run, so that the next one finds the server ready.
    """

    def __init__(self, server: ToleratedServer) -> None:
        self.server = server
        self.entered = False
        self._is_late = False
        self._former = [each for each in server.health.holds if each.leaving]
        self._leave = Event()
        self.opened: Future[None] = asyncio.get_running_loop().create_future()
        server.health.holds.append(self)
        self.task: Task[None] = start_task(self._keep(), name=f"hold {server.name}")
        self.task.add_done_callback(self._ended)

    @property
    def leaving(self) -> bool:
        return self._leave.is_set()

    async def wait(self) -> None:
        """Wait for the start as long as the run may."""
        patience = self.server.watch.patience
        await asyncio.wait({self.opened}, timeout=START_TIMEOUT if patience is None else patience)
        if self.opened.done():
            return
        if patience is None:
            self._go_on_without(late(START_TIMEOUT))
        else:
            self._is_late = True
            note_waiting(self.server.name)

    def leave(self) -> None:
        """Close the server. One that is still starting goes on if the run did not wait for it."""
        self._leave.set()
        if self.server.watch.patience is None:
            self.stop_starting()

    def stop_starting(self) -> None:
        """End a start that is not over."""
        if not self.opened.done():
            self.task.cancel()

    async def _keep(self) -> None:
        if (paused := self.server.watch.paused()) is not None:
            self._go_on_without(paused)
        elif former := [each.task for each in self._former]:
            await asyncio.wait(former)
        if self.opened.done():
            await self._leave.wait()
            return
        try:
            self.entered = await self.server.open()
            self._tell()
            if self.server.has_failed:
                await close_clients(self.server.wrapped)
            await self._leave.wait()
        finally:
            entered, self.entered = self.entered, False
            if entered:
                await self.server.close()

    def _tell(self) -> None:
        if not self.opened.done():
            self.opened.set_result(None)
        if self._is_late and self.entered:
            note_ready(self.server.name)

    def _go_on_without(self, error: Exception) -> None:
        self.server.give_up(error)
        self.opened.set_result(None)

    def _ended(self, _task: Task[None]) -> None:
        self.server.health.holds.remove(self)
        if not self.opened.done():
            self.opened.set_result(None)


@asynccontextmanager
async def all_open(servers: Sequence[ToleratedServer]) -> AsyncIterator[None]:
    """Open servers concurrently, and keep them open until the end of a run.

    The wait is limited to a server's patience, or `START_TIMEOUT`, for the start and `CLOSE_TIMEOUT`
    for the end. A failed server is not waited for: the next run, or the end of the agent, handles it.
    """
    holds = [_Hold(server) for server in servers]
    try:
        await asyncio.gather(*(hold.wait() for hold in holds))
        yield
    finally:
        for hold in holds:
            hold.leave()
        await _ended([hold for hold in holds if hold.opened.done() and not hold.server.has_failed])


async def _ended(holds: Sequence[_Hold]) -> None:
    if holds:
        await asyncio.wait([hold.task for hold in holds], timeout=CLOSE_TIMEOUT)


@dataclass
class ToolLimit(AbstractCapability[Any]):
    """Leaves out tools of the last servers in one run, so that a model takes the request."""

    servers: Sequence[ToleratedServer]

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _LimitedToolset(toolset, self.servers)


@dataclass
class _LimitedToolset(WrapperToolset[Any]):
    servers: Sequence[ToleratedServer]
    noted: dict[str, int] = field(default_factory=dict)  # by server: left out when last reported

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        counts = [len(server.offered) for server in self.servers]
        fits = within_limit(len(tools) - sum(counts), counts)
        for server, fit in zip(self.servers, fits, strict=True):
            names = list(server.offered)
            if names[fit:]:
                self._leave_out(server, names[:fit], len(names) - fit)
                tools = {name: each for name, each in tools.items() if name not in names[fit:]}
        return tools

    def _leave_out(self, server: ToleratedServer, kept: Sequence[str], left_out: int) -> None:
        server.watch.ready({name: server.offered[name] for name in kept}, left_out)
        if self.noted.get(server.name) != left_out:
            self.noted[server.name] = left_out
            note_left_out(server.name, left_out, len(server.offered))


def tolerated(toolsets: Sequence[AbstractToolset[Any]]) -> list[ToleratedServer]:
    """Wrap the toolsets of one agent so that a failing one doesn't end its runs."""
    return [
        toolset if isinstance(toolset, ToleratedServer) else ToleratedServer(toolset)
        for toolset in toolsets
    ]


def raise_if_all_failed(servers: list[ToleratedServer]) -> None:
    """End a run that would have no toolset left, unless one of them is monitored."""
    failures = [failure for server in servers if (failure := server.failure)]
    watched = any(not isinstance(server.watch, Unwatched) for server in servers)
    if failures and len(failures) == len(servers) and not watched:
        raise failures[0]


async def close_clients(toolset: AbstractToolset[Any]) -> None:
    """Close the connections and processes that a toolset kept between runs."""
    if isinstance(toolset, ToleratedServer):
        for hold in toolset.health.holds:
            hold.stop_starting()
        await _ended(toolset.health.holds)
        toolset.watch.closed()
    for leaf in leaves_of(toolset):
        if (close := getattr(getattr(leaf, "client", None), "close", None)) is None:
            continue
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await close()
        except Exception:
            # The process or connection may have ended before: then there is nothing to close.
            log.debug("a tool server's connection did not close cleanly", exc_info=True)
