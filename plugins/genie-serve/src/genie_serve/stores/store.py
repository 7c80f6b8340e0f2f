"""A store that several machines share: documents, logs, files, leases."""

import hashlib
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from genie_core.errors import GenieError
from genie_core.room.protocol.events import Event
from genie_core.storage.atomic import reason


def shard_of(room: str, shards: int) -> int:
    """Return the part of a service to which a room belongs, from 0; the same on every machine."""
    return int.from_bytes(hashlib.sha256(room.encode()).digest()[:8]) % shards


def check_dense(events: Sequence[Event], head: int) -> None:
    """Raise `ValueError` if those of the events that follow `head` leave a gap."""
    fresh = [event.seq for event in events if event.seq > head]
    for seq, found in enumerate(fresh, head + 1):
        if found != seq:
            raise ValueError(f"event {found} does not follow event {seq - 1} in the store")


class StoreUnavailable(GenieError, OSError):
    """The store does not answer, or refuses; the same call can be tried again.

    It is an `OSError`, as a full disk is: for the writer of a log both pass.
    """


def cause(error: BaseException) -> str:
    """Describe in one line why a store does not answer; a file of its configuration is named."""
    file = error.filename if isinstance(error, OSError) else None
    return f"can't read {file}: {reason(error)}" if file else reason(error)


class UnsafeStore(GenieError):
    """The store is set up so that it can lose acknowledged writes."""


class SharedLog(Protocol):
    """The log of one room in a store, as one process sees it."""

    @property
    def head(self) -> int:
        """The number of the last event known to be in the log; 0 before the first."""

    async def append(self, events: Sequence[Event]) -> None:
        """Write events that follow `head`, if no other process has written since.

        Events are durable when it returns. It raises as `Log.append`, and settles by itself whether
        a write whose answer was lost has happened.
        """

    def read(self, after: int) -> AsyncGenerator[Sequence[Event]]:
        """Iterate over the events that follow `after`, in groups, up to the last one.

        Afterwards `head` is the last event. Raises `StoreUnavailable`.
        """

    async def aclose(self) -> None:
        """Stop using the log."""


class Lease(Protocol):
    """The right to host a part of a service's rooms, held by one process at a time."""

    async def acquire(self) -> None:
        """Wait until no other process holds it, then hold it."""

    async def hold(self) -> None:
        """Renew it until it is lost; returns before any other process can hold it.

        "Before" is by this machine's monotonic clock, from when the renewal was sent: a process that
        was stopped finds the lease lost when it goes on. Cancelling stops renewing.
        """

    async def release(self) -> None:
        """Give it up, so that another process need not wait."""


class Documents(Protocol):
    """Small documents by key, such as the record of a room; each write replaces one whole."""

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, content: bytes) -> None: ...

    async def remove(self, key: str) -> None: ...

    async def keys(self, prefix: str = "") -> Sequence[str]: ...


class Objects(Protocol):
    """Files by room and SHA-256 digest; each is complete or missing."""

    async def put(self, room: str, digest: str, path: str) -> None:
        """Store the file at a path of this machine."""

    async def get(self, room: str, digest: str, path: str) -> bool:
        """Write a file to a path of this machine; False if the store does not have it."""

    async def remove(self, room: str) -> None:
        """Remove all files of a room."""


class SharedStore(Protocol):
    """A store that several machines reach; all of it raises `StoreUnavailable`."""

    @property
    def documents(self) -> Documents: ...

    @property
    def objects(self) -> Objects: ...

    def log(self, room: str) -> SharedLog:
        """Return the log of a room, before its first read."""

    async def remove_log(self, room: str) -> None:
        """Remove a log with all its events."""

    def lease(self, name: str) -> Lease:
        """Return a lease by name; each call returns another holder."""

    async def check(self) -> None:
        """Check that acknowledged writes survive.

        Raises:
            UnsafeStore: it is set up otherwise; the text names the change.
        """

    async def aclose(self) -> None:
        """Disconnect."""
