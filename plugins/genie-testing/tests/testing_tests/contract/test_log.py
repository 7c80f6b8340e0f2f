"""The file log, run through the contract of logs."""

import asyncio
import errno
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from unittest import mock

from genie_core.room.server.log import Log
from genie_core.sessions.lock import hold
from genie_core.sessions.log import writer
from genie_core.sessions.log.writer import EventLog
from genie_testing.contract.log import LogContract, LogPlace

WRITER = """
import asyncio, sys
from pathlib import Path
from genie_core.sessions.log.writer import EventLog
from genie_testing.contract.log import write_until_killed
asyncio.run(write_until_killed(EventLog.open(Path(sys.argv[1])).log))
"""


class FilePlace(LogPlace):
    """A session's folder, which its lock keeps for one process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "room" / "events.jsonl"
        self._locks: dict[Log, AbstractContextManager[None]] = {}

    async def open(self, machine: str = "a") -> Log:
        self._path.parent.mkdir(exist_ok=True)
        lock = hold(self._path.parent, machine)
        lock.__enter__()
        log = (await asyncio.to_thread(EventLog.open, self._path)).log
        self._locks[log] = lock
        return log

    async def close(self, log: Log) -> None:
        await super().close(log)
        self._locks.pop(log).__exit__(None, None, None)

    @asynccontextmanager
    async def broken(self) -> AsyncIterator[None]:
        full = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch.object(writer, "sync_data", side_effect=full):
            yield

    async def restart(self) -> None:
        """Nothing runs."""

    def damage(self, machine: str = "a") -> None:
        with self._path.open("ab") as file:
            file.write(b'{"seq":99,"at":1.0,"sen')

    def program(self) -> Sequence[str]:
        return (sys.executable, "-c", WRITER, str(self._path))


class TestEventLog(LogContract):
    @asynccontextmanager
    async def places(self, folder: Path) -> AsyncIterator[LogPlace]:
        yield FilePlace(folder)
