from textual.app import App, ComposeResult

from genie_tui.widgets.tick import Tick


class Host(App[None]):
    def compose(self) -> ComposeResult:
        yield Tick("with [b]files", compact=True)


async def test_its_state_is_read_without_colours() -> None:
    app = Host()
    async with app.run_test() as pilot:
        tick = app.query_one(Tick)
        assert tick.render().plain.startswith("[ ] with")
        await pilot.press("space")
        await pilot.pause()
        assert tick.value
        assert tick.render().plain.startswith("[x] with")
