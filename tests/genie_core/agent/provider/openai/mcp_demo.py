"""An MCP server to be run by tests: on stdio, or with a port (0 for any) on HTTP.

On HTTP it prints its port as soon as it can be reached.
"""

import os
import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

demo = MCPServer("demo", log_level="ERROR")


@demo.tool()
def shout(text: str) -> str:
    """Say it in capitals."""
    return text.upper()


@demo.tool()
def process() -> str:
    """Tell the id of the process."""
    return str(os.getpid())


@demo.tool()
def crash() -> str:
    """End without a word."""
    os._exit(3)


class Announcing(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)  # noqa: T201 - for the test to read


if __name__ == "__main__":
    if len(sys.argv) == 1:
        demo.run("stdio")
    else:
        config = uvicorn.Config(
            demo.streamable_http_app(), port=int(sys.argv[1]), log_level="error", ws="none"
        )
        Announcing(config).run()
