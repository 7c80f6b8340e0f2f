import pytest
from tests.genie_tui.scripted_seat import HandClock
from textual.app import App, ComposeResult

from genie_core.room.protocol.events import Event, MemberLeft, MessagePosted
from genie_tui.widgets.hint_line import LATE, LINGER, HintLine


class Host(App[None]):
    """Shows only the line."""

    CSS = "HintLine { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()

    def compose(self) -> ComposeResult:
        yield HintLine(self.clock)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["bob"], "bob is typing…"),
        (["bob", "cleo"], "bob and cleo are typing…"),
        (["a", "b", "c"], "3 people are typing…"),
        (["\x1b[/red]"], "␛[/red] is typing…"),
    ],
)
async def test_names_who_is_writing(names: list[str], words: str) -> None:
    app = Host()
    async with app.run_test():
        line = app.query_one(HintLine)
        for name in names:
            line.somebody_types(name)
        assert line.render().plain.strip() == words


async def test_forgets_who_stopped() -> None:
    app = Host()
    async with app.run_test():
        line = app.query_one(HintLine)
        line.somebody_types("bob")
        app.clock.rest(LINGER - 1)
        line.somebody_types("cleo")
        app.clock.rest(1)
        line.forget_silent()
        assert line.typing == {"cleo"}
        line.stopped_typing("cleo")
        assert not line.typing


async def test_nobody_types_what_has_come_though_the_sign_of_it_is_late() -> None:
    app = Host()
    async with app.run_test():
        line = app.query_one(HintLine)
        line.somebody_types("bob")
        line.take_note([Event(1, 0.0, "bob", MessagePosted("1", "hi"))])
        assert not line.typing
        app.clock.rest(LATE * 0.9)
        line.somebody_types("bob")
        line.somebody_types("cleo")
        assert line.typing == {"cleo"}
        app.clock.rest(LATE)
        line.somebody_types("bob")
        assert line.typing == {"bob", "cleo"}


async def test_keeps_what_waits_when_names_are_long() -> None:
    app = Host()
    async with app.run_test(size=(60, 5)):
        line = app.query_one(HintLine)
        line.show_waiting(3)
        line.somebody_types("n" * 100)
        text = line.render()
        assert text.cell_length <= 60
        assert text.plain.endswith("ctrl+g")


async def test_those_who_spoke_or_left_are_not_typing() -> None:
    app = Host()
    async with app.run_test():
        line = app.query_one(HintLine)
        for name in ("bob", "cleo", "dan"):
            line.somebody_types(name)
        said, left = (
            Event(1, 0.0, "bob", MessagePosted("1", "hi")),
            Event(2, 0.0, "", MemberLeft("cleo")),
        )
        line.take_note([said, left])
        assert line.typing == {"dan"}


async def test_messages_from_before_are_told_until_the_host_has_chosen() -> None:
    app = Host()
    async with app.run_test():
        line = app.query_one(HintLine)
        line.show_backlog(1_200)
        assert line.render().plain.startswith("1,200 messages from before the restart wait:")
        line.somebody_types("bob")
        assert line.render().plain.startswith("bob is typing")
        line.nobody_types()
        line.show_backlog(0)
        assert not line.render().plain.strip()
