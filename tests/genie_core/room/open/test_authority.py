"""Whom members follow when several people could host: by the signed order, not by who claims what."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.genie_core.room.live_room import Ear
from tests.genie_core.room.open.test_join import _pin
from tests.genie_core.room.open.test_opener import LOCAL, joined, places, said
from tests.ports import free_port

from genie_core.room.client.model import ConnectionState, NextStep
from genie_core.room.open.continuation import MayContinue
from genie_core.room.open.opener import RoomOpener, StillHosted
from genie_core.room.open.requests import JoinRoom, NewRoom, RejoinRoom, ResumeRoom, after_parting
from genie_core.room.open.route import HostFound
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.errors import OtherHost
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.session import SavedSession
from genie_core.settings.model import Settings


def copy_of(home: Path) -> SavedSession:
    listed = [each for each in Catalog(places(home).sessions).all() if "~" not in each.id]
    (listing,) = listed
    return Catalog(places(home).sessions).find(listing.id)


@asynccontextmanager
async def three(tmp_path: Path) -> AsyncIterator[JoinedRoom]:
    """Ann's room in which Ben and Cleo have been; they are heirs in this order."""
    async with joined("ann", NewRoom("One"), tmp_path / "a") as (ann, heard):
        for name in ("ben", "cleo"):
            join = JoinRoom(ann.hosting.address)
            async with joined(name, join, tmp_path / name[0]) as (member, _):
                await said(member, ann, heard, f"{name} was here")
        yield ann


def elsewhere() -> Settings:
    """Another port than the host's, as on another machine."""
    return replace(LOCAL, port=free_port())


async def closed(member: JoinedRoom, ear: Ear) -> None:
    await ear.until(lambda: member.connection.state is ConnectionState.CLOSED)


def host_again(home: Path) -> ResumeRoom:
    return ResumeRoom(copy_of(home).id, force=True)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs look for earlier hosts without a pause between."""
    monkeypatch.setattr("genie_core.room.open.conflicts.AGAIN", 0.2)


async def test_member_stays_with_a_present_host(tmp_path: Path) -> None:
    b, c = tmp_path / "b", tmp_path / "c"
    async with three(tmp_path) as ann:
        address = ann.hosting.address
        async with joined("ben", host_again(b), b, elsewhere()) as (ben, _):
            assert ben.state.host == "ben"
            lured = JoinRoom(ben.hosting.address)
            async with joined("cleo", lured, c) as (cleo, ear):
                assert cleo.state.host == "ann"
                assert any("comes first in the order" in line for line in ear.notices)
                cleo.messages.send("to ann")
                await ear.until(lambda: not cleo.messages.pending)
            assert "to ann" not in {each.said.text for each in ben.state.threads.values()}
            texts = {each.said.text for each in ann.state.threads.values()}
            assert "to ann" in texts
        assert copy_of(c).metadata.address == address


async def test_heir_follows_the_host_who_is_back(tmp_path: Path, often: None) -> None:
    """Without announcements: they look where the host was."""
    a, b, c = (tmp_path / name for name in "abc")
    async with three(tmp_path):
        pass
    async with joined("ben", host_again(b), b, elsewhere()) as (ben, heard):
        join = JoinRoom(ben.hosting.address)
        async with joined("cleo", join, c) as (cleo, ear):
            await said(cleo, ben, heard, "while ann was away")
            async with joined("ann", host_again(a), a) as (ann, listening):
                for each, where in ((cleo, ear), (ben, heard)):
                    await closed(each, where)
                    assert each.ended is not None
                    assert each.ended.next_step is NextStep.REJOIN
                    await each.leave()
                for name, each, home in (("cleo", cleo, c), ("ben", ben, b)):
                    assert each.ended is not None
                    opening = after_parting(each.ended)
                    assert opening is not None
                    async with joined(name, opening, home) as (back, _):
                        assert back.state.host == "ann"
                        await listening.until(
                            lambda: (
                                "while ann was away"
                                in {every.said.text for every in ann.state.threads.values()}
                            )
                        )
                assert not ann.state.doubts


async def test_second_heir_gives_way_to_the_first(tmp_path: Path, often: None) -> None:
    b, c = tmp_path / "b", tmp_path / "c"
    async with three(tmp_path):
        pass
    async with joined("ben", host_again(b), b, elsewhere()) as (ben, _):
        met = RejoinRoom(copy_of(c).id, (ben.hosting.address,), _pin(b))
        async with joined("cleo", met, c):
            pass
        async with joined("cleo", host_again(c), c, elsewhere()) as (cleo, ear):
            await ear.until(lambda: cleo.connection.state is ConnectionState.CLOSED)
            assert cleo.ended is not None
            assert cleo.ended.next_step is NextStep.REJOIN
            assert "ben hosts this room" in cleo.ended.text
        assert ben.connection.state is ConnectionState.ONLINE


async def test_earlier_host_resumes_without_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b, c = tmp_path / "b", tmp_path / "c"
    async with three(tmp_path) as ann:
        keys = {name: person.key for name, person in ann.state.people.items()}
    found: list[HostFound] = []

    async def answers(*_: object, network: bool) -> HostFound:
        return found[-1]

    monkeypatch.setattr("genie_core.room.open.opener.host_of", answers)
    found.append(HostFound(("127.0.0.1:1",), "p" * 43, "ben", keys["ben"]))
    with pytest.raises(StillHosted, match="hosted by ben right now"):
        await RoomOpener("cleo", LOCAL, places(c)).enter(ResumeRoom(copy_of(c).id), Ear())
    found.append(HostFound(("127.0.0.1:1",), "p" * 43, "cleo", keys["cleo"]))
    async with joined("ben", ResumeRoom(copy_of(b).id), b) as (ben, _):
        assert ben.state.host == "ben"


async def test_member_who_is_no_heir_cannot_host(tmp_path: Path) -> None:
    b, c = tmp_path / "b", tmp_path / "c"
    async with three(tmp_path) as ann:
        early = tmp_path / "early"
        shutil.copytree(b, early)
        async with joined("cleo", JoinRoom(ann.hosting.address), c) as (cleo, ear):
            ann.hosting.set_heirs(["cleo"])
            await ear.until(lambda: len(cleo.state.succession.order) == 2)
        async with joined("ben", JoinRoom(ann.hosting.address), b):
            pass
    with pytest.raises(MayContinue, match="not named you as an heir"):
        await RoomOpener("ben", LOCAL, places(b)).enter(host_again(b), Ear())
    # A copy from before that can still be hosted, and moves no member who knows better.
    async with joined("ben", host_again(early), early) as (ben, _):
        join = JoinRoom(ben.hosting.address)
        with pytest.raises(OtherHost):
            await RoomOpener("cleo", LOCAL, places(c)).enter(join, Ear())
