from collections.abc import Iterable

import pytest

from genie_core.room.protocol.frames import Hello
from genie_core.room.protocol.limits import WORK_RATE, Limits
from genie_core.room.server.peers import Peer, Signals, Stage
from genie_core.room.server.quotas import WRITERS, Quotas, StrangerQuotas

LIMITS = Limits(burst=4, per_second=1.0, volume=1600)


def person(name: str, source: str = "there") -> Peer:
    return Peer(1, Signals(1), source, name=name)


def test_arrivals_per_address_are_limited() -> None:
    budget = Quotas(Limits(joins=30))
    assert all(budget.join("there", 0.0) for _ in range(30))
    came = sum(budget.join("there", 0.01 * n) for n in range(6_000))
    assert 29 <= came <= 30
    assert budget.join("elsewhere", 60.0)
    assert all(budget.join("", 0.0) for _ in range(1000))


def test_size_counts_as_much_as_number() -> None:
    budget = Quotas(LIMITS)
    ann = person("ann")
    assert budget.speak(ann, 1000, 0.0)
    assert budget.speak(ann, 1000, 0.0)
    assert not budget.speak(ann, 1, 0.0)
    assert not budget.speak(ann, 1, 3.9)
    assert budget.speak(ann, 1, 4.5)


def test_text_that_is_only_passed_on_counts_too() -> None:
    budget = Quotas(LIMITS)
    ann = person("ann")
    passed = sum(budget.pass_on(ann, 400, 0.0) for _ in range(WORK_RATE))
    assert passed == 4
    assert not budget.record(ann, 1, 0.0)


def test_renaming_gains_no_messages() -> None:
    budget = Quotas(LIMITS)
    said = 0
    for turn in range(50):
        peer = person(f"name{turn}")
        budget.arrive(peer, 0.0)
        said += sum(budget.speak(peer, 1, 0.0) for _ in range(10))
        budget.depart(peer)
    assert said == LIMITS.burst


def test_alternating_names_gain_nothing() -> None:
    budget = Quotas(LIMITS)
    said = 0
    for turn in range(50):
        peer = person("ann" if turn % 2 else "bob")
        budget.arrive(peer, 0.0)
        said += sum(budget.speak(peer, 1, 0.0) for _ in range(10))
        budget.depart(peer)
    assert said <= 2 * LIMITS.burst


def test_known_or_distant_keeps_own_quota() -> None:
    budget = Quotas(LIMITS)
    ann, ben, cem = person("ann"), person("ben"), person("cem", "elsewhere")
    budget.arrive(ben, 0.0)
    assert budget.speak(ben, 1, 0.0)
    budget.arrive(ann, 0.0)
    assert [budget.speak(ann, 1, 0.0) for _ in range(5)] == [True] * 4 + [False]
    budget.depart(ann)
    for peer in (cem, ben):
        budget.arrive(peer, 0.0)
        assert [budget.speak(peer, 1, 0.0) for _ in range(3)] == [True] * 3


def test_debts_stay_with_their_person() -> None:
    budget = Quotas(LIMITS)
    mallory, ann, ben = person("mallory"), person("ann"), person("ben")
    mallory.arrived = 100 * LIMITS.volume
    assert budget.repeat(mallory, 0.0)
    budget.spend(mallory, 1.0, 0.0)
    owed = budget.exclusion("mallory", 0.0), budget.pause(mallory, 0.0)
    assert min(owed) > 2.0
    budget.depart(mallory)
    budget.arrive(ann, 0.0, known=True)
    assert (budget.exclusion("ann", 0.0), budget.pause(ann, 0.0)) == (0.0, 0.0)
    budget.arrive(ben, 0.0)
    assert (budget.exclusion("ben", 0.0), budget.pause(ben, 0.0)) == owed
    assert (budget.exclusion("mallory", 0.0), budget.pause(mallory, 0.0)) == owed


def test_what_was_used_up_comes_back_with_time() -> None:
    budget = Quotas(LIMITS)
    ann, ben = person("ann"), person("ben")
    budget.arrive(ann, 0.0)
    assert all(budget.speak(ann, 1, 0.0) for _ in range(4))
    budget.depart(ann)
    budget.arrive(ben, 10.0)
    assert all(budget.speak(ben, 1, 10.0) for _ in range(4))


def test_room_volume_limit_spares_host() -> None:
    budget = Quotas(LIMITS)
    crowd = [person(f"p{n}") for n in range(100)]
    assert sum(budget.record(peer, LIMITS.volume, 0.0) for peer in crowd) == WRITERS
    assert budget.record(person("hana", source=""), 100, 0.0)


def frames_until_a_pause(budget: Quotas, peers: list[Peer], size: int) -> int:
    read = 0
    while not budget.pause(peers[read % len(peers)], 0.0):
        budget.read(peers[read % len(peers)], size, 0.0)
        read += 1
    return read


@pytest.mark.parametrize("size", [0, 100, 256 * 1024])
def test_eight_connections_send_as_one(size: int) -> None:
    one = frames_until_a_pause(Quotas(Limits()), [person("ann")], size)
    eight = frames_until_a_pause(Quotas(Limits()), [person("ann") for _ in range(8)], size)
    assert one == eight > 32


def test_bytes_count_over_all_connections() -> None:
    budget = Quotas(Limits())
    one, two, other = person("ann"), person("ann"), person("ben")
    for _ in range(60):
        budget.read(one, 256 * 1024, 0.0)
        budget.read(two, 256 * 1024, 0.0)
    assert budget.pause(one, 0.0) == budget.pause(two, 0.0) > 1.0
    assert budget.pause(other, 0.0) == 0.0
    assert budget.pause(one, 3.0) == 0.0


def test_leaving_persons_bytes_are_charged() -> None:
    budget = Quotas(Limits())
    ann = person("ann")
    ann.stage = Stage.LEAVING
    assert not budget.read(ann, 10**9, 0.0)
    assert budget.pause(person("ann"), 0.0) > 60.0


def test_stranger_costs_spare_claimed_name() -> None:
    budget = Quotas(Limits())
    mallory = Peer(1, Signals(1), "there", hello=Hello("ann"))
    budget.read(mallory, 10**9, 0.0)
    budget.spend(mallory, 1.0, 0.0)
    assert budget.pause(person("ann"), 0.0) == 0.0
    assert budget.pause(person("there"), 0.0) == 0.0
    assert budget.strangers.begin("there", 0.0) > 1.0
    assert budget.strangers.begin("elsewhere", 60.0) == 0.0


def begun(budget: Quotas, sources: Iterable[str], now: float = 0.0) -> int:
    return sum(not budget.strangers.begin(source, now) for source in sources)


def test_network_tls_starts_are_limited() -> None:
    budget = Quotas(Limits())
    at_once = begun(budget, ["192.0.2.7"] * 1000)
    assert 64 <= at_once < 100
    assert begun(budget, ["192.0.2.8"] * 3) == 3
    budget = Quotas(Limits())
    assert begun(budget, (f"fd00::{n:x}" for n in range(1000))) == at_once
    assert 100 < begun(budget, ["fd00::7"] * 1000, 1.0) + at_once < 200


def test_all_tls_starts_are_limited() -> None:
    budget = Quotas(Limits())
    assert begun(budget, (f"192.0.2.{n}" for n in range(250))) < 150
    assert begun(budget, (f"192.0.2.{n}" for n in range(250)), 0.1) < 50


def test_spent_time_is_charged() -> None:
    budget = Quotas(Limits())
    ann = person("ann")
    budget.spend(ann, 0.08, 0.0)
    assert budget.pause(ann, 0.0) == 0.0
    budget.spend(ann, 0.08, 0.0)
    assert 1.0 < budget.pause(ann, 0.0) < 2.0


def test_standstill_is_charged_little() -> None:
    budget = Quotas(Limits())
    ann, ben = person("ann"), person("ben")
    budget.spend(ann, 4 * 3600.0, 0.0)
    assert 2.0 < budget.pause(ann, 0.0) < 5.0
    for _ in range(10):
        budget.spend(ben, 0.2, 0.0)
    assert budget.pause(ben, 0.0) > 30.0


def test_largest_file_waits_only_seconds() -> None:
    limits = Limits()
    budget = Quotas(limits)
    ann, now = person("ann"), 0.0
    for _ in range(0, limits.file_bytes, 96 * 1024):
        budget.read(ann, 129 * 1024, now)
        now += budget.pause(ann, now)
    assert now < 4.0


def test_renaming_does_not_end_pause() -> None:
    budget = Quotas(Limits())
    ann, ben, host = person("ann"), person("ben"), person("hana", source="")
    for each in (ann, host):
        budget.read(each, 10**9, 0.0)
        budget.spend(each, 10.0, 0.0)
    budget.depart(ann)
    budget.arrive(ben, 0.0)
    assert budget.pause(ben, 0.0) > 60
    assert budget.pause(host, 0.0) == 0.0


def test_repeats_are_charged_by_their_size() -> None:
    budget = Quotas(Limits())
    ann, host = person("ann"), person("hana", source="")
    ann.arrived = host.arrived = 250_000
    assert sum(budget.repeat(ann, 0.0) for _ in range(100)) == 9
    assert 0 < budget.exclusion("ann", 0.0) < 2.0
    assert budget.exclusion("ann", 2.0) == 0.0
    assert all(budget.repeat(host, 0.0) for _ in range(100))


def test_crowded_network_spares_known_keys() -> None:
    budget = Quotas(Limits(joins=30))
    came = sum(budget.join(f"fd00::bad:{n:x}", 0.0) for n in range(6_000))
    assert came == 4 * 30
    assert all(budget.join(f"fd00::{n:x}", 0.0, key=f"key{n}") for n in range(1, 47))
    assert budget.join("fd00:0:0:1::1", 0.0)
    assert budget.join("192.0.2.7", 0.0)
    assert sum(budget.join("fd00::7", 0.0, key="busy") for _ in range(100)) == 30


def test_busy_room_leaves_time_to_others() -> None:
    strangers = StrangerQuotas(Limits())
    room, other = Quotas(Limits(), strangers), Quotas(Limits(), strangers)
    spent = 0.0
    for each in range(1000):
        sybil = person(f"m{each % 64}")
        if not room.pause(sybil, each / 100):
            room.spend(sybil, 0.01, each / 100)
            spent += 0.01
    assert 2.5 < spent < 3.5  # of ten seconds
    assert room.pause(person("late"), 9.99) > 0.0
    assert room.pause(person("agent", ""), 9.99) == 0.0
    assert other.pause(person("m1"), 9.99) == 0.0
