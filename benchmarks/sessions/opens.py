"""How long a saved room takes to open, and how much memory; each time in a process of its own."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest import mock

from benchmarks.sessions.lore import LAST_WORD
from genie_core.sessions.log.writer import EventLog
from genie_core.sessions.session import SavedSession

PATIENCE = 300.0


def measure_log(folder: Path) -> float:
    """Open the log for writing, up to the room's state; returns seconds."""
    saved = SavedSession.load(folder)
    began = perf_counter()
    opened = EventLog.open(saved.log_path)
    opened.state()
    seconds = perf_counter() - began
    opened.log.close()
    return seconds


def measure_screen(home: Path, room: str, report: Callable[[float], None]) -> None:
    """Host the room in the app, without a terminal, and report once its last message is shown."""
    asyncio.run(_shown(home, room, report))


async def _shown(home: Path, room: str, report: Callable[[float], None]) -> None:
    import genie_core.room.open.profile
    from genie_core.room.open.requests import ResumeRoom
    from genie_core.room.open.service import RoomService
    from genie_core.settings.locations import find_locations
    from genie_core.settings.model import Settings
    from genie_tui.app import GenieApp

    settings = Settings(local=True, announce=False, port=_free_port())
    service = RoomService("ann", settings, find_locations({"GENIE_HOME": str(home)}))
    app = GenieApp(service, ResumeRoom(room), "ann")
    began = perf_counter()
    with mock.patch.object(genie_core.room.open.profile, "engine_loader", _no_engine):
        async with app.run_test(size=(120, 40)) as pilot, asyncio.timeout(PATIENCE):
            while not _shows(app.screen, LAST_WORD):
                await pilot.pause()
            report(perf_counter() - began)


def _shows(screen: Any, text: str) -> bool:
    from genie_tui.widgets.timeline.timeline import Timeline

    timelines = screen.query(Timeline)
    return any(
        text in timeline.render_line(y).text
        for timeline in timelines
        for y in range(timeline.size.height)
    )


def _no_engine(*_: object, **__: object) -> Any:
    """A loader that is never done: what an engine takes is measured elsewhere."""

    async def load() -> None:
        await asyncio.get_running_loop().create_future()

    return load


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
