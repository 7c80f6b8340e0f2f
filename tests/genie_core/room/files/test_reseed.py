import random
from collections.abc import MutableSequence

import pytest

from genie_core.room.files.reseed import INTERVAL, REFUSALS, SPREAD, ReseedQueue
from genie_core.room.protocol.events import FileRef

FILES = {str(number): FileRef(str(number), "a", 5) for number in range(20)}


class Sober(random.Random):
    """Chance that leaves everything as it is."""

    def random(self) -> float:
        return 0.5

    def shuffle(self, x: MutableSequence[object]) -> None:
        pass


def taken(queue: ReseedQueue, now: float, most: int = 100) -> list[str]:
    """Take all there is, as time goes by."""
    digests: list[str] = []
    while (due := queue.due(now)) is not None and len(digests) < most:
        now += due
        file = queue.take(now)
        assert file is not None
        digests.append(file.digest)
    return digests


def test_file_is_offered_once_per_visit() -> None:
    queue = ReseedQueue()
    assert queue.due(0) is None
    assert queue.take(0) is None
    queue.add(FILES, 0)
    assert sorted(taken(queue, 0)) == sorted(FILES)
    queue.add(FILES, 0)
    assert taken(queue, 0) == []
    queue.connected()
    queue.add(FILES, 0)
    assert sorted(taken(queue, 0)) == sorted(FILES)


def test_offers_start_randomly_and_paced() -> None:
    queue = ReseedQueue(Sober())
    queue.add(FILES, 100.0)
    assert queue.take(100.0) is None
    assert queue.due(100.0) == SPREAD / 2
    begin = 100.0 + SPREAD / 2
    assert queue.take(begin) is not None
    assert queue.take(begin) is None
    assert queue.due(begin) == pytest.approx(INTERVAL)
    assert queue.take(begin + INTERVAL) is not None


def test_what_is_added_meanwhile_delays_nothing() -> None:
    queue = ReseedQueue(Sober())
    queue.add({"0": FILES["0"]}, 0)
    queue.add({"1": FILES["1"]}, SPREAD / 2)
    assert queue.due(SPREAD / 2) == 0


def test_members_go_in_different_orders() -> None:
    orders = set()
    for seed in range(5):
        queue = ReseedQueue(random.Random(seed))
        queue.add(FILES, 0)
        orders.add(tuple(taken(queue, 0)))
    assert len(orders) == 5


def test_disallowing_host_gets_no_offers() -> None:
    queue = ReseedQueue()
    queue.add(FILES, 0)
    assert len(taken(queue, 0, most=1)) == 1
    queue.refused("not_allowed")
    assert taken(queue, 100.0) == []
    queue.connected()
    assert len(taken(queue, 100.0)) == len(FILES) - 1


def test_repeated_refusals_stop_offers() -> None:
    queue = ReseedQueue()
    queue.add(FILES, 0)
    for _ in range(REFUSALS - 1):
        queue.refused("no_space")
    assert len(taken(queue, 100.0, most=2)) == 2
    queue.refused("no_space")
    assert taken(queue, 100.0) == []
