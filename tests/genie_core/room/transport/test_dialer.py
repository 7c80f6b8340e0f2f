from genie_core.room.transport.dialer import Backoff


def test_the_wait_between_attempts_grows_to_a_limit_and_is_spread() -> None:
    backoff = Backoff(first=0.2, longest=5.0)
    for failures in range(200):
        full = min(5.0, 0.2 * 2.0 ** min(failures, 10))
        assert full / 2 <= backoff.delay(failures) <= full
    assert len({backoff.delay(3) for _ in range(20)}) > 1
