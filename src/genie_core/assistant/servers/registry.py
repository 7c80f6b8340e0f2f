"""How the tool servers of one assistant are, for whoever looks."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from genie_core.agent.provider.server_outages import Paused
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.privacy.redaction import mask_known
from genie_core.room.engine.controls import ServerInfo, ServerState, ToolInfo

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds before a server that failed is tried again: it doubles each time, up to the longest."""

_LONGEST_DESCRIPTION: Final = 1000


class ServerRegistry:
    """Keeps the state and the tools of each server, as the connections report them.

    Each agent has connections of its own. What they have in common is how long a server that failed
    is left alone: another agent need not find out for itself that it does not start.
    """

    def __init__(
        self, servers: Sequence[ServerSpec], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._servers = {server.name: _Server(server.name, clock) for server in servers}

    @property
    def servers(self) -> Sequence[ServerInfo]:
        """All servers, in the order of the file."""
        return tuple(server.info for server in self._servers.values())

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools of the servers that have started."""
        return tuple(tool for server in self._servers.values() for tool in server.usable)

    def connection(self, server: str) -> "ServerConnection":
        """Make room for the reports of one connection to a server."""
        return ServerConnection(self._servers[server])


class _Server:
    """One server, with all connections to it. The newest failure stands until something works."""

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self.name = name
        self.tools: tuple[ToolInfo, ...] = ()
        self.states: dict[ServerConnection, ServerState] = {}
        self._clock = clock
        self._problem = ""
        self._hint = ""
        self._failures = 0
        self._retry_at = 0.0

    @property
    def info(self) -> ServerInfo:
        return ServerInfo(
            self.name,
            self._state,
            len(self.usable),
            f"{self._problem}; it said: {self._hint}" if self._hint else self._problem,
            self.retry_in if self._problem else None,
        )

    @property
    def _state(self) -> ServerState:
        states = self.states.values()
        if "starting" in states:
            return "starting"
        if "ready" in states:
            return "ready"
        return "down" if self._problem else "idle"

    @property
    def usable(self) -> tuple[ToolInfo, ...]:
        return () if self._state == "down" else self.tools

    @property
    def retry_in(self) -> float:
        return max(self._retry_at - self._clock(), 0.0)

    @property
    def paused(self) -> Paused | None:
        seconds = self.retry_in
        return Paused(self._problem, seconds) if self._problem and seconds else None

    def failed(self, problem: str, hint: str) -> None:
        self._problem, self._hint = mask_known(problem), mask_known(hint)
        pause = FIRST_PAUSE * 2 ** min(self._failures, 10)
        self._failures += 1
        self._retry_at = self._clock() + min(pause, LONGEST_PAUSE)

    def works(self) -> None:
        self._problem = self._hint = ""
        self._failures = 0

    def offer(self, tools: Mapping[str, str]) -> None:
        if [(tool.name, tool.description) for tool in self.tools] != list(tools.items()):
            self.tools = tuple(self._tool(*each) for each in tools.items())

    def _tool(self, name: str, description: str) -> ToolInfo:
        about = mask_known(description[:_LONGEST_DESCRIPTION])
        return ToolInfo("", name, about, "unknown", "ask", "", self.name)


class ServerConnection:
    """Takes the reports of one connection, as a `Watch`.

    `hint` may add why it did not start. It is shown to the engine's owner only: who knows what a
    program says.
    """

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._works = False
        self.hint: Callable[[], str] = str

    def paused(self) -> Paused | None:
        """Leave a server alone that failed just now; one that works here is not meant."""
        return None if self._works else self._server.paused

    def starting(self) -> None:
        """Show it as starting, unless it was there in the run before."""
        if not self._works:
            self._server.states[self] = "starting"

    def ready(self, tools: Mapping[str, str] | None = None) -> None:
        """Show it as ready, and forget what was wrong before."""
        self._works = True
        self._server.states[self] = "ready"
        self._server.works()
        if tools is not None:
            self._server.offer(tools)

    def down(self, reason: str) -> None:
        """Show why, and have the server left alone for a while. Counts once until it works again."""
        before = self._server.states.pop(self, None)
        if before is None:
            return
        self._works = False
        self._server.failed(reason, self.hint() if before == "starting" else "")

    def closed(self) -> None:
        """Show it as idle, unless it is down."""
        self._works = False
        self._server.states.pop(self, None)
