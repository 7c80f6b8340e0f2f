"""The log of a room in a stream: one subject, whose last message is the fence."""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError

from genie_core.room.protocol.events import Event, UnreadableEvent
from genie_core.room.server.log import Superseded
from genie_core.sessions.log.format import Damaged, decode_line, encode_line
from genie_serve.stores.nats.connection import (
    ANSWER,
    PAUSE,
    UNANSWERED,
    answering,
    read_messages,
    unavailable,
)
from genie_serve.stores.store import StoreUnavailable, check_dense

WRITER: Final = "Genie-Writer"
FIRST: Final = "Genie-First"
LAST: Final = "Genie-Last"
"""The headers of a message: a name of the writer, and the numbers of the events in it."""

EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"

MESSAGE_BYTES: Final = 256 * 1024
"""Bytes of events in a message, unless one event alone is longer."""

HEADER_BYTES: Final = 512
"""More than our headers take, which count as part of a message."""

INSISTING: Final = 5.0
"""Seconds for which a write is repeated before the room hears of it: a new leader takes less."""


def token_of(room: str) -> str:
    """Return the part of a room's subject that names it."""
    return hashlib.sha256(room.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Written:
    """A message of a log: its place in the stream, its writer and its events."""

    sequence: int
    writer: str
    first: int
    last: int


class NatsLog:
    """The log of one room, as one process sees it; see `SharedLog`.

    A message holds one group of events, so that it is written whole or not at all, and each write
    expects the last message that this process knows. Once another process has written, all further
    writes are refused.
    """

    def __init__(self, js: JetStreamContext, stream: str, subject: str, most: int) -> None:
        self._js = js
        self._stream = stream
        self._subject = subject
        self._most = most - HEADER_BYTES
        self._writer: Final = secrets.token_hex(8)
        self._head = 0
        self._sequence = 0
        self._superseded = 0
        self._closed = False
        self._turn = asyncio.Lock()

    @property
    def head(self) -> int:
        return self._head

    async def append(self, events: Sequence[Event]) -> None:
        """Write events; see `SharedLog`."""
        async with self._turn:
            if self._closed:
                raise ValueError("the log is closed")
            check_dense(events, self._head)
            until = asyncio.get_running_loop().time() + INSISTING
            while fresh := [event for event in events if event.seq > self._head]:
                await self._write(fresh, until)

    async def read(self, after: int) -> AsyncGenerator[Sequence[Event]]:
        """Iterate over the events that follow `after`; see `SharedLog`."""
        last = await self._last()
        if last is None or last.last <= after:
            self._note(last or Written(0, "", 0, 0))
            return
        head = after
        first = await self._find(after + 1, last)
        reading = read_messages(
            self._js, self._stream, self._subject, first.sequence, last.sequence
        )
        async with aclosing(reading) as messages:
            async for message in messages:
                sequence = message.metadata.sequence.stream
                found = _written(sequence, message.headers or {}, self._stream)
                events = [event for event in self._decoded(message.data, found) if event.seq > head]
                if events and events[0].seq != head + 1:
                    raise self._damaged(f"events {head + 1} to {events[0].seq - 1} are missing")
                if events:
                    head = events[-1].seq
                    yield events
                self._note(found)
        if head < last.last:
            raise self._damaged(f"events {head + 1} to {last.last} are missing")

    async def aclose(self) -> None:
        """Refuse further writes."""
        self._closed = True

    # -- writing

    async def _write(self, events: Sequence[Event], until: float) -> None:
        """Write the first of these events, as many as fit into a message; repeat until a time.

        Raises:
            Superseded: another process has written.
            StoreUnavailable: they may not be written.
        """
        if self._superseded:
            raise Superseded(self._superseded)
        data, last = self._packed(events)
        headers = {
            WRITER: self._writer,
            FIRST: str(events[0].seq),
            LAST: str(last),
            EXPECTED: str(self._sequence),
        }
        try:
            ack = await self._js.publish(
                self._subject, data, timeout=ANSWER, stream=self._stream, headers=headers
            )
        except UNANSWERED as error:
            if await self._settle(until):
                return
            if asyncio.get_running_loop().time() >= until:
                raise unavailable("write the room's log", error) from error
            await asyncio.sleep(PAUSE)
        else:
            self._head, self._sequence = last, ack.seq

    def _packed(self, events: Sequence[Event]) -> tuple[bytes, int]:
        """Return the lines of as many events as fit into a message, and the number of the last."""
        lines: list[bytes] = []
        size = 0
        for event in events:
            line = encode_line(event)
            size += len(line)
            if len(line) > self._most:
                raise ValueError(
                    f"event {event.seq} takes {len(line):,} bytes, and the servers of NATS take at "
                    f"most {self._most:,}: raise their max_payload"
                )
            if lines and size > min(MESSAGE_BYTES, self._most):
                break
            lines.append(line)
        return b"".join(lines), events[len(lines) - 1].seq

    async def _settle(self, until: float) -> bool:
        """Find out whether a write without a good answer has happened.

        It may still happen afterwards, until another write takes its place.
        """
        while True:
            try:
                last = await self._last()
                break
            except StoreUnavailable:
                if asyncio.get_running_loop().time() >= until:
                    raise
                await asyncio.sleep(PAUSE)
        if last is None or last.sequence <= self._sequence:
            return False
        if last.writer != self._writer:
            self._superseded = self._head + 1
            raise Superseded(self._superseded)
        self._note(last)
        return True

    def _note(self, written: Written) -> None:
        self._head, self._sequence = written.last, written.sequence

    # -- reading

    async def _last(self) -> Written | None:
        """Return the last message, as the leader of the stream has it."""
        with answering("read the room's log"):
            try:
                message = await self._js.get_last_msg(self._stream, self._subject)
            except NotFoundError:
                return None
        return self._written(message)

    async def _find(self, seq: int, last: Written) -> Written:
        """Return the last message that begins with this event or an earlier one, by bisection."""
        low, found, high = 1, last, last.sequence
        while low < high:
            middle = (low + high) // 2
            with answering("read the room's log"):
                message = await self._js.get_msg(
                    self._stream, seq=middle, subject=self._subject, next=True
                )
            written = self._written(message)
            if written.last < seq:
                low = written.sequence + 1
            else:
                found, high = written, middle
        return found

    def _written(self, message: RawStreamMsg) -> Written:
        return _written(message.seq or 0, message.headers or {}, self._stream)

    def _decoded(self, data: bytes, written: Written) -> list[Event]:
        """Return the events of a message, whose lines have checksums.

        Raises:
            StoreUnavailable: they are damaged, or this version does not know one of them.
        """
        try:
            lines = data.splitlines(keepends=True)
            events = [decode_line(line.removesuffix(b"\n"), first=False) for line in lines]
        except Damaged as error:
            raise self._damaged(f"in events {written.first} to {written.last}, {error}") from error
        for event, line in zip(events, lines, strict=True):
            if isinstance(event.body, UnreadableEvent) and encode_line(event) != line:
                raise StoreUnavailable(
                    f"event {event.seq} of the room's log in NATS was written by a newer version: "
                    "update this machine"
                )
        if [event.seq for event in events] != list(range(written.first, written.last + 1)):
            raise self._damaged(f"events {written.first} to {written.last} are not complete")
        return events

    def _damaged(self, why: str) -> StoreUnavailable:
        return StoreUnavailable(
            f"the room's log in NATS is damaged ({self._stream}, {self._subject}): {why}"
        )


def _written(sequence: int, headers: dict[str, str], stream: str) -> Written:
    """Parse the headers of a message."""
    try:
        return Written(sequence, headers[WRITER], int(headers[FIRST]), int(headers[LAST]))
    except (KeyError, ValueError) as error:
        raise StoreUnavailable(
            f"message {sequence} of the stream {stream} in NATS was written by another program"
        ) from error
