"""Serves a room: sockets, the disk and the clock around the pure `Room`."""

import asyncio
import errno
import logging
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

from websockets.asyncio.server import Server

from genie_core.logging import ROOM_LOGGED
from genie_core.room.protocol.address import DEFAULT_PORT, LOOPBACK, Address
from genie_core.room.protocol.codec import ServerEncoder
from genie_core.room.protocol.errors import ConnectionLost, FrameError
from genie_core.room.protocol.events import Event, FileRef
from genie_core.room.protocol.frames import Moderate, ServerFrame
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.certificate import Certificate
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.room.server.file_requests import FileJob
from genie_core.room.server.file_worker import FileWorker
from genie_core.room.server.log import Superseded
from genie_core.room.server.moderation import NOT_ON_DISK
from genie_core.room.server.peer_writer import PeerWriter
from genie_core.room.server.peers import ARRIVING, Peer, Stage
from genie_core.room.server.quotas import Quotas
from genie_core.room.server.room import Room
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.connection import (
    AcceptedConnection,
    ClientConnection,
    PeerConnection,
    memory_pair,
)
from genie_core.room.transport.hardening import HalfOpenLimiter
from genie_core.room.transport.websocket import Packer, bind, listen
from genie_core.runtime.tasks import start_task

RETRY_FIRST: Final = 0.2
RETRY_LONGEST: Final = 5.0

HEARTBEAT: Final = 1.0
"""Seconds between signs of life to a person whose frames are not read yet."""

DISK_FAILS: Final = (
    "the host can't write to its disk: {}. It keeps trying; until then messages wait where they "
    "were typed, and none is lost"
)

LOG_REFUSES: Final = (
    "the room's log can't be written any more: {}. New messages are not kept: suspend the room, "
    "fix the cause, and resume it"
)

FINAL_ERRORS: Final = frozenset(
    {
        errno.EACCES,
        errno.EBADF,
        errno.ENODEV,
        errno.ENXIO,
        errno.EPERM,
        errno.EROFS,
        errno.ESTALE,
    }
)
"""Errors after which writing the same to the same file again fails again."""

RESTARTS: Final = "the room's host restarts"

SUPERSEDED: Final = "another process hosts this room now"

WRITER_ENDED: Final = (
    "the host's program no longer writes the room's log. New messages are not kept: suspend the "
    "room and resume it"
)

logger = logging.getLogger(__name__)

AppendEvents: TypeAlias = Callable[[Sequence[Event]], Awaitable[None]]
"""Writes events that follow those written before; they are durable when it returns.

Raises:
    OSError: they are not written. The same ones come again, perhaps with more after them,
        unless the error is one of `FINAL_ERRORS`.
    Superseded: another process writes this log. No more come.
    ValueError: they can't be written, now or later. No more come.
"""


class KeepTokens(Protocol):
    """Saves invite tokens soon; if some were voided, those saved before must not count."""

    def __call__(self, tokens: InviteTokens, *, voids: bool = False) -> None: ...


class RoomServer:
    """Serves a room to its members.

    Use it as an async context manager, or call `start` and finally `close`. `suspend` ends the room
    in good order; closing without it looks like a crash to the members. One task writes the log;
    each connection has a task that reads and one that writes, so that no member waits for another.

    Members who are far behind take turns to get parts of the log; servers that share an event loop
    should share the `turn`.

    Once another process writes the log, `superseded` is set and all connections are dropped, so
    that members look for that process; then `close` it.
    """

    def __init__(
        self,
        events: Iterable[Event],
        append: AppendEvents,
        setup: RoomSetup,
        *,
        certificate: Certificate | None = None,
        keep_tokens: KeepTokens | None = None,
        files: FileWorker | None = None,
        stall_timeout: float = 10.0,
        clock: Callable[[], float] = time.time,
        turn: asyncio.Lock | None = None,
    ) -> None:
        self._files = files
        self.room = Room(events, setup, files.known if files is not None else None)
        self._turn = turn or asyncio.Lock()
        self._append = append
        self._certificate = certificate
        self._tokens = setup.tokens
        self._keep_passes = keep_tokens
        self._passes_kept = 0, 0
        self.host_token: Final = secrets.token_hex()
        """The token in the hello of the host's own client."""
        self._stall_timeout = stall_timeout
        self._clock = clock
        self._packer: Packer[ServerFrame] = Packer(ServerEncoder(), masked=False)
        self._gate = HalfOpenLimiter(self.room.limits.half_open)
        self._listeners: list[Server] = []
        self._writers: dict[int, PeerWriter] = {}
        self._local: set[asyncio.Task[None]] = set()
        self._closing = False
        self.superseded: Final = asyncio.Event()
        self._written = asyncio.Event()
        self._unwritten = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._committer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def state(self) -> RoomState:
        """The state after the last event, on disk or not."""
        return self.room.state

    async def start(self) -> None:
        """Open the room.

        Raises:
            InvalidName: the host can't have this name.
        """
        pin = self._certificate.pin if self._certificate is not None else ""
        self.room.open(self.host_token, self._clock(), pin=pin)
        self._committer = start_task(self._commit_forever(), name="room committer")
        self._committer.add_done_callback(self._note_end)
        self._dispatch()

    async def listen(
        self,
        host: str = LOOPBACK,
        port: int = DEFAULT_PORT,
        *,
        sock: socket.socket | None = None,
    ) -> Address:
        """Accept connections, at `sock` if one is given; returns the address to join.

        Port 0 takes any free port. With a certificate it may be any address of this machine, ""
        for all of them; without one it must be on loopback.

        Raises:
            NotLoopback: the address is not on this machine, and there is no certificate.
            AddressInUse: another program listens there.
            CannotListen: the system does not let us.
        """
        if sock is None:
            sock = await bind(Address(host, port), beyond=self._certificate is not None)
        name = sock.getsockname()
        self._listeners.append(
            await listen(
                sock,
                self._gate,
                self.serve,
                frame_bytes=self.room.limits.frame_bytes,
                open_timeout=self.room.limits.handshake,
                certificate=self._certificate,
                begin=lambda source: self.room.quotas.strangers.begin(source, self._clock()),
            )
        )
        return Address(str(name[0]), int(name[1]))

    def settle(self, host_record: HostRecord) -> None:
        """Record where this host can be reached, for the members; in any thread."""
        self.room.host_record = host_record

    def connect_local(self) -> ClientConnection:
        """Connect from this process, in any of its threads; call it on the event loop of the room.

        Such a connection is never dropped for being slow.
        """
        near, far = memory_pair()
        if self._closing:
            far.abort()
            return near
        task = start_task(self.serve(AcceptedConnection(far)), name="local member")
        self._local.add(task)
        task.add_done_callback(self._local.discard)
        return near

    def fill(self, text: str) -> None:
        """Accept no messages while the text says why no more may be written; "" accepts them."""
        self.room.fill(text)
        self._dispatch()

    async def administer(self, frame: Moderate, within: float = 10.0) -> str:
        """Apply a measure in the host's name and write it; return why it can't be, empty if it is.

        Writing may take `within` seconds; the measure holds from now on in any case.
        """
        objection = self.room.administer(frame, self._clock())
        self._dispatch()
        if objection:
            return objection
        seq = self.room.log.head
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._written_until(seq)
        if self.room.log.durable < seq:
            return NOT_ON_DISK.format(f"/{frame.measure} {frame.name[:64]}")
        return ""

    def begin_suspending(self, within: float) -> int:
        """Take no more messages, and tell all members that `suspend` follows within so many seconds.

        Returns the number of the last event so far: those after it are no messages.
        """
        last = self.room.begin_suspending(within, self._clock())
        self._dispatch()
        return last

    async def suspend(self, reason: str = "", grace: float = 5.0) -> bool:
        """End the room: write and send the rest, say farewell, disconnect.

        Takes at most `grace` seconds, plus some for closing. Returns whether everything is on disk.
        A closed room stays as it is.
        """
        if self._committer is None:
            return not self.room.log.pending()
        self.room.suspend(reason, self._clock())
        self._dispatch()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._all_written()
                await self._empty.wait()
        await self.close()
        return not self.room.log.pending()

    async def stop(self, grace: float = 5.0) -> bool:
        """Stop so that members come back once this log is served again.

        Writes pending events, sends durable ones, and disconnects within about `grace` seconds;
        returns whether everything is on disk. That connections end is not recorded.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._all_written()
                self._release()
                await self._empty.wait()
        self._release()
        await self.close()
        return not self.room.log.pending()

    def _release(self) -> None:
        self._closing = True
        self.room.release(RESTARTS)
        self._dispatch()

    async def close(self) -> None:
        """Stop immediately; events that are not on disk were never acknowledged."""
        self._closing = True
        await self._gate.shut()
        for server in self._listeners:
            server.close()
        if self._files is not None:
            await self._files.aclose()
        for writer in list(self._writers.values()):
            writer.link.abort()
        await self._gate.clear()
        for server in self._listeners:
            await server.wait_closed()
        self._listeners.clear()
        if self._local:
            await asyncio.wait(self._local)
        await self._empty.wait()
        committer, self._committer = self._committer, None
        if committer is not None:
            committer.cancel()
            await asyncio.wait([committer])

    # -- the log

    async def _commit_forever(self) -> None:
        """Write pending events until the log fails for good."""
        ROOM_LOGGED.set(self.state.room)
        while not self.room.log.refusal:
            await self._unwritten.wait()
            self._unwritten.clear()
            await self._write()

    def _note_end(self, committer: asyncio.Task[None]) -> None:
        """Tell all members if the log's writer ended before the room, which is a bug."""
        self._written.set()
        if committer is not self._committer or self.room.log.refusal:
            return
        error = None if committer.cancelled() else committer.exception()
        logger.critical("the writer of the log ended", exc_info=error)
        self.room.refuse_all(WRITER_ENDED)
        self._dispatch()

    async def _write(self) -> None:
        """Write all pending events; events of one write are a group."""
        delay, counters = RETRY_FIRST, self.room.peers.counters
        while events := self.room.log.pending():
            try:
                await self._append(events)
                self.room.commit(events[-1].seq)
                counters.appended(len(events), self._clock() - events[0].at)
            except Superseded:
                logger.warning("another process hosts this room now", exc_info=True)
                self.give_way()
                return
            except Exception as error:  # the room must live on, and tries again
                logger.warning("writing the log failed", exc_info=True)
                counters.failures += 1
                if _is_final(error):
                    self.room.refuse_all(LOG_REFUSES.format(_reason(error)))
                    self._dispatch()
                    return
                self.room.trouble(DISK_FAILS.format(_reason(error)))
                self._dispatch()
                await asyncio.sleep(delay)
                delay = min(delay * 2, RETRY_LONGEST)
            else:
                delay = RETRY_FIRST
                self._written.set()
                self.room.trouble("")
                self._dispatch()
        self._written.set()

    def give_way(self) -> None:
        """Drop all members, because another process hosts the room or may do so.

        Nothing more is written; members whose messages are not on disk send them to that process.
        """
        self._closing = True
        self.room.log.refusal = SUPERSEDED
        for writer in self._writers.values():
            writer.link.abort()
        self.superseded.set()

    @property
    def _writes(self) -> bool:
        """Whether pending events will be written once the disk accepts them."""
        return self._committer is not None and not self._committer.done()

    async def _all_written(self) -> None:
        while self.room.log.pending() and self._writes:
            await self._wait_for_disk()

    async def _written_until(self, seq: int) -> None:
        while self.room.log.durable < seq and self._writes:
            await self._wait_for_disk()

    async def _wait_for_disk(self) -> None:
        """Wait for the next write."""
        self._written.clear()
        self._unwritten.set()
        await self._written.wait()

    def _dispatch(self) -> None:
        """Carry out the effects of the last call to the room: send, write, handle files."""
        for peer in self.room.peers.take_ready():
            writer = self._writers.get(peer.id)
            if writer is not None:
                writer.wake()
        if self.room.log.head > self.room.log.durable:
            self._unwritten.set()
        used, voided = self.room.admission.passes_used, self.room.admission.passes_voided
        if (used, voided) != self._passes_kept:
            voids = voided != self._passes_kept[1]
            self._passes_kept = used, voided
            if self._keep_passes is not None and self._tokens is not None:
                self._keep_passes(self._tokens, voids=voids)
        if self._files is not None:
            for job in self.room.files.take_jobs():
                self._files.take(job, self._file_done)

    def _file_done(self, job: FileJob, answer: ServerFrame, file: FileRef | None) -> None:
        """Forward a file job's result, and record the file if it is complete."""
        if file is not None:
            self.room.files.add(file)
        self.room.files.answer(job, answer)
        self._dispatch()

    # -- connections

    async def serve(self, accepted: AcceptedConnection) -> None:
        """Serve one connection until it ends."""
        link = accepted.link
        patience = None if link.channel is None else self._stall_timeout
        link.encode_with(self._packer)
        ROOM_LOGGED.set(self.state.room)
        peer = self.room.connect(accepted.source, link.channel)
        writer = self._writers[peer.id] = PeerWriter(self.room, peer, link, self._turn)
        self._empty.clear()
        if self._closing:  # one that began before, and was not there yet to be ended
            link.abort()
        reason = "connection lost"
        try:
            async with asyncio.TaskGroup() as tasks:  # reads in this task, writes in another
                writing = tasks.create_task(writer.run(patience))
                reason = await self._read(peer, accepted)
                writing.cancel()
            if not writing.cancelled():
                reason = writing.result() or reason
        except Exception:  # one connection's failure must not reach the others
            logger.exception("serving a connection failed")
            link.abort()
            reason = "connection lost"
        finally:
            del self._writers[peer.id]
            self.room.disconnect(peer, reason, self._clock())
            self._dispatch()
            if not self._writers:
                self._empty.set()

    async def _read(self, peer: Peer, accepted: AcceptedConnection) -> str:
        """Read frames until the connection ends; return why."""
        link, until, is_in = accepted.link, accepted.until, False
        if until is None:
            until = asyncio.get_running_loop().time() + self.room.limits.handshake
        if accepted.first is not None:
            self.room.receive(peer, accepted.first, self._clock())
            self._dispatch()
        meter = link.on_arrival = _Meter(self.room.quotas, peer, link, self._clock)
        while True:
            deadline = until if peer.stage in ARRIVING else None
            try:
                async with asyncio.timeout_at(deadline):
                    frame = await link.receive()
            except ConnectionLost as error:
                return str(error)
            except FrameError as error:
                self.room.reject(peer, error.code, str(error), self._clock())
            except TimeoutError:
                why = "you did not say who you are in time"
                self.room.reject(peer, "out_of_state", why, self._clock())
            else:
                self.room.receive(peer, frame, self._clock())
            meter.stop()
            if not is_in and peer.stage in (Stage.PENDING, Stage.JOINED):
                accepted.let_in()
                is_in = True
            self._dispatch()


class _Meter:
    """Charges arriving frames to the person who sends them."""

    def __init__(
        self, quotas: Quotas, peer: Peer, link: PeerConnection, clock: Callable[[], float]
    ) -> None:
        self._quotas = quotas
        self._peer = peer
        self._link = link
        self._clock = clock
        self._began: float | None = None
        self._next_heartbeat = 0.0

    async def __call__(self, size: int) -> bool:
        """Wait for the person's turn and charge a frame; False if it need not be decoded."""
        while self._link.is_open():
            seconds = self._quotas.pause(self._peer, self._clock())
            if not seconds:
                break
            await asyncio.sleep(min(seconds, HEARTBEAT))
            if time.perf_counter() >= self._next_heartbeat:
                await self._link.heartbeat()
                self._next_heartbeat = time.perf_counter() + HEARTBEAT
        self._began = time.perf_counter()
        return self._quotas.read(self._peer, size, self._clock())

    def stop(self) -> None:
        """Charge the time that the frame took, if any."""
        if self._began is not None:
            self._quotas.spend(self._peer, time.perf_counter() - self._began, self._clock())
            self._began = None


def _is_final(error: Exception) -> bool:
    """Whether writing fails for good, not just until the disk has space or answers again."""
    if isinstance(error, OSError):
        return error.errno in FINAL_ERRORS
    return isinstance(error, ValueError)


def _reason(error: Exception) -> str:
    system = error.strerror if isinstance(error, OSError) else ""
    return system or str(error) or type(error).__name__
