"""Connections of administrators: by a socket of the service's machine, or over its port."""

import asyncio
import logging
import sys
from asyncio import StreamReader, StreamWriter, Task
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from genie_core.room.protocol.errors import ConnectionLost, FrameError
from genie_core.room.protocol.frames import (
    AdminAnswer,
    AdminHello,
    AdminRequest,
    Challenge,
    FrameRefused,
    Prove,
)
from genie_core.room.security.challenge import NONCE_CHARS, Transcript, new_nonce
from genie_core.room.security.identity import words
from genie_core.room.security.keys import is_key, verify
from genie_core.room.transport.connection import AcceptedConnection, PeerConnection
from genie_core.runtime.tasks import start_task
from genie_serve.admin.administration import Administration
from genie_serve.admin.errors import NotUnderstood
from genie_serve.admin.requests import (
    REQUEST_BYTES,
    AnyAnswer,
    Done,
    Failed,
    HoldRooms,
    decode_request,
    encode_answer,
)
from genie_serve.admin.socket_file import listening_socket, may_administer, remove_socket
from genie_serve.service import Service

MOST_CONNECTIONS: Final = 32

PATIENCE: Final = 30.0
"""Seconds that a connection may take to send a request, or to read an answer."""

_KEEPS_FILE: Final[dict[str, Any]] = (
    {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
)
"""Python looks for the file by the path that it was bound to, which may be a short-lived one."""

HERE: Final = "an administrator on this machine"
SIGNATURE_BYTES: Final = 64

NO_ADMIN: Final = "this key may not administer the service, or did not sign this connection"
BUSY: Final = "too many administrators are connected; try again"
TOO_LARGE: Final = f"a request has at most {REQUEST_BYTES:,} bytes; nothing was done"
TOO_SLOW: Final = "no whole request came in time; nothing was done"

logger = logging.getLogger(__name__)


@asynccontextmanager
async def administered(
    service: Service, stop: Callable[[], None], *, patience: float = PATIENCE
) -> AsyncIterator[None]:
    """Answer administrators of a started service while the block runs.

    On this machine they use a socket, which takes a request per line and answers with a line;
    elsewhere they use the service's port. `stop` is called when one asks for the end of the service.

    Raises:
        SocketPathTooLong: the system takes no such path.
        DiskFailure: the socket can't be made.
    """
    administration = Administration(service, stop)
    remote = RemoteAdministration(administration, service.config.admins, patience=patience)
    connections = _Connections(administration, patience)
    sock = await asyncio.to_thread(listening_socket, service.locations)
    server = await asyncio.start_unix_server(
        connections.accept, sock=sock, limit=REQUEST_BYTES + 1, **_KEEPS_FILE
    )
    service.listener.others[AdminHello] = remote.serve
    try:
        yield
    finally:
        del service.listener.others[AdminHello]
        server.close()
        await asyncio.to_thread(remove_socket, service.locations)
        await connections.aclose()


class RemoteAdministration:
    """Answers the administrators whose keys are `admins`, on connections to the service's port.

    An administrator signs both nonces and the pin of the certificate that they see, so that no
    signature can be repeated or relayed. Who has another key learns nothing, not even whether a key
    is an administrator's.
    """

    def __init__(
        self,
        administration: Administration,
        admins: Collection[str],
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._administration = administration
        self._admins = frozenset(admins)
        self._patience = patience

    async def serve(self, accepted: AcceptedConnection) -> None:
        """Serve a connection that began with an `AdminHello` until it ends."""
        link, first = accepted.link, accepted.first
        hello = first if isinstance(first, AdminHello) else AdminHello("", "")
        try:
            if not await self._is_proven(link, hello, accepted.until):
                await link.send([FrameRefused("unproven", NO_ADMIN, final=True)])
            else:
                accepted.let_in()
                by = f"the administrator {words(hello.key)} at {accepted.source}"
                await self._answer_all(link, by)
        except (TimeoutError, FrameError, ConnectionLost) as error:
            logger.debug("a connection of an administrator ended: %s", str(error) or "too slow")
        await link.close()

    async def _is_proven(
        self, link: PeerConnection, hello: AdminHello, until: float | None
    ) -> bool:
        """Whether the other end owns an administrator's key; a wrong proof takes as long."""
        nonce = new_nonce()
        await link.send([Challenge(nonce, "")])
        async with asyncio.timeout_at(until):
            prove = await link.receive()
        if not (isinstance(prove, Prove) and link.channel and 0 < len(hello.nonce) <= NONCE_CHARS):
            return False
        if not (is_key(hello.key) and len(prove.signature) == SIGNATURE_BYTES):
            return False  # before it is remembered as one that was looked at
        meeting = Transcript("", "", hello.key, hello.nonce, nonce, link.channel)
        is_theirs = verify(hello.key, prove.signature, meeting.encode_for_admin())
        return is_theirs and hello.key in self._admins

    async def _answer_all(self, link: PeerConnection, by: str) -> None:
        while link.is_open():
            async with asyncio.timeout(self._patience):
                frame = await link.receive()
            if not isinstance(frame, AdminRequest):
                return
            try:
                request = decode_request(frame.request)
            except NotUnderstood as error:
                answer: AnyAnswer = Failed(str(error))
            else:
                answer = await self._administration.answer(request, by)
            async with asyncio.timeout(self._patience):
                await link.send([AdminAnswer(encode_answer(answer))])


class _Connections:
    """The connections of administrators on this machine."""

    def __init__(self, administration: Administration, patience: float) -> None:
        self._administration = administration
        self._patience = patience
        self._tasks: set[Task[None]] = set()

    def accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = start_task(self._serve(reader, writer), name="administrator")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        for each in self._tasks:
            each.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            with suppress(OSError, TimeoutError):
                if not may_administer(writer.get_extra_info("socket")):
                    return
                if len(self._tasks) > MOST_CONNECTIONS:
                    await self._send(writer, Failed(BUSY))
                    return
                await self._answer_all(reader, writer)
        finally:
            writer.close()

    async def _answer_all(self, reader: StreamReader, writer: StreamWriter) -> None:
        while True:
            try:
                async with asyncio.timeout(self._patience):
                    line = await reader.readline()
            except TimeoutError:
                await self._send(writer, Failed(TOO_SLOW))
                return
            except ValueError:  # the line is too long
                await self._send(writer, Failed(TOO_LARGE))
                return
            if not line.endswith(b"\n"):  # the connection ended
                return
            try:
                request = decode_request(line.rstrip(b"\n"))
            except NotUnderstood as error:
                await self._send(writer, Failed(str(error)))
                return
            if isinstance(request, HoldRooms):
                await self._hold(reader, writer)
                return
            await self._send(writer, await self._administration.answer(request, HERE))

    async def _hold(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Hold the rooms until the other end closes the connection."""
        async with self._administration.holding():
            await self._send(writer, Done())
            await reader.read(1)

    async def _send(self, writer: StreamWriter, answer: AnyAnswer) -> None:
        writer.write(encode_answer(answer) + b"\n")
        async with asyncio.timeout(self._patience):
            await writer.drain()
