from tests.genie_core.room.bench import PIN, Bench, only_refusal, refusals

from genie_core.room.transport.origin import LOOPBACK, client_origin, site_of


def test_only_the_own_machine_needs_no_invite() -> None:
    bench = Bench()
    _, answers = bench.meet("alice", source=LOOPBACK)
    assert refusals(answers) == []
    for source in ("127.0.0.1", "192.0.2.7", "Loopback", "::1"):
        _, answers = bench.meet("bob", source=source, channel=PIN)
        assert only_refusal(answers).code == "no_invite"


def test_address_has_one_form_and_site() -> None:
    assert client_origin("FD00:0::1%eth0") == client_origin("fd00::1") == "fd00::1"
    assert client_origin("::ffff:192.0.2.7") == client_origin("192.0.2.7") == "192.0.2.7"
    assert client_origin("127.0.0.9") == client_origin("::1") == LOOPBACK
    assert site_of("fd00::1") == site_of("fd00::2") != site_of("fd00:0:0:1::1")
    assert site_of("192.0.2.7") != site_of("192.0.2.8")
    assert site_of(LOOPBACK) == LOOPBACK
