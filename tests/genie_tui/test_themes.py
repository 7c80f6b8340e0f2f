from collections.abc import Iterator

import pytest
from tests.genie_tui.room_parts import card, editor
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.color import Color
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection
from textual.widget import Widget
from textual.widgets import Static

from genie_core.room.protocol.events import AnswerPosted
from genie_tui.themes import DARK, LIGHT, contrast, selection_colours, theme_names
from genie_tui.widgets.timeline.timeline import Timeline

READABLE = 4.5
"""What WCAG 2 asks for text (AA)."""


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [("#000000", "#ffffff", 21.0), ("#777777", "#ffffff", 4.48), ("#123456", "#123456", 1.0)],
)
def test_contrast_is_as_defined(one: str, other: str, ratio: float) -> None:
    assert contrast(Color.parse(one), Color.parse(other)) == pytest.approx(ratio, abs=0.01)


@pytest.mark.parametrize("primary", ["ansi_blue", "nothing"])
def test_colours_of_the_terminal_are_left_alone(primary: str) -> None:
    assert selection_colours({"primary": primary}) == {}


def chosen(widget: Widget, ground: Color) -> Iterator[Color]:
    """The colours of what can be read on the ground of a selection."""
    for y in range(widget.size.height):
        for segment in widget.render_line(y):
            style = segment.style
            if not segment.text.strip() or style is None or not (style.bgcolor and style.color):
                continue
            if Color.from_rich_color(style.bgcolor) == ground:
                yield Color.from_rich_color(style.color)


async def test_selection_is_readable_everywhere(joined: ScriptedJoinedRoom) -> None:
    joined.ask(path="notes.txt")
    said = joined.say_here("look at `code`, **this** and https://example.org")
    joined.feed(AnswerPosted(said, "# Done\n\n```python\nx = 'y'  # z\n```\n> quoted"))
    async with in_room(joined, (140, 40)) as (screen, pilot):
        await pilot.press("ctrl+g")
        call, text = card(screen).query_one("#card-call", Static), editor(screen)
        await until(pilot, lambda: call.size.height)
        text.focus()
        await pilot.press(*"half")
        timeline = screen.query_one(Timeline)
        for theme in theme_names():
            pilot.app.theme = theme
            text.select_all()
            everything = Selection(Offset(0, 0), Offset(200, 1_000))
            screen.selections = {timeline: everything, call: SELECT_ALL}
            await pilot.pause()
            variables = pilot.app.get_css_variables()
            for widget, kind in ((timeline, "screen"), (call, "screen"), (text, "input")):
                ground = Color.parse(variables[f"{kind}-selection-background"])
                if ground.ansi is not None:  # what the terminal makes of it isn't known
                    continue
                colours = list(chosen(widget, ground))
                assert colours, f"nothing is selected in {widget} with {theme}"
                least = min(contrast(colour, ground) for colour in colours)
                assert least >= READABLE, f"{widget} with {theme}"


def test_our_own_themes_come_first() -> None:
    assert theme_names()[:2] == [DARK.name, LIGHT.name]
