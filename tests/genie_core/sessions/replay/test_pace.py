import pytest

from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.sessions.replay.pace import IDLE, SPEEDS, Pace, gap, other_speed


def at(*moments: float) -> list[Event]:
    return [
        Event(seq, moment, "ann", MessagePosted("1", "hi")) for seq, moment in enumerate(moments, 1)
    ]


def test_only_long_pauses_are_shortened() -> None:
    assert gap(10.0, 11.5) == 1.5
    assert gap(10.0, 50_000.0) == IDLE


def test_clock_set_back_makes_no_pause() -> None:
    assert gap(50.0, 10.0) == 0.0
    assert Pace(50.0).due(at(10.0, 10.5), 0.6) == 2


def test_the_first_event_is_due_at_once() -> None:
    assert Pace().due(at(1_790_000_000.0, 1_790_000_001.0), 0.0) == 1


def test_events_are_due_after_their_pauses() -> None:
    pace = Pace(0.0)
    assert pace.due(at(1.0, 1.5, 100.0), 0.9) == 0
    assert pace.due(at(1.0, 1.5, 100.0), 0.2) == 1
    assert pace.due(at(1.5, 100.0), 0.5) == 1
    assert pace.due(at(100.0), 1.8) == 0
    assert pace.due(at(100.0), 0.2) == 1


def test_after_a_standstill_nothing_rushes_by() -> None:
    pace = Pace(0.0)
    assert pace.due([], 1_000.0) == 0
    assert pace.due(at(1.5, 3.0, 4.5), 0.0) == 1


def test_many_at_the_same_moment_come_together() -> None:
    assert Pace(0.0).due(at(1.0, 1.0, 1.0, 1.0), 1.0) == 4


@pytest.mark.parametrize(("speed", "step", "then"), [(1.0, 1, 2.0), (1.0, -1, 0.5), (3.0, 1, 4.0)])
def test_speeds_follow_each_other(speed: float, step: int, then: float) -> None:
    assert other_speed(speed, step) == then


def test_speeds_have_ends() -> None:
    assert other_speed(SPEEDS[-1], 1) == 32.0
    assert other_speed(SPEEDS[0], -1) == 0.5
