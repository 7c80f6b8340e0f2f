from hypothesis import given
from hypothesis import strategies as st

from genie_tui.widgets.layout import Heights

HEIGHTS = st.lists(st.integers(1, 9), min_size=1, max_size=40)


@given(HEIGHTS)
def test_every_line_is_found_in_its_entry(heights: list[int]) -> None:
    column = Heights()
    column.extend(heights)
    expected = [(i, row) for i, height in enumerate(heights) for row in range(height)]
    assert [column.find(line) for line in range(column.total)] == expected


@given(HEIGHTS, st.data())
def test_changes_give_what_building_anew_gives(heights: list[int], data: st.DataObject) -> None:
    column = Heights()
    column.extend(heights)
    for _ in range(data.draw(st.integers(1, 10))):
        match data.draw(st.sampled_from(["set", "cut", "append"])):
            case "set" if heights:
                index = data.draw(st.integers(0, len(heights) - 1))
                height = data.draw(st.integers(0, 9))
                assert column.set(index, height) == height - heights[index]
                heights[index] = height
            case "cut":
                length = data.draw(st.integers(0, len(heights)))
                column.cut(length)
                del heights[length:]
            case _:
                column.append(5)
                heights.append(5)
    assert len(column) == len(heights)
    assert [column.start(i) for i in range(len(heights) + 1)] == [
        sum(heights[:i]) for i in range(len(heights) + 1)
    ]
    assert column.total == sum(heights)


def test_lines_outside_belong_to_the_ends() -> None:
    column = Heights()
    column.extend([2, 3])
    assert column.find(-5) == (0, 0)
    assert column.find(99) == (1, 2)
