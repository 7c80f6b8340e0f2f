"""The place on disk of a session's state."""

import hashlib
from asyncio import Future
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from genie_core.errors import MissingKey, StateError, summary
from genie_core.privacy.redaction import mask_value
from genie_core.runtime.tasks import settled
from genie_core.storage.atomic import read_file, reason
from genie_core.storage.disk import Disk
from genie_core.storage.journal import decode_value, encode_line
from genie_core.storage.legacy import earlier_name
from genie_core.storage.locks import SessionLock
from genie_core.storage.store import Data, Sync, check_sync
from genie_core.storage.worker import WorkerStore

__all__ = ["Data", "DataStore", "path_name"]

T = TypeVar("T")
_PLAIN: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_LONGEST_NAME: Final = 120
_MOST_FILES: Final = 64  # whose paths are kept


class DataStore(WorkerStore):
    """JSON values and append-only journals in a folder, by key.

    `async with DataStore(path) as store` closes it at the end.

    A key's value is in `<key>.json` and its journal in `<key>.jsonl`, with checksums; plain JSON is
    read as well. `narrow` opens a folder inside, with the same worker. A read sees all earlier
    writes. All files are private to the user, and known secrets are hidden in them.

    A future whose write failed raises `StateError`; the earlier content is still on disk. A failed
    value must be saved again. Failed lines are written before the next ones of their journal, or by
    `flush` or `close`, as soon as the disk accepts them.

    `problems` collects damaged files and failed writes for the store and everything narrowed from
    it; a repeated failure is one line with a count.

    `sync` says when writes wait for the disk; see `genie_core.storage.store.Sync`.
    """

    def __init__(self, root_path: Path, *, sync: Sync = "group") -> None:
        check_sync(sync)
        self._root = Path(root_path)
        self._earlier = self._root
        self._disk = Disk(sync)
        self._files: dict[tuple[str, str], Path] = {}

    @property
    def root_path(self) -> Path:
        """The folder this store writes to."""
        return self._root

    @property
    def earlier_path(self) -> Path:
        """The folder in which group-genie would store this; other keys may share it.

        group-genie replaced many characters by `_`.
        """
        return self._earlier

    def save(self, key: str, data: Data) -> "Future[None]":
        """Store a value under a key, replacing an earlier one.

        The value is copied now. The future completes when it is safe on disk, and may be ignored. A
        value replaced by a newer one before its turn is never written. The future of anything but a
        JSON value fails, and nothing is raised here.
        """
        return self._write(self._file(key, "json"), [data], self._disk.replace)

    def save_instead(self, key: str, data: Data) -> "Future[None]":
        """Save, and move the key's journal aside under another name."""
        replace = partial(self._disk.replace, ousted=self._file(key, "jsonl"))
        return self._write(self._file(key, "json"), [data], replace)

    async def load(self, key: str) -> Data:
        """Return a key's value.

        A damaged file is renamed, reported, and counts as missing.

        Raises:
            MissingKey: there is none; a `KeyError`.
        """
        path = self._file(key, "json")
        return await self._disk.read(lambda: self._read_value(path))

    def append(self, key: str, lines: Iterable[Data], *, sync: bool = True) -> "Future[None]":
        """Append values to a key's journal, all or none.

        The future completes when they are safe on disk, and may be ignored. Without `sync` it
        completes when they would survive the death of this process, but maybe not a power cut
        within a second. As with `save`, it fails if one of them is no JSON value.
        """
        return self._write(self._file(key, "jsonl"), lines, partial(self._disk.append, sync=sync))

    async def load_lines(self, key: str) -> list[Data]:
        """Return a journal's values in order; empty without a journal.

        Damaged lines and an incomplete last one, which the next append cuts off, are skipped and
        reported.
        """
        path = self._file(key, "jsonl")
        try:
            journal = await self._disk.read(lambda: self._disk.read_journal(path))
        except OSError as error:
            failure = StateError("load", str(path), reason(error))
            self.report(str(failure))
            raise failure from error
        return journal.values

    async def run(self, action: Callable[[], T]) -> T:
        """Run other work with the store's files, in order, in its thread."""
        return await self._disk.read(action)

    @asynccontextmanager
    async def narrow(self, key: str) -> AsyncIterator["DataStore"]:
        """Open the part of the store below a key. Leaving the context closes nothing."""
        yield self.narrowed(key)

    def narrowed(self, *keys: str) -> "DataStore":
        """Return the part of the store below these keys, with the same worker and problems."""
        earlier = self._earlier.joinpath(*map(earlier_name, keys))
        return self._part(self.narrow_path(*keys), earlier)

    async def parts_with(self, key: str) -> list["DataStore"]:
        """Return the parts directly below this store that have data under a key."""
        names = [self._file(key, suffix).name for suffix in ("json", "jsonl")]

        def look() -> list[Path]:
            found = {path.parent for name in names for path in self._root.glob(f"*/{name}")}
            return sorted(found)

        return [self._part(folder, folder) for folder in await self._disk.read(look)]

    def narrow_path(self, *keys: str) -> Path:
        """Return the folder below these keys; it need not exist.

        Different keys have different folders on any file system.
        """
        return self._root.joinpath(*map(path_name, keys))

    def lock(self, key: str) -> SessionLock:
        """Lock the part below a key for one session, until released or the store is closed.

        The lock ends with this process. A system that can't lock, such as a full disk, is among the
        `problems`; the lock is then without effect.

        Raises:
            SessionLocked: another session has it, here or in another process.
        """
        return self._disk.locked(self._root / f"{path_name(key)}.lock", key)

    @property
    def _worker(self) -> Disk:
        return self._disk

    def _part(self, folder: Path, earlier: Path) -> "DataStore":
        part = DataStore(folder)
        part._earlier = earlier
        part._disk = self._disk
        return part

    def _write(
        self, path: Path, values: Iterable[Data], write: "Callable[[Path, bytes], Future[None]]"
    ) -> "Future[None]":
        try:
            return write(path, _encoded(path, values))
        except StateError as error:  # it is no JSON value, or the store is closed
            self.report(str(error), f"saving {path}")
            return settled(error)

    def _file(self, key: str, suffix: str) -> Path:
        path = self._files.get((key, suffix))  # a session writes to the same few files
        if path is None:
            path = self._root / f"{path_name(key)}.{suffix}"
            if len(self._files) < _MOST_FILES:
                self._files[key, suffix] = path
        return path

    def _read_value(self, path: Path) -> Data:
        try:
            content = read_file(path)
        except FileNotFoundError:
            raise MissingKey(str(path)) from None
        except OSError as error:
            failure = StateError("load", str(path), reason(error))
            self.report(str(failure))
            raise failure from error
        try:
            return decode_value(content)
        except ValueError as error:
            aside = path.with_name(f"{path.name}.damaged")
            with suppress(OSError):  # it counts as missing, wherever it is
                path.replace(aside)
            self._disk.report(f"{path} is damaged ({error}) and was renamed to {aside.name}")
            raise MissingKey(str(path)) from error


def path_name(key: str) -> str:
    """Turn any key into a file name; different keys give different names.

    Everything but lower-case ASCII letters, digits, `-` and `_` is written in hexadecimal, since
    file systems may fold case, compose accents or give dots a meaning. A long name is cut and ends
    in a digest.
    """
    raw = key.encode("utf-8", "surrogatepass")
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in raw) or "%"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:48]}%%{hashlib.sha256(raw).hexdigest()}"


def _encoded(path: Path, values: Iterable[Data]) -> bytes:
    try:
        return b"".join([encode_line(mask_value(value)) for value in values])
    except (TypeError, ValueError, RecursionError) as error:
        raise StateError("save", str(path), summary(error)) from error
