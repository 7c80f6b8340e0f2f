"""Draw the screens of a replay without a terminal, as a process of its own; see `asciicast`."""

import asyncio
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TextIO

from rich.console import RenderableType
from textual._compositor import LayoutUpdate
from textual.geometry import Region
from textual.screen import Screen

from genie_core.room.open.requests import ReplayRoom
from genie_core.room.open.service import RoomService
from genie_core.room.protocol.events import Event
from genie_core.sessions.errors import NotExported
from genie_core.sessions.replay.pace import gap
from genie_core.sessions.replay.player import Recording
from genie_core.sessions.service import SessionService
from genie_core.sessions.session import SavedSession
from genie_tui.app import GenieApp
from genie_tui.asciicast import HEIGHT, LAST, WIDTH, asciicast_line
from genie_tui.frame import Frame
from genie_tui.screens.replay import ReplayScreen

FRAME: Final = 0.04
"""Seconds between two screens at least; what happens meanwhile is shown together."""

BEGIN: Final = "\x1b[?25l\x1b[?7l"
"""No cursor, and no wrapped lines: as in the program."""

_LINK: Final = re.compile(r"\x1b\]8;id=[^;\x1b]*;(?:file:[^\x1b]*)?")
"""What of a hyperlink is left out: its id, another one in each process, and paths of this machine."""


def main(folder: str, first: str, last: str) -> None:
    """Draw the screens of a replay, and print them as lines of a recording."""
    asyncio.run(_play(Path(folder), int(first), int(last), sys.stdout))


async def _play(folder: Path, first: int, last: int, out: TextIO) -> None:
    saved = SavedSession.load(folder)
    app = _DrawnApp(_WithoutKeys(folder.parent), ReplayRoom(saved.id, first), "", clock=_stands)
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        screen, frame = app.screen, Frame()
        if not isinstance(screen, ReplayScreen):
            raise NotExported(saved.id, app.failure)
        await screen.show(first)
        await app.workers.wait_for_complete()  # the seek bar shows how far the log is read
        at, begin = 0.0, BEGIN
        with saved.reader() as log:
            for at, seq in _moments(log.events(first - 1, last)):
                await screen.show(seq)
                await pilot.pause()
                changes = _LINK.sub("\x1b]8;;", frame.changes(_whole(screen), app.console))
                if changes:
                    out.write(asciicast_line([round(at, 3), "o", begin + changes]))
                    begin = ""
        out.write(asciicast_line([round(at + LAST, 3), "o", ""]))
        out.flush()


def _whole(screen: Screen[Any]) -> LayoutUpdate:
    """Return what Textual would write to draw the whole screen."""
    size = screen.size
    strips = screen._compositor.render_strips()  # noqa: SLF001 - as Textual does
    return LayoutUpdate([[strip] for strip in strips], Region(0, 0, size.width, size.height))


class _DrawnApp(GenieApp):
    """Draws only when it is asked to."""

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write nothing."""


def _moments(events: Iterable[Event]) -> Iterator[tuple[float, int]]:
    """Yield the times to draw, and the last event by then."""
    now, before = 0.0, None
    drawn, seq = 0.0, 0
    for event in events:
        now += 0.0 if before is None else gap(before, event.at)
        if seq and now - drawn >= FRAME:
            yield drawn, seq
            drawn = now
        before, seq = event.at, event.seq
    yield drawn, seq


class _WithoutKeys(RoomService):
    """The sessions in a folder, without the keys that open private messages."""

    def __init__(self, folder: Path) -> None:
        SessionService.__init__(self, "", folder, folder)

    def recording(self, wanted: str) -> Recording:
        """Open a session that does not grow meanwhile, and tells of no problems."""
        return replace(SessionService.recording(self, wanted), problems=(), growing=False)


def _stands() -> float:
    """A clock that stands: only `show` moves the replay."""
    return 0.0
