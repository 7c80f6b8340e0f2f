from tests.genie_core.room.bench import PIN, Bench, only_refusal, refusals

from genie_core.room.source import LOOPBACK


def test_only_the_own_machine_needs_no_invite() -> None:
    bench = Bench()
    _, answers = bench.meet("alice", source=LOOPBACK)
    assert refusals(answers) == []
    for source in ("127.0.0.1", "192.0.2.7", "Loopback", "::1"):
        _, answers = bench.meet("bob", source=source, channel=PIN)
        assert only_refusal(answers).code == "no_invite"
