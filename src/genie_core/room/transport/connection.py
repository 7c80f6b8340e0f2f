"""Connections between a participant and a room, and one within a process."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, TypeVar

from genie_core.room.protocol.errors import ConnectionLost
from genie_core.room.protocol.frames import ClientFrame, ServerFrame
from genie_core.runtime.tasks import running_loop

if TYPE_CHECKING:
    from genie_core.room.transport.websocket import Packer

MEMORY_CAPACITY: Final = 64


async def take_any(size: int) -> bool:
    """Accept a frame of any size."""
    return True


In = TypeVar("In")
Out = TypeVar("Out")
In_co = TypeVar("In_co", covariant=True)
Out_contra = TypeVar("Out_contra", contravariant=True)


class Connection(Protocol[Out_contra, In_co]):
    """One end of a connection. One task may send while another receives."""

    @property
    def channel(self) -> str | None:
        """The pin of the host's certificate as this end sees it; empty without TLS.

        None if both ends are in one process, where nothing needs to be proven.
        """

    async def send(self, frames: Sequence[Out_contra]) -> None:
        """Send frames in order, waiting while the other end is behind.

        After a cancellation it is unknown how many were sent; only close the connection then.

        Raises:
            ConnectionLost: either end closed it.
            FrameError: a frame can't be encoded; it and later ones were not sent.
        """

    async def receive(self) -> In_co:
        """Wait for the next frame. Cancelling loses nothing.

        Raises:
            ConnectionLost: it is closed, and everything that arrived was received.
            FrameError: the data is no frame; the connection stays open.
        """

    async def close(self, reason: str = "") -> None:
        """Close the connection properly within some seconds; may be repeated."""

    def abort(self) -> None:
        """End the connection immediately, without telling the other end."""


ClientConnection: TypeAlias = Connection[ClientFrame, ServerFrame]
"""The participant's end."""


class PeerConnection(Connection[ServerFrame, ClientFrame], Protocol):
    """The room's end, which can also send without waiting and observe arrivals.

    `on_arrival` is awaited with the size of each frame from a network before it is decoded; if it
    returns False, the frame is dropped.
    """

    on_arrival: Callable[[int], Awaitable[bool]]

    def encode_with(self, packer: "Packer[ServerFrame]") -> None:
        """Encode frames together with the other connections of a room."""

    async def heartbeat(self) -> None:
        """Tell a participant that we live while nothing is read from it.

        Raises:
            ConnectionLost: either end closed it.
        """

    def is_open(self) -> bool:
        """Whether neither end has closed or lost the connection, as far as is known."""

    def is_free(self) -> bool:
        """Whether the other end keeps up, so that `post` may be called."""

    def post(self, frames: Sequence[ServerFrame]) -> None:
        """Send frames without waiting; only while no `send` is running.

        Raises:
            FrameError: a frame can't be encoded; none was sent.
        """


@dataclass(frozen=True, slots=True)
class AcceptedConnection:
    """A connection to serve until it ends.

    `source` is its origin, empty in this process. Call `let_in` once the other end is authenticated,
    by `until` on the event loop's clock if that is given. `first` is a frame that was received.
    """

    link: PeerConnection
    source: str = ""
    let_in: Callable[[], None] = lambda: None
    first: ClientFrame | None = None
    until: float | None = None


Serve: TypeAlias = Callable[[AcceptedConnection], Awaitable[None]]


def memory_pair(
    capacity: int = MEMORY_CAPACITY,
    channel: str | None = None,
) -> (
    "tuple[MemoryConnection[ClientFrame, ServerFrame], MemoryConnection[ServerFrame, ClientFrame]]"
):
    """Connect two tasks in any threads of a process: the participant's end and the room's end.

    Frames are passed unchanged. At most `capacity` are queued in each direction; then `send` waits.
    """
    up: _Pipe[ClientFrame] = _Pipe(capacity)
    down: _Pipe[ServerFrame] = _Pipe(capacity)
    return MemoryConnection(up, down, channel), MemoryConnection(down, up, channel)


class MemoryConnection(Generic[Out, In]):
    """One end of a `memory_pair`."""

    def __init__(
        self, outgoing: "_Pipe[Out]", incoming: "_Pipe[In]", channel: str | None = None
    ) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self.channel: Final = channel
        self.on_arrival: Callable[[int], Awaitable[bool]] = take_any

    def is_open(self) -> bool:
        return not self._outgoing.closed

    def is_free(self) -> bool:
        """Whether the connection is open and the other end keeps up."""
        return self._outgoing.is_free()

    def encode_with(self, packer: "Packer[Out]") -> None:
        """Do nothing: frames are passed unchanged."""

    async def heartbeat(self) -> None:
        """Do nothing: a process does not lose itself."""

    def post(self, frames: Sequence[Out]) -> None:
        """Send frames immediately, beyond the capacity if necessary."""
        self._outgoing.extend(frames)

    async def send(self, frames: Sequence[Out]) -> None:
        """Send frames; waits while the other end's queue is full."""
        for frame in frames:
            await self._outgoing.put(frame)

    async def receive(self) -> In:
        """Return the next frame, even if it was sent before the other end closed."""
        return await self._incoming.take()

    async def close(self, reason: str = "") -> None:
        """Close both directions; sent frames can still be received."""
        self._outgoing.close(reason)
        self._incoming.close(reason)

    def abort(self) -> None:
        """Close both directions."""
        self._outgoing.close("aborted")
        self._incoming.close("aborted")


class _Signal:
    """An event that any thread may set; the tasks that wait for it share one event loop."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def clear(self) -> None:
        """Call this before looking whether there is need to wait, so that no `set` is lost."""
        self._loop = asyncio.get_running_loop()
        self._event.clear()

    async def wait(self) -> None:
        await self._event.wait()

    def set(self) -> None:
        loop = self._loop
        if loop is None or loop is running_loop():
            self._event.set()
        else:
            with suppress(RuntimeError):  # the loop is closed, so no task waits
                loop.call_soon_threadsafe(self._event.set)


class _Pipe(Generic[In]):
    """A bounded queue for one writer and one reader, in any threads, that can be closed."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[In] = deque()
        self._filled = _Signal()
        self._drained = _Signal()
        self._closed: str | None = None

    @property
    def closed(self) -> bool:
        return self._closed is not None

    async def put(self, item: In) -> None:
        self._drained.clear()
        while self._closed is None and len(self._items) >= self._capacity:
            await self._drained.wait()
            self._drained.clear()
        if self._closed is not None:
            raise ConnectionLost(self._closed)
        self._items.append(item)
        self._filled.set()

    def is_free(self) -> bool:
        return self._closed is None and len(self._items) < self._capacity

    def extend(self, items: Sequence[In]) -> None:
        self._items.extend(items)
        self._filled.set()

    async def take(self) -> In:
        self._filled.clear()
        while True:
            closed = self._closed  # before the items: another thread may add some, and then close
            if self._items:
                break
            if closed is not None:
                raise ConnectionLost(closed)
            await self._filled.wait()
            self._filled.clear()
        item = self._items.popleft()
        self._drained.set()
        return item

    def close(self, reason: str) -> None:
        if self._closed is None:
            self._closed = reason or "the connection was closed"
            self._filled.set()
            self._drained.set()
