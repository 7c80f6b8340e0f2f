import pytest
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import Event
from genie_tui.widgets.past_pages import Edge, Want, stretched, wanted
from genie_tui.widgets.past_stretch import PAGE, Stretch

SINCE = 10 * PAGE + 1


def log(count: int = 10 * PAGE) -> list[Event]:
    told = RoomLog()
    for number in range(count):
        told.say("ann", str(number))
    return told.events


EVENTS = log()


def read(want: Want | None, stretch: Stretch | None = None, since: int = SINCE) -> Stretch:
    """Read from a log in which each event is a message."""
    assert want is not None
    assert want.before <= since
    found = EVENTS[max(0, want.before - 1 - want.most) : want.before - 1]
    return stretched(want, stretch, found, since, since - 1)


def span(stretch: Stretch) -> tuple[int, int, int | None]:
    return stretch.first, stretch.last, stretch.before


def test_what_comes_before_the_live_part_is_read_first() -> None:
    stretch = read(wanted(Edge.LIVE, SINCE, None))
    assert span(stretch) == (SINCE - PAGE, SINCE - 1, SINCE - 1 - PAGE)


def test_reading_back_goes_on_where_the_stretch_begins() -> None:
    stretch = read(wanted(Edge.LIVE, SINCE, None))
    stretch = read(wanted(Edge.FRONT, SINCE, stretch), stretch)
    assert span(stretch) == (SINCE - 2 * PAGE, SINCE - 1, SINCE - 1 - 2 * PAGE)


def test_reading_on_ends_where_the_live_part_begins() -> None:
    stretch = read(wanted(Edge.START, SINCE, None))
    assert span(stretch) == (1, PAGE, 0)
    stretch = read(wanted(Edge.BACK, SINCE, stretch), stretch)
    assert span(stretch) == (1, 2 * PAGE, 0)
    near = 2 * PAGE + 11
    stretch = read(wanted(Edge.BACK, near, stretch), stretch, near)
    assert span(stretch) == (1, near - 1, 0)
    assert wanted(Edge.BACK, near, stretch) is None


@pytest.mark.parametrize("seq", [1, 2, PAGE, 1_234, SINCE - 2, SINCE - 1])
def test_an_event_is_read_with_what_is_around_it(seq: int) -> None:
    stretch = read(wanted(Edge.AT, SINCE, None, seq))
    assert stretch.first <= seq <= stretch.last
    assert stretch.last - stretch.first < PAGE


def test_nothing_is_wanted_where_nothing_is() -> None:
    stretch = read(wanted(Edge.START, SINCE, None))
    assert wanted(Edge.FRONT, SINCE, stretch) is None
    assert wanted(Edge.LIVE, 1, None) is None
    assert wanted(Edge.START, 1, None) is None


def test_a_log_that_begins_later_has_lost_what_was_before() -> None:
    want = wanted(Edge.LIVE, SINCE, None)
    assert want is not None
    stretch = stretched(want, None, EVENTS[-20:], SINCE, SINCE - 1)
    assert span(stretch) == (1, SINCE - 1, SINCE - 1 - 20)


@pytest.mark.parametrize("edge", [Edge.LIVE, Edge.START, Edge.AT])
def test_an_empty_log_has_lost_all(edge: Edge) -> None:
    want = wanted(edge, SINCE, None, 300)
    assert want is not None
    assert span(stretched(want, None, [], SINCE, 99)) == (1, SINCE - 1, 99)
