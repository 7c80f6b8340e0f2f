"""The scene of a room in a browser: the real page in a headless Chromium."""

import asyncio
from pathlib import Path

from tests.contract.browser import PROGRAM, Browser, Tab

from genie_core.room.client.events import RoomEvent
from genie_core.room.client.model import Answer, EngineState, EngineStatus
from genie_core.room.open.opener import host_room
from genie_core.room.open.route import route_of
from genie_core.room.participant.room import JoinedRoom
from genie_core.settings.model import Settings
from genie_serve.config import WebTable
from genie_serve.web.gateway import WebGateway
from genie_serve.web.visitor import WebRoom
from screenshots.stage import DEADLINE, HERE

MORNING = (
    "Morning! The draft of the notes is **done**:\n- freeze on Tuesday\n- announcement on Thursday"
)


async def browser(folder: Path) -> None:
    if PROGRAM is None:
        print("screenshots/browser.png is kept: chromium is not installed")
        return
    ready = asyncio.Event()

    def note(event: RoomEvent) -> None:
        if isinstance(event, EngineStatus) and event.state is EngineState.READY:
            ready.set()

    settings = Settings(local=True, template="general_assist")
    ann = await host_room("Launch week", note, name="ann", home=folder / "web", settings=settings)
    gateway = WebGateway(WebTable())
    await gateway.start()
    try:
        await asyncio.wait_for(ready.wait(), DEADLINE)
        link = gateway.link(WebRoom(route_of(ann.hosting.address)))
        ann.messages.send(MORNING)
        allowing = asyncio.create_task(_allow(ann))
        await asyncio.to_thread(_shoot, link, folder / "chromium")
        allowing.cancel()
    finally:
        await gateway.stop()
        await ann.leave(grace=0.0)
    print("screenshots/browser.png")


async def _allow(ann: JoinedRoom) -> None:
    """Allow each call that is asked for."""
    while True:
        for call in ann.state.pending_for("ann"):
            ann.approvals.answer(call.id, Answer(allow=True))
        await asyncio.sleep(0.05)


def _shoot(link: str, home: Path) -> None:
    with Browser(home) as started:
        ben = _joined(started, link, "ben")
        cleo = _joined(started, link, "cleo")
        ben.wait_for("genie stayed silent")
        cleo.say("Nice. I will read them after lunch.")
        ben.wait_for("after lunch")
        ben.wait_until("document.querySelectorAll('summary').length === 2")
        ben.say("@genie how much is 18 * 24?")
        ben.wait_for("genie to ben")
        cleo.value("document.querySelectorAll('.entry-message .reply')[0].click()")
        cleo.say("Then Thursday fits.")
        ben.wait_until("document.querySelectorAll('summary').length === 3")
        ben.value("document.getElementById('text').blur()")
        ben.shoot(HERE / "browser.png")


def _joined(started: Browser, link: str, name: str) -> Tab:
    tab = started.open(link, started.visitor(), width=960, height=760)
    tab.join(name)
    tab.wait_for(f"{name} joined")
    return tab
