"""No text on any screen is hard to read, in any theme."""

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, ScriptedRoomService, until
from textual.color import Color
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import OptionList

from genie_core.room.client.model import PendingMessage
from genie_core.room.open.requests import NewRoom
from genie_core.room.protocol.events import AnswerPosted, DecisionMade, MemberJoined, MessagePosted
from genie_tui.app import GenieApp
from genie_tui.readable import LEAST, Readable, has_text, readable, readable_style
from genie_tui.screens.room import RoomScreen
from genie_tui.themes import DARK, LIGHT, author_colours, contrast, theme_names

ANSWER = (
    "# A *plan*\n\n> quoted\n\n- `one` of [two](https://example.org)\n\n```python\nx = 1  # y\n```"
)


def rich(colour: str) -> RichColor:
    return RichColor.parse(colour)


def test_text_that_can_be_read_is_left_alone() -> None:
    style = Style(color=rich("#ffffff"), bgcolor=rich("#000000"))
    assert readable_style(style) is style
    assert readable_style(Style.parse("red on black")) == Style.parse("red on black")


@pytest.mark.parametrize("ground", ["#000000", "#ffffff", "#777777", "#2e3440", "#fbfaf7"])
@pytest.mark.parametrize("text", ["#000000", "#ffffff", "#777777", "#ff0000", "#0000ff"])
def test_other_text_moves_as_far_as_needed(text: str, ground: str) -> None:
    made = readable(Color.parse(text), Color.parse(ground))
    assert contrast(made, Color.parse(ground)) >= LEAST


def test_bars_and_lines_keep_their_colours() -> None:
    faint = Style(color=rich("#202020"), bgcolor=rich("#101010"))
    for drawn in ("── │", "▁█ ", " • ", "  "):
        assert Readable().apply([Segment(drawn, faint)], Color(0, 0, 0)) == [Segment(drawn, faint)]
    for text in ("── new", "+", "/ ", "↑ ↓"):
        assert Readable().apply([Segment(text, faint)], Color(0, 0, 0)) != [Segment(text, faint)]


def shown(pilot: Pilot[Any]) -> Iterator[Segment]:
    """Everything that a terminal gets to show, after all filters."""
    app = pilot.app
    for strip in app.screen._compositor.render_strips():
        segments = list(strip)
        for line_filter in app.get_line_filters():
            segments = line_filter.apply(segments, Color(0, 0, 0))
        yield from segments


def hard_to_read(pilot: Pilot[Any]) -> set[tuple[str, str, str]]:
    found = set[tuple[str, str, str]]()
    for text, style, _ in shown(pilot):
        if style is None or style.color is None or style.bgcolor is None:
            continue
        if style.color.triplet is None or style.bgcolor.triplet is None:
            continue
        pair = Color(*style.color.triplet), Color(*style.bgcolor.triplet)
        if has_text(text) and contrast(*pair) < LEAST:
            found.add((text.strip(), pair[0].hex, pair[1].hex))
    return found


async def test_text_is_readable_in_every_theme() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    for name in ("cleo", "dan", "eva", "finn", "gus", "hal"):
        joined.feed(MemberJoined("member"), by=name)
        joined.feed(MessagePosted(name, f"@ann hello from {name} https://example.org"), by=name)
    asked = joined.say_here("@genie plan it")
    joined.feed(DecisionMade(asked, "delegate", query="plan"), AnswerPosted(asked, ANSWER))
    joined.feed(DecisionMade(joined.say_here("small talk"), "ignore", reason="Small talk."))
    joined.ask("write_file", path="a.txt", content="b")
    joined.pending = (PendingMessage("p", "not sent", emote=False, at=1.0),)
    app = GenieApp(ScriptedRoomService(joined), NewRoom("Garden"), "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        await until(pilot, lambda: screen.joined is not None)
        app.notify("a notice", severity="warning", title="with a title")

        async def check(where: str) -> None:
            for theme in theme_names():
                app.theme = theme
                await pilot.pause()
                assert hard_to_read(pilot) == set(), (where, theme)

        await check("room")
        await pilot.press("f5", "up", "f4", "ctrl+f", *"hello")
        await check("reading")
        await pilot.press("escape", "f2", "enter")
        await check("activity")
        await pilot.press("ctrl+g")
        await check("card")
        await pilot.press("f1")
        await check("help")
        await pilot.press("escape", "ctrl+p", "t")
        await check("palette")


def ground(screen: Screen[Any], place: Offset) -> Color | None:
    """The background of a cell on the terminal; None for a colour of the terminal's own."""
    strips = list(screen._compositor.render_strips())
    style = next(iter(strips[place.y].crop(place.x, place.x + 1))).style
    known = style is not None and style.bgcolor is not None and style.bgcolor.triplet is not None
    return Color.from_rich_color(style.bgcolor) if known and style is not None else None


HIGHLIGHT = 1.3
"""The least contrast between a highlighted row and the others."""


@pytest.mark.parametrize("opening", ["ctrl+p", "app.choose_theme"])
async def test_highlight_is_visible_in_all_themes(opening: str) -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    app = GenieApp(ScriptedRoomService(joined), NewRoom("Garden"), "ann", clock=HandClock())
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RoomScreen))
        await (pilot.press(opening) if "+" in opening else app.run_action(opening))
        await until(pilot, lambda: app.screen.query(OptionList))
        listed = app.screen.query_one(OptionList)
        await until(pilot, lambda: listed.option_count > 3 and listed.size.height > 3)
        listed.highlighted = 0
        for theme in theme_names():
            app.theme = theme
            await pilot.pause()
            corner = listed.content_region.offset
            below = ground(app.screen, corner + Offset(0, listed.size.height - 1))
            row = ground(app.screen, corner)
            if row is not None and below is not None:
                assert contrast(row, below) >= HIGHLIGHT, theme


# Protanopia and deuteranopia: Machado, Oliveira and Fernandes 2009, severity 1.0.
MATRICES = {
    "all colours": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}
JUST_NOTICEABLE = 2.3
"""The difference in CIELAB that is just noticeable (Mahy and others 1994)."""


def lab(colour: Color, eyes: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    linear = [
        x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in colour.normalized
    ]
    r, g, b = (min(max(sum(map(float.__mul__, row, linear)), 0.0), 1.0) for row in eyes)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.0891,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("eyes", MATRICES)
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_eight_names_can_be_told_apart(theme: Any, eyes: str) -> None:
    colours = [Color.parse(each) for each in author_colours(dark=theme.dark).values()]
    assert len(colours) == 8
    seen = [lab(colour, MATRICES[eyes]) for colour in colours]
    assert min(math.dist(*pair) for pair in combinations(seen, 2)) > 3 * JUST_NOTICEABLE
    ground = Color.parse(theme.background)
    assert all(contrast(colour, ground) >= LEAST for colour in colours)
