"""An agent's MCP servers."""

import asyncio
import logging
from asyncio import Event, Future, Task
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agents import Agent, RunContextWrapper, Tool
from agents.agent import MCPConfig
from agents.mcp import MCPServer
from mcp import MCPError

from genie_core.agent.provider.tool_limit import note_left_out, within_limit
from genie_core.agent.provider.tool_server_outages import (
    CLOSE_TIMEOUT,
    CONNECTION_CLOSED,
    START_TIMEOUT,
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
from genie_core.errors import StageFailed, first_of
from genie_core.privacy.redaction import hide_addresses
from genie_core.runtime.progress import doing, note
from genie_core.runtime.tasks import start_task

log = logging.getLogger(__name__)


@dataclass
class ServerTools:
    """The tools for a run, and the notes for the model about unavailable ones.

    `late` are servers, with their listings, that the run does not wait for any more.
    """

    tools: list[Tool] = field(default_factory=list)
    instructions: list[str] = field(default_factory=list)
    late: list[tuple["_ToolServer", "Task[list[Tool]]"]] = field(default_factory=list)

    def when_late(self, taken: Sequence[Tool], add: Callable[[list[Tool]], None]) -> None:
        """Pass the tools of late servers to `add` when they are ready, if they fit beside `taken`."""

        def pass_on(server: "_ToolServer", listing: "Task[list[Tool]]") -> None:
            if not listing.cancelled() and listing.exception() is None:
                (fit,) = within_limit(len(taken), [len(listing.result())])
                add(server.limited(listing.result(), fit))

        for server, listing in self.late:
            listing.add_done_callback(partial(pass_on, server))


class WatchedServer(MCPServer):
    """A server whose state is monitored."""

    watch: Watch = Unwatched()


class ToolServers:
    """All servers of one agent. They start with the first run that needs them."""

    def __init__(self, servers: Sequence[MCPServer]) -> None:
        self._servers = [_ToolServer(server) for server in servers]

    async def offer(self, agent: Agent[Any]) -> ServerTools:
        """Return the tools of all servers; a dead server is restarted unless it is paused.

        A server that fails, or takes longer than `START_TIMEOUT`, is left out if another one works
        or one is monitored. One that takes longer than its patience is in `late`. Tools that are more
        than a model takes are left out, too.

        Raises:
            StageFailed: no server works.
        """
        answers = await asyncio.gather(
            *(server.listing(agent) for server in self._servers), return_exceptions=True
        )
        offer = ServerTools()
        failures: list[StageFailed] = []
        listed: dict[_ToolServer, list[Tool]] = {}
        for server, answer in zip(self._servers, answers, strict=True):
            if isinstance(answer, Task) and not answer.done():
                offer.late.append((server, answer))
                offer.instructions.append(waiting_instruction(server.name))
            elif isinstance(answer, Task):
                listed[server] = answer.result()
            elif isinstance(answer, Exception):
                note_outage(server.name, answer)
                offer.instructions.append(outage_instruction(server.name, answer))
                failures.append(failure(server.name, answer))
            else:
                raise answer
        fits = within_limit(len(agent.tools), [len(tools) for tools in listed.values()])
        for (server, tools), fit in zip(listed.items(), fits, strict=True):
            offer.tools += server.limited(tools, fit)
        watched = any(server.watched for server in self._servers)
        if failures and len(failures) == len(self._servers) and not watched:
            raise failures[0]
        return offer

    async def close(self) -> None:
        """Close all servers, within twice `CLOSE_TIMEOUT`."""
        await asyncio.gather(*(server.close() for server in self._servers))


class _ToolServer:
    """One server and its connection, if any."""

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        self._watch = server.watch if isinstance(server, WatchedServer) else Unwatched()
        self._connection: _Connection | None = None
        self._former: set[Task[None]] = set()  # connections that are being closed
        self._listing: Task[list[Tool]] | None = None

    @property
    def name(self) -> str:
        return self._server.name

    @property
    def watched(self) -> bool:
        return not isinstance(self._watch, Unwatched)

    async def listing(self, agent: Agent[Any]) -> "Task[list[Tool]]":
        """Return the task that lists the tools, done unless the server's patience is over.

        It goes on behind a run that does not wait for it, and serves the next one. Raises the
        failure of the server's start.
        """
        patience = self._watch.patience
        if patience is None:
            listing = start_task(self._tools(agent), name=f"tools of {shown(self.name)}")
            await _done_or_cancelled(listing)
        else:
            if self._listing is None or self._listing.done():
                self._listing = start_task(self._tools(agent), name=f"tools of {shown(self.name)}")
            listing = self._listing
            await asyncio.wait({listing}, timeout=patience)
        if not listing.done():
            note_waiting(self.name)
            listing.add_done_callback(self._note_ready)
        elif (error := listing.exception()) is not None:
            raise error
        return listing

    def _note_ready(self, listing: "Task[list[Tool]]") -> None:
        if not listing.cancelled() and listing.exception() is None:
            note_ready(self.name)

    async def _tools(self, agent: Agent[Any]) -> list[Tool]:
        if (paused := self._watch.paused()) is not None:
            raise paused
        self._watch.starting()
        try:
            async with asyncio.timeout(START_TIMEOUT) as limit:
                tools = await self._of_living(agent)
        except Exception as error:
            self._abandon()
            failed = late(START_TIMEOUT) if limit.expired() else error
            self._watch.down(reason(failed))
            if failed is error:
                raise
            raise failed from error
        except BaseException:
            self._watch.closed()
            raise
        self._watch.ready(_described(tools))
        return tools

    def limited(self, tools: list[Tool], fit: int) -> list[Tool]:
        """Return the first of its tools, and report the others as left out."""
        if left_out := len(tools) - fit:
            note_left_out(self.name, left_out, len(tools))
            self._watch.ready(_described(tools[:fit]), left_out)
        return tools[:fit]

    async def close(self) -> None:
        if self._listing is not None:
            self._listing.cancel()
        self._abandon()
        if self._former:
            await asyncio.wait(self._former)
        self._watch.closed()

    def _abandon(self) -> None:
        """Close the connection without waiting for it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            task = start_task(connection.close(), name=f"close {shown(self.name)}")
            self._former.add(task)
            task.add_done_callback(self._former.discard)

    async def _of_living(self, agent: Agent[Any]) -> list[Tool]:
        """List the tools, reconnecting first if the server has died."""
        if self._connection is not None:
            try:
                return await self._listed(agent, self._connection)
            except Exception as error:  # noqa: BLE001 - any failure needs a new connection
                log.info("connecting again to tool server %s: %s", shown(self.name), reason(error))
                self._abandon()
        if self._former:
            await asyncio.wait(set(self._former))  # the SDK's server has one connection at a time
        self._connection = _Connection(self._server)
        doing("asking", start_of(self.name))
        return await self._listed(agent, self._connection)

    async def _listed(self, agent: Agent[Any], connection: "_Connection") -> list[Tool]:
        await connection.opened()
        if (forget := getattr(self._server, "invalidate_tools_cache", None)) is not None:
            forget()  # tools of a dead server would be offered
        config: MCPConfig = {"failure_error_function": self._explained, **agent.mcp_config}
        alone = agent.clone(mcp_servers=[self._server], mcp_config=config)
        return await alone.get_mcp_tools(RunContextWrapper(None))

    def _explained(self, _context: RunContextWrapper[Any], error: Exception) -> str:
        """Tell the model why a call failed; the SDK only says that it did."""
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            self._watch.down(reason(error))
            note_outage(self.name, error)
            return outage_instruction(self.name, error)
        said = f"tool server {shown(self.name)}"
        note(f"{said}: a call failed", f"{said}: {reason(error)}")
        why = reason(error)  # an `MCPError` has the server's own words, as a result has
        return f"Error: {why if isinstance(error, MCPError) else hide_addresses(why)}"


class _Connection:
    """A connection that one task opens and closes, as the MCP client requires.

    A run that is cancelled while it waits for a server does not stop the start: the next run needs
    it.
    """

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        self._leave = Event()
        self._opened: Future[None] = asyncio.get_running_loop().create_future()
        self._task: Task[None] = start_task(self._hold(), name=f"mcp {shown(server.name)}")

    async def opened(self) -> None:
        """Wait for the server to start; raises the error that prevented it."""
        await asyncio.shield(self._opened)

    async def close(self) -> None:
        """Disconnect, by force if necessary."""
        self._leave.set()
        if not self._opened.done():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT)
        if not self._task.done():
            log.warning("tool server %s does not end; cutting it off", shown(self._server.name))
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT)
        if self._opened.done() and not self._opened.cancelled():
            self._opened.exception()  # retrieved, in case no run awaited it

    async def _hold(self) -> None:
        try:
            async with asyncio.timeout(START_TIMEOUT) as limit:
                await self._server.connect()  # type: ignore[no-untyped-call]  # the SDK gives no types
            self._opened.set_result(None)
            await self._leave.wait()
        except Exception as error:  # noqa: BLE001 - passed to those that wait for the server
            self._opened.set_exception(late(START_TIMEOUT) if limit.expired() else first_of(error))
        finally:
            if not self._opened.done():
                self._opened.set_exception(ConnectionError("closed while it was starting"))
            await self._clean_up()

    async def _clean_up(self) -> None:
        try:
            await self._server.cleanup()  # type: ignore[no-untyped-call]  # the SDK gives no types
        except Exception:
            # The process or connection may have ended before: then there is nothing to close.
            log.debug(
                "tool server %s did not close cleanly", shown(self._server.name), exc_info=True
            )


async def _done_or_cancelled(task: "Task[Any]") -> None:
    """Wait for a task, which is cancelled with the wait."""
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()


def _described(tools: Sequence[Tool]) -> dict[str, str]:
    return {tool.name: getattr(tool, "description", "") for tool in tools}
