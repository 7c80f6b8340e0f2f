from genie_core.room.missed import FIRST_PAUSE, LONGEST_PAUSE, Missed
from genie_core.room.protocol.events import FileRef

ONE, TWO = FileRef("1" * 64, "a", 5), FileRef("2" * 64, "b", 5)


def test_what_the_host_lacks_is_tried_again_at_growing_intervals() -> None:
    missed, now, pauses = Missed(), 0.0, []
    for _ in range(12):
        missed.add(ONE, "unknown_file", now)
        assert missed.take(now) == {}
        pause = missed.due(now)
        assert pause is not None
        pauses.append(pause)
        now += pause
        assert missed.take(now) == {ONE.digest: ONE}
        assert missed.due(now) is None
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE


def test_what_failed_otherwise_waits_for_the_next_connection() -> None:
    missed = Missed()
    missed.add(ONE, "disk", 0)
    missed.add(TWO, "unknown_file", 0)
    assert missed.due(0) == FIRST_PAUSE
    assert missed.take_all() == {ONE.digest: ONE, TWO.digest: TWO}
    assert missed.due(0) is None
    assert missed.take_all() == {}


def test_it_is_known_what_the_host_lacks_until_that_is_over() -> None:
    missed = Missed()
    missed.add(ONE, "disk", 0)
    missed.add(TWO, "unknown_file", 0)
    missed.take_all()
    assert (missed.is_known(ONE.digest), missed.is_known(TWO.digest)) == (False, True)
    missed.forget(TWO.digest)
    missed.forget(TWO.digest)
    assert not missed.is_known(TWO.digest)


def test_what_is_forgotten_is_not_tried_again() -> None:
    missed = Missed()
    missed.add(ONE, "unknown_file", 0)
    missed.forget(ONE.digest)
    assert missed.due(0) is None
    assert missed.take_all() == {}
