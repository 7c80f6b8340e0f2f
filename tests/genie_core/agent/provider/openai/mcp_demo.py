"""An MCP server to be run by tests: on stdio, or with a port (0 for any) on HTTP.

On HTTP, and on stdio with the argument `sdk`, it is built with the MCP SDK, which takes a second to
import. On stdio without arguments it speaks the protocol by itself and is there at once. On HTTP it
prints its port as soon as it can be reached.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any


def shout(text: str) -> str:
    """Say it in capitals."""
    return text.upper()


def process() -> str:
    """Tell the id of the process."""
    return str(os.getpid())


def crash() -> str:
    """End without a word."""
    os._exit(3)


TOOLS: dict[str, Callable[..., str]] = {each.__name__: each for each in (shout, process, crash)}
TEXT = {"text": {"type": "string"}}


def main() -> None:
    if len(sys.argv) == 1:
        for line in sys.stdin:
            answer(json.loads(line))
    else:
        with_sdk(sys.argv[1])


def answer(message: dict[str, Any]) -> None:
    if "id" in message:
        result = result_of(message["method"], message.get("params", {}))
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        outcome = unknown if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)  # noqa: T201 - the protocol


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            about = {"name": "demo", "version": "1"}
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [listed(tool) for tool in TOOLS.values()]}
        case "tools/call":
            text = TOOLS[params["name"]](**params.get("arguments") or {})
            return {"content": [{"type": "text", "text": text}]}
        case _:
            return None


def listed(tool: Callable[..., str]) -> dict[str, Any]:
    properties = TEXT if tool is shout else {}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": tool.__name__, "description": tool.__doc__, "inputSchema": schema}


def with_sdk(where: str) -> None:
    import socket

    import uvicorn
    from mcp.server.mcpserver import MCPServer

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            print(self.servers[0].sockets[0].getsockname()[1], flush=True)  # noqa: T201 - for the test to read

    demo = MCPServer("demo", log_level="ERROR")
    for tool in TOOLS.values():
        demo.tool()(tool)
    if where == "sdk":
        demo.run("stdio")
    else:
        app = demo.streamable_http_app()
        Announcing(uvicorn.Config(app, port=int(where), log_level="error", ws="none")).run()


if __name__ == "__main__":
    main()
