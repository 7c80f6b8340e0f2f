from tests.genie_tui.scripted_room import HandClock, until
from textual.app import App
from textual.content import Content
from textual.widgets import Static

from genie_tui.screens.dialogs.confirm import ConfirmScreen


class Host(App[None]):
    """Asks and keeps the answer."""

    def __init__(self, *, read_first: bool = False, by_itself: bool = False) -> None:
        super().__init__()
        self.clock = HandClock()
        self.options = {"read_first": read_first, "by_itself": by_itself}
        self.answers: list[bool | None] = []

    def on_mount(self) -> None:
        text = Content("\n".join(f"line [{number}]" for number in range(100)))
        question = ConfirmScreen("Send [this]?", text, "send", self.clock, **self.options)
        _ = self.push_screen(question, self.note)

    def note(self, answer: bool | None) -> None:
        self.answers.append(answer)


async def test_enter_counts_immediately() -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.clock.rest(0.1)
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == [True])


async def test_keys_in_one_write_agree_to_nothing() -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.clock.rest(0.1)
        await pilot.press("y", "enter", "space", "enter")
        await pilot.pause(0.1)
        assert app.answers == []


async def test_enter_counts_after_rest_if_opened_by_itself() -> None:
    app = Host(by_itself=True)
    async with app.run_test() as pilot:
        for _ in range(3):
            app.clock.rest(0.9)
            await pilot.press("enter")
        assert app.answers == []
        app.clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == [True])


async def test_typing_withdraws_the_question() -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.clock.rest()
        await pilot.press(*"sales")
        for _ in range(2):
            app.clock.rest(0.5)
            await pilot.press("enter")
        await pilot.pause(0.1)
        assert app.answers == []
        for _ in range(2):  # the first one asks again
            app.clock.rest()
            await pilot.press("enter")
        await until(pilot, lambda: app.answers == [True])


async def test_escape_always_goes_back() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("escape")
        await until(pilot, lambda: app.answers == [False])


async def test_typing_on_agrees_to_nothing() -> None:
    app = Host()
    async with app.run_test() as pilot:
        for key in ("a", "y", "o", "space", "tab", "ctrl+j"):
            app.clock.rest()
            await pilot.press(key)
        assert app.answers == []


async def test_long_text_scrolls_without_markup() -> None:
    app = Host()
    async with app.run_test() as pilot:
        assert "[this]" in str(app.screen.query_one("#confirm-title", Static).render())
        assert "[99]" in str(app.screen.query_one("#confirm-text", Static).render())
        app.clock.rest()
        await pilot.press("pagedown")
        await until(pilot, lambda: app.screen.query_one("#confirm-scroll").scroll_y > 0)


async def test_read_first_confirms_at_end_only() -> None:
    app = Host(read_first=True)
    async with app.run_test() as pilot:
        area = app.screen.query_one("#confirm-scroll")
        await until(pilot, lambda: area.max_scroll_y > 0)
        for _ in range(2):
            app.clock.rest()
            await pilot.press("enter")
        assert app.answers == []
        assert area.scroll_y > 0
        area.scroll_end(animate=False, immediate=True)
        await until(pilot, lambda: area.scroll_y == area.max_scroll_y)
        app.clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == [True])
