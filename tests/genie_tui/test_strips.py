import gc
import weakref
from collections.abc import Iterator

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import Monochrome
from textual.strip import Strip

from genie_tui.strips import free_strips, line_filter


class Watched(Strip):
    """A strip that can be watched; Textual's own has no `__weakref__`."""

    __slots__ = ["__weakref__"]


@pytest.fixture(autouse=True)
def _uncollected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Strip, "divide", Strip.divide)
    gc.disable()
    yield
    gc.enable()


def is_freed() -> bool:
    strip = Watched([Segment("hello")], 5)
    assert strip.divide([5]) == [strip]
    watch = weakref.ref(strip)
    del strip
    return watch() is None


def test_hidden_strip_is_freed() -> None:
    assert not is_freed()  # once Textual does that by itself, `genie_tui.strips` can go
    free_strips()
    assert is_freed()


@pytest.mark.parametrize("cuts", [[5], [5, 9], [2, 5], [2], [], [3, 4, 5, 80]])
def test_strips_are_divided_as_before(cuts: list[int]) -> None:
    before = Strip([Segment("he"), Segment("llo")], 5).divide(cuts)
    free_strips()
    after = Strip([Segment("he"), Segment("llo")], 5).divide(iter(cuts))
    assert [(each.text, each.cell_length) for each in after] == [
        (each.text, each.cell_length) for each in before
    ]


def test_a_line_is_filtered_once() -> None:
    strip = Strip([Segment("hello\x1b")], 6)
    safe = strip.apply_filter(line_filter(), Color(0, 0, 0))
    assert "\x1b" not in safe.text
    assert strip.apply_filter(line_filter(), Color(0, 0, 0)) is safe


def test_other_filters_make_another_line() -> None:
    styled = Strip([Segment("hello", Style.parse("red"))], 5)
    line = styled.apply_filter(line_filter(Monochrome()), Color(0, 0, 0))
    assert line != styled.apply_filter(line_filter(), Color(0, 0, 0))
