from tests.genie_core.room.founded import founded
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import ScriptedJoinedRoom
from textual.app import App
from textual.widgets import Static, TextArea

from genie_core.room.protocol.events import MessagePosted
from genie_core.room.security.identity import words
from genie_tui.screens.dialogs.full_view import FullViewScreen


async def shown(screen: FullViewScreen) -> tuple[int, str]:
    """The height of the dialog on a screen of 24 rows, and its text."""
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(screen)
        await pilot.pause()
        text = screen.query_one(TextArea)
        keys = screen.query_one("#full-view-keys").region
        box = screen.query_one("#full-view").region
        assert keys.bottom < box.bottom  # nothing hides them
        return box.height, text.text


async def test_height_follows_text() -> None:
    short, _ = await shown(FullViewScreen("title", "one word"))
    long, _ = await shown(FullViewScreen("title", "a line\n" * 100))
    assert short == 9
    assert long == 24 * 9 // 10


async def test_code_is_indented_instead_of_fenced() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    seq = joined.feed(MessagePosted("1", "so:\n```python\nx = 1\n```\nthere"), by="bob")[0].seq
    _, text = await shown(FullViewScreen.of_message(joined.state.threads[seq], joined.state))
    assert text == "so:\n    x = 1\nthere"


async def test_selection_or_all_is_copied() -> None:
    async with App[None]().run_test(size=(80, 24)) as pilot:
        screen = FullViewScreen("title", "alpha beta\ngamma")
        await pilot.app.push_screen(screen)
        await pilot.pause()
        keys = str(screen.query_one("#full-view-keys", Static).render())
        assert keys == "↑ ↓ scroll   shift+arrows select   y copy   esc back"
        await pilot.press("y")
        assert pilot.app.clipboard == "alpha beta\ngamma"
        await pilot.press(*["shift+right"] * 5, "ctrl+c")
        assert pilot.app.clipboard == "alpha"
        assert notes(pilot).splitlines() == ["Copied 16 characters.", "Copied 5 characters."]


async def test_signer_shows_below_text() -> None:
    log = founded("bob")
    said = log.says("bob", "hello\n\nthe message: signed by ann; proven\n" + "more\n" * 40).seq
    screen = FullViewScreen.of_message(log.state.threads[said], log.state)
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(screen)
        await pilot.pause()
        note = screen.query_one("#full-view-note", Static)
        by_bob = f"signed by bob, {words(log.state.keys['bob'])}; proven"
        assert str(note.render()) == f"the message: {by_bob}"
        text, keys = screen.query_one(TextArea), screen.query_one("#full-view-keys")
        assert text.region.bottom < note.region.y
        assert screen.query_one("#full-view").content_region.contains_region(keys.region)
