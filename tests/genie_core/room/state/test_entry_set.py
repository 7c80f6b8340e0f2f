from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from tests.genie_core.room.state.test_replays import signed_history

from genie_core.room.state import entry_set
from genie_core.room.state.entry_set import EntrySet, digest_of

DIGESTS = st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=200)


@contextmanager
def small_runs() -> Iterator[None]:
    with mock.patch.multiple(entry_set, BLOCK=4, MOST_IN_RUN=32):
        yield


@given(DIGESTS, st.integers(0, 200))
def test_only_added_digests_are_held(digests: list[int], cut: int) -> None:
    with small_runs():
        found = EntrySet()
        for digest in digests[:cut]:
            found.add(digest)
        assert [digest in found for digest in digests] == [at < cut for at in range(len(digests))]
        assert len(found) == len(digests[:cut])


@given(DIGESTS, st.integers(0, 200))
def test_an_encoded_set_grows_as_the_original(digests: list[int], cut: int) -> None:
    with small_runs():
        whole, part = EntrySet(), EntrySet()
        for digest in digests:
            whole.add(digest)
        for digest in digests[:cut]:
            part.add(digest)
        again = EntrySet(part.encode())
        for digest in digests[cut:]:
            again.add(digest)
        assert again == whole


def test_each_signed_entry_takes_eight_bytes() -> None:
    log = signed_history(Random(1), 60)
    signed = [event for event in log.events if digest_of(event) is not None]
    assert len(log.state.entries) == len(signed)
    assert len(log.state.entries.encode()) == 8 * len(signed)
