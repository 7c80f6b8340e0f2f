"""Marking decisions as wrong in a room."""

from pathlib import Path

from tests.genie_tui.scripted_room import ScriptedJoinedRoom, ScriptedRoomService, in_room, until
from textual.geometry import Region

from genie_core.room.protocol.events import DecisionMade
from genie_core.sessions.labels import Label, Labels
from genie_tui.screens.decision_labels import UNDECIDED
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.timeline.timeline import Timeline

MARKED = "you marked the decision to stay silent as wrong"


def room_with_decision() -> tuple[ScriptedJoinedRoom, int]:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    message = joined.say_here("what is 6*7?")
    joined.feed(DecisionMade(message, "ignore", "small talk"))
    return joined, message


def text_of(widget: Timeline | ActivityList) -> str:
    strips = widget.render_lines(Region(0, 0, widget.size.width, widget.size.height))
    return "\n".join(strip.text.rstrip() for strip in strips)


def toasts(screen: RoomScreen) -> list[str]:
    return [each.message for each in screen.app._notifications]


async def test_decision_is_marked_and_unmarked(tmp_path: Path) -> None:
    joined, message = room_with_decision()
    service = ScriptedRoomService(joined, folder=tmp_path)
    async with in_room(joined, size=(160, 40), service=service) as (screen, pilot):
        timeline, activity_list = screen.query_one(Timeline), screen.query_one(ActivityList)
        await pilot.press("f5", "up", "!")
        await until(pilot, lambda: Labels.read(tmp_path).wrong)
        await until(pilot, lambda: MARKED in text_of(timeline))
        label = Labels.read(tmp_path).wrong[message]
        assert (label.decision, label.by) == ("ignore", "ann")
        await pilot.press("f2")
        await until(pilot, lambda: "! marked wrong" in text_of(activity_list))
        await pilot.press("!")
        await until(pilot, lambda: not Labels.read(tmp_path).wrong)
        await until(pilot, lambda: MARKED not in text_of(timeline))
        assert "! marked wrong" not in text_of(activity_list)


async def test_marks_return_on_reopening(tmp_path: Path) -> None:
    joined, message = room_with_decision()
    Labels.read(tmp_path).put(Label(message, "wrong", "ignore", 1_790_000_000.0, "ann"))
    service = ScriptedRoomService(joined, folder=tmp_path)
    async with in_room(joined, service=service) as (screen, pilot):
        await until(pilot, lambda: MARKED in text_of(screen.query_one(Timeline)))


async def test_what_nobody_decided_cant_be_wrong(tmp_path: Path) -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    joined.say_here("what is 6*7?")
    service = ScriptedRoomService(joined, folder=tmp_path)
    async with in_room(joined, service=service) as (screen, pilot):
        await pilot.press("f5", "up", "!")
        await until(pilot, lambda: UNDECIDED in toasts(screen))
    assert not Labels.read(tmp_path).wrong


async def test_failed_write_shows_no_mark(tmp_path: Path) -> None:
    joined, _ = room_with_decision()
    service = ScriptedRoomService(joined, folder=tmp_path / "not there")
    async with in_room(joined, service=service) as (screen, pilot):
        await pilot.press("f5", "up", "!")
        await until(pilot, lambda: any("can't write" in each for each in toasts(screen)))
        assert MARKED not in text_of(screen.query_one(Timeline))
