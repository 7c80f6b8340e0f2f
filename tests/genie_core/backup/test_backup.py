"""All that is a person's, written to a file and restored elsewhere."""

import asyncio
import hashlib
import io
import stat
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.genie_core.room.live_room import Ear

from genie_core.assistant.secrets import OwnSecrets
from genie_core.backup import format as backup_format
from genie_core.backup.errors import NotRestorable, WeakPassphrase, WrongPassphrase
from genie_core.backup.format import (
    HEADER_NAME,
    PRIVATE_NAME,
    ArchivedFile,
    Header,
    PrivatePart,
    encrypt_part,
)
from genie_core.backup.restoring import Restored, restore_backup
from genie_core.backup.writing import BackupReport, write_backup
from genie_core.room.open.identities import identity_of_person
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import NewRoom, OpenRequest, ResumeRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import HostStarted, MessagePosted
from genie_core.sessions.check import check
from genie_core.sessions.export.formats import InTheWay
from genie_core.sessions.lock import SessionInUse, hold
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_core.storage.blobs import BlobStore
from genie_core.storage.errors import DiskFailure

PASSPHRASE = "correct horse battery"
ID = "2026-11-21-standup-3fk9"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive keys at a cost that is right for tests."""
    monkeypatch.setattr(backup_format, "_WORK", 2**4)


def places(home: Path) -> Locations:
    return Locations(home / "config", home / "data", home / "log")


def secrets_in(home: Path) -> OwnSecrets:
    return OwnSecrets("ann", places(home).secrets, env={}, keyring=lambda: None)


def backed_up(home: Path, file: Path, **options: Any) -> BackupReport:
    given = {"passphrase": PASSPHRASE, **options}
    return write_backup(places(home), secrets_in(home), path=file, now=1.0, **given)


def restored(
    home: Path, data: Path | bytes, passphrase: str = PASSPHRASE, **given: Any
) -> Restored:
    content = data.read_bytes() if isinstance(data, Path) else data
    source = io.BytesIO(content)
    return restore_backup(places(home), secrets_in(home), passphrase, source, "b.zip", **given)


def tree(home: Path) -> dict[str, bytes]:
    """All files and what they contain."""
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The folders of ann, with something of everything."""
    home = tmp_path / "here"
    identity_of_person("ann", places(home))
    write(home, "config/settings.toml", b'name = "ann"\n')
    write(home, "config/prompts/reasoner/mine.md", b"Be quiet.")
    write(home, "config/mcp.json", b'{"token": "in the settings"}')
    write(home, "data/tls/host.pem", b"the key of the host")
    session = home / "data/sessions" / ID
    write(session, "room.json", b"{}")
    write(session, "events.jsonl", b"one\ntwo\nan unfinished li")
    write(session, "events.idx", b"rebuilt")
    write(session, "passes.json", b"the secrets of invites")
    write(session, "engine/s/ann/system.jsonl", b"memory")
    write(session, "blobs/x.new", b"unfinished")
    write(home, "source", b"attached" * 100_000)
    BlobStore(session / "blobs").add(home / "source")
    (home / "source").unlink()
    write(home, "data/agents/bot/keys/bot.key", b"the key of bot")
    write(home, "data/agents/bot/sessions/room@bot/events.jsonl", b"a copy\n")
    secrets_in(home).set("OPENAI_API_KEY", "sk-a-secret-value")
    return home


def write(folder: Path, name: str, content: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there"


def test_all_of_it_comes_back(here: Path, there: Path, tmp_path: Path) -> None:
    report = backed_up(here, tmp_path / "b.zip")
    assert (report.sessions, report.keys, report.secrets, report.notes) == (2, 2, 1, [])
    assert stat.S_IMODE((tmp_path / "b.zip").stat().st_mode) == 0o600
    done = restored(there, tmp_path / "b.zip")
    assert done.sessions == ["agents/bot/sessions/room@bot", f"sessions/{ID}"]
    assert (done.secrets, done.kept, done.replaced) == (["OPENAI_API_KEY"], [], {})
    session = f"data/sessions/{ID}"
    expected = tree(here)
    expected[f"{session}/events.jsonl"] = b"one\ntwo\n"
    for left_out in ("events.idx", "blobs/x.new"):
        del expected[f"{session}/{left_out}"]
    assert tree(there) == expected
    for path in there.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    (blob,) = (there / session / "blobs").iterdir()
    assert stat.S_IMODE(blob.stat().st_mode) == 0o400
    assert secrets_in(there).kept() == {"OPENAI_API_KEY": "sk-a-secret-value"}


def test_private_files_are_encrypted(here: Path, tmp_path: Path) -> None:
    backed_up(here, tmp_path / "b.zip")
    key = (here / "data/keys/ann.key").read_bytes()
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        names = archive.namelist()
        content = b"".join(archive.read(name) for name in names)
    assert f"sessions/{ID}/events.jsonl" in names
    assert b"two" in content
    for secret in (
        key[-60:],
        b"in the settings",
        b"of the host",
        b"invites",
        b"sk-a-secret",
        b"bot",
    ):
        assert secret not in content.replace(b"agents/bot", b"")


def test_a_wrong_passphrase_changes_nothing(here: Path, there: Path, tmp_path: Path) -> None:
    backed_up(here, tmp_path / "b.zip")
    with pytest.raises(WrongPassphrase):
        restored(there, tmp_path / "b.zip", "incorrect horse")
    assert tree(there) == {}
    with pytest.raises(WeakPassphrase, match="at least 8"):
        backed_up(here, tmp_path / "c.zip", passphrase="short")
    assert not (tmp_path / "c.zip").exists()


def test_other_unicode_passphrase_opens(here: Path, there: Path, tmp_path: Path) -> None:
    backed_up(here, tmp_path / "b.zip", passphrase="caf\u00e9 au lait")
    assert restored(there, tmp_path / "b.zip", "cafe\u0301 au lait").sessions


def test_damage_anywhere_changes_nothing(here: Path, there: Path, tmp_path: Path) -> None:
    backed_up(here, tmp_path / "b.zip")
    data = (tmp_path / "b.zip").read_bytes()
    for place in range(0, len(data), max(len(data) // 150, 1)):
        spoilt = bytearray(data)
        spoilt[place] ^= 0x55
        try:
            done = restored(there, bytes(spoilt))
        except (NotRestorable, WrongPassphrase):
            assert tree(there) == {}, place
        else:  # a byte that means nothing, such as the time of an entry
            assert len(done.sessions) == 2
            there = there.with_name(f"{place}")
    for end in (0, 3, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(NotRestorable):
            restored(there, data[:end])
    assert tree(there) == {}


def changed(data: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    """The archive with other entries; all checksums of the archive itself are right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_changed_session_is_refused(here: Path, there: Path, tmp_path: Path) -> None:
    backed_up(here, tmp_path / "b.zip")
    data, log = (tmp_path / "b.zip").read_bytes(), f"sessions/{ID}/events.jsonl"
    assert restored(tmp_path / "same", changed(data, lambda entries: None)).sessions
    changes: list[Callable[[dict[str, bytes]], object]] = [
        lambda entries: entries.update({log: b"one\nTWO\n"}),
        lambda entries: entries.update({log: b"one\ntwo\n" * 1_000_000}),
        lambda entries: entries.update({"sessions/x/room.json": b"{}"}),
        lambda entries: entries.pop(log),
        lambda entries: entries.pop(PRIVATE_NAME),
        lambda entries: entries.pop(HEADER_NAME),
        lambda entries: entries.update({HEADER_NAME: b"[" * 100_000}),
    ]
    for change in changes:
        with pytest.raises(NotRestorable, match="nothing has changed"):
            restored(there, changed(data, change))
        assert tree(there) == {}


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "sessions/../../outside/x",
        "/etc/passwd",
        "sessions//x",
        "sessions/x",
        "config/../x",
        "agents/../keys/x",
        "elsewhere/x",
        "sessions/a\0/b",
        "",
    ],
)
def test_a_file_that_belongs_nowhere_is_refused(there: Path, name: str) -> None:
    header = Header.fresh(1.0)
    part = PrivatePart({}, {name: b"x"}, {})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(HEADER_NAME, msgspec.json.encode(header))
        archive.writestr(PRIVATE_NAME, encrypt_part(part, PASSPHRASE, header))
    with pytest.raises(NotRestorable, match="no backup has a file"):
        restored(there, out.getvalue())
    assert tree(there.parent) == {}


def test_oversized_backup_is_refused_early(there: Path) -> None:
    header = Header.fresh(1.0)
    name = f"sessions/{ID}/events.jsonl"
    part = PrivatePart({name: ArchivedFile(2**60, "0" * 64)}, {}, {})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(HEADER_NAME, msgspec.json.encode(header))
        archive.writestr(name, b"x")
        archive.writestr(PRIVATE_NAME, encrypt_part(part, PASSPHRASE, header))
    with pytest.raises(DiskFailure, match="free some space"):
        restored(there, out.getvalue())


def test_what_is_here_stays_and_is_named(here: Path, there: Path, tmp_path: Path) -> None:
    backed_up(here, tmp_path / "b.zip")
    key = identity_of_person("ann", places(there)).key
    write(there, f"data/sessions/{ID}/events.jsonl", b"mine\n")
    secrets_in(there).set("OPENAI_API_KEY", "another-value")
    before = tree(there)
    done = restored(there, tmp_path / "b.zip")
    assert done.kept == ["keys/ann.key", f"sessions/{ID}", "the secret OPENAI_API_KEY"]
    assert {name: tree(there)[name] for name in before} == before
    assert identity_of_person("ann", places(there)).key == key
    again = restored(there, tmp_path / "b.zip")
    assert (again.sessions, again.files) == ([], [])


def test_replaced_data_is_kept_renamed(here: Path, there: Path, tmp_path: Path) -> None:
    backed_up(here, tmp_path / "b.zip")
    identity_of_person("ann", places(there))
    mine = (there / "data/keys/ann.key").read_bytes()
    write(there, f"data/sessions/{ID}/events.jsonl", b"mine\n")
    done = restored(there, tmp_path / "b.zip", replace=True)
    assert done.kept == []
    assert done.replaced == {
        "keys/ann.key": "ann.key.replaced-1",
        f"sessions/{ID}": f"{ID}~1",
    }
    assert (there / "data/keys/ann.key.replaced-1").read_bytes() == mine
    assert (there / f"data/sessions/{ID}~1/events.jsonl").read_bytes() == b"mine\n"
    assert (
        identity_of_person("ann", places(there)).key == identity_of_person("ann", places(here)).key
    )


def test_a_session_that_is_open_is_not_replaced(here: Path, there: Path, tmp_path: Path) -> None:
    backed_up(here, tmp_path / "b.zip")
    write(there, f"data/sessions/{ID}/events.jsonl", b"mine\n")
    before = tree(there)
    with hold(there / "data/sessions" / ID), pytest.raises(SessionInUse):
        restored(there, tmp_path / "b.zip", replace=True)
    assert tree(there) == before


def test_existing_file_is_not_overwritten(here: Path, tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(b"precious")
    with pytest.raises(InTheWay):
        backed_up(here, tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_bytes() == b"precious"
    backed_up(here, tmp_path / "b.zip", force=True)
    assert zipfile.is_zipfile(tmp_path / "b.zip")


def test_links_lead_nowhere(here: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"not yours")
    (here / "data/sessions" / ID / "link").symlink_to(tmp_path / "outside")
    (here / "config/prompts/all").symlink_to(tmp_path)
    backed_up(here, tmp_path / "b.zip")
    assert b"not yours" not in (tmp_path / "b.zip").read_bytes()


def test_nothing_at_all_can_be_backed_up(tmp_path: Path, there: Path) -> None:
    report = backed_up(tmp_path / "empty", tmp_path / "b.zip")
    assert (report.sessions, report.keys) == (0, 0)
    assert restored(there, tmp_path / "b.zip") == Restored()


def test_a_backup_of_the_first_version_is_read(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # at the real cost of the key
    done = restored(there, Path(__file__).parents[2] / "data/backup-1.zip")
    assert done.sessions == [f"sessions/{ID}"]
    assert tree(there)[f"data/sessions/{ID}/events.jsonl"] == b"one\ntwo\n"
    assert tree(there)["config/settings.toml"] == b'name = "ann"\n'


@asynccontextmanager
async def hosted(home: Path, opening: OpenRequest) -> AsyncIterator[tuple[JoinedRoom, Ear]]:
    ear = Ear()
    room = await RoomOpener("ann", Settings(local=True), places(home)).enter(opening, ear)
    assert isinstance(room, JoinedRoom)
    try:
        yield room, ear
    finally:
        await room.leave()


async def test_room_continues_in_other_home(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "b.zip"
    async with hosted(here, NewRoom("Standup")) as (room, ear):
        room.messages.send("hello")
        await ear.until(lambda: any(isinstance(each.body, MessagePosted) for each in ear.events))
        await asyncio.to_thread(backed_up, here, file)  # while it is open
    done = await asyncio.to_thread(restored, there, file)
    (name,) = done.sessions
    async with hosted(there, ResumeRoom(name.removeprefix("sessions/"))) as (room, ear):
        room.messages.send("here again")
        await ear.until(lambda: room.state.messages == 2)
        assert room.state.doubts == {}
    folder = there / "data" / name
    found = check(folder)
    assert (found.problems, found.remarks) == ([], [])
    with SavedSession.load(folder).reader() as log:
        hosts = [each.body for each in log.events() if isinstance(each.body, HostStarted)]
    assert len(hosts) == 2
    assert hosts[0].key == hosts[1].key
    assert hosts[0].pin == hosts[1].pin


def test_damaged_lzma_archive_is_refused(there: Path) -> None:
    content = bytes(range(256)) * 20
    name = f"sessions/{ID}/events.jsonl"
    header = Header.fresh(1.0)
    entry = ArchivedFile(len(content), hashlib.sha256(content).hexdigest())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(HEADER_NAME, msgspec.json.encode(header))
        archive.writestr(name, content)
        part = PrivatePart({name: entry}, {}, {})
        archive.writestr(PRIVATE_NAME, encrypt_part(part, PASSPHRASE, header))
    data = bytearray(out.getvalue())
    start = data.index(b"events.jsonl") + 30
    data[start : start + 60] = b"\xff" * 60
    with pytest.raises(NotRestorable, match="damaged"):
        restored(there, bytes(data))
    assert tree(there) == {}


def test_outside_files_are_backed_up(here: Path, there: Path, tmp_path: Path) -> None:
    write(tmp_path, "etc/serve.toml", b'name = "club"\n')
    write(tmp_path, "etc/club.key", b"the key of the club")
    outside = {
        "config/serve.toml": tmp_path / "etc/serve.toml",
        "keys/club.key": tmp_path / "etc/club.key",
    }
    file = tmp_path / "b.zip"
    assert backed_up(here, file, elsewhere=outside).keys == 3
    assert b"the key of the club" not in file.read_bytes()
    restored(there, file)
    assert (there / "config/serve.toml").read_bytes() == b'name = "club"\n'
    assert (there / "data/keys/club.key").read_bytes() == b"the key of the club"


def test_single_session_is_restored_alone(here: Path, there: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    write(here / "data/sessions" / f"{ID}2", "events.jsonl", b"another\n")
    backed_up(here, file)
    assert restored(there, file, session=ID).sessions == [f"sessions/{ID}"]
    expected = {name: data for name, data in tree(here).items() if f"sessions/{ID}/" in name}
    left_out = ("events.idx", "blobs/x.new", "events.jsonl")
    found = tree(there)
    for name in [*expected]:
        if not name.endswith(left_out):
            assert found.pop(name) == expected[name]
    assert [name.rpartition("/")[2] for name in found] == ["events.jsonl"]
    with pytest.raises(NotRestorable, match=f"it has no session .*; it has 2, such as {ID}"):
        restored(there, file, session=ID[:-1])
