"""What tool servers cost that lie or hang: seconds until an answer, and peak memory.

Each measurement runs in a process of its own, with a scripted model on loopback and servers that are
programs. `--whole` reads results of any length, as the MCP SDK does by itself.
"""

import argparse
import asyncio
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

import pydantic_ai.models
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from genie_core.agent import AgentInput
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_core.assistant.servers import long_results
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.pydantic_ai import server_toolset
from genie_core.assistant.servers.registry import ServerRegistry
from genie_core.assistant.servers.tool_server import ToolServer
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Say, Turn

_SERVER: Final = """
import json, sys
size = int(sys.argv[1])
for line in sys.stdin:
    message = json.loads(line)
    if size == 0 or "id" not in message:
        continue
    head = '{"jsonrpc": "2.0", "id": %d, "result": ' % message["id"]
    if message["method"] == "tools/call":
        sys.stdout.write(head + '{"content": [{"type": "text", "text": "')
        for _ in range(size // 100_000):
            sys.stdout.write("x" * 100_000)
        print('"}]}}', flush=True)
    elif message["method"] == "tools/list":
        tool = {"name": "huge", "inputSchema": {"type": "object"}}
        print(head + json.dumps({"tools": [tool]}) + "}", flush=True)
    elif message["method"] != "initialize":
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
    else:
        about = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        print(head + json.dumps({**about, "serverInfo": {"name": "s", "version": "1"}}) + "}", flush=True)
"""


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks tool_servers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--megabytes", type=int, default=50, metavar="N")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--case", choices=_CASES, help=argparse.SUPPRESS)
    options = parser.parse_args(list(arguments))
    if options.case:
        return _measure(options)
    given = ["--megabytes", str(options.megabytes), *["--whole"] * options.whole]
    for case in _CASES:
        command = [sys.executable, "-m", "benchmarks", "tool_servers", "--case", case, *given]
        subprocess.run(command, check=True)
    return 0


def _measure(options: argparse.Namespace) -> int:
    pydantic_ai.models.ALLOW_MODEL_REQUESTS = True
    if options.whole:
        long_results.LongMessage.__init__.__defaults__ = (10**12,)
        long_results.LongLines.__init__.__defaults__ = (10**12, b"")
    seconds, before = asyncio.run(_CASES[options.case](options.megabytes * 1_000_000))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    print(f"{options.case:30}{seconds:>8.2f} s{grown:>10,.0f} MB more at most", flush=True)
    return 0


async def _answer(sizes: Mapping[str, int], *turns: Turn) -> tuple[float, float]:
    """Return the seconds of one run with servers that send so much, and the memory before it."""
    specs = [ServerSpec(name, sys.executable, ("-c", _SERVER, str(n))) for name, n in sizes.items()]
    board = ServerRegistry(specs)
    servers = [ToolServer(each, {}, board.connection(each.name)) for each in specs]
    toolsets = [server_toolset(each) for each in servers]
    async with FakeOpenAI(*turns, Say("done")) as server:
        provider = OpenAIProvider(base_url=server.base_url, api_key=server.api_key)
        agent = DefaultAgent("", OpenAIChatModel("m", provider=provider), toolsets=toolsets)
        async with agent.mcp():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            began = time.perf_counter()
            await agent.run(AgentInput("go"), _allow)
            return time.perf_counter() - began, before


async def _allow(_name: str, _arguments: dict[str, Any]) -> bool:
    return True


_CASES: Final[Mapping[str, Callable[[int], Coroutine[Any, Any, tuple[float, float]]]]] = {
    "a server that works": lambda _: _answer({"s": 1}),
    "a server that hangs": lambda _: _answer({"s": 0}),
    "a result that is long": lambda size: _answer({"s": size}, Call("s_huge", {})),
}
