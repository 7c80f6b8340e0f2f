"""Save and restore the memory of a reasoner or an agent."""

import logging
from abc import abstractmethod
from asyncio import Future
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeVar

from genie_core.errors import MissingKey, StageFailed, StateError, summary
from genie_core.runtime.overrides import extends
from genie_core.runtime.progress import stage
from genie_core.runtime.tasks import settled
from genie_core.storage.store import Store

log = logging.getLogger(__name__)

Method = TypeVar("Method", bound=Callable[..., Any])


class Stateful(Protocol):
    """An object whose memory is a JSON value."""

    def get_serialized(self) -> Any:
        """Return the whole memory."""

    def set_serialized(self, state: Any, /) -> None:
        """Restore a memory."""


class JournalSuffices:
    """Makes the abstract `get_serialized` optional for classes with `get_new_messages`.

    Newer agents and reasoners of group-genie's family have only the latter.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        whole = getattr(cls, "get_serialized", None)
        if hasattr(cls, "get_new_messages") and getattr(whole, "__isabstractmethod__", False):
            cls.get_serialized = _not_told  # type: ignore[attr-defined]  # abc looks afterwards


def abstract_unless_journalled(method: Method) -> Method:
    """Make a method of `JournalSuffices` abstract, which type checkers don't see.

    They would require it of classes that need not define it.
    """
    return abstractmethod(method)


def _not_told(self: object) -> Any:
    raise NotImplementedError(f"{type(self).__name__} tells only what is new in its state")


class StateKeeper:
    """Saves and restores the state under one key, for one owner.

    If the holder can report new messages, they are appended to a journal; otherwise, and if a
    subclass overrides only `get_serialized`, the whole state is saved each time. That also holds
    for a holder that was restored from a whole state, unless it was a list, since a journal is
    restored as the list of its lines.

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
        self._unsaved = store is None
        self._unreadable = False
        self._latest: Future[None] | None = None  # the last save, until its end is looked at
        self._stage = stage("state", f"state of {subject}")

    @property
    def on_disk(self) -> bool:
        """Whether the last saved memory is on disk and none is held here."""
        self._look()
        return not (self._unsaved or self._kept)

    async def restore(self, holder: Stateful) -> None:
        """Restore the last saved state, if there is one, into a new instance.

        A saved state that can't be read is reported and left as it is: this one begins without it
        and stays in memory.

        Raises:
            StageFailed: the holder does not understand its state.
        """
        self._look()
        states = self._kept or await self._readable()
        with stage("state", f"saved state of {self._subject}"):
            for state in states:
                if not _tells_all(holder):
                    self._told = _lines(state, holder)
                holder.set_serialized(state)

    def save(self, holder: Stateful) -> "Future[None]":
        """Start to save; the future completes when the state is on disk.

        Never raises. The future fails, now and at each later save, if the state can't be had or is
        no JSON value, and if an earlier state could not be read.
        """
        try:
            with self._stage:
                return self._start(holder)
        except StageFailed as error:
            self._report(error)
            self._unsaved, self._latest = True, None
            return settled(error)

    def release(self, holder: Stateful) -> None:
        """Hold the states that the disk does not have yet, before an instance is dropped."""
        self._look()
        try:
            with self._stage:
                self._kept = self._memory(holder) if self._unsaved else []
        except StageFailed as error:  # it can't give its state: the saved one stays
            self._report(error)
        self._told = []

    def _memory(self, holder: Stateful) -> list[Any]:
        return [holder.get_serialized() if _tells_all(holder) else self._told]

    def _start(self, holder: Stateful) -> "Future[None]":
        lines = _news(holder)  # also without a store, or the holder collects for ever
        if lines is not None:
            self._backlog += lines
            if not _tells_all(holder):
                self._told += lines
        if self._store is None or self._unreadable:
            self._backlog.clear()
            return settled(self._left_alone() if self._unreadable else None)
        journals = lines is not None and self._found != "whole"
        if journals and not self._backlog:
            return settled()
        self._unsaved = True
        self._latest = promise = (self._append if journals else self._save_whole)(
            self._store, holder
        )
        if not (promise.done() and promise.exception()):  # otherwise the store took nothing
            self._backlog.clear()
        return promise

    def _append(self, store: Store, _holder: Stateful) -> "Future[None]":
        # Memory that lags behind the messages is caught up with; one sync per message, that of the
        # message itself, makes a chat fast.
        return store.append(self._key, self._backlog, sync=False)

    def _save_whole(self, store: Store, holder: Stateful) -> "Future[None]":
        save = store.save_instead if self._found == "journal" else store.save
        return save(self._key, holder.get_serialized())

    async def _readable(self) -> list[Any]:
        try:
            with stage("state", f"saved state of {self._subject}"):
                return await self._load()
        except StageFailed as error:
            self._unreadable = self._unsaved = True
            if not isinstance(error.cause, StateError):  # which the store has reported
                self._report(error)
            return []

    def _left_alone(self) -> StateError:
        why = "the earlier one can't be read and is left as it is; this one is in memory only"
        return StateError("save", f"state of {self._subject}", why)

    def _report(self, error: Exception) -> None:
        log.debug("state of %s", self._subject, exc_info=error)
        if self._store is not None:
            self._store.report(summary(error), f"state of {self._subject}")

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

    def _look(self) -> None:
        """Take in how the last save ended; a callback for each would cost a step of the loop."""
        if (saved := self._latest) is None or not saved.done():
            return
        self._latest = None
        self._unsaved = saved.cancelled() or saved.exception() is not None
        if not self._unsaved:
            self._kept = []


def _news(holder: Stateful) -> list[Any] | None:
    """Return the new lines for the journal; None for a holder whose whole state counts."""
    news: Callable[[], list[Any]] | None = getattr(holder, "get_new_messages", None)
    if news is None:
        return None
    lines = news()
    whole = _tells_all(holder) and not extends(holder, "get_new_messages", "get_serialized")
    return None if whole else lines


def _lines(state: Any, holder: Stateful) -> list[Any]:
    if not isinstance(state, list):
        raise ValueError(f"it was saved whole, and {type(holder).__name__} goes on from lines only")  # noqa: TRY004 - of the file, not of the caller
    return list(state)


def _tells_all(holder: Stateful) -> bool:
    return getattr(type(holder), "get_serialized", None) is not _not_told
