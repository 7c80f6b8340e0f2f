from textual.app import App

from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.help import HelpScreen


async def test_double_key_closes_one_screen() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        below = app.screen
        for screen in (HelpScreen(), FullViewScreen("title", "text")):
            await app.push_screen(screen)
            await pilot.pause()
            for _ in range(2):
                app.simulate_key("escape")
            for _ in range(4):  # each hands a key on: to the app, to a screen, to what it does
                await pilot.pause()
            assert app.screen is below
            assert len(app.screen_stack) == 1


async def test_covered_screen_is_not_closed() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        under, over = FullViewScreen("under", ""), FullViewScreen("over", "")
        await app.push_screen(under)
        await app.push_screen(over)
        await pilot.pause()
        await under.dismiss()
        assert app.screen_stack[-2:] == [under, over]
