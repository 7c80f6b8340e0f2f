"""Data that stays on an engine's machine: arguments of tool calls, and details of failures.

The host's engine answers guests with the host's files and keys. The log records the call and its
resolution, but not the arguments. Approval cards show the arguments from here, never those that a
host claims.

A provider's error message is for the engine's owner only. It stays in memory, and the room gets a
general sentence instead.
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

DETAILS_WITH: Final = "; {0} sees the details"
"""Ends the public error of a failure whose details only the engine's owner sees."""

_DETAILS_GONE: Final = "; the details were shown when it failed"

_MOST_FAILURES: Final = 256

_encode: Final = msgspec.json.Encoder().encode


class _Entry(msgspec.Struct, frozen=True):
    approval: str
    arguments: dict[str, Any]


class PrivateArguments:
    """Keeps this engine's requests in full, and the arguments that the log omits in a private file.

    If the file can't be read or written, parked requests lose their arguments and can only be denied.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._requests: dict[str, ApprovalRequested] = {}
        self._arguments: dict[str, dict[str, Any]] = {}
        self._failures: dict[tuple[int, str], str] = {}

    def load(self) -> None:
        """Read the file and skip damaged lines. Blocks."""
        if self._path is None:
            return
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError:
            logger.warning("can't read private arguments from %s", self._path, exc_info=True)
            return
        for line in lines:
            try:
                entry = msgspec.json.decode(line, type=_Entry)
            except (ValueError, RecursionError):
                logger.warning("skipping a damaged line of %s", self._path)
            else:
                self._arguments[entry.approval] = entry.arguments

    def keep_only(self, approvals: Collection[str]) -> None:
        """Forget the arguments of all other requests, on disk too. Blocks."""
        dropped = self._arguments.keys() - set(approvals)
        for approval in dropped:
            del self._arguments[approval]
        if dropped and self._path is not None:
            lines = [_encode(_Entry(*item)) + b"\n" for item in self._arguments.items()]
            try:
                replace_file(self._path, b"".join(lines))
            except OSError:
                logger.warning("can't remove arguments from %s", self._path, exc_info=True)

    def add(self, request: ApprovalRequested) -> None:
        """Remember a request; call it before publishing the request to the room."""
        self._requests[request.approval] = request
        if request.withheld:
            self._arguments[request.approval] = request.arguments
            self._write(_Entry(request.approval, request.arguments))

    def add_failure(self, failed: RunFailed, details: str) -> None:
        """Remember the details of a failure while this program runs."""
        self._failures.pop((failed.message, failed.error), None)
        self._failures[failed.message, failed.error] = details
        if len(self._failures) > _MOST_FAILURES:
            del self._failures[next(iter(self._failures))]

    @staticmethod
    def to_owner(event: Event, owner: str) -> Event:
        """Return an event as its owner reads it whose program no longer has a failure's details."""
        body, pointer = event.body, DETAILS_WITH.format(owner)
        if event.by != owner or not (isinstance(body, RunFailed) and body.error.endswith(pointer)):
            return event
        error = f"{body.error.removesuffix(pointer)}{_DETAILS_GONE}"
        return msgspec.structs.replace(event, body=msgspec.structs.replace(body, error=error))

    def hides(self, approval: str) -> bool:
        """Whether only this machine can show the arguments of a request."""
        return approval in self._arguments

    def reveal(self, event: Event) -> Event:
        """Return an event with the arguments or details that are kept here."""
        body = event.body
        if isinstance(body, RunFailed):
            details = self._failures.get((body.message, body.error), body.error)
            detailed = msgspec.structs.replace(body, error=details)
            return msgspec.structs.replace(event, body=detailed)
        if not isinstance(body, ApprovalRequested):
            return event
        if body.approval in self._requests:
            own = msgspec.structs.replace(
                self._requests[body.approval],
                signature=body.signature,
                previous=body.previous,
                sealed=body.sealed,
            )
            return msgspec.structs.replace(event, body=own)
        if body.withheld and body.approval in self._arguments:
            complete = msgspec.structs.replace(body, arguments=self._arguments[body.approval])
            return msgspec.structs.replace(event, body=complete)
        return event

    def reveal_all(self, requests: Iterable[ToolApproval]) -> None:
        """Put the arguments back into requests restored from the log."""
        for each in requests:
            if each.withheld and each.id in self._arguments:
                each.arguments = self._arguments[each.id]

    def forget(self, resolved: ApprovalResolved) -> None:
        """Forget the arguments of a resolved request; the next `keep_only` removes them from disk.

        The request stays in memory while the program runs. Otherwise a host that claims it is
        resolved could present another call under its id.
        """
        if resolved.outcome != "parked":
            self._arguments.pop(resolved.approval, None)

    def _write(self, entry: _Entry) -> None:
        if self._path is None:
            return
        try:
            make_private_folder(self._path.parent)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(_encode(entry) + b"\n")
        except (OSError, ValueError, TypeError, RecursionError):
            logger.warning("can't write private arguments to %s", self._path, exc_info=True)
