"""The scenes of saved rooms: how one ends, where they are listed, and watching one again."""

import asyncio
import io
import os
import time
from collections.abc import Sequence
from pathlib import Path

from textual.pilot import Pilot

from genie_core.room.client.model import Answer, EngineState
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import NewRoom, ReplayRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import MessagePosted
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.labels import Label, Labels
from genie_core.settings.load import SettingsSource
from genie_core.settings.model import Settings
from genie_eval.cli.what_if import what_if
from genie_tui.app import GenieApp
from genie_tui.cli.commands import parser
from genie_tui.exit_report import ExitReport
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.what_if import WhatIfScreen
from genie_tui.screens.lobby import LobbyScreen
from genie_tui.screens.replay import ReplayScreen
from genie_tui.screens.sessions import SessionsScreen
from genie_tui.widgets.approvals.key_guard import QUIET
from genie_tui.widgets.key_footer import KeyFooter
from screenshots.stage import WIDE, app_for, ignore, places, seated, shoot, until, visitor

NOTES = """# Release 2.4

- 14:00 UTC: the build is cut
- 15:00 UTC: announcement
"""

TALK = (
    (0, "Morning. The release is at three, the build an hour before."),
    (1, "I have the last two fixes in review."),
    (0, "@genie read release.md"),
    (1, "Good, that is what I had in mind, too."),
    (0, "what is 15% of 2480?"),
    (1, "372, but why?"),
    (0, "what is 372 * 12?"),
    (1, "@genie search this chat for fixes"),
    (0, "Then we can announce it before we go home."),
)


async def recorded(folder: Path) -> str:
    """A room in which people talked and agents worked, as it is suspended; returns its id."""
    workspace = folder / "release"
    workspace.mkdir()
    (workspace / "release.md").write_text(NOTES, "utf-8")
    settings = Settings(workspace=str(workspace), local=True, template="mention_only")
    app = app_for(folder, NewRoom("Release 2.4"), settings)
    async with app.run_test(size=WIDE) as pilot:
        ann = await seated(app, pilot)
        ben = await visitor("ben", folder, ann.hosting.address)
        cleo = await visitor("cleo", folder, ann.hosting.address, guest=True)
        dan = await visitor("dan", folder, ann.hosting.address, guest=True)
        await until(lambda: ben.engine.status.state is EngineState.READY, pilot)
        for who, text in TALK:
            await said((ann, ben)[who], ann, text, pilot)
        refused = await ask(ann, ann, "@genie run git push", pilot)
        answer(ann, Answer(allow=False, reason="ben does that"))
        await until(lambda: refused not in ann.state.running, pilot)
        await ask(ann, ann, "@genie run sleep 2", pilot)
        answer(ann, Answer(allow=True))
        await ask(cleo, ann, "@genie run sleep 600", pilot)
        answer(ann, Answer(allow=True))
        await ask(dan, ann, '@genie save "Cut at 14:00." as done.md', pilot)
        await pilot.press("ctrl+q")
        await until(lambda: isinstance(app.screen, ConfirmScreen), pilot)
        await pilot.pause(QUIET + 0.5)
        await pilot.press("enter")
        await until(lambda: len(ann.state.running) < 2, pilot)
        await pilot.press("ctrl+q")
        room = ann.saved
        for joined in (ben, cleo, dan):
            await joined.leave()
    return room


def answer(host: "JoinedRoom", how: Answer) -> None:
    host.approvals.answer(host.state.pending_for("ann")[0].id, how)


async def ask(
    who: "JoinedRoom", host: "JoinedRoom", text: str, pilot: Pilot[tuple[ExitReport, ...]]
) -> int:
    """Say something that makes an agent ask for a tool; returns its number when it does."""
    number = await said(who, host, text, pilot, ends=False)
    await until(lambda: bool(host.state.pending_for("ann")), pilot)
    return number


async def said(
    who: "JoinedRoom",
    host: "JoinedRoom",
    text: str,
    pilot: Pilot[tuple[ExitReport, ...]],
    *,
    ends: bool = True,
) -> int:
    """Say something, and wait until all is done about it; returns its number."""
    who.messages.send(text)

    def number() -> int:
        threads = host.state.threads.values()
        return next((each.seq for each in threads if each.said.text == text), 0)

    await until(lambda: bool(number()), pilot)
    if ends:
        await until(lambda: number() not in host.state.running, pilot)
    return number()


async def others(folder: Path) -> None:
    """Some more rooms, so that there is a list."""
    talks: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]] = (
        ("Incident 311", ("ops",), ("The queue is full again.", "@genie what is 1200/8?")),
        ("Reading group", ("books",), ("Chapter four for Thursday?",)),
        ("Standup", ("daily", "team"), ("Done: the fixes. Next: the release.", "Same here.")),
    )
    for title, tags, lines in talks:
        joined = await RoomOpener("ann", Settings(local=True), places(folder / "ann")).enter(
            NewRoom(title), ignore
        )
        for line in lines:
            joined.messages.send(line)
        await joined.leave()
        Catalog(places(folder / "ann").sessions).find(joined.saved).tag(tags)


async def listed(folder: Path) -> None:
    """The list, with the room that was recorded under the cursor."""
    app = app_for(folder, None, Settings(local=True))
    async with app.run_test(size=WIDE) as pilot:
        await until(lambda: isinstance(app.screen, LobbyScreen), pilot)
        await pilot.press("f3")
        await until(lambda: isinstance(app.screen, SessionsScreen), pilot)
        await pilot.pause(1.0)
        shoot(app, "sessions")


async def asked_again(folder: Path, room: str) -> None:
    """Ask the reasoner that speaks up by itself what it would have decided; one silence was wrong."""
    options = parser().parse_args(["replay", room, "--reasoner", "general_assist"])
    home = places(folder / "ann")
    saved = Catalog(home.sessions).find(room)
    with saved.reader() as log:
        (missed,) = [
            event.seq
            for event in log.events()
            if isinstance(event.body, MessagePosted) and "372 * 12" in event.body.text
        ]
    Labels.read(saved.folder).put(Label(missed, "wrong", "ignore", time.time(), "ann"))
    source = SettingsSource(home.settings_file, {}, {"name": "ann"})
    await asyncio.to_thread(what_if, options, source, home, {}, io.StringIO(), io.StringIO())


async def watched(folder: Path, room: str) -> None:
    """The room in replay, and the report of what another reasoner would have decided."""
    app = app_for(folder, None, Settings(local=True))
    async with app.run_test(size=WIDE) as pilot:
        await open_replay(app, room, pilot)
        await pilot.press("7")
        for _ in range(2):
            await pilot.press("d")
        await pilot.pause(1.0)
        shoot(app, "replay")
        await pilot.press("r")
        await until(lambda: isinstance(app.screen, WhatIfScreen), pilot)
        await pilot.pause(0.5)
        shoot(app, "whatif")


async def open_replay(app: GenieApp, room: str, pilot: Pilot[tuple[ExitReport, ...]]) -> None:
    await until(lambda: isinstance(app.screen, LobbyScreen), pilot)
    app.screen.post_message(SessionsScreen.Chosen(ReplayRoom(room)))
    await until(lambda: isinstance(app.screen, ReplayScreen), pilot)
    await until(lambda: bool(app.screen.query(KeyFooter)), pilot)
    await pilot.pause(1.0)


async def sessions(folder: Path) -> None:
    """Everything that is done with saved rooms."""
    folder = folder / "sessions"
    folder.mkdir()
    os.environ["HOME"] = str(folder)  # so that no picture names a folder of this machine
    await others(folder)
    room = await recorded(folder)
    await listed(folder)
    await asked_again(folder, room)
    await watched(folder, room)
