"""Draw the screens of a replay without a terminal, as a process of its own; see `asciicast`."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TextIO

from rich.console import RenderableType
from textual._compositor import LayoutUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from genie_core.room.open.requests import ReplayRoom
from genie_core.room.open.service import RoomService
from genie_core.sessions.errors import NotExported
from genie_core.sessions.replay.player import Recording
from genie_core.sessions.service import SessionService
from genie_core.sessions.session import SavedSession
from genie_core.text.safe import visible_line
from genie_record.animated_svg import AnimatedSvg
from genie_record.asciicast import HEIGHT, LAST, WIDTH, asciicast_line, moments
from genie_tui.app import GenieApp
from genie_tui.screens.replay import ReplayScreen
from genie_tui.terminal_diff import Frame

BEGIN: Final = "\x1b[?25l\x1b[?7l"
"""No cursor, and no wrapped lines: as in the program."""

_LINK: Final = re.compile(r"\x1b\]8;id=[^;\x1b]*;(?:file:[^\x1b]*)?")
"""The left out parts of a hyperlink: its id, which differs between processes, and local paths."""


def main(folder: str, first: str, last: str, form: str) -> None:
    """Draw the screens of a replay, and print them in a format."""
    saved = SavedSession.load(Path(folder))
    draw = _print_svg if form == "svg" else _print_lines
    asyncio.run(draw(saved, int(first), int(last), sys.stdout))


async def _print_lines(saved: SavedSession, first: int, last: int, out: TextIO) -> None:
    at, begin, frame = 0.0, BEGIN, Frame()
    async for at, app in _screens(saved, first, last):
        update = LayoutUpdate([[strip] for strip in _strips(app)], Region(0, 0, WIDTH, HEIGHT))
        if changes := _LINK.sub("\x1b]8;;", frame.changes(update, app.console)):
            out.write(asciicast_line([round(at, 3), "o", begin + changes]))
            begin = ""
    out.write(asciicast_line([round(at + LAST, 3), "o", ""]))
    out.flush()


async def _print_svg(saved: SavedSession, first: int, last: int, out: TextIO) -> None:
    at, picture = 0.0, AnimatedSvg(WIDTH, HEIGHT)
    out.write(picture.begin(visible_line(saved.metadata.shown_title)))
    async for at, app in _screens(saved, first, last):
        out.write(picture.screen(at, _strips(app)))
    out.write(picture.end(at + LAST))
    out.flush()


async def _screens(
    saved: SavedSession, first: int, last: int
) -> AsyncIterator[tuple[float, GenieApp]]:
    """Yield the time of each moment, and the app that shows it."""
    service = _WithoutKeys(saved.folder.parent)
    app = _DrawnApp(service, ReplayRoom(saved.id, first), "", clock=_stands)
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        screen = app.screen
        if not isinstance(screen, ReplayScreen):
            raise NotExported(saved.id, app.failure)
        await screen.show(first)
        await app.workers.wait_for_complete()  # the seek bar shows how far the log is read
        with saved.reader() as log:
            for at, seq in moments(log.events(first - 1, last)):
                await screen.show(seq)
                await pilot.pause()
                yield at, app


def _strips(app: GenieApp) -> list[Strip]:
    return app.screen._compositor.render_strips()  # noqa: SLF001 - as Textual does


class _DrawnApp(GenieApp):
    """Draws only when it is asked to."""

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write nothing."""


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
