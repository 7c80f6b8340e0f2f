"""The events of all executions of a session, as one numbered stream."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from genie_core.execution import Execution, ExecutionEvent, is_last, is_preview
from genie_core.message import Message
from genie_core.runtime.replay_buffer import ReplayableStream

KEPT: Final = 2_000
"""How many events a session keeps, previews aside."""


@dataclass(frozen=True, slots=True)
class Received:
    """The session took a message, or a query."""


_RECEIVED: Final = Received()


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """An event of a message, and of its execution if it has one.

    `number` counts the events of the session from 1. `message` is the one given to `handle` or
    `append`, or the query given to `delegate`. A message given to `append` has no execution.
    """

    number: int
    message: Message
    execution: Execution | None
    event: ExecutionEvent | Received


class SessionEvents:
    """Keeps the latest events, and previews of the answers that are being written.

    All methods belong to one event loop.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._stream: ReplayableStream[SessionEvent] = ReplayableStream()
        self._numbers: deque[int] = deque()  # without those of previews
        self._previews: dict[Execution, list[int]] = {}

    def received(self, message: Message, execution: Execution | None = None) -> None:
        """Add that a message came."""
        self._add(SessionEvent(self._stream.last + 1, message, execution, _RECEIVED))

    def record(self, message: Message, execution: Execution, event: ExecutionEvent) -> None:
        """Add an event of an execution; the last one drops its previews."""
        number = self._stream.last + 1
        item = SessionEvent(number, message, execution, event)
        if is_preview(event):
            self._stream.add(item)
            self._previews.setdefault(execution, []).append(number)
            return
        self._add(item)
        if is_last(event):
            self._stream.drop(self._previews.pop(execution, ()))

    def _add(self, item: SessionEvent) -> None:
        self._stream.add(item)
        self._numbers.append(item.number)
        if len(self._numbers) > self._kept:
            self._stream.cut(self._numbers.popleft())

    def close(self) -> None:
        """Let readers end after the present events."""
        self._stream.close()

    def read(self, after: int) -> AsyncIterator[SessionEvent]:
        """Yield the events after a number until the stream is closed; may raise `EventsMissed`."""
        return self._stream.read(after)
