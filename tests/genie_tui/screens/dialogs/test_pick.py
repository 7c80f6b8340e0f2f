from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room
from textual.widgets import OptionList, Static

from genie_tui.screens.dialogs.pick import PickScreen, Row, _columns


async def test_rows_take_one_line_and_the_keys_stay_in_sight_on_a_small_terminal(
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


def test_what_is_about_short_texts_begins_in_one_column() -> None:
    short, shorter, alone = (
        Row("1", "Gemini CLI", "why"),
        Row("2", "goose", "why"),
        Row("3", "x" * 99),
    )
    assert _columns([short, shorter, alone]) == len("Gemini CLI")
    assert _columns([short, Row("4", "y" * 99, "why")]) == 0
