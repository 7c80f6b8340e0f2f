"""What administrators ask for, at a real service."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from genie_core.room.client.model import ConnectionState
from genie_core.room.protocol.events import MemberModerated
from genie_serve.admin.errors import AdminRefused
from genie_serve.admin.requests import (
    ArchiveRoom,
    CreateInvite,
    CreateRoom,
    CreateWebLink,
    DeleteRoom,
    Done,
    GetStatus,
    InviteText,
    ListMembers,
    ListRooms,
    MemberList,
    ModerateMember,
    RoomChanged,
    RoomEntry,
    RoomList,
    Status,
    StopService,
    UnarchiveRoom,
    VoidAllInvites,
)
from genie_serve.config import WebTable
from serve_tests.admin.administering import (
    LOCAL,
    Administered,
    administering,
    joining,
)


@pytest.fixture(autouse=True)
def _trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trash").mkdir()

    def send(folder: Path) -> None:
        folder.rename(tmp_path / "trash" / folder.name)

    monkeypatch.setattr("genie_core.sessions.trash._send", send)


async def test_a_room_from_its_creation_to_the_trash(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        made = await running.ask(CreateRoom("Garden \x1b[31m"))
        assert isinstance(made, RoomChanged)
        assert made.title == "Garden [31m"
        listed = await running.ask(ListRooms())
        assert isinstance(listed, RoomList)
        (room,) = listed.rooms
        assert (room.id, room.present, room.archived, room.problems) == (made.id, 0, False, ())
        assert room.events > 0
        assert room.bytes > 0
        with pytest.raises(AdminRefused, match="archive it first"):
            await running.ask(DeleteRoom(made.id, made.title))
        assert await running.ask(ArchiveRoom(made.title.upper())) == made
        assert (await entry(running, made.id)).archived
        with pytest.raises(AdminRefused, match="is not open here"):
            await running.ask(CreateInvite(made.id))
        assert await running.ask(UnarchiveRoom(made.id[:-1])) == made
        await running.ask(ArchiveRoom(made.id))
        assert await running.ask(DeleteRoom(made.id, made.title)) == made
        assert await running.ask(ListRooms()) == RoomList(())
    assert (tmp_path / "trash" / made.id / "events.jsonl").exists()


async def entry(running: Administered, room: str) -> RoomEntry:
    listed = await running.ask(ListRooms())
    assert isinstance(listed, RoomList)
    return next(each for each in listed.rooms if each.id == room)


async def test_deletion_needs_exact_id_and_title(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        first, second = (
            await running.ask(CreateRoom("Garden")),
            await running.ask(CreateRoom("Garden 2")),
        )
        assert isinstance(first, RoomChanged)
        assert isinstance(second, RoomChanged)
        for each in (first, second):
            await running.ask(ArchiveRoom(each.id))
        attempts = {
            DeleteRoom(first.id, "Garden 2"): "title",
            DeleteRoom(first.id, ""): "title",
            DeleteRoom(first.id[:-1], "Garden"): "give the whole id",
            DeleteRoom("Garden", "Garden"): "give the whole id",
            DeleteRoom(first.id[:11], "Garden"): "names 2 rooms",
            DeleteRoom("", "Garden"): "there is no room",
            DeleteRoom("../../config", "Garden"): "there is no room",
            DeleteRoom(".", "Garden"): "there is no room",
        }
        for attempt, why in attempts.items():
            with pytest.raises(AdminRefused, match=why):
                await running.ask(attempt)
        listed = await running.ask(ListRooms())
        assert isinstance(listed, RoomList)
        assert len(listed.rooms) == 2


async def test_members_get_roles_and_bans(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        made = await running.ask(CreateRoom("Garden"))
        assert isinstance(made, RoomChanged)
        invited = await running.ask(CreateInvite("Garden", uses=2, lifetime=60))
        assert isinstance(invited, InviteText)
        async with joining(invited.invite, "ann") as ann, joining(invited.invite, "bob") as bob:
            await ann.seen.online()
            await bob.seen.online()
            assert await running.ask(ModerateMember("Garden", "role", "ann", "host")) == Done()
            await bob.seen.until(lambda seen: seen.state.people["ann"].role == "host")
            assert await running.ask(ModerateMember("Garden", "role", "ann", "member")) == Done()
            await bob.seen.until(lambda seen: seen.state.people["ann"].role == "member")
            ban = ModerateMember("Garden", "ban", "BOB", reason="spam")
            assert await running.ask(ban) == Done()
            await bob.seen.until(
                lambda seen: seen.links and seen.links[-1].state is ConnectionState.CLOSED
            )
            listed = await running.ask(ListMembers("Garden"))
            assert isinstance(listed, MemberList)
            found = {each.name: each for each in listed.members}
            assert (found["ann"].present, found["ann"].banned, found["ann"].role) == (
                True,
                False,
                "member",
            )
            assert (found["bob"].present, found["bob"].banned) == (False, True)
            assert found["bob"].words.count("-") == 5
            with pytest.raises(AdminRefused, match="bob is banned already"):
                await running.ask(ban)
            with pytest.raises(AdminRefused, match="no one called zoe"):
                await running.ask(ModerateMember("Garden", "kick", "zoe"))
            status = await running.ask(GetStatus())
            assert isinstance(status, Status)
            assert (status.rooms, status.archived, status.members) == (1, 0, 1)
            by = {event.by for event in ann.seen.events if isinstance(event.body, MemberModerated)}
            assert by == {"service"}


async def test_a_link_for_browsers_needs_a_page(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        await running.ask(CreateRoom("Garden"))
        with pytest.raises(AdminRefused, match="has no page"):
            await running.ask(CreateWebLink("Garden", 60.0))
    page = replace(LOCAL, web=WebTable(url="https://chat.example.org"))
    async with administering(tmp_path / "page", page) as running:
        await running.ask(CreateRoom("Garden"))
        for observers in (False, True):
            made = await running.ask(CreateWebLink("Garden", 60.0, observers))
            assert isinstance(made, InviteText)
            assert made.invite.startswith("https://chat.example.org/#")
        once = await running.ask(CreateWebLink("Garden", 60.0, uses=1))
        assert isinstance(once, InviteText)
        assert running.service.gateway is not None
        uses = [each.uses for each in running.service.gateway._links._links.values()]
        assert uses == [None, None, 1]


async def test_void_invites_admit_no_one(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        await running.ask(CreateRoom("Garden"))
        invited = await running.ask(CreateInvite("Garden"))
        assert isinstance(invited, InviteText)
        async with joining(invited.invite, "ann") as ann:
            await ann.seen.online()
            assert await running.ask(VoidAllInvites("Garden")) == Done()
            async with joining(invited.invite, "bob") as bob:
                await bob.seen.until(
                    lambda seen: seen.links and seen.links[-1].state is ConnectionState.CLOSED
                )
                assert bob.refusal is not None
                assert bob.refusal.code == "no_invite"
            ann.client.messages.send("still here")
            await ann.seen.until(lambda seen: seen.texts)


async def test_invite_role_applies_on_joining(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        await running.ask(CreateRoom("Garden"))
        invited = await running.ask(CreateInvite("Garden", role="observer"))
        assert isinstance(invited, InviteText)
        async with joining(invited.invite, "ann") as ann:
            await ann.seen.online()
            await ann.seen.until(lambda seen: "ann" in seen.state.people)
            assert ann.seen.state.people["ann"].role == "observer"


async def test_untitled_or_unknown_is_refused(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        with pytest.raises(AdminRefused, match="needs a title"):
            await running.ask(CreateRoom(" \n"))
        with pytest.raises(AdminRefused, match=r"there is no room 'x'; .* genie-tui admin rooms"):
            await running.ask(ArchiveRoom("x"))


async def test_stop_is_answered_first(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        assert await running.ask(StopService()) == Done()
        await running.stopped.wait()
