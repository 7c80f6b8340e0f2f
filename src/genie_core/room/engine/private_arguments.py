"""Data that stays on an engine's machine: arguments of calls, and a provider's messages.

The host's engine answers guests with the host's files and keys. The log records the call and its
resolution; the arguments stay here. The owner must see what this machine will do before allowing it,
not what a host claims.

The provider's own words about a failure are for the owner of the engine, too. They are kept in
memory only; the room gets a sentence without them.
"""

import logging
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from genie_core.room.protocol.events import ApprovalRequested, ApprovalResolved, Event, RunFailed
from genie_core.room.state.thread import ToolApproval
from genie_core.storage.atomic import make_private_folder, replace_file

logger = logging.getLogger(__name__)

_MOST_FAILURES: Final = 256

_encode: Final = msgspec.json.Encoder().encode


class _Entry(msgspec.Struct, frozen=True):
    approval: str
    arguments: dict[str, Any]


class PrivateArguments:
    """Keeps this engine's requests in full, and in a private file what the log must not tell.

    If the file can't be read or written, parked requests are lost and will be made again.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._own: dict[str, ApprovalRequested] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._failures: dict[tuple[int, str], str] = {}

    def load(self) -> None:
        """Read the file; damaged lines are skipped. Blocks."""
        if self._path is None:
            return
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError:
            logger.warning("withheld arguments can't be read", exc_info=True)
            return
        for line in lines:
            try:
                entry = msgspec.json.decode(line, type=_Entry)
            except (ValueError, RecursionError):
                logger.warning("a line of %s is damaged", self._path)
            else:
                self._kept[entry.approval] = entry.arguments

    def keep_only(self, approvals: Collection[str]) -> None:
        """Forget all requests but these, on disk too. Blocks."""
        dropped = self._kept.keys() - set(approvals)
        for approval in dropped:
            del self._kept[approval]
        if dropped and self._path is not None:
            lines = [_encode(_Entry(*item)) + b"\n" for item in self._kept.items()]
            try:
                replace_file(self._path, b"".join(lines))
            except OSError:
                logger.warning("withheld arguments can't be forgotten on disk", exc_info=True)

    def note(self, asked: ApprovalRequested) -> None:
        """Remember a request before the room is told of it."""
        self._own[asked.approval] = asked
        if asked.withheld:
            self._kept[asked.approval] = asked.arguments
            self._write(_Entry(asked.approval, asked.arguments))

    def note_failure(self, failed: RunFailed, details: str) -> None:
        """Remember the details of a failure while this program runs."""
        self._failures.pop((failed.message, failed.error), None)
        self._failures[failed.message, failed.error] = details
        if len(self._failures) > _MOST_FAILURES:
            del self._failures[next(iter(self._failures))]

    def hides(self, approval: str) -> bool:
        """Whether only this machine can show a request."""
        return approval in self._kept

    def uncover(self, event: Event) -> Event:
        """Return the event with the details that this machine may show."""
        body = event.body
        if isinstance(body, RunFailed):
            details = self._failures.get((body.message, body.error), body.error)
            whole = msgspec.structs.replace(body, error=details)
            return msgspec.structs.replace(event, body=whole)
        if not isinstance(body, ApprovalRequested):
            return event
        if body.approval in self._own:
            own = msgspec.structs.replace(self._own[body.approval], signature=body.signature)
            return msgspec.structs.replace(event, body=own)
        if body.withheld and body.approval in self._kept:
            shown = msgspec.structs.replace(body, arguments=self._kept[body.approval])
            return msgspec.structs.replace(event, body=shown)
        return event

    def uncover_all(self, requests: Iterable[ToolApproval]) -> None:
        """Put the arguments back into requests that were restored from the log."""
        for each in requests:
            if each.withheld and each.id in self._kept:
                each.arguments = self._kept[each.id]

    def settle(self, settled: ApprovalResolved) -> None:
        """Forget the arguments of a resolved request on disk.

        The request itself stays in memory while the program runs: it is the host who says that it
        is resolved, and a host could otherwise present another call as this one.
        """
        if settled.outcome != "parked":
            self._kept.pop(settled.approval, None)

    def _write(self, entry: _Entry) -> None:
        if self._path is None:
            return
        try:
            make_private_folder(self._path.parent)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(_encode(entry) + b"\n")
        except (OSError, ValueError, TypeError, RecursionError):
            logger.warning("withheld arguments can't be kept on disk", exc_info=True)
