"""Save and restore the memory of a reasoner or an agent."""

import asyncio
from asyncio import Future
from collections.abc import Callable
from typing import Any, Literal, Protocol

from genie_core.errors import MissingKey
from genie_core.runtime.progress import stage
from genie_core.storage.store import Store


class Stateful(Protocol):
    """An object whose memory is a JSON value."""

    def get_serialized(self) -> Any:
        """Return the whole memory."""

    def set_serialized(self, state: Any, /) -> None:
        """Restore a memory."""


class JournalSuffices:
    """Makes the abstract `get_serialized` optional for classes with `get_new_messages`.

    Newer agents and reasoners of group-genie's family have only the latter. Type checkers still
    require the former.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        whole = getattr(cls, "get_serialized", None)
        if hasattr(cls, "get_new_messages") and getattr(whole, "__isabstractmethod__", False):
            cls.get_serialized = _not_told  # type: ignore[attr-defined]  # abc looks afterwards


def _not_told(self: object) -> Any:
    raise NotImplementedError(f"{type(self).__name__} tells only what is new in its state")


class StateKeeper:
    """Saves and restores the state under one key, for one owner.

    If the holder can report new messages, they are appended to a journal; otherwise the whole state
    is saved each time. That also holds for a holder that was restored from a whole state, unless it
    was a list, since a journal is restored as the list of its lines.

    Without a store, or while the disk fails, the memory is held here for the next instance; for
    holders that report only new messages, their lines are.
    """

    def __init__(self, subject: str, key: str, store: Store | None) -> None:
        self._subject = subject
        self._key = key
        self._store = store
        self._kept: list[Any] = []  # at most one state, which may itself be None
        self._backlog: list[Any] = []  # lines to append
        self._told: list[Any] = []  # all lines of a holder that cannot tell its whole state
        self._found: Literal["nothing", "journal", "whole"] = "nothing"
        self._latest: Future[None] | None = None  # the last save, as far as it was begun
        self._begun = True

    @property
    def on_disk(self) -> bool:
        """Whether the last saved memory is on disk and none is held here."""
        self._forget_what_is_saved()
        return not (self._unsaved or self._kept)

    async def restore(self, holder: Stateful) -> None:
        """Restore what was saved last, if anything, into a new instance."""
        self._forget_what_is_saved()
        with stage("state", f"saved state of {self._subject}"):
            for state in self._kept or await self._load():
                if not _tells_all(holder):
                    self._told = _lines(state, holder)
                holder.set_serialized(state)

    def save(self, holder: Stateful) -> "Future[None]":
        """Start to save; the future completes when the state is on disk.

        State that is no JSON value raises `StageFailed` at once, and again at each later save.
        """
        with stage("state", f"state of {self._subject}"):
            news: Callable[[], list[Any]] | None = getattr(holder, "get_new_messages", None)
            if news is not None:
                lines = news()  # also without a store, or the holder collects for ever
                self._backlog += lines
                if not _tells_all(holder):
                    self._told += lines
            if self._store is None:
                self._backlog.clear()
                return _done()
            journals = news is not None and self._found != "whole"
            if journals and not self._backlog:
                return _done()
            self._begun = False
            write = self._append if journals else self._save_whole
            self._latest, self._begun = write(self._store, holder), True
            self._backlog.clear()
        return self._latest

    def release(self, holder: Stateful) -> None:
        """Hold what the disk does not have yet, before an instance is dropped."""
        if self._unsaved:
            with stage("state", f"state of {self._subject}"):
                self._kept = [holder.get_serialized() if _tells_all(holder) else self._told]
        else:
            self._kept = []
        self._told = []

    def _append(self, store: Store, _holder: Stateful) -> "Future[None]":
        # Memory that lags behind the messages is caught up with; one sync per message, that of the
        # message itself, is what makes a chat fast.
        return store.append(self._key, self._backlog, sync=False)

    def _save_whole(self, store: Store, holder: Stateful) -> "Future[None]":
        save = store.save_instead if self._found == "journal" else store.save
        return save(self._key, holder.get_serialized())

    async def _load(self) -> list[Any]:
        if self._store is None:
            return []
        if lines := await self._store.load_lines(self._key):
            self._found = "journal"
            return [lines]
        try:
            whole = await self._store.load(self._key)
        except MissingKey:
            return []
        self._found = "whole"
        if isinstance(whole, list):
            self._found, self._backlog = "journal", list(whole)
        return [whole]

    @property
    def _unsaved(self) -> bool:
        if self._store is None or not self._begun:
            return True
        saved = self._latest
        if saved is None:
            return False
        return not saved.done() or saved.cancelled() or saved.exception() is not None

    def _forget_what_is_saved(self) -> None:
        if self._latest is not None and not self._unsaved:
            self._kept = []


def _lines(state: Any, holder: Stateful) -> list[Any]:
    if not isinstance(state, list):
        raise ValueError(f"it was saved whole, and {type(holder).__name__} goes on from lines only")  # noqa: TRY004 - of the file, not of the caller
    return list(state)


def _tells_all(holder: Stateful) -> bool:
    return getattr(type(holder), "get_serialized", None) is not _not_told


def _done() -> "Future[None]":
    promise: Future[None] = asyncio.get_running_loop().create_future()
    promise.set_result(None)
    return promise
