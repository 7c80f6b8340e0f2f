"""Data that stays on an engine's machine: arguments of calls, and a provider's messages.

A guest is served by the host's engine, with the host's files and keys. The log says that a tool is
called and what became of it; its arguments stay here. And whoever allows a call must see what this
machine will do, not what a host says it would.

What a model's provider says of a failure is for the owner of the engine, too. It is kept in memory
only: the room has a sentence without it.
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


class Withheld:
    """The own calls as they are. What the log does not tell is kept in a private file, if there is one.

    A file that can't be read or written costs what was parked in it, which is asked for again.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._own: dict[str, ApprovalRequested] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._failures: dict[tuple[int, str], str] = {}

    def load(self) -> None:
        """Read what earlier processes kept. Blocks; whatever is damaged is left out."""
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
        """Forget, on disk too, what no longer waits for an answer. Blocks."""
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
        """Remember a call that is about to be asked for, before the room is told of it."""
        self._own[asked.approval] = asked
        if asked.withheld:
            self._kept[asked.approval] = asked.arguments
            self._write(_Entry(asked.approval, asked.arguments))

    def note_failure(self, failed: RunFailed, details: str) -> None:
        """Remember what only the owner is told of a failed run, while this program runs."""
        self._failures.pop((failed.message, failed.error), None)
        self._failures[failed.message, failed.error] = details
        if len(self._failures) > _MOST_FAILURES:
            del self._failures[next(iter(self._failures))]

    def hides(self, approval: str) -> bool:
        """Whether a call is one of those that only this machine can show."""
        return approval in self._kept

    def uncover(self, event: Event) -> Event:
        """The event as this machine may show it: an own call or failure with all there is to it."""
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

    def uncover_all(self, proposals: Iterable[ToolApproval]) -> None:
        """Show calls that were asked for before as this machine may show them."""
        for proposal in proposals:
            if proposal.withheld and proposal.id in self._kept:
                proposal.arguments = self._kept[proposal.id]

    def settle(self, settled: ApprovalResolved) -> None:
        """Forget what is decided for good.

        An own call stays known as long as the program runs, for it is the host who says that it is
        settled, and who could then tell of another call as if it were this one.
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
