import random
from collections.abc import MutableSequence

import pytest

from genie_core.room.offers import INTERVAL, REFUSALS, SPREAD, Offers
from genie_core.room.protocol.events import FileRef

FILES = {str(number): FileRef(str(number), "a", 5) for number in range(20)}


class Sober(random.Random):
    """Chance that leaves everything as it is."""

    def random(self) -> float:
        return 0.5

    def shuffle(self, x: MutableSequence[object]) -> None:
        pass


def taken(offers: Offers, now: float, most: int = 100) -> list[str]:
    """Take all there is, as time goes by."""
    digests: list[str] = []
    while (due := offers.due(now)) is not None and len(digests) < most:
        now += due
        file = offers.take(now)
        assert file is not None
        digests.append(file.digest)
    return digests


def test_each_file_is_offered_once_during_a_connection() -> None:
    offers = Offers()
    assert offers.due(0) is None
    assert offers.take(0) is None
    offers.add(FILES, 0)
    assert sorted(taken(offers, 0)) == sorted(FILES)
    offers.add(FILES, 0)
    assert taken(offers, 0) == []
    offers.connected()
    offers.add(FILES, 0)
    assert sorted(taken(offers, 0)) == sorted(FILES)


def test_offers_begin_at_a_moment_of_chance_and_are_paced() -> None:
    offers = Offers(Sober())
    offers.add(FILES, 100.0)
    assert offers.take(100.0) is None
    assert offers.due(100.0) == SPREAD / 2
    begin = 100.0 + SPREAD / 2
    assert offers.take(begin) is not None
    assert offers.take(begin) is None
    assert offers.due(begin) == pytest.approx(INTERVAL)
    assert offers.take(begin + INTERVAL) is not None


def test_what_is_added_meanwhile_delays_nothing() -> None:
    offers = Offers(Sober())
    offers.add({"0": FILES["0"]}, 0)
    offers.add({"1": FILES["1"]}, SPREAD / 2)
    assert offers.due(SPREAD / 2) == 0


def test_members_go_in_different_orders() -> None:
    orders = set()
    for seed in range(5):
        offers = Offers(random.Random(seed))
        offers.add(FILES, 0)
        orders.add(tuple(taken(offers, 0)))
    assert len(orders) == 5


def test_a_host_who_allows_nothing_is_asked_no_more() -> None:
    offers = Offers()
    offers.add(FILES, 0)
    assert len(taken(offers, 0, most=1)) == 1
    offers.refused("not_allowed")
    assert taken(offers, 100.0) == []
    offers.connected()
    assert len(taken(offers, 100.0)) == len(FILES) - 1


def test_a_host_who_refuses_again_and_again_is_left_alone() -> None:
    offers = Offers()
    offers.add(FILES, 0)
    for _ in range(REFUSALS - 1):
        offers.refused("no_space")
    assert len(taken(offers, 100.0, most=2)) == 2
    offers.refused("no_space")
    assert taken(offers, 100.0) == []
