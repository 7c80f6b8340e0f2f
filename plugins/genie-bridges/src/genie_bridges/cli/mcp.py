"""`genie-tui mcp`: a room as an MCP server on standard input and output."""

import argparse
import asyncio
import logging
import os
from contextlib import suppress
from pathlib import Path

from genie_bridges.mcp.member import AgentMember
from genie_core.errors import GenieError
from genie_core.room.open.opener import agent_opener
from genie_core.room.security.invite import looks_like_invite, read_invite
from genie_core.runtime.tasks import start_task
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_tui.cli.log_file import log_to
from genie_tui.cli.shutdown import stop_event


class NoAgentName(GenieError):
    """An agent has no name of its own."""

    template = "name the agent, for example --name bot: your own name stays yours"


def run_mcp(options: argparse.Namespace, source: SettingsSource, locations: Locations) -> int:
    """Serve until standard input is closed or a signal arrives; returns the exit code.

    Raises a `GenieError` for an invite or name that can't be used at all. Everything that may pass
    is reported by the tools.
    """
    reading = source.read()
    given = {
        name for name in ("name", "workspace") if reading.origin((name,)).layer == "command line"
    }
    if "name" not in given or reading.settings.name is None:
        raise NoAgentName
    way = " ".join(options.way)
    if looks_like_invite(way):
        read_invite(way)
    settings = Settings(local=reading.settings.local)
    opener = agent_opener(reading.settings.name, locations, settings)
    own = reading.settings.workspace if "workspace" in given else None
    folder = Path(own).expanduser().absolute() if own else Path.cwd()
    log_to(locations.log_file)
    asyncio.run(_serve(AgentMember(way, opener, folder)))
    return 0


async def _serve(member: AgentMember) -> None:
    """Serve, and leave the room in the end."""
    from genie_bridges.mcp.server import build_server

    stopped = stop_event()
    async with member:
        serving = start_task(build_server(member).run_stdio_async(), name="mcp")
        waiting = start_task(stopped.wait(), name="signals")
        await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
    if not serving.done():
        # A thread reads standard input, and nothing but the end of that would end it.
        logging.shutdown()
        os._exit(0)
    with suppress(BrokenPipeError):
        serving.result()
