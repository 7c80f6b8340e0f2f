import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.widgets import Static

from genie_tui.app import NONE_FOUND
from genie_tui.screens.dialogs.pick import PickScreen, Row


@pytest.mark.parametrize("size", [(40, 20), (80, 24)])
async def test_a_long_title_is_wrapped(joined: ScriptedJoinedRoom, size: tuple[int, int]) -> None:
    async with in_room(joined, size) as (_, pilot):
        picker = PickScreen(NONE_FOUND, [Row("name", "Another model, by its name")])
        await pilot.app.push_screen(picker)
        title = picker.query_one("#pick-title", Static)
        await until(pilot, lambda: title.region.height)
        shown = [title.render_line(y).text.strip() for y in range(title.size.height)]
        assert " ".join(shown).strip() == NONE_FOUND
        assert picker.query_one("#pick-keys").region.bottom <= size[1]
