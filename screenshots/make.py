"""Make the screenshots of the README: the real app, real rooms, real agents, driven by a script.

Everything runs in a temporary folder on loopback. The people are participants of a real room; only
their lines are written down here.
"""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from textual.widgets import OptionList

from genie_core.room.client.model import Answer, EngineState
from genie_core.room.discovery.browser import Announcer
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import NewRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.address import Address
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite import Invite, write_invite
from genie_core.settings.model import Settings
from genie_tui.screens.dialogs.invite import InviteScreen, Terms
from genie_tui.widgets.approvals.key_guard import QUIET
from genie_tui.widgets.side_panel import SidePanel, Tab
from screenshots.assistant import assistant
from screenshots.browser import browser
from screenshots.sessions import sessions
from screenshots.stage import (
    LOOPBACK,
    WIDE,
    app_for,
    ignore,
    places,
    room_of,
    seated,
    shoot,
    until,
    visitor,
)

PLAN = """# Launch

- Tuesday: freeze, last review of the notes
- Thursday 14:00 UTC: announcement
- Friday: nothing new, everybody watches
"""


async def room(folder: Path) -> None:
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "launch.md").write_text(PLAN, "utf-8")
    settings = Settings(workspace=str(workspace), local=True)
    app = app_for(folder, NewRoom("Launch week"), settings)
    async with app.run_test(size=WIDE) as pilot:
        ann = await seated(app, pilot)
        ben = await visitor("ben", folder, ann.hosting.address)
        cleo = await visitor("cleo", folder, ann.hosting.address, guest=True)
        await until(lambda: ben.engine.status.state is EngineState.READY, pilot)

        def number(text: str) -> int | None:
            threads = ann.state.threads.values()
            return next((one.seq for one in threads if one.said.text == text), None)

        async def said(who: JoinedRoom, text: str) -> int:
            who.messages.send(text)
            await until(lambda: number(text) is not None, pilot)
            return number(text) or 0

        async def ended(seq: int) -> None:
            await until(lambda: seq not in ann.state.running, pilot)

        await ended(await said(ben, "Morning! The draft of the notes is done, **18 pages**."))
        await ended(await said(cleo, "Nice. I will read them after lunch."))
        await ended(await said(ben, "@genie how much is 18 * 24?"))
        await ended(await said(cleo, "That is more than I thought."))
        await ended(await said(ann, "@genie read launch.md"))
        refused = await said(cleo, "@genie run git status")
        await until(lambda: bool(ann.state.pending_for("ann")), pilot)
        ann.approvals.answer(
            ann.state.pending_for("ann")[0].id,
            Answer(allow=False, reason="not now, ben is merging"),
        )
        await ended(refused)
        await said(cleo, '@genie save "The freeze is at noon." as changes.md')
        await until(lambda: bool(ann.state.pending_for("ann")), pilot)
        app.screen.query_one(SidePanel).open(Tab.APPROVALS)
        await pilot.pause(0.5)
        shoot(app, "room")
        await pilot.press("ctrl+g")
        await pilot.pause(QUIET + 0.5)
        shoot(app, "approval")

        await pilot.press("a")
        await pilot.pause(QUIET + 1.0)
        await pilot.press("enter")
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
        joined = await RoomOpener("ann", Settings(local=True), places(folder / "ann")).enter(
            NewRoom(title), ignore
        )
        joined.messages.send("Hello")
        await joined.leave()
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
    host_record = sign_host_record(
        ben,
        room="2026-11-20-design-review-7hq2",
        host="ben",
        pin=Identity.generate().key,  # of the same shape
        addresses=("192.0.2.17:7654",),
        at=time.time(),
    )
    return Announcement(host_record, title, 7654)


async def invite(folder: Path) -> None:
    """The invite of a room at addresses that nobody has."""
    app = app_for(folder, NewRoom("Launch week"), Settings(announce=False, local=True))
    async with app.run_test(size=(100, 44)) as pilot:
        screen = room_of(app)
        await until(lambda: screen.joined is not None, pilot)
        addresses = (Address("192.0.2.17", 7654), Address("2001:db8::17", 7654))
        text = write_invite(
            Invite(addresses, Identity.generate().key, "AAAAAAA", bytes(16), "Launch week")
        )
        terms = Terms(text)
        dialog = InviteScreen(
            lambda: terms, "Launch week", "192.0.2.17:7654", terms, time.monotonic
        )
        await app.push_screen(dialog)
        await pilot.pause(1.0)
        shoot(app, "invite")


async def main() -> None:
    os.environ.setdefault("TERM", "xterm-256color")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await room(folder)
        await lobby(folder)
        await invite(folder)
        await assistant(folder)
        await sessions(folder)
        await browser(folder)


if __name__ == "__main__":
    asyncio.run(main())
