"""What a test looks at in the screen of a room."""

from typing import Any

from tests.genie_tui.scripted_room import HandClock
from textual.pilot import Pilot
from textual.widgets import Static, TextArea

from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.approvals.card import ApprovalCard
from genie_tui.widgets.composer.composer import Composer


def editor(screen: RoomScreen) -> TextArea:
    return screen.query_one(Composer).query_one(TextArea)


def card(screen: RoomScreen) -> ApprovalCard:
    return screen.query_one(ApprovalCard)


def text_of(screen: RoomScreen, selector: str) -> str:
    return str(screen.query_one(selector, Static).render())


def notes(pilot: Pilot[Any]) -> str:
    """What the app told the person beside the room, a line each."""
    return "\n".join(note.message for note in pilot.app._notifications)


async def answer(pilot: Pilot[Any], clock: HandClock, key: str) -> None:
    """Choose an answer with a key, read the question, and confirm it."""
    await pilot.press(key)
    clock.rest()
    await pilot.press("enter")
