"""What a person sees and can do as the connection changes."""

import re

from tests.genie_tui.room_parts import editor, text_of
from tests.genie_tui.scripted_room import (
    ScriptedJoinedRoom,
    in_room,
    until,
)

from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.protocol.frames import MemberTyping
from genie_tui.room_feed import RoomFeed
from genie_tui.widgets.approvals.panel import ApprovalPanel
from genie_tui.widgets.banner import CALM, Banner
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.status_bar import StatusBar
from genie_tui.widgets.typing_line import HintLine


async def test_lost_connection_shows_countdown(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        banner = screen.query_one(Banner)
        assert not banner.display
        status = ConnectionStatus(ConnectionState.RETRYING, "connection lost", 3.0)
        joined.emit(status)
        await until(pilot, lambda: "reconnecting" in str(screen.query_one(StatusBar).render()))
        assert not banner.display
        banner.count_down(CALM)
        joined.emit(status)
        await until(
            pilot, lambda: re.search(r"lost: reconnecting in [123] s", str(banner.render()))
        )
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: joined.said)
        joined.emit(ConnectionStatus(ConnectionState.ONLINE))
        await until(pilot, lambda: not banner.display)


async def test_a_closed_room_keeps_the_draft(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press(*"draft")
        status = ConnectionStatus(ConnectionState.CLOSED, "the host suspended the room")
        joined.emit(status)
        await until(pilot, lambda: editor(screen).read_only)
        await pilot.press("x", "enter")
        assert screen.query_one(Composer).draft == "draft"
        assert "suspended" in str(screen.query_one(Banner).render())
        assert joined.said == []


async def test_closed_room_has_no_approvals(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        joined.ask("one")
        await until(pilot, lambda: screen.query_one(ApprovalPanel).waiting == 1)
        joined.set_link(ConnectionStatus(ConnectionState.CLOSED, "the host suspended the room"))
        await until(pilot, lambda: screen.query_one(ApprovalPanel).waiting == 0)
        assert "closed" in text_of(screen, "#no-approvals")
        assert screen.query_one(StatusBar).has_class("-waiting") is False


async def test_late_connecting_status_is_ignored() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        before = str(screen.query_one(StatusBar).render())
        screen.post_message(
            RoomFeed.Arrived(ConnectionStatus(ConnectionState.CONNECTING, "the host is asked"))
        )
        await pilot.pause()
        assert str(screen.query_one(StatusBar).render()) == before
        assert not screen.query_one(Banner).display


async def test_lost_connection_clears_typing(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        hints = screen.query_one(HintLine)
        joined.emit(MemberTyping("bob"))
        await until(pilot, lambda: hints.typing)
        joined.set_link(ConnectionStatus(ConnectionState.RETRYING, "connection lost", 3.0))
        await until(pilot, lambda: not hints.typing)
