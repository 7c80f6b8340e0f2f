from tests.genie_tui.scripted_room import ScriptedJoinedRoom, ScriptedRoomService, Ticking, until
from textual.widgets import Input, Static

from genie_tui.app import GenieApp
from genie_tui.screens.dialogs.ask_line import AskLineScreen


async def test_typed_line_is_stripped() -> None:
    app = GenieApp(ScriptedRoomService(ScriptedJoinedRoom()), None, "ann", clock=Ticking())
    answers: list[str | None] = []
    async with app.run_test() as pilot:
        for keys in (["space", "x", "space", "enter"], ["ctrl+u", "enter"], ["x", "escape"]):
            screen = AskLineScreen("Rename “[/red]\x1b[2J”", "Garden", "a [b]hint", 80)
            await app.push_screen(screen, answers.append)
            assert str(screen.query_one("#ask-title", Static).render()) == "Rename “[/red]␛[2J”"
            assert screen.query_one("#ask-line", Input).value == "Garden"
            await pilot.press(*keys)
            await until(pilot, lambda: app.screen is not screen)  # noqa: B023 - awaited at once
    assert answers == ["Garden x", "", None]
