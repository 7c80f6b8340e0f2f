"""Keeping the memory of a reasoner or an agent between its lives."""

import asyncio
from asyncio import Future
from collections.abc import Callable
from typing import Any, Protocol

from genie_core.datastore import DataStore
from genie_core.errors import MissingKey, stage


class Stateful(Protocol):
    """Something whose memory is a JSON value."""

    def get_serialized(self) -> Any:
        """Return the whole memory."""

    def set_serialized(self, state: Any, /) -> None:
        """Take over a memory."""


class StateKeeper:
    """Saves and restores what lives under one key, for one owner.

    Implementations that can report what is new are appended to a journal; all others are saved
    whole each time. Without a store, or while the disk refuses, the memory is kept here from one
    life to the next.
    """

    def __init__(self, subject: str, key: str, store: DataStore | None) -> None:
        self._subject = subject
        self._key = key
        self._store = store
        self._kept: list[Any] = []  # at most one state, which may itself be None
        self._backlog: list[Any] = []  # journal lines that are not on disk
        self._unsaved = store is None
        self._writing = 0

    @property
    def on_disk(self) -> bool:
        """Whether the memory saved last is on disk, and none is kept here."""
        return not (self._unsaved or self._writing or self._kept)

    async def restore(self, holder: Stateful) -> None:
        """Hand a fresh instance what was saved last, if anything was."""
        with stage("state", f"saved state of {self._subject}"):
            for state in self._kept or await self._load():
                holder.set_serialized(state)

    def save(self, holder: Stateful) -> "Future[None]":
        """Begin to save; the future is done when the state is on disk.

        State that is no JSON value raises `StageFailed` at once.
        """
        with stage("state", f"state of {self._subject}"):
            news: Callable[[], list[Any]] | None = getattr(holder, "get_new_messages", None)
            if self._store is None:
                if news is not None:
                    news()  # or the holder would collect for ever what nobody takes
                return _done()
            if news is None:
                promise = self._store.save(self._key, holder.get_serialized())
                lines = []
            else:
                lines, self._backlog = [*self._backlog, *news()], []
                if not lines:
                    return _done()
                # Memory that lags behind the messages is caught up with; one sync per message,
                # that of the message itself, is what makes a chat fast.
                promise = self._store.append(self._key, lines, sync=False)
        self._writing += 1
        promise.add_done_callback(lambda written: self._written(written, lines))
        return promise

    def release(self, holder: Stateful) -> None:
        """Keep in memory what the disk does not have, before an instance is dropped."""
        if self._unsaved:
            with stage("state", f"state of {self._subject}"):
                self._kept = [holder.get_serialized()]
        else:
            self._kept = []

    async def _load(self) -> list[Any]:
        if self._store is None:
            return []
        if lines := await self._store.load_lines(self._key):
            return [lines]
        try:
            return [await self._store.load(self._key)]
        except MissingKey:
            return []

    def _written(self, promise: "Future[None]", lines: list[Any]) -> None:
        self._writing -= 1
        self._unsaved = promise.cancelled() or promise.exception() is not None
        if self._unsaved:
            self._backlog = lines + self._backlog


def _done() -> "Future[None]":
    promise: Future[None] = asyncio.get_running_loop().create_future()
    promise.set_result(None)
    return promise
