from genie_core.room.files.retry import FIRST_PAUSE, LONGEST_PAUSE, RetryQueue
from genie_core.room.protocol.events import FileRef

ONE, TWO = FileRef("1" * 64, "a", 5), FileRef("2" * 64, "b", 5)


def test_lacking_file_is_retried_slower() -> None:
    retries, now, pauses = RetryQueue(), 0.0, []
    for _ in range(12):
        retries.add(ONE, "unknown_file", now)
        assert retries.take(now) == {}
        pause = retries.due(now)
        assert pause is not None
        pauses.append(pause)
        now += pause
        assert retries.take(now) == {ONE.digest: ONE}
        assert retries.due(now) is None
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE


def test_other_failure_waits_for_reconnect() -> None:
    retries = RetryQueue()
    retries.add(ONE, "disk", 0)
    retries.add(TWO, "unknown_file", 0)
    assert retries.due(0) == FIRST_PAUSE
    assert retries.take_all() == {ONE.digest: ONE, TWO.digest: TWO}
    assert retries.due(0) is None
    assert retries.take_all() == {}


def test_lack_is_known_until_forgotten() -> None:
    retries = RetryQueue()
    retries.add(ONE, "disk", 0)
    retries.add(TWO, "unknown_file", 0)
    retries.take_all()
    assert (retries.is_lacked(ONE.digest), retries.is_lacked(TWO.digest)) == (False, True)
    retries.forget(TWO.digest)
    retries.forget(TWO.digest)
    assert not retries.is_lacked(TWO.digest)


def test_what_is_forgotten_is_not_tried_again() -> None:
    retries = RetryQueue()
    retries.add(ONE, "unknown_file", 0)
    retries.forget(ONE.digest)
    assert retries.due(0) is None
    assert retries.take_all() == {}
