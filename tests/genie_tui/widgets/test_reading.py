"""Reading on by single keys."""

import pytest
from tests.genie_tui.scripted_room import until
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from genie_tui.widgets.reading import read_on


class Long(App[None]):
    """A text of a hundred lines in a place of ten."""

    CSS = "VerticalScroll { height: 10; }"

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static("\n".join(str(number) for number in range(100)))


@pytest.mark.parametrize(
    ("keys", "top"),
    [
        (["down"], 1),
        (["down", "down", "up"], 1),
        (["up"], 0),
        (["pagedown"], 9),
        (["pagedown", "pagedown", "pageup"], 9),
        (["pagedown"] * 20, 90),
    ],
)
async def test_a_page_keeps_one_line_of_the_one_before(keys: list[str], top: int) -> None:
    async with Long().run_test(size=(40, 20)) as pilot:
        area = pilot.app.query_one(VerticalScroll)
        await until(pilot, lambda: area.max_scroll_y == 90)
        for key in keys:
            read_on(area, key)
            await pilot.pause()
        assert area.scroll_offset.y == top
