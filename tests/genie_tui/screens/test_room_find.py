import gc
import re

import pytest
from rich.style import Style
from tests.genie_tui.room_parts import editor
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from genie_core.room.protocol.events import (
    AnswerPosted,
    Event,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RecoveredEvent,
)
from genie_tui.screens import room_find
from genie_tui.screens.dialogs.pick import PickScreen, Row, matching
from genie_tui.screens.room import RoomScreen
from genie_tui.screens.room_find import matches_among, matches_in_state
from genie_tui.themes import theme_names
from genie_tui.widgets.find_bar import FindBar
from genie_tui.widgets.timeline.timeline import Timeline


def say(joined: ScriptedJoinedRoom, *texts: str) -> list[int]:
    return [joined.feed(MessagePosted(text, text), by="bob")[0].seq for text in texts]


def chosen(screen: RoomScreen) -> int | None:
    thread = screen.query_one(Timeline).chosen
    return thread.seq if thread is not None else None


async def find(screen: RoomScreen, pilot: Pilot[None], text: str) -> None:
    await pilot.press("ctrl+f", *text)
    await until(pilot, lambda: screen.query_one(FindBar).text == text)


def count(screen: RoomScreen) -> str:
    return str(screen.query_one("#find-count").render())


async def test_matches_cycle_from_latest(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        first, _, third = say(joined, "a Vendor", "something else", "no vendor")
        await find(screen, pilot, "vendor")
        await until(pilot, lambda: (chosen(screen), count(screen)) == (third, "2 of 2 messages"))
        await pilot.press("up")
        await until(pilot, lambda: (chosen(screen), count(screen)) == (first, "1 of 2 messages"))
        await pilot.press("up")  # around the end
        await until(pilot, lambda: chosen(screen) == third)
        await pilot.press("up", "down")
        await until(pilot, lambda: chosen(screen) == third)
        await pilot.press("enter")
        await until(pilot, lambda: chosen(screen) == first)
        await pilot.press("shift+enter")
        await until(pilot, lambda: chosen(screen) == third)
        await pilot.press("escape", "N")
        await until(pilot, lambda: screen.query_one(Timeline).has_focus and chosen(screen) == first)
        await pilot.press("n")
        await until(pilot, lambda: chosen(screen) == third)
        await pilot.press("escape")
        await until(pilot, lambda: editor(screen).has_focus)
        assert not screen.query_one(FindBar).has_class("-open")


async def test_count_notes_unmatched_selection(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        first, other, _ = say(joined, "a vendor", "something else", "the vendor")
        await find(screen, pilot, "vendor")
        await until(pilot, lambda: count(screen) == "2 of 2 messages")
        await pilot.press("escape", "up")
        await until(pilot, lambda: (chosen(screen), count(screen)) == (other, "– of 2 messages"))
        await pilot.press("N")  # from there
        await until(pilot, lambda: (chosen(screen), count(screen)) == (first, "1 of 2 messages"))


async def test_bar_keys_depend_on_focus(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        say(joined, "a vendor")
        keys = screen.query_one("#find-keys", Static)
        await find(screen, pilot, "vendor")
        await until(pilot, lambda: str(keys.render()) == "enter next   ↑ previous   esc read here")
        await until(pilot, lambda: count(screen) == "1 of 1 message")
        await pilot.press("escape")
        await until(pilot, lambda: str(keys.render()) == "n next   N previous   esc close")


def styles_of(screen: RoomScreen, text: str) -> set[Style]:
    """How a text is shown in the conversation."""
    timeline = screen.query_one(Timeline)
    shown = (segment for y in range(timeline.size.height) for segment in timeline.render_line(y))
    return {each.style for each in shown if each.text == text and each.style is not None}


async def test_shown_match_differs_in_all_themes(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined, (120, 40)) as (screen, pilot):
        first, _ = say(joined, "a vendor", "the vendor")
        await find(screen, pilot, "vendor")
        await until(pilot, lambda: count(screen) == "2 of 2 messages")
        await pilot.press("enter")
        await until(pilot, lambda: chosen(screen) == first)
        for theme in theme_names():
            pilot.app.theme = theme
            await pilot.pause()
            looks = {(each.bgcolor, each.underline) for each in styles_of(screen, "vendor")}
            assert len(looks) == 2, theme


async def test_match_deep_in_message_is_visible(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined, (80, 24)) as (screen, pilot):
        say(joined, "line\n" * 60 + "the vendor\n" + "line\n" * 60, *["more"] * 40)
        await find(screen, pilot, "vendor")
        await until(pilot, lambda: count(screen) == "1 of 1 message")
        await pilot.pause()
        assert styles_of(screen, "vendor")


async def test_typing_leaves_no_unawaited_search(
    joined: ScriptedJoinedRoom, recwarn: pytest.WarningsRecorder
) -> None:
    async with in_room(joined) as (screen, pilot):
        say(joined, "a vendor")
        for text in ("v", "ve", "ven"):
            screen.post_message(FindBar.Changed(text))
        await pilot.pause()
        gc.collect()
        assert [str(each.message) for each in recwarn] == []


async def test_escape_without_match_closes_search(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        say(joined, "a vendor")
        await find(screen, pilot, "nothing like it")
        await until(pilot, lambda: count(screen) == "no match")
        await pilot.press("escape")
        await until(pilot, lambda: editor(screen).has_focus)
        assert not screen.query_one(FindBar).has_class("-open")


async def test_typing_reads_no_log(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_find, "PAUSE", 3_600.0)
    reads: list[int] = []

    async def past(before: int, _most: int) -> list[Event]:
        reads.append(before)
        return []

    monkeypatch.setattr(joined, "past", past)
    async with in_room(joined) as (screen, pilot):
        (place,) = say(joined, "a vendor")
        await find(screen, pilot, "vendor")
        await until(pilot, lambda: (chosen(screen), count(screen)) == (place, "1 of 1 message…"))
        assert reads == []


async def test_the_command_finds_at_once(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        (place,) = say(joined, "the [vendor] (x")
        await pilot.press(*"/find [vendor] (", "enter")
        await until(pilot, lambda: chosen(screen) == place)


def test_answers_and_recovered_match(joined: ScriptedJoinedRoom) -> None:
    asked = joined.say_here("which one?")
    answered = joined.feed(AnswerPosted(asked, "The vendor."))[0].seq
    pattern = re.compile("VENDOR", re.IGNORECASE)
    assert list(matches_in_state(joined.state, pattern)) in ([], [answered])
    recovered = Event(
        90, 1.0, "bob", RecoveredEvent(Event(3, 1.0, "x", MessagePosted("i", "vendor")))
    )
    assert list(matches_among([*joined.events, recovered], pattern)) == [answered, 90]


async def test_edits_and_deletions_are_respected(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        edited, deleted = say(joined, "teh vendor", "the secret vendor")
        joined.feed(MessageEdited(edited, "the seller"), by="bob")
        joined.feed(MessageDeleted(deleted), by="bob")
        await find(screen, pilot, "vendor")
        await until(pilot, lambda: count(screen) == "no match")
        await pilot.press("escape")
        await find(screen, pilot, "seller")
        await until(pilot, lambda: (chosen(screen), count(screen)) == (edited, "1 of 1 message"))


async def test_mentions_are_listed_and_reached(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        wanted, *_ = say(joined, "@ann look here", "nothing", "not @annabel", "@Ann: and here")
        deleted, edited = say(joined, "@ann look at the secret", "look")
        joined.feed(MessageDeleted(deleted), by="bob")
        joined.feed(MessageEdited(edited, "@ann see"), by="bob")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
        rows = [str(each.prompt) for each in pilot.app.screen.query_one(OptionList).options]
        assert len(rows) == 3
        assert "@ann see" in rows[0]
        assert "secret" not in "".join(rows)
        await pilot.press(*"look", "enter")
        await until(pilot, lambda: chosen(screen) == wanted)


def test_rows_are_found_by_some_of_their_letters() -> None:
    rows = [Row("1", "Launch week"), Row("2", "Lunch"), Row("3", "Garden")]
    assert [row.id for row in matching("lnch", rows)] in (["1", "2"], ["2", "1"])
    assert [row.id for row in matching("gdn", rows)] == ["3"]
    assert matching("xyz", rows) == []
    assert matching(" ", rows) == rows
