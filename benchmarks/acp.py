"""What our runtime adds to an agent program that speaks ACP, and what it keeps in memory.

The same scripted program is driven by the SDK's own client and by our agent. Per turn: the median
time of a prompt with one delta. Per delta: the same with many deltas, less one turn, by their
number. Memory: what this process gains per agent whose program is open and idle; the program's own
is not counted.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from acp import spawn_agent_process, text_block

from genie_core.agent import AgentInput
from genie_core.agent.base import AsyncTool
from genie_core.agent.provider.acp import AgentProgram, DefaultAgent

PROGRAM = r"""
import json, sys
def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
def update(session, text):
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": session, "update": chunk})
for line in sys.stdin:
    message = json.loads(line)
    method, params, result = message.get("method"), message.get("params"), {}
    if method == "initialize":
        result = {"protocolVersion": 1}
    elif method == "session/new":
        result = {"sessionId": "s"}
    elif method == "session/prompt":
        for _ in range(int(params["prompt"][-1]["text"])):
            update(params["sessionId"], "a few words ")
        result = {"stopReason": "end_turn"}
    if "id" in message:
        send(id=message["id"], result=result)
    sys.stdout.flush()
"""

Turn = Callable[[int], Awaitable[object]]


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks acp",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--turns", type=int, default=200, metavar="N")
    parser.add_argument("--deltas", type=int, default=5_000, metavar="N")
    parser.add_argument("--agents", type=int, default=20, metavar="N")
    given = parser.parse_args(list(arguments))
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "program.py")
        script.write_text(PROGRAM)
        words = (sys.executable, "-I", "-S", str(script))
        asyncio.run(_measure(words, folder, given.turns, given.deltas, given.agents))
    return 0


async def _measure(
    words: tuple[str, ...], folder: str, turns: int, deltas: int, agents: int
) -> None:
    print(f"{'':24}{'per turn':>12}{'per delta':>14}")
    figures = []
    async with AsyncExitStack() as stack:
        for label, turn in (
            ("the SDK's client", await _by_sdk(stack, words, folder)),
            ("our agent", await _by_us(stack, words, folder)),
        ):
            figures.append(await _times(turn, turns, deltas))
            print(f"{label:24}{figures[-1][0] * 1e3:>9.2f} ms{figures[-1][1] * 1e6:>11.1f} µs")
    (sdk_turn, sdk_delta), (our_turn, our_delta) = figures
    added, per_delta = (our_turn - sdk_turn) * 1e3, (our_delta - sdk_delta) * 1e6
    print(f"{'added by us':24}{added:>9.2f} ms{per_delta:>11.1f} µs\n")
    for label, tools in (("without tools", ()), ("with a tool of ours", (_tool,))):
        kilobytes = await _memory(words, folder, agents, tools)
        print(f"memory per idle agent, {label:20}{kilobytes:>8.0f} KB")


async def _times(turn: Turn, turns: int, deltas: int) -> tuple[float, float]:
    for _ in range(10):
        await turn(1)
    one = statistics.median([await _took(turn, 1) for _ in range(turns)])
    many = statistics.median([await _took(turn, deltas) for _ in range(5)])
    return one, (many - one) / (deltas - 1)


async def _took(turn: Turn, deltas: int) -> float:
    begin = time.perf_counter()
    await turn(deltas)
    return time.perf_counter() - begin


async def _by_sdk(stack: AsyncExitStack, words: Sequence[str], folder: str) -> Turn:
    pieces: list[str] = []

    class Client:
        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            pieces.append(update.content.text)

        def on_connect(self, _: Any) -> None:
            """Nothing."""

    client: Any = Client()
    connection, _ = await stack.enter_async_context(spawn_agent_process(client, *words, cwd=folder))
    await connection.initialize(1)
    session = (await connection.new_session(folder)).session_id

    async def turn(deltas: int) -> None:
        pieces.clear()
        await connection.prompt(session, [text_block(str(deltas))])
        while len(pieces) < deltas:  # noqa: ASYNC110 - updates are handled in tasks, maybe later
            await asyncio.sleep(0)

    return turn


async def _by_us(stack: AsyncExitStack, words: tuple[str, ...], folder: str) -> Turn:
    agent = DefaultAgent(AgentProgram(words), Path(folder))
    await stack.enter_async_context(agent.mcp())
    pieces: list[str] = []

    async def turn(deltas: int) -> None:
        pieces.clear()
        await agent.run_streaming(AgentInput(str(deltas)), _allow, pieces.append)
        agent.get_new_messages()
        if len(pieces) != deltas:
            raise RuntimeError(f"{len(pieces)} of {deltas} deltas")

    return turn


async def _memory(
    words: tuple[str, ...], folder: str, count: int, tools: Sequence[AsyncTool]
) -> float:
    async with AsyncExitStack() as stack:

        async def opened() -> None:
            agent = DefaultAgent(AgentProgram(words), Path(folder), tools=tools)
            await stack.enter_async_context(agent.mcp())
            await agent.run(AgentInput("1"), _allow)

        for _ in range(3):  # what the first one loads is no agent's
            await opened()
        before = _resident()
        for _ in range(count):
            await opened()
        return (_resident() - before) / count / 1e3


async def _allow(*_: Any) -> bool:
    return True


async def _tool(words: str) -> str:
    """Return the words."""
    return words


def _resident() -> int:
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
