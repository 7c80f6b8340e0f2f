"""`genie-tui admin` at a running service."""

import asyncio
import io
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from genie_core.errors import GenieError
from genie_core.room.open.identities import identity_of_person
from genie_core.room.security.invite import read_invite
from genie_core.settings.model import Settings
from genie_serve.admin.requests import MemberEntry, MemberList, RoomEntry, RoomList, Status
from genie_serve.cli.admin import lines, run_admin
from genie_tui.cli.commands import parse
from serve_tests.admin.administering import LOCAL, administering, places

PASSPHRASE = "correct horse battery\n"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setattr("genie_core.backup.format._WORK", 2**4)


class Terminal(io.StringIO):
    """A standard input at which a person sits."""

    def isatty(self) -> bool:
        return True


class Shell:
    """Runs the commands as ann, in another thread than the service."""

    def __init__(self, home: Path) -> None:
        self.locations = places(home)
        self.problems = ""

    async def run(self, *arguments: str, given: io.StringIO | None = None) -> str:
        return await asyncio.to_thread(self._run, arguments, given or io.StringIO())

    def _run(self, arguments: tuple[str, ...], given: io.StringIO) -> str:
        options = parse(["admin", *arguments])
        out, problems = io.StringIO(), io.StringIO()
        assert run_admin(options, Settings(name="ann"), self.locations, given, out, problems) == 0
        self.problems = problems.getvalue()
        return out.getvalue()

    async def refused(self, *arguments: str, given: io.StringIO | None = None) -> str:
        with pytest.raises(GenieError) as caught:
            await self.run(*arguments, given=given)
        text = str(caught.value)
        assert len(text.splitlines()) == 1
        return text


async def test_room_is_managed_by_title(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.sessions.trash._send", lambda path: path.rename(tmp_path / "t"))
    async with administering(tmp_path) as running:
        shell = Shell(tmp_path)
        assert (
            await shell.run("rooms")
            == "there are no rooms yet; make one: genie-tui admin create TITLE\n"
        )
        created = await shell.run("create", "Garden", "of", "Eden")
        (room,) = running.service.rooms
        assert created == f"created: {room}  Garden of Eden\n"
        heading, row = (await shell.run("rooms")).splitlines()
        assert heading.split() == ["ID", "TITLE", "HERE", "MEMBERS", "EVENTS", "SIZE"]
        assert row.startswith(f"{room}  Garden of Eden")
        assert json.loads(await shell.run("rooms", "--json"))["rooms"][0]["id"] == room
        assert "1 open room, 0 archived" in await shell.run()
        assert "is open already" in await shell.refused("unarchive", "garden")
        assert await shell.run("archive", "garden") == f"archived: {room}  Garden of Eden\n"
        assert "repeat the title" in await shell.refused("delete", room)
        wrong = await shell.refused("delete", room, given=Terminal("Garden\n"))
        assert "its title is 'Garden of Eden'" in wrong
        assert "give the whole id" in await shell.refused("delete", "garden", "--title", "x")
        done = await shell.run("delete", room, given=Terminal("Garden of Eden\n"))
        assert done == f"moved to the trash: {room}  Garden of Eden\n"
        assert shell.problems == "the title of the room, to delete it: "


async def test_invites_and_members(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        shell = Shell(tmp_path)
        await shell.run("create", "Garden")
        (room,) = running.service.rooms.values()
        found = read_invite((await shell.run("invite", "Garden", "--once", "--for", "2d")).strip())
        assert found.title == "Garden"
        assert len(room.tokens) == 1
        await shell.run("void", "Garden")
        assert len(room.tokens) == 0
        assert "no one was in the room yet" in await shell.run("members", "Garden")
        assert "no one called bob" in await shell.refused("remove", "Garden", "bob", "--ban")
        assert "no one called bob" in await shell.refused("role", "Garden", "bob", "host")
        for part in ("pardon", "free"):
            assert "no one called bob" in await shell.refused(part, "Garden", "bob")


async def test_remote_service_is_asked_by_name(tmp_path: Path) -> None:
    mine = Shell(tmp_path / "mine")
    key = identity_of_person("ann", mine.locations).key
    async with administering(tmp_path / "service", replace(LOCAL, admins=(key,))) as running:
        assert "none; add one" in await mine.run("remote")
        place = running.remote
        await mine.run("remote", "add", "club", place.address, place.pin)
        assert (await mine.run("remote", "list")).split() == [
            "NAME",
            "ADDRESS",
            "PIN",
            "club",
            *[place.address, place.pin],
        ]
        await mine.run("create", "Garden", "--at", "club")
        assert len(running.service.rooms) == 1
        assert "works on the machine" in await mine.refused("--at", "club", "backup", "x")
        assert "no service is called 'nix'" in await mine.refused("rooms", "--at", "nix")
        await mine.run("remote", "add", "club", place.address, "k" * 43)
        assert "another machine does" in await mine.refused("rooms", "--at", "club")
        await mine.run("remote", "remove", "club")
        assert "none runs" in await mine.refused("rooms")
    async with administering(tmp_path / "other") as running:
        await mine.run("remote", "add", "club", running.remote.address, running.remote.pin)
        refused = await mine.refused("rooms", "--at", "club")
        assert (
            f"may not administer the service, or did not sign this connection; your key is {key}"
            in refused
        )


async def test_a_service_is_backed_up_and_restored(tmp_path: Path) -> None:
    file, there = str(tmp_path / "b.zip"), Shell(tmp_path / "there")
    async with administering(tmp_path / "here") as running:
        here = Shell(tmp_path / "here")
        await here.run("create", "Garden")
        (room,) = running.service.rooms
        told = await here.run("backup", file, given=io.StringIO(PASSPHRASE))
        assert "has 1 room, 1 key\n" in told  # there is no serve.toml
        assert "can be read without the passphrase" in told
        refused = await here.refused("restore", file, given=io.StringIO(PASSPHRASE))
        assert "a service runs here already" in refused
        one = await here.run("restore", file, "--room", room, given=io.StringIO(PASSPHRASE))
        assert "is here already and stays as it is" in one
        assert await here.run("stop") == (
            "the service stops; members connect again once it runs again\n"
        )
        await running.stopped.wait()
    told = await there.run("restore", file, given=io.StringIO(PASSPHRASE))
    assert f"restored: sessions/{room}\n" in told
    async with administering(tmp_path / "there") as running:
        assert [*running.service.rooms] == [room]
    assert "can't be restored" in await there.refused("restore", str(tmp_path / "none.zip"))


def test_a_stand_by_says_that_it_is_one() -> None:
    status = Status("service", "1", 1, 1.0, "[::]:7654", "pin", "key", 0, 0, 0, store="nats")
    shown = "\n".join(lines(replace(status, addresses=("a:1", "b:2")), "status", 80))
    assert "listens  [::]:7654\naddress  a:1, b:2\n" in shown
    assert "shards   none: this machine stands by" in shown
    shown = "\n".join(lines(RoomList((), stands_by=True), "rooms", 80))
    assert "this machine stands by" in shown
    assert "make one" not in shown


def test_hostile_text_commands_nothing() -> None:
    evil = "x\x1b]0;owned\x07\u202e\r\n\x9b31m"
    answers = (
        RoomList((RoomEntry(evil, evil, 0, 0, 0, 0, problems=(evil,)),)),
        MemberList((MemberEntry(evil, "host", present=True, since=0.0, words=evil),)),
        Status(evil, evil, 1, 1.0, evil, evil, evil, 0, 0, 0, problems=(evil,)),
    )
    for answer in answers:
        for line in lines(answer, "rooms", 80):
            assert line.isprintable()
