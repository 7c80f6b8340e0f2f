"""Where a session keeps its state."""

from asyncio import Future
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from genie_core.errors import InvalidSetting, StateError, summary
from genie_core.privacy.redaction import mask_value
from genie_core.storage.journal import encode_json

Data: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, or lists and string-keyed dicts of these."""

Sync: TypeAlias = Literal["each", "group", "os"]
"""When a store waits for the disk.

"each": after every write. "group": once for all writes that gathered meanwhile, before any of them
is acknowledged. "os": never, so that a power cut may lose acknowledged writes; the death of the
process loses nothing in any case.
"""


class Lock(Protocol):
    """A lock that is held until it is released."""

    def release(self) -> None:
        """Let others take the lock; may be called again."""


@runtime_checkable
class Store(Protocol):
    """JSON values and append-only journals, by key.

    A key is any text; a key's value and its journal are separate. Values are copied when they are
    handed in, with known secrets hidden. A read sees all earlier writes.

    Writes never raise. Their futures complete on the event loop of the call, may be ignored, and
    fail with `StateError` if it is no JSON value, the disk refused it, or the store is closed; the
    earlier data is still there, and `problems` has a line. A failed value must be saved again.
    Lines that the disk refused come before the next ones of their journal, so that it has no gap.

    Any object with these methods can be a session's `data_store`. `genie_testing.stores` tests
    one.
    """

    @property
    def problems(self) -> list[str]:
        """Damage and failed writes, one line each, for this store and all its parts."""

    def report(self, problem: str, subject: str | None = None) -> None:
        """Add a line to `problems`; repeated ones about a subject are one line."""

    def save(self, key: str, data: Data) -> "Future[None]":
        """Store a value under a key, replacing an earlier one."""

    def save_instead(self, key: str, data: Data) -> "Future[None]":
        """Save, and remove the key's journal."""

    async def load(self, key: str) -> Data:
        """Return a key's value.

        Raises:
            MissingKey: there is none; a `KeyError`.
            StateError: it can't be read, or the store is closed.
        """

    def append(self, key: str, lines: Iterable[Data], *, sync: bool = True) -> "Future[None]":
        """Append values to a key's journal, all or none.

        The future completes when a power cut would lose none of them or, without `sync`, when the
        death of this process would not.
        """

    async def load_lines(self, key: str) -> list[Data]:
        """Return a journal's values in order; empty without a journal.

        Raises:
            StateError: it can't be read, or the store is closed.
        """

    def narrowed(self, *keys: str) -> "Store":
        """Return the part below these keys; different keys have different parts."""

    async def parts_with(self, key: str) -> Sequence["Store"]:
        """Return the parts directly below this one that have data under a key."""

    def lock(self, key: str) -> Lock:
        """Lock the part below a key for one session, until released or the process ends.

        Raises:
            SessionLocked: another session has it.
        """

    async def flush(self) -> None:
        """Wait until all earlier writes are safe or have failed."""

    async def aclose(self) -> None:
        """Write pending data, and refuse further work."""


def check_sync(sync: object) -> None:
    """Refuse anything but a `Sync`."""
    if sync not in get_args(Sync):
        raise InvalidSetting("sync", sync, " or ".join(map(repr, get_args(Sync))))


def encoded(subject: str, values: Iterable[Data]) -> list[bytes]:
    """Return values as JSON without known secrets; raises `StateError` for anything else."""
    try:
        return [encode_json(mask_value(value)) for value in values]
    except (TypeError, ValueError, RecursionError) as error:
        raise StateError("save", subject, summary(error)) from error
