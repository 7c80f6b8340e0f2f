"""What a person sees and can do as the connection changes."""

import re

from tests.genie_tui.room_parts import editor, text_of
from tests.genie_tui.scripted_seat import (
    ScriptedSeat,
    in_room,
    until,
)

from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.protocol.frames import MemberTyping
from genie_tui.room_feed import RoomFeed
from genie_tui.widgets.approvals.panel import ApprovalPanel
from genie_tui.widgets.banner import Banner
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.hint_line import HintLine
from genie_tui.widgets.status_bar import StatusBar


async def test_a_lost_connection_is_announced_and_writing_goes_on(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (screen, pilot):
        banner = screen.query_one(Banner)
        assert not banner.display
        status = ConnectionStatus(ConnectionState.RETRYING, "connection lost", 3.0)
        seat.emit(status)
        await until(pilot, lambda: banner.display)
        assert re.search(r"reconnecting in [123] s", str(banner.render()))
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: seat.said)
        seat.emit(ConnectionStatus(ConnectionState.ONLINE))
        await until(pilot, lambda: not banner.display)


async def test_a_closed_room_keeps_the_draft(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (screen, pilot):
        await pilot.press(*"draft")
        status = ConnectionStatus(ConnectionState.CLOSED, "the host suspended the room")
        seat.emit(status)
        await until(pilot, lambda: editor(screen).read_only)
        await pilot.press("x", "enter")
        assert screen.query_one(Composer).draft == "draft"
        assert "suspended" in str(screen.query_one(Banner).render())
        assert seat.said == []


async def test_behind_closed_doors_there_is_nothing_to_answer(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (screen, pilot):
        seat.ask("one")
        await until(pilot, lambda: screen.query_one(ApprovalPanel).waiting == 1)
        seat.set_link(ConnectionStatus(ConnectionState.CLOSED, "the host suspended the room"))
        await until(pilot, lambda: screen.query_one(ApprovalPanel).waiting == 0)
        assert "closed" in text_of(screen, "#no-approvals")
        assert screen.query_one(StatusBar).has_class("-waiting") is False


async def test_what_was_said_at_the_door_is_over_in_the_room() -> None:
    seat = ScriptedSeat()
    seat.open_room()
    async with in_room(seat) as (screen, pilot):
        before = str(screen.query_one(StatusBar).render())
        screen.post_message(
            RoomFeed.Arrived(ConnectionStatus(ConnectionState.CONNECTING, "the host is asked"))
        )
        await pilot.pause()
        assert str(screen.query_one(StatusBar).render()) == before
        assert not screen.query_one(Banner).display


async def test_nobody_writes_while_nothing_is_heard_of_them(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (screen, pilot):
        hints = screen.query_one(HintLine)
        seat.emit(MemberTyping("bob"))
        await until(pilot, lambda: hints.typing)
        seat.set_link(ConnectionStatus(ConnectionState.RETRYING, "connection lost", 3.0))
        await until(pilot, lambda: not hints.typing)
