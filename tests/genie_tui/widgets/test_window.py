from rich.segment import Segment
from textual.strip import Strip

from genie_tui.widgets.window import Window


class Column:
    """Entries of known heights, all guessed to be one line high."""

    def __init__(self, heights: list[int]) -> None:
        self.heights = heights
        self.drawn: list[int] = []
        self.window = Window(self.draw, lambda _: 1)
        self.window.replace_from(0, len(heights))

    def draw(self, index: int) -> list[Strip]:
        self.drawn.append(index)
        return [Strip([Segment(f"{index}.{row}")]) for row in range(self.heights[index])]

    def seen(self, top: int, rows: int) -> list[str]:
        shown = []
        for line in range(top, min(top + rows, self.window.height)):
            index, row = self.window.at(line)
            shown.append(self.window.lines(index)[row].text)
        return shown


def test_at_the_end_only_what_is_near_is_drawn() -> None:
    column = Column([3] * 10_000)
    top = column.window.settle_end(10)
    assert column.seen(top, 10)[-1] == "9999.2"
    assert len(column.seen(top, 10)) == 10
    assert len(column.drawn) <= 7


def test_what_is_in_view_stays_when_wrong_guesses_above_are_found_out() -> None:
    column = Column([1, 7, 2, 9, 4] * 20)
    window = column.window
    top = window.settle_end(6)
    before = column.seen(top, 6)
    for _ in range(60):
        higher = window.settle(top - 1, 6)
        after = column.seen(higher, 6)
        assert after[1:] == before[:-1]
        top, before = higher, after


def test_reading_on_by_pages_skips_nothing() -> None:
    column = Column([1, 7, 2, 9, 4] * 20)
    window = column.window
    top = window.settle(0, 6)
    read = column.seen(top, 6)
    for _ in range(200):
        top = window.settle(top + 6, 6)
        read += column.seen(top, 6)
    everything = [f"{i}.{row}" for i, height in enumerate(column.heights) for row in range(height)]
    assert sorted(set(read), key=everything.index) == everything


def test_appending_draws_nothing_again() -> None:
    column = Column([2] * 50)
    column.window.settle_end(10)
    already = list(column.drawn)
    column.heights += [2] * 3
    column.window.replace_from(50, 53)
    column.window.settle_end(10)
    assert sorted(column.drawn[len(already) :]) == [50, 51, 52]


def test_redrawing_one_entry_draws_that_one() -> None:
    column = Column([2] * 50)
    top = column.window.settle_end(10)
    already = len(column.drawn)
    column.heights[49] = 5
    column.window.redraw(49)
    top = column.window.settle_end(10)
    assert column.drawn[already:] == [49]
    assert column.seen(top, 10)[-1] == "49.4"


def test_an_empty_column_has_no_lines() -> None:
    column = Column([])
    assert column.window.settle(5, 10) == 0
    assert column.window.settle_end(10) == 0
    assert column.window.height == 0


def test_entries_above_come_and_go_without_drawing_the_rest_again() -> None:
    column = Column([2, 3, 1, 4] * 30)
    window = column.window
    top = window.settle_end(8)
    before, already = column.seen(top, 8), len(column.drawn)
    column.heights[:40] = [5] * 10
    window.splice(0, 40, 10)
    assert len(window) == len(column.heights)
    shift = 10 - 40
    top = window.settle_end(8)
    shown = [column.window.at(line) for line in range(top, window.height)]
    old = [(int(text.split(".")[0]) + shift, int(text.split(".")[1])) for text in before]
    assert shown[-len(old) :] == old
    assert len(column.drawn) == already


def test_what_is_put_in_between_is_drawn_when_it_comes_into_view() -> None:
    column = Column([1] * 20)
    column.window.settle(0, 20)
    column.drawn.clear()
    column.heights[5:7] = [3, 3, 3]
    column.window.splice(5, 2, 3)
    top = column.window.settle(0, 30)
    assert sorted(column.drawn) == [5, 6, 7]
    assert column.window.height == sum(column.heights)
    assert top == 0


def test_an_entry_is_brought_to_a_distance_from_the_top() -> None:
    column = Column([1, 7, 2, 9, 4] * 40)
    window = column.window
    for index, distance in ((100, 3), (57, 0), (120, -4), (30, 9)):
        top = window.settle_by(index, distance, 10)
        assert window.span(index)[0] - top == distance
        top = window.settle(top, 10)
        assert window.span(index)[0] - top == distance
    assert window.settle_by(0, 5, 10) == 0
