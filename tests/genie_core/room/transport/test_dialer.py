from genie_core.room.transport.dialer import Backoff


def test_retry_wait_grows_and_is_spread() -> None:
    backoff = Backoff(first=0.2, longest=5.0, shortly=1.0, brisk=60)
    for failures in range(200):
        full = min(1.0 if failures < 60 else 5.0, 0.2 * 2.0 ** min(failures, 10))
        assert full / 4 <= backoff.delay(failures) <= full
    assert len({backoff.delay(3) for _ in range(20)}) > 1


def test_restarting_host_is_retried_fast() -> None:
    backoff, waited = Backoff(), 0.0
    for failures in range(300):
        wait = backoff.delay(failures)
        assert wait <= 0.5 or waited > 40.0
        waited += wait
