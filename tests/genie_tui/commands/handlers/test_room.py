"""Who is in a room, and how they like to be answered."""

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, ScriptedRoomService, in_room, until
from textual.widgets import Static, TextArea

from genie_core.errors import GenieError
from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import KnownSecrets
from genie_core.room.protocol.events import PREFERENCE_CHARS, PreferencesChanged
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.dialogs.preferences import PreferencesScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.composer.composer import Composer

VALUE = "correct-horse-battery"


@pytest.fixture(autouse=True)
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know({"A_KEY": VALUE})


async def test_own_preferences_are_edited(joined: ScriptedJoinedRoom) -> None:
    service = ScriptedRoomService(joined, wishes={joined.name: "in rhymes"})
    async with in_room(joined, service=service) as (screen, pilot):

        def state() -> str:
            return str(pilot.app.screen.query_one("#preferences-state", Static).render())

        async def opened() -> TextArea:
            screen.query_one(Composer).draft = "/prefs"
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, PreferencesScreen))
            await until(pilot, lambda: pilot.app.screen.query(TextArea))
            await until(pilot, lambda: pilot.app.screen.query_one(TextArea).has_focus)
            return pilot.app.screen.query_one(TextArea)

        editor = await opened()
        assert editor.text == "in rhymes"
        public = pilot.app.screen.query_one("#preferences-public", Static)
        assert "All members of your rooms" in str(public.render())
        await pilot.press(*", pls", "escape")
        await until(pilot, lambda: "esc again" in state())
        assert isinstance(pilot.app.screen, PreferencesScreen)
        editor.text = "x" * (PREFERENCE_CHARS + 1)
        await until(pilot, lambda: "2,001 characters are too many" in state())
        await pilot.press("ctrl+s")
        editor.text = f"my key is {VALUE}"
        await until(pilot, lambda: "your secret A_KEY" in state())
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PreferencesScreen)
        assert service.wishes == {joined.name: "in rhymes"}
        editor.text = " briefly\n"
        await until(pilot, lambda: "7 of 2,000" in state())
        await pilot.press("ctrl+s")
        await until(pilot, lambda: joined.preferences == ["briefly"])
        assert service.wishes == {joined.name: "briefly"}

        service.wishes_error = GenieError("the disk is full")
        editor = await opened()
        editor.text = "shortly"
        await pilot.press("ctrl+s")
        await until(
            pilot, lambda: joined.preferences[1:] == ["shortly"]
        )  # this room hears it all the same
        await until(pilot, lambda: "the disk is full" in _told(screen))

        await opened()
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)


async def test_other_preferences_shown_no_secret(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        joined.feed(PreferencesChanged("[red]in\x1b[31m prose"), by="bob")
        composer.draft = "/prefs @Bob"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, FullViewScreen))
        await until(pilot, lambda: pilot.app.screen.query(TextArea))
        assert pilot.app.screen.query_one(TextArea).text == "[red]in␛[31m prose"
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        composer.draft = "/prefs nobody"
        await pilot.press("enter")
        await until(pilot, lambda: "nobody has set no preferences" in _told(screen))

        composer.draft = f"is {VALUE} right?"
        await pilot.press("enter")
        await until(pilot, lambda: "Not sent: it contains your secret A_KEY." in _told(screen))
        assert composer.draft == f"is {VALUE} right?"
        assert joined.said == []
        assert VALUE not in _told(screen)
        composer.draft = "is it right?"
        await pilot.press("enter")
        await until(pilot, lambda: joined.said)


def _told(screen: RoomScreen) -> str:
    return "\n".join(notice.message for notice in screen.app._notifications)


async def test_members_are_listed_with_details(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        composer.post_message(Composer.Submitted("/who"))
        await until(pilot, lambda: "ann" in notes(pilot) and "bob" in notes(pilot))
        pilot.app.clear_notifications()
        composer.post_message(Composer.Submitted("/who bob"))
        await until(pilot, lambda: "bob" in notes(pilot))
        assert "ann" not in notes(pilot)
        composer.post_message(Composer.Submitted("/who [b]cleo"))
        await until(pilot, lambda: "[b]cleo has never been in this room." in notes(pilot))
