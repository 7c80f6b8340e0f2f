import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.widgets import OptionList, Static

from genie_tui.onboarding import NONE_FOUND
from genie_tui.screens.dialogs.pick import PickScreen, Row, _columns


async def test_small_terminal_keeps_rows_and_keys(
    joined: ScriptedJoinedRoom,
) -> None:
    rows = [Row(str(number), "a text of many words " * 9, "why") for number in range(30)]
    async with in_room(joined, (60, 16)) as (_, pilot):
        screen = PickScreen("Pick", rows)
        await pilot.app.push_screen(screen)
        await pilot.pause()
        assert screen.query_one(OptionList).virtual_size.height == len(rows)
        box, keys = screen.query_one("#pick"), screen.query_one("#pick-keys", Static)
        assert box.content_region.contains_region(keys.region)
        assert screen.region.contains_region(box.region)


def test_short_rows_align_descriptions() -> None:
    short, shorter, alone = (
        Row("1", "Gemini CLI", "why"),
        Row("2", "goose", "why"),
        Row("3", "x" * 99),
    )
    assert _columns([short, shorter, alone]) == len("Gemini CLI")
    assert _columns([short, Row("4", "y" * 99, "why")]) == 0


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
