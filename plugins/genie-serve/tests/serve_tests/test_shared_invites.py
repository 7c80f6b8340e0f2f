"""Invites that are in a store, too."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from genie_core.room.security.invite_tokens import InviteTokens
from genie_serve import shared_invites
from genie_serve.shared_invites import SharedInviteTokens
from genie_serve.stores.store import StoreUnavailable


class Shelf:
    """Documents of a store that may not answer."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.answers = asyncio.Event()

    async def put(self, key: str, content: bytes) -> None:
        if not self.answers.is_set():
            raise StoreUnavailable("it does not answer")
        self.kept[key] = content

    async def get(self, key: str) -> bytes | None:
        return self.kept.get(key)

    async def remove(self, key: str) -> None:
        self.kept.pop(key, None)

    async def keys(self, prefix: str = "") -> Sequence[str]:
        return [key for key in self.kept if key.startswith(prefix)]


async def test_they_are_saved_once_the_store_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_invites, "AGAIN", 0.01)
    shelf, tokens = Shelf(), InviteTokens()
    file = SharedInviteTokens(tmp_path / "passes.json", shelf, "tokens.r")
    assert await file.saved(60)
    tokens.issue(0.0)
    file.save(tokens)
    assert not await file.saved(0.05)
    shelf.answers.set()
    assert await file.saved(60)
    assert shelf.kept == {"tokens.r": tokens.encode()}
    assert (tmp_path / "passes.json").read_bytes() == tokens.encode()
    await file.aclose()
