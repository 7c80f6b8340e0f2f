from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType

from genie_tui.widgets.key_footer import KeyFooter


class Host(App[None]):
    """Shows only the footer."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "bell", "allow once"),
        Binding("d", "screenshot", "deny"),
        Binding("escape", "focus_next", "later"),
        Binding("f1", "suspend_process", "help"),
    ]

    def compose(self) -> ComposeResult:
        yield KeyFooter()


async def test_crowded_keys_drop_last_stays() -> None:
    app = Host()
    async with app.run_test(size=(60, 5)) as pilot:

        async def shown(width: int) -> list[str]:
            await pilot.resize_terminal(width, 5)
            await pilot.pause()
            return [
                key.description
                for key in app.query_one(KeyFooter).keys
                if key.description != "Quit"
            ]

        assert await shown(60) == ["allow once", "deny", "later", "help"]
        assert await shown(36) == ["allow once", "later", "help"]
        assert await shown(10) == ["later", "help"]
        assert await shown(60) == ["allow once", "deny", "later", "help"]


def drawn(app: App[None]) -> str:
    """What the footer shows."""
    return app.query_one(KeyFooter).render_line(0).text


async def test_the_last_key_stands_at_the_right() -> None:
    app = Host()
    async with app.run_test(size=(60, 5)):
        line = drawn(app)
        assert line.startswith("a allow once d deny esc later ")
        assert line.rstrip().endswith("▏ f1 help")
        assert len(line.rstrip()) == 58


async def test_a_click_on_a_key_presses_it() -> None:
    class Denying(Host):
        denied = 0

        def action_screenshot(self, filename: str | None = None, path: str | None = None) -> None:
            self.denied += 1

    app = Denying()
    async with app.run_test(size=(60, 5)) as pilot:
        at = drawn(app).index("deny")
        assert await pilot.click(KeyFooter, offset=(at, 0))
        await pilot.pause()
        assert app.denied == 1
        await pilot.click(KeyFooter, offset=(45, 0))  # between the keys
        assert app.denied == 1


async def test_hovered_key_shows_tooltip() -> None:
    class Telling(Host):
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("a", "bell", "allow once", tooltip="Run the tool this time"),
            Binding("d", "screenshot", "deny"),
        ]

    app = Telling()
    async with app.run_test(size=(60, 5)) as pilot:
        footer = app.query_one(KeyFooter)

        def background(column: int) -> object:
            strip = footer.render_line(0)
            (segment,) = [*strip.crop(column, column + 1)]
            return segment.style.bgcolor if segment.style is not None else None

        before = background(1)
        await pilot.hover(KeyFooter, offset=(1, 0))
        await pilot.pause()
        assert background(1) != before
        assert footer.tooltip == "Run the tool this time"
        await pilot.hover(KeyFooter, offset=(45, 0))
        await pilot.pause()
        assert background(1) == before
        assert footer.tooltip is None
