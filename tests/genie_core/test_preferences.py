import asyncio

import pytest
from tests.limits import scaled

from genie_core.errors import StageFailed
from genie_core.preferences import PreferencesLookup, PreferencesSource
from genie_core.runtime.resource_task import WaitLimit

pytestmark = pytest.mark.timeout(100)


class Slow(PreferencesSource):
    def __init__(self) -> None:
        self.cancelled = False

    async def get_preferences(self, username: str) -> str | None:
        if username == "slow":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return f"as {username} likes it"


async def test_query_runs_with_preferences() -> None:
    wishes = PreferencesLookup(Slow(), WaitLimit())
    async with wishes.along_with_query("alice", "bob") as preferences:
        assert preferences == "as bob likes it"
    async with wishes.along_with_query("alice", None) as preferences:
        assert preferences is None


async def test_no_source_gives_none_immediately() -> None:
    wishes = PreferencesLookup(None, WaitLimit())
    async with (
        wishes.along_with_query("alice", "bob") as first,
        wishes.along_with_query("alice", "bob") as second,
    ):
        assert first is second is None


async def test_abandoned_lookup_is_cancelled() -> None:
    source = Slow()
    wishes = PreferencesLookup(source, WaitLimit())

    async def ask() -> None:
        async with wishes.along_with_query("alice", "slow"):
            pass

    asking = asyncio.create_task(ask())
    behind = asyncio.create_task(ask())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for each in (behind, asking):
        each.cancel()
        with pytest.raises(asyncio.CancelledError):
            await each
    await asyncio.sleep(0)
    assert source.cancelled


async def test_time_limit_ends_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.runtime.resource_task.GRACE", 0.02)
    patience = WaitLimit()
    patience.limit()
    with pytest.raises(StageFailed, match="preferences of slow: did not come") as caught:
        async with PreferencesLookup(Slow(), patience).along_with_query("alice", "slow"):
            pass
    assert caught.value.stage == "preferences"


async def test_queued_lookups_time_out_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.runtime.resource_task.GRACE", 0.3)
    patience = WaitLimit()
    wishes = PreferencesLookup(Slow(), patience)

    async def ask() -> None:
        async with wishes.along_with_query("alice", "slow"):
            pass

    asking = [asyncio.create_task(ask()) for _ in range(400)]
    await asyncio.sleep(0)
    patience.limit()
    async with asyncio.timeout(scaled(60)):  # half of what it takes one after another
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(each, StageFailed) for each in outcomes)
