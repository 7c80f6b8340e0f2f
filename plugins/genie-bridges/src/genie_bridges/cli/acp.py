"""`genie-tui acp`: a room as an ACP agent on standard input and output, for editors."""

import argparse
import asyncio
import os
import threading
from pathlib import Path

from genie_core.assistant.check import check_config
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom
from genie_core.room.protocol.names import check_name
from genie_core.room.security.invite import looks_like_invite, read_invite
from genie_core.runtime.tasks import start_task
from genie_core.settings.credentials import hide_own_secrets, names_at_hand
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import assistant_config, default_name
from genie_tui.cli.log_file import log_to
from genie_tui.cli.shutdown import PATIENCE, end_in, stop_event


def run_acp(options: argparse.Namespace, source: SettingsSource, locations: Locations) -> int:
    """Serve until standard input is closed or a signal arrives; returns the exit code.

    Raises a `GenieError` for an invite, a name or settings that can't be used at all. Everything
    that may pass is shown in the editor.
    """
    reading = source.read()
    settings = reading.settings
    name = check_name(default_name() if settings.name is None else settings.name)
    way = " ".join(options.way)
    if looks_like_invite(way):
        read_invite(way)
    config = assistant_config(settings, locations)
    if not options.guest:
        check_config(config, names_at_hand(name, locations, os.environ))
    log_to(locations.log_file)
    # A keyring may wait for its owner, so this thread is not waited for.
    threading.Thread(target=hide_own_secrets, args=(name, locations), daemon=True).start()
    renamed = reading.origin(("name",)).layer == "command line"
    opener = RoomOpener(name, settings, locations, renamed=renamed)
    asyncio.run(_serve(JoinRoom(way, guest=options.guest), opener, config.workspace))
    end_in(PATIENCE)
    return 0


async def _serve(opening: JoinRoom, opener: RoomOpener, folder: Path | None) -> None:
    from genie_bridges.acp.agent import RoomAgent
    from genie_bridges.acp.stdio import serve_stdio

    stopped = stop_event()
    serving = start_task(serve_stdio(RoomAgent(opening, opener, folder)), name="acp")
    waiting = start_task(stopped.wait(), name="signals")
    await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if stopped.is_set():
        serving.cancel()
        await asyncio.wait([serving])
    else:
        serving.result()
