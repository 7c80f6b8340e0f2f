"""Where the side panel of a room is, by how wide the terminal is."""

from tests.genie_tui.scripted_seat import (
    ScriptedSeat,
    in_room,
    until,
)

from genie_tui.screens.panel_place import PanelPlace
from genie_tui.widgets.side_panel import SidePanel, Tab
from genie_tui.widgets.timeline.timeline import Timeline


async def test_beside_the_conversation_it_hides_nothing(seat: ScriptedSeat) -> None:
    async with in_room(seat, (140, 40)) as (screen, pilot):
        place, side = PanelPlace(screen), screen.query_one(SidePanel)
        assert side.is_on_screen
        assert not place.toggle()
        await until(pilot, lambda: not side.is_on_screen)
        place.open(Tab.APPROVALS)
        await until(pilot, lambda: side.is_on_screen)
        assert side.tab is Tab.APPROVALS
        assert not place.covers
        assert screen.query_one(Timeline).is_on_screen
        place.uncover()
        await pilot.pause()
        assert side.is_on_screen


async def test_where_space_is_short_it_covers_the_conversation(seat: ScriptedSeat) -> None:
    async with in_room(seat, (80, 24)) as (screen, pilot):
        place, timeline = PanelPlace(screen), screen.query_one(Timeline)
        assert not screen.query_one(SidePanel).is_on_screen
        place.open(Tab.ACTIVITY)
        covered = [place.covers]
        await until(pilot, lambda: not timeline.is_on_screen)
        place.uncover()
        covered.append(place.covers)
        await until(pilot, lambda: timeline.is_on_screen)
        assert place.toggle()
        covered.append(place.covers)
        assert covered == [True, False, True]
