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


async def test_the_query_is_put_while_the_wishes_are_there() -> None:
    wishes = PreferencesLookup(Slow(), WaitLimit())
    async with wishes.along_with_query("alice", "bob") as preferences:
        assert preferences == "as bob likes it"
    async with wishes.along_with_query("alice", None) as preferences:
        assert preferences is None


async def test_without_a_source_there_are_none_and_no_waiting() -> None:
    wishes = PreferencesLookup(None, WaitLimit())
    async with (
        wishes.along_with_query("alice", "bob") as first,
        wishes.along_with_query("alice", "bob") as second,
    ):
        assert first is second is None


async def test_a_lookup_that_nobody_waits_for_any_more_is_cancelled() -> None:
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


async def test_when_time_is_limited_a_lookup_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.runtime.resource_task.GRACE", 0.02)
    patience = WaitLimit()
    patience.limit()
    with pytest.raises(StageFailed, match="preferences of slow: did not come") as caught:
        async with PreferencesLookup(Slow(), patience).along_with_query("alice", "slow"):
            pass
    assert caught.value.stage == "preferences"


async def test_lookups_that_wait_for_one_another_are_given_up_together(
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
