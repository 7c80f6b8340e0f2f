"""The state and the tools of an assistant's tool servers."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from genie_core.agent.provider.tool_server_outages import Paused
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import ServersFileError
from genie_core.privacy.redaction import mask_known
from genie_core.room.engine.controls import PromptInfo, ServerInfo, ServerState, ToolInfo

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Limits of the pause in seconds before a failed server is tried again; it doubles each time."""

PATIENCE: Final = 2.0
"""Seconds that a run waits for a server to start before it goes on without its tools."""

_LONGEST_DESCRIPTION: Final = 1000
_MOST_NAMED: Final = 20
_REFUSED: Final = re.compile(r"an error response|HTTP status 40[045]")
"""How a failure says that there is no server of this protocol at an address."""


class ServerRegistry:
    """Collects the state and tools of each server from its connections.

    Each agent has its own connections. They share the pause after a failure, so that another agent
    does not try a server that just failed.
    """

    def __init__(
        self,
        servers: Sequence[ServerSpec],
        clock: Callable[[], float] = time.monotonic,
        left_out: Sequence[ServersFileError] = (),
    ) -> None:
        self._left_out = [
            ServerInfo(each.server or each.file.name, "left out", detail=str(each))
            for each in left_out
        ]
        self._servers = {server.name: _Server(server, clock) for server in servers}

    @property
    def servers(self) -> Sequence[ServerInfo]:
        """All servers, in the order of the file, and then those that are left out."""
        return (*(server.info for server in self._servers.values()), *self._left_out)

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools of servers that have started."""
        return tuple(tool for server in self._servers.values() for tool in server.usable)

    @property
    def prompts(self) -> Sequence[PromptInfo]:
        """The prompts of servers that have started, also of those that are idle again."""
        return tuple(each for server in self._servers.values() for each in server.prompts or ())

    @property
    def resources(self) -> Sequence[str]:
        """The resources of servers that have started, as a person names them."""
        return tuple(
            f"{server.name}:{uri}" for server in self._servers.values() for uri in server.resources
        )

    def claim(self, tool: str) -> str:
        """Return a server's claim about its tool; empty if it claims nothing."""
        known = (server.claims.get(tool) for server in self._servers.values())
        return next(filter(None, known), "")

    def connection(self, server: str) -> "ServerConnection":
        return ServerConnection(self._servers[server])


class _Server:
    """One server and its connections. The last failure remains until a connection works."""

    def __init__(self, spec: ServerSpec, clock: Callable[[], float]) -> None:
        self.name = spec.name
        self._spec = spec
        self.tools: tuple[ToolInfo, ...] = ()
        self.claims: dict[str, str] = {}
        self.left_out = 0
        self.unusable: dict[str, str] = {}
        self.prompts: tuple[PromptInfo, ...] | None = None
        self.resources: tuple[str, ...] = ()
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
            self._detail,
            self.retry_in if self._problem else None,
            self.left_out if self.usable else 0,
        )

    @property
    def _detail(self) -> str:
        """Say why it is down, or which of its tools can't be used."""
        if self._problem:
            hint = f"; its last output: {self._hint}" if self._hint else ""
            return f"{self._problem}{hint or self._cure}"
        listed = [f"{name}: {why}" for name, why in self.unusable.items()]
        more = f"; and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
        return mask_known(f"left out: {'; '.join(listed[:_MOST_NAMED])}{more}") if listed else ""

    @property
    def _cure(self) -> str:
        """Name the remedy for a server on HTTP that refuses the way it is spoken to."""
        if not self._spec.url or not _REFUSED.search(self._problem):
            return ""
        kind, other = (
            ("http", "streamable HTTP") if self._spec.sse else ("sse", "server-sent events")
        )
        return f'; check its url, or if it speaks {other}, write "type": "{kind}"'

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
        self.prompts = None  # it may have others after a new start

    def works(self) -> None:
        self._problem = self._hint = ""
        self._failures = 0

    def offer(self, tools: Mapping[str, str], left_out: int) -> None:
        self.left_out = left_out
        self.tools = tuple(self._tool(*each) for each in tools.items())

    def _tool(self, name: str, description: str) -> ToolInfo:
        about = mask_known(description[:_LONGEST_DESCRIPTION])
        claim = self.claims.get(name, "")
        return ToolInfo("", name, about, "unknown", "ask", "", self.name, claim)


class ServerConnection:
    """Records the reports of one connection; implements `Watch`.

    `hint` returns a possible reason for a failed start. Only the engine's owner sees it, because a
    program's output may contain anything.
    """

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._works = False
        self.hint: Callable[[], str] = str

    @property
    def patience(self) -> float:
        return PATIENCE

    def paused(self) -> Paused | None:
        """Return the pause of a server that just failed, unless this connection works."""
        return None if self._works else self._server.paused

    def starting(self) -> None:
        """Show the server as starting, unless this connection worked before."""
        if not self._works:
            self._server.states[self] = "starting"

    def ready(self, tools: Mapping[str, str] | None = None, left_out: int = 0) -> None:
        """Show the server as ready and forget earlier failures."""
        self._works = True
        self._server.states[self] = "ready"
        self._server.works()
        if tools is not None:
            self._server.offer(tools, left_out)

    @property
    def name(self) -> str:
        return self._server.name

    @property
    def knows_offers(self) -> bool:
        """Whether they were listed, here or by another connection, since the last failure."""
        return self._server.prompts is not None

    def offers(self, prompts: Sequence[PromptInfo], resources: Sequence[str]) -> None:
        """Record the prompts and the URIs of resources that the server offers to people."""
        self._server.prompts, self._server.resources = tuple(prompts), tuple(resources)

    def claims(self, claims: Mapping[str, str]) -> None:
        """Record the server's claims about its tools, by their public names."""
        self._server.claims = dict(claims)

    def unusable(self, problems: Mapping[str, str]) -> None:
        """Record which tools can't be used and why, by the server's own names."""
        self._server.unusable = dict(problems)

    def down(self, reason: str) -> None:
        """Record a failure and pause the server. Counts once until the connection works again."""
        before = self._server.states.pop(self, None)
        if before is None:
            return
        self._works = False
        self._server.failed(reason, self.hint() if before == "starting" else "")

    def closed(self) -> None:
        """Show the server as idle, unless it is down."""
        self._works = False
        self._server.states.pop(self, None)
