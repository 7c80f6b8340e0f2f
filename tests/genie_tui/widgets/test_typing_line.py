import pytest
from tests.genie_tui.command_keys import CommandKeysApp
from tests.genie_tui.scripted_room import HandClock
from textual.app import ComposeResult

from genie_core.room.protocol.events import Event, MemberLeft, MessagePosted
from genie_tui.widgets.typing_line import LATE, LINGER, HintLine


class Host(CommandKeysApp):
    """Shows only the line."""

    CSS = "HintLine { height: 1; }"

    clock: HandClock

    def __init__(self) -> None:
        super().__init__(HandClock())

    def compose(self) -> ComposeResult:
        yield HintLine(self.clock)


async def test_hidden_panel_key_yields_to_typing() -> None:
    app = Host()
    async with app.run_test(size=(100, 5)) as pilot:
        line = app.query_one(HintLine)
        line.show_people(3)
        assert line.render().plain.strip() == "f2  3 people and the activity"
        line.show_waiting(1)
        assert line.render().plain.strip().startswith("f2  3 people")
        line.show_typing("bob")
        assert "f2" not in line.render().plain
        line.clear_typing()
        line.show_panel(is_open=True)
        assert "f2" not in line.render().plain
        line.show_panel(is_open=False)
        await pilot.resize_terminal(40, 5)
        assert line.render().plain.strip() == "▲ 1 tool call waits  ctrl+g"


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
            line.show_typing(name)
        assert line.render().plain.strip() == words


async def test_forgets_who_stopped() -> None:
    app = Host()
    async with app.run_test():
        line = app.query_one(HintLine)
        line.show_typing("bob")
        app.clock.rest(LINGER - 1)
        line.show_typing("cleo")
        app.clock.rest(1)
        line.expire_typing()
        assert line.typing == {"cleo"}
        line.stop_typing("cleo")
        assert not line.typing


async def test_message_clears_late_typing_sign() -> None:
    app = Host()
    async with app.run_test():
        line = app.query_one(HintLine)
        line.show_typing("bob")
        line.apply_many([Event(1, 0.0, "bob", MessagePosted("1", "hi"))])
        assert not line.typing
        app.clock.rest(LATE * 0.9)
        line.show_typing("bob")
        line.show_typing("cleo")
        assert line.typing == {"cleo"}
        app.clock.rest(LATE)
        line.show_typing("bob")
        assert line.typing == {"bob", "cleo"}


async def test_keeps_what_waits_when_names_are_long() -> None:
    app = Host()
    async with app.run_test(size=(60, 5)):
        line = app.query_one(HintLine)
        line.show_waiting(3)
        line.show_typing("n" * 100)
        text = line.render()
        assert text.cell_length <= 60
        assert text.plain.endswith("ctrl+g")


async def test_those_who_spoke_or_left_are_not_typing() -> None:
    app = Host()
    async with app.run_test():
        line = app.query_one(HintLine)
        for name in ("bob", "cleo", "dan"):
            line.show_typing(name)
        said, left = (
            Event(1, 0.0, "bob", MessagePosted("1", "hi")),
            Event(2, 0.0, "", MemberLeft("cleo")),
        )
        line.apply_many([said, left])
        assert line.typing == {"dan"}


async def test_backlog_shows_until_host_decides() -> None:
    app = Host()
    async with app.run_test():
        line = app.query_one(HintLine)
        line.show_backlog(1_200)
        assert line.render().plain.startswith("1,200 messages from before the restart wait:")
        line.show_typing("bob")
        assert line.render().plain.startswith("bob is typing")
        line.clear_typing()
        line.show_backlog(0)
        assert not line.render().plain.strip()
