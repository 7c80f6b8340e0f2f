from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from genie_core.room.protocol.events import Event
from genie_core.sessions.errors import DamagedSession
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.log.writer import EventLog
from genie_serve.stores.cached_log import CachedLog
from genie_serve.stores.store import StoreUnavailable
from genie_testing.contract.log import make_events


class MemoryLog:
    """A log of a store, kept in memory; after `broken_after` events, reading fails."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events = list(events)
        self.broken_after: int | None = None

    @property
    def head(self) -> int:
        return len(self.events)

    async def append(self, events: Sequence[Event]) -> None:
        self.events += [event for event in events if event.seq > self.head]

    async def read(self, after: int) -> AsyncGenerator[Sequence[Event]]:
        for start in range(after, self.head, 10):
            if self.broken_after is not None and start >= self.broken_after:
                raise StoreUnavailable("gone")
            yield self.events[start : start + 10]

    async def aclose(self) -> None: ...


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "room" / "events.jsonl"


async def test_cache_is_ordinary_log(path: Path) -> None:
    store = MemoryLog(make_events(1, 40))
    log, opened = await CachedLog.open(store, path)
    assert (opened.events, opened.problems, log.head) == (make_events(1, 40), [], 39)
    await log.append(make_events(40, 45))
    await log.aclose()
    assert store.events == EventLog.open(path).events == make_events(1, 45)


async def test_catching_up_goes_on_where_it_failed(path: Path) -> None:
    store = MemoryLog(make_events(1, 100))
    store.broken_after = 50
    with pytest.raises(StoreUnavailable):
        await CachedLog.open(store, path)
    with EventLog.open(path).log as cache:
        assert cache.head == 50
    store.broken_after = None
    log, _ = await CachedLog.open(store, path)
    assert log.read(0, 200) == make_events(1, 100)
    await log.aclose()


@pytest.mark.parametrize("known", [make_events(1, 20), make_events(1, 30), make_events(1, 60)])
async def test_contradicting_cache_is_set_aside(path: Path, known: list[Event]) -> None:
    with EventLog.open(path).log as cache:
        cache.write(known)
    before = path.read_bytes()
    store = MemoryLog(make_events(1, 30, "bob"))
    log, opened = await CachedLog.open(store, path)
    assert log.read(0, 100) == make_events(1, 30, "bob")
    assert "lost acknowledged ones" in opened.problems[0]
    assert path.with_name("events.jsonl.damaged-1").read_bytes() == before
    await log.aclose()


@pytest.mark.parametrize("known", [0, 1, 1_000])
async def test_store_receives_local_events(path: Path, known: int) -> None:
    with EventLog.open(path).log as cache:
        cache.write(make_events(1, 1_500))
    store = MemoryLog(make_events(1, 1 + known))
    log, opened = await CachedLog.open(store, path)
    assert store.events == log.read(0, 2_000) == make_events(1, 1_500)
    assert opened.problems == []
    await log.aclose()


async def test_damaged_only_log_is_untouched(path: Path) -> None:
    with EventLog.open(path).log as cache:
        cache.write(make_events(1, 20))
    damaged = path.read_bytes().replace(b'"m7"', b'"mm"')
    path.write_bytes(damaged)
    path.with_name(INDEX_NAME).unlink(missing_ok=True)
    with pytest.raises(DamagedSession, match="genie-tui sessions check"):
        await CachedLog.open(MemoryLog(), path)
    assert path.read_bytes() == damaged


async def test_damaged_cache_is_read_from_store(path: Path) -> None:
    with EventLog.open(path).log as cache:
        cache.write(make_events(1, 20))
    path.write_bytes(path.read_bytes().replace(b'"m7"', b'"mm"'))
    path.with_name(INDEX_NAME).unlink(missing_ok=True)
    log, opened = await CachedLog.open(MemoryLog(make_events(1, 20)), path)
    assert log.read(0, 100) == make_events(1, 20)
    assert "is damaged" in opened.problems[0]
    await log.aclose()


async def test_a_torn_end_is_cut_off_and_read_again(path: Path) -> None:
    with EventLog.open(path).log as cache:
        cache.write(make_events(1, 20))
    path.write_bytes(path.read_bytes()[:-5])
    log, _ = await CachedLog.open(MemoryLog(make_events(1, 20)), path)
    assert log.read(0, 100) == make_events(1, 20)
    assert not path.with_name("events.jsonl.damaged-1").exists()
    await log.aclose()
