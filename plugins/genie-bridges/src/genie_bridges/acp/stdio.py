"""ACP on standard input and output, which nothing else of the program can use."""

import asyncio
import logging
import os
import stat
import sys
from typing import Final, cast

from acp.core import DEFAULT_STDIO_BUFFER_LIMIT_BYTES, run_agent
from acp.interfaces import Agent

from genie_bridges.acp.agent import RoomAgent
from genie_core.errors import GenieError
from genie_core.runtime.tasks import start_task

logger = logging.getLogger(__name__)

_INPUT: Final = 0
_OUTPUT: Final = 1
_ERRORS: Final = 2


class NoPipe(GenieError):
    """Standard input or output is nothing that an editor could talk through."""

    template = "an editor starts this and talks ACP to it through pipes; see docs/agents.md"


async def serve_stdio(agent: RoomAgent) -> None:
    """Serve until standard input ends or this is cancelled, and leave the room.

    Programs that the person's agent starts, and stray prints, get no hold of either stream.

    Raises:
        NoPipe: there is no editor at the other end.
    """
    for number in (_INPUT, _OUTPUT):
        mode = os.fstat(number).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(number)):
            raise NoPipe
    own_input, own_output = os.dup(_INPUT), os.dup(_OUTPUT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _INPUT)
    os.close(nothing)
    os.dup2(_ERRORS, _OUTPUT)
    sys.stdout.flush()
    reader, writer = await _streams(own_input, own_output)
    serving = start_task(agent.serve(), name="room")
    talking = start_task(run_agent(cast("Agent", agent), writer, reader), name="acp")
    try:
        await asyncio.wait([serving, talking], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (serving, talking):
            task.cancel()
        await asyncio.wait([serving, talking])
    for task in (serving, talking):
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("serving an editor failed", exc_info=error)


async def _streams(
    own_input: int, own_output: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(own_input, "rb", 0)
    )
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
        os.fdopen(own_output, "wb", 0),
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
