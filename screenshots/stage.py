"""What every scene needs: places on the disk, visitors without a screen, a camera."""

import asyncio
import html
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import cairosvg
from rich.cells import cell_len
from textual.pilot import Pilot

from genie_core.room.client.events import RoomEvent
from genie_core.room.client.model import EngineState
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom, OpenRequest
from genie_core.room.open.service import RoomService
from genie_core.room.participant.room import JoinedRoom
from genie_core.sessions.service import SessionService
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_tui.app import GenieApp
from genie_tui.exit_report import ExitReport
from genie_tui.screens.room import RoomScreen

LOOPBACK = ["127.0.0.1"]
HERE = Path(__file__).parent
WIDE = (132, 38)
DEADLINE = 60.0


def ignore(event: RoomEvent) -> None:
    """Show nothing."""


def places(folder: Path) -> Locations:
    return Locations(folder / "config", folder / "data", folder / "log")


async def until(condition: Callable[[], bool], pilot: Pilot[tuple[ExitReport, ...]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await pilot.pause(0.05)
    await pilot.pause(0.3)


async def visitor(name: str, folder: Path, address: str, *, guest: bool = False) -> "JoinedRoom":
    entrance = RoomOpener(name, Settings(template="general_assist"), places(folder / name))
    joined = await entrance.enter(JoinRoom(address, guest=guest), ignore)
    assert isinstance(joined, JoinedRoom)
    return joined


def app_for(
    folder: Path, opening: OpenRequest | None, settings: Settings, interfaces: Sequence[str] = ()
) -> GenieApp:
    service = RoomService("ann", settings, places(folder / "ann"), interfaces=interfaces or None)
    return GenieApp(
        service,
        opening,
        "ann",
        store=SessionService("ann", places(folder / "ann").sessions, places(folder / "ann").search),
    )


def room_of(app: GenieApp) -> RoomScreen:
    assert isinstance(app.screen, RoomScreen)
    return app.screen


_RUN: Final = re.compile(
    r'(<text [^>]*?)x="([\d.]+)" (y="[\d.]+") textLength="([\d.]+)"([^>]*)>([^<]+)</text>'
)


def shoot(app: GenieApp, name: str) -> None:
    svg = app.export_screenshot(title="genie-tui")
    (HERE / f"{name}.svg").write_text(svg, "utf-8")
    # The web font of the SVG is out of reach when drawing without a browser.
    drawable = _in_cells(svg.replace("Fira Code", "DejaVu Sans Mono"))
    cairosvg.svg2png(bytestring=drawable.encode(), write_to=str(HERE / f"{name}.png"), scale=1.25)
    print(f"screenshots/{name}.svg, .png")


def _in_cells(svg: str) -> str:
    """Place each character of a run by itself: cairosvg ignores `textLength`, so frames would gape."""

    def placed(run: re.Match[str]) -> str:
        start, x, y, width, rest, text = run.groups()
        plain = html.unescape(text)
        cells = max(cell_len(plain), 1)
        places, cell = [], 0
        for character in plain:
            places.append(f"{float(x) + float(width) * cell / cells:.1f}")
            cell += cell_len(character)
        return f'{start}x="{" ".join(places)}" {y}{rest}>{text}</text>'

    return _RUN.sub(placed, svg)


async def seated(app: GenieApp, pilot: Pilot[tuple[ExitReport, ...]]) -> "JoinedRoom":
    """The seat of whoever the app is for, once it is taken and its engine is loaded."""
    screen = room_of(app)
    await until(lambda: screen.joined is not None, pilot)
    joined = screen.joined
    assert joined is not None
    await until(lambda: joined.engine.status.state is EngineState.READY, pilot)
    return joined
