"""The newest message is in view: after entering, after sending, while the composer grows."""

from typing import Any

import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual import events
from textual.pilot import Pilot

from genie_core.room.client.events import PendingChanged
from genie_core.room.client.model import PendingMessage
from genie_core.room.protocol.events import MessagePosted
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.timeline.timeline import Timeline

SIZES = [(120, 40), (80, 24)]


@pytest.fixture
def joined() -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom()
    made.open_room()
    for number in range(60):
        made.feed(MessagePosted(str(number), f"message {number}"), by="bob")
    return made


async def until_in_view(screen: RoomScreen, pilot: Pilot[Any], text: str) -> None:
    timeline = screen.query_one(Timeline)

    def in_view() -> bool:
        lines = (timeline.render_line(y).text for y in range(timeline.size.height))
        return text in " ".join(lines)

    await until(pilot, in_view)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("text", ["short", "word " * 180, "line\n" * 12, "x" * 15_000])
async def test_own_message_and_next_stay_in_view(
    joined: ScriptedJoinedRoom, size: tuple[int, int], text: str
) -> None:
    async with in_room(joined, size) as (screen, pilot):
        await until_in_view(screen, pilot, "message 59")
        pilot.app.post_message(events.Paste(text))
        await until(pilot, lambda: screen.query_one(Composer).draft)
        await until_in_view(screen, pilot, "message 59")
        await pilot.press("enter")
        await until(pilot, lambda: joined.said)
        joined.emit(PendingChanged((PendingMessage("u", f"{text}END", emote=False, at=1.0),)))
        await until_in_view(screen, pilot, "END")
        joined.feed(MessagePosted("u", f"{text}END"))
        joined.emit(PendingChanged(()))
        await until_in_view(screen, pilot, "END")
        joined.feed(MessagePosted("v", "and then"), by="bob")
        await until_in_view(screen, pilot, "and then")


@pytest.mark.parametrize("size", SIZES)
async def test_a_room_is_entered_at_its_end(
    joined: ScriptedJoinedRoom, size: tuple[int, int]
) -> None:
    joined.feed(MessagePosted("long", "word " * 3000 + "END"), by="bob")
    async with in_room(joined, size) as (screen, pilot):
        await until_in_view(screen, pilot, "END")
        joined.feed(MessagePosted("v", "and then"), by="bob")
        await until_in_view(screen, pilot, "and then")
