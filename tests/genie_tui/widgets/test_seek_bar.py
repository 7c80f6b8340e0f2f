from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.genie_core.sessions.replay.recorded import a_day
from tests.genie_tui.scripted_room import until
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from genie_core.sessions.replay.landmarks import Landmark, Outline
from genie_tui.widgets.seek_bar import SeekBar, Standing, speed_text

WIDTH = 36
"""Two columns for each event and two to spare."""


class Cinema(App[None]):
    CSS = "SeekBar { height: 3; padding: 0; }"

    def __init__(self) -> None:
        super().__init__()
        self.sought: list[int] = []

    def compose(self) -> ComposeResult:
        yield SeekBar()

    def on_seek_bar_sought(self, message: SeekBar.Sought) -> None:
        self.sought.append(message.seq)


def outline(upto: int = 17) -> Outline:
    known = Outline()
    for event in a_day().events[:upto]:
        known.add(event)
    return known


@asynccontextmanager
async def bar(standing: Standing, width: int = WIDTH) -> AsyncIterator[tuple[SeekBar, Pilot[Any]]]:
    app = Cinema()
    async with app.run_test(size=(width, 6)) as pilot:
        found = app.query_one(SeekBar)
        found.show(standing)
        await pilot.pause()
        yield found, pilot


def shown(widget: SeekBar) -> list[str]:
    return widget.render().plain.splitlines()


async def test_marks_stand_above_their_place() -> None:
    async with bar(Standing(12, 17, outline=outline())) as (widget, _):
        marks, line, _words = shown(widget)
        assert marks[line.index("●")] == "▲"
        assert [glyph for glyph in marks if glyph != " "] == ["·", "·", "·", "▲", "●", "✗", "·"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Landmark.APPROVAL, "▲ approval"),
        (Landmark.VERDICT, "● answer of a person"),
        (Landmark.MESSAGE, "message"),
    ],
)
async def test_last_landmark_is_worded(kind: Landmark, words: str) -> None:
    async with bar(Standing(12, 17, kind=kind), width=70) as (widget, _):
        assert shown(widget)[-1].endswith(f"   {words}")


async def test_worst_mark_wins_in_one_place() -> None:
    async with bar(Standing(0, 17, outline=outline()), width=3) as (widget, _):
        assert shown(widget)[0] == " ▲✗"


async def test_the_bar_fills_from_the_start_to_the_end() -> None:
    async with bar(Standing(0, 17)) as (widget, pilot):
        assert shown(widget)[1] == "●" + "─" * (WIDTH - 1)
        widget.show(Standing(17, 17))
        await pilot.pause()
        assert shown(widget)[1] == "━" * (WIDTH - 1) + "●"


async def test_the_words_tell_where_and_how() -> None:
    standing = Standing(1_234, 5_678, 1_790_000_000.0, 8.0, playing=True, doing="searching…")
    async with bar(standing, 100) as (widget, pilot):
        words = shown(widget)[-1]
        for part in ("playing", "8×", "event 1,234 of 5,678", "2026", "searching…"):
            assert part in words
        widget.show(Standing())
        await pilot.pause()
        assert "event 0 of 0" in shown(widget)[-1]


async def test_new_marks_appear_without_moving() -> None:
    known = outline(4)
    async with bar(Standing(0, 17, outline=known)) as (widget, pilot):
        assert not shown(widget)[0].strip()
        for event in a_day().events[4:]:
            known.add(event)
        widget.show(Standing(0, 17, outline=known))
        await pilot.pause()
        assert "▲" in shown(widget)[0]


async def test_a_click_asks_for_the_event_of_the_mark() -> None:
    async with bar(Standing(0, 17, outline=outline())) as (widget, pilot):
        app = pilot.app
        assert isinstance(app, Cinema)
        for row in (0, 1):
            await pilot.click(SeekBar, offset=(shown(widget)[0].index("▲"), row))
        await pilot.click(SeekBar, offset=(WIDTH - 1, 1))
        await pilot.click(SeekBar, offset=(0, 1))
        await until(pilot, lambda: len(app.sought) >= 4)
        assert app.sought == [12, 12, 17, 0]
        await pilot.click(SeekBar, offset=(5, 2))
        await pilot.pause()
        assert len(app.sought) == 4


async def test_dragging_follows_the_mouse() -> None:
    async with bar(Standing(0, 17)) as (_, pilot):
        app = pilot.app
        assert isinstance(app, Cinema)
        await pilot.mouse_down(SeekBar, offset=(0, 1))
        await pilot.hover(SeekBar, offset=(WIDTH - 1, 1))
        await until(pilot, lambda: app.sought[-1:] == [17])
        await pilot.mouse_up(SeekBar, offset=(WIDTH - 1, 1))
        await pilot.hover(SeekBar, offset=(3, 1))
        await pilot.pause()
        assert app.sought[-1] == 17
        assert app.mouse_captured is None


@pytest.mark.parametrize(("speed", "text"), [(0.5, "0.5×"), (1.0, "1×"), (32.0, "32×")])
def test_speeds_as_people_write_them(speed: float, text: str) -> None:
    assert speed_text(speed) == text


async def test_empty_bar_shows_only_activity() -> None:
    async with bar(Standing(doing="opening…")) as (widget, _):
        assert shown(widget)[-1] == "opening…"
    async with bar(Standing(), width=60) as (widget, _):  # a room in which nothing happened
        assert "event 0 of 0" in shown(widget)[-1]
