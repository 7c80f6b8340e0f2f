from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets._footer import FooterKey

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


async def test_keys_that_do_not_fit_are_left_out_and_the_last_one_stays() -> None:
    app = Host()
    async with app.run_test(size=(60, 5)) as pilot:

        async def shown(width: int) -> list[str]:
            await pilot.resize_terminal(width, 5)
            await pilot.pause()
            return [key.description for key in app.query(FooterKey) if key.description != "Quit"]

        assert await shown(60) == ["allow once", "deny", "later", "help"]
        assert await shown(36) == ["allow once", "later", "help"]
        assert await shown(10) == ["later", "help"]
        assert await shown(60) == ["allow once", "deny", "later", "help"]
