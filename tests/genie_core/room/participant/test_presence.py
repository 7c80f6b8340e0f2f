"""The file in which a room's invites outlive the program."""

import asyncio
import errno
import os
import threading
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.room.client.model import Severity
from genie_core.room.participant.presence import SAVED, TOKENS_NAME, InviteTokenFile
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.storage.atomic import replace_file


async def test_closing_waits_for_last_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, goes_on = threading.Event(), threading.Event()

    def write(path: Path, content: bytes) -> None:
        hangs.set()
        goes_on.wait(5)
        replace_file(path, content)

    monkeypatch.setattr("genie_core.room.participant.presence.replace_file", write)
    tokens, file = InviteTokens(), InviteTokenFile(tmp_path / TOKENS_NAME)
    made = tokens.issue(0.0)
    async with asyncio.timeout(scaled(60)):
        file.save(tokens)
        await asyncio.to_thread(hangs.wait)
        closing = asyncio.create_task(file.aclose())
        await asyncio.sleep(0)
        assert not closing.done()
        goes_on.set()
        await closing
    assert InviteTokenFile(tmp_path / TOKENS_NAME).load().newest(0.0) == made


async def test_a_thread_writes_and_ends(tmp_path: Path) -> None:
    path = tmp_path / TOKENS_NAME
    tokens, file = InviteTokens(), InviteTokenFile(path)
    for _ in range(3):
        made = tokens.issue(0.0)
        file.save(tokens)
        async with asyncio.timeout(scaled(60)):
            while any(each.name == "tokens" for each in threading.enumerate()):
                await asyncio.sleep(0)
        assert InviteTokenFile(path).load().newest(0.0) == made
    await file.aclose()


def test_passes_that_can_not_be_read_are_void(tmp_path: Path) -> None:
    path = tmp_path / TOKENS_NAME
    assert InviteTokenFile(path).load().newest(0.0) is None
    path.write_bytes(b"{")
    assert InviteTokenFile(path).load().newest(0.0) is None


class FullDisk:
    """A disk on which nothing can be written until it is `full` no more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = True
        self.told: list[tuple[Severity, str]] = []
        self._changed = asyncio.Event()
        monkeypatch.setattr("genie_core.room.participant.presence.replace_file", self._replace)
        monkeypatch.setattr("genie_core.room.participant.presence.RETRY_FIRST", 0.01)

    def _replace(self, path: Path, content: bytes) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace_file(path, content)

    def notify(self, severity: Severity, text: str) -> None:
        self.told.append((severity, text))
        self._changed.set()

    async def next_notice(self) -> tuple[Severity, str]:
        async with asyncio.timeout(scaled(60)):
            while not self.told:
                self._changed.clear()
                await self._changed.wait()
        return self.told.pop(0)


async def test_full_disk_keeps_old_invites_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, tokens = tmp_path / TOKENS_NAME, InviteTokens()
    old = tokens.issue(0.0)
    replace_file(path, tokens.encode())
    disk, file = FullDisk(monkeypatch), InviteTokenFile(path)
    file.notify = disk.notify
    new = tokens.renew(0.0)
    file.save(tokens, voids=True)
    severity, text = await disk.next_notice()
    assert severity is Severity.ERROR
    assert "No space left on device" in text
    assert "Those before it are void for good" in text
    assert InviteTokenFile(path).load().newest(0.0) is None  # as after a crash at this moment
    file.save(tokens)
    disk.full = False
    assert await disk.next_notice() == (Severity.INFO, SAVED)
    await file.aclose()
    kept = InviteTokenFile(path).load()
    assert kept.newest(0.0) == new
    assert old.id not in [each.id for each in kept._tokens.values()]


async def test_failed_voiding_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    disk, file, tokens = (
        FullDisk(monkeypatch),
        InviteTokenFile(tmp_path / TOKENS_NAME),
        InviteTokens(),
    )
    file.notify = disk.notify
    tokens.issue(0.0)
    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", refuse)
        tokens.renew(0.0)
        file.save(tokens, voids=True)
        _, text = await disk.next_notice()
        assert text.startswith("not done for good")
        assert "valid again once it closes" in text
    await disk.next_notice()  # now they are void
    async with asyncio.timeout(scaled(60)):
        await file.aclose()  # and does not try for ever
    assert not (tmp_path / TOKENS_NAME).exists()


async def test_used_up_is_unsure_until_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, tokens = tmp_path / TOKENS_NAME, InviteTokens()
    once = tokens.issue(0.0, uses=1)
    replace_file(path, tokens.encode())
    disk, file = FullDisk(monkeypatch), InviteTokenFile(path)
    file.notify = disk.notify
    assert tokens.consume(once.id, 0.0)
    file.save(tokens)
    assert "one that was used up is valid again" in (await disk.next_notice())[1]
    disk.full = False
    await disk.next_notice()
    await file.aclose()
    assert InviteTokenFile(path).load().newest(0.0) is None
