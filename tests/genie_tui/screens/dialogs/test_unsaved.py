import pytest
from tests.genie_tui.scripted_room import until
from textual.widgets import Static

from genie_tui.commands.keymap import KeyedApp
from genie_tui.exit_report import UnsavedInput, UnsentText
from genie_tui.screens.dialogs.unsaved import Rescue, UnsavedScreen


class Host(KeyedApp[None]):
    """Asks and keeps the answers."""

    def __init__(self, *, can_stay: bool) -> None:
        super().__init__()
        self.can_stay = can_stay
        self.answers: list[Rescue | None] = []

    def on_mount(self) -> None:
        many = tuple(UnsentText(f"message [{number}]") for number in range(60))
        unsaved = UnsavedInput("Garden", many, UnsentText("half"), "No [b]space\x1b left")
        screen = UnsavedScreen(unsaved, can_stay=self.can_stay, problem="that name is taken")
        _ = self.push_screen(screen, self.answers.append)


@pytest.mark.parametrize(
    ("key", "rescue"), [("w", Rescue.WRITE), ("p", Rescue.PRINT), ("escape", Rescue.STAY)]
)
async def test_a_key_says_what_becomes_of_it(key: str, rescue: Rescue) -> None:
    app = Host(can_stay=True)
    async with app.run_test() as pilot:
        await pilot.press(key)
        await until(pilot, lambda: app.answers == [rescue])


@pytest.mark.parametrize("can_stay", [True, False])
async def test_long_text_scrolls_other_keys_idle(*, can_stay: bool) -> None:
    app = Host(can_stay=can_stay)
    async with app.run_test(size=(60, 16)) as pilot:
        screen = app.screen
        told = "\n".join(str(each.visual) for each in screen.query(Static))
        assert "60 unsent messages and your draft" in told
        assert "No [b]space␛ left" in told
        assert "message [59]" in told
        assert "that name is taken" in told
        keys = screen.query_one("#unsaved-keys", Static)
        await until(pilot, lambda: "print it" in str(keys.content))
        assert ("stay in the room" in str(keys.content)) is can_stay
        assert screen.query_one("#unsaved").content_region.contains_region(keys.region)
        await pilot.press("down", "down")
        await until(pilot, lambda: screen.query_one("#unsaved-scroll").scroll_y > 0)
        for key in ("x", "enter", "space", *(() if can_stay else ("escape",))):
            await pilot.press(key)
        assert app.screen is screen
        assert app.answers == []
