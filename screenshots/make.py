"""Make the screenshots of the README: the real app, real rooms, real agents, driven by a script.

Everything runs in a temporary folder on loopback. The people are participants of a real room; only
their lines are written down here.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import cairosvg
from textual.pilot import Pilot
from textual.widgets import OptionList

from genie_core.progress import What
from genie_core.room.address import Address
from genie_core.room.announcement import Announcement
from genie_core.room.deed import sign_deed
from genie_core.room.discovery import Announcer
from genie_core.room.event import Event
from genie_core.room.identity import Identity
from genie_core.room.invite import Invite, write_invite
from genie_core.room.participant import Participant
from genie_core.room.seat import (
    Answer,
    EngineState,
    EngineStatus,
    Knock,
    LinkStatus,
    Seat,
    Severity,
    Transfer,
    Unsent,
)
from genie_tui.app import Departure, GenieApp
from genie_tui.doorman import House
from genie_tui.entrance import Entrance
from genie_tui.locations import Locations
from genie_tui.opening import JoinRoom, NewRoom, Opening
from genie_tui.screens.invite import InviteScreen, Terms
from genie_tui.screens.room import RoomScreen
from genie_tui.settings import Settings

LOOPBACK = ["127.0.0.1"]
HERE = Path(__file__).parent
WIDE = (132, 38)
DEADLINE = 60.0

PLAN = """# Launch

- Tuesday: freeze, last review of the notes
- Thursday 14:00 UTC: announcement
- Friday: nothing new, everybody watches
"""


class Shown:
    """A host that nobody reaches."""

    invite = ""

    def issue(self, *, uses: int | None = None, lifetime: float | None = None) -> str:
        return self.invite

    def renew(self, *, uses: int | None = None, lifetime: float | None = None) -> str:
        return self.invite


class Nobody:
    """A listener without a screen."""

    def on_event(self, event: Event) -> None: ...
    def on_typing(self, name: str) -> None: ...
    def on_delta(self, message: int, text: str) -> None: ...
    def on_progress(self, message: int, agent: str, what: What, detail: str) -> None: ...
    def on_link(self, status: LinkStatus) -> None: ...
    def on_engine(self, status: EngineStatus) -> None: ...
    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None: ...
    def on_notice(self, severity: Severity, text: str) -> None: ...
    def on_knock(self, knock: Knock) -> None: ...
    def on_offered(self, by: str) -> None: ...
    def on_accepted(self, name: str) -> None: ...
    def on_transfer(self, transfer: Transfer) -> None: ...


def places(folder: Path) -> Locations:
    return Locations(folder / "config", folder / "data", folder / "log")


async def until(condition: Callable[[], bool], pilot: Pilot[Departure]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await pilot.pause(0.05)
    await pilot.pause(0.3)


async def visitor(name: str, folder: Path, address: str, *, guest: bool = False) -> Participant:
    entrance = Entrance(name, Settings(template="general_assist"), places(folder / name))
    seat = await entrance.enter(JoinRoom(address, guest=guest), Nobody())
    assert isinstance(seat, Participant)
    return seat


def app_for(
    folder: Path, opening: Opening | None, settings: Settings, interfaces: Sequence[str] = ()
) -> GenieApp:
    house = House("ann", settings, places(folder / "ann"), interfaces=interfaces or None)
    return GenieApp(house, opening, "ann")


def room_of(app: GenieApp) -> RoomScreen:
    assert isinstance(app.screen, RoomScreen)
    return app.screen


def shoot(app: GenieApp, name: str) -> None:
    svg = app.export_screenshot(title="genie-tui")
    (HERE / f"{name}.svg").write_text(svg, "utf-8")
    # The web font of the SVG is out of reach when drawing without a browser.
    drawable = svg.replace("Fira Code", "DejaVu Sans Mono")
    cairosvg.svg2png(bytestring=drawable.encode(), write_to=str(HERE / f"{name}.png"), scale=1.25)
    print(f"screenshots/{name}.svg, .png")


async def room(folder: Path) -> None:
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "launch.md").write_text(PLAN, "utf-8")
    settings = Settings(workspace=str(workspace), local=True)
    app = app_for(folder, NewRoom("Launch week"), settings)
    async with app.run_test(size=WIDE) as pilot:
        screen = room_of(app)
        await until(lambda: screen.seat is not None, pilot)
        ann = screen.seat
        assert ann is not None
        await until(lambda: ann.engine.state is EngineState.READY, pilot)
        ben = await visitor("ben", folder, ann.address)
        cleo = await visitor("cleo", folder, ann.address, guest=True)
        await until(lambda: ben.engine.state is EngineState.READY, pilot)

        def number(text: str) -> int | None:
            exchanges = ann.state.exchanges.values()
            return next((one.seq for one in exchanges if one.said.text == text), None)

        async def said(who: Seat, text: str) -> int:
            who.say(text)
            await until(lambda: number(text) is not None, pilot)
            return number(text) or 0

        async def ended(seq: int) -> None:
            await until(lambda: seq not in ann.state.running, pilot)

        await ended(await said(ben, "Morning! The draft of the notes is done, **18 pages**."))
        await ended(await said(cleo, "Nice. I will read them after lunch."))
        await ended(await said(ben, "@genie how many days until 24 December?"))
        await ended(await said(cleo, "That is less than I thought."))
        await ended(await said(ann, "@genie read launch.md"))
        refused = await said(cleo, "@genie run git status")
        await until(lambda: bool(ann.state.pending_for("ann")), pilot)
        ann.answer(
            ann.state.pending_for("ann")[0].id,
            Answer(allow=False, reason="not now, ben is merging"),
        )
        await ended(refused)
        await said(cleo, '@genie save "The freeze is at noon." as changes.md')
        await until(lambda: bool(ann.state.pending_for("ann")), pilot)
        await pilot.press("ctrl+g")
        await pilot.pause(1.0)
        shoot(app, "room")

        await pilot.press("a")
        await until(lambda: not ann.state.running, pilot)
        await pilot.press("escape", "f2")
        await pilot.pause(0.5)
        shoot(app, "activity")
        app.theme = "genie-light"
        await pilot.pause(0.5)
        shoot(app, "activity-light")
        await cleo.leave()
        await ben.leave()
        await ann.leave()


async def lobby(folder: Path) -> None:
    for title in ("Incident 311", "Reading group"):
        seat = await Entrance("ann", Settings(local=True), places(folder / "ann")).enter(
            NewRoom(title), Nobody()
        )
        seat.say("Hello")
        await seat.leave()
    app = app_for(folder, None, Settings(), interfaces=LOOPBACK)
    async with (
        Announcer(announced("Design review"), interfaces=LOOPBACK),
        app.run_test(size=(100, 30)) as pilot,
    ):
        await until(lambda: app.screen.query_one("#nearby", OptionList).option_count > 0, pilot)
        shoot(app, "lobby")


def announced(title: str) -> Announcement:
    """A room of somebody else, announced on this machine only."""
    ben = Identity.generate()
    deed = sign_deed(
        ben,
        room="2026-11-20-design-review-7hq2",
        host="ben",
        pin=Identity.generate().key,  # of the same shape
        addresses=("192.0.2.17:7654",),
        at=time.time(),
    )
    return Announcement(deed, title, 7654)


async def invite(folder: Path) -> None:
    """The invite of a room at addresses that nobody has."""
    app = app_for(folder, NewRoom("Launch week"), Settings(announce=False, local=True))
    async with app.run_test(size=(100, 44)) as pilot:
        screen = room_of(app)
        await until(lambda: screen.seat is not None, pilot)
        addresses = (Address("192.0.2.17", 7654), Address("2001:db8::17", 7654))
        text = write_invite(
            Invite(addresses, Identity.generate().key, "AAAAAAA", bytes(16), "Launch week")
        )
        await app.push_screen(InviteScreen(Shown(), "Launch week", Terms(text), time.monotonic))
        await pilot.pause(1.0)
        shoot(app, "invite")


async def main() -> None:
    os.environ.setdefault("TERM", "xterm-256color")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await room(folder)
        await lobby(folder)
        await invite(folder)


asyncio.run(main())
