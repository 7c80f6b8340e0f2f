"""How the tool servers of one assistant are, for whoever looks."""

from collections.abc import Sequence

from genie_core.assistant.servers.file import ServerSpec
from genie_core.room.workbench import ServerInfo, ToolInfo


class Board:
    """Keeps the state and the tools of each server, as the connections report them."""

    def __init__(self, servers: Sequence[ServerSpec]) -> None:
        self._servers = {server.name: ServerInfo(server.name, "idle") for server in servers}

    @property
    def servers(self) -> Sequence[ServerInfo]:
        """All servers, in the order of the file."""
        return tuple(self._servers.values())

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools of the servers that have started."""
        return ()
