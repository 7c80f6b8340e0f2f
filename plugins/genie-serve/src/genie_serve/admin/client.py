"""Ask a service: over its socket on this machine, or over its port."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from genie_core.room.protocol.address import parse_address
from genie_core.room.protocol.errors import ConnectionLost, FrameError, Unreachable, WrongPin
from genie_core.room.protocol.frames import (
    AdminAnswer,
    AdminHello,
    AdminRequest,
    Challenge,
    FrameRefused,
    Prove,
    ServerFrame,
)
from genie_core.room.security.challenge import Transcript, new_nonce
from genie_core.room.security.identity import Identity
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.websocket import tls_connect
from genie_core.settings.locations import Locations
from genie_core.storage.atomic import reason
from genie_serve.admin.errors import AdminRefused, NoService
from genie_serve.admin.remotes import Remote
from genie_serve.admin.requests import (
    ANSWER_BYTES,
    AnyAnswer,
    AnyRequest,
    Failed,
    HoldRooms,
    decode_answer,
    encode_request,
)
from genie_serve.admin.socket_file import connected_socket

LONGEST_WAIT: Final = 120.0
"""Seconds for an answer: a room that is archived takes some to end, and a slow disk more."""

HERE: Final = "on this machine"
ANOTHER: Final = (
    "another machine does, whose certificate has the fingerprint {found}; nothing was sent to it. If "
    "the service has a new certificate, add it again with the pin that 'genie-tui admin status' prints "
    "on its machine"
)
OTHER: Final = "what answers there is no service"


def ask_here(locations: Locations, request: AnyRequest) -> AnyAnswer:
    """Ask the service that runs here; returns its answer, which is not `Failed`. Blocks.

    Raises:
        NoService: none runs here, or it ended before it answered.
        AdminRefused: it refused the request.
        NotUnderstood: the request is too large, or the answer is none.
    """
    with connected_socket(locations) as sock:
        return _answer(sock, request)


@contextmanager
def holding_rooms(locations: Locations) -> Iterator[bool]:
    """Let a service that runs here delete no room while the block runs; yields whether one runs.

    Errors as `ask_here`, but `NoService`.
    """
    try:
        sock = connected_socket(locations)
    except NoService:
        yield False
        return
    with sock:
        _answer(sock, HoldRooms())
        yield True


def checked(answer: AnyAnswer) -> AnyAnswer:
    """Return an answer that is not `Failed`; raises `AdminRefused` for one that is."""
    if isinstance(answer, Failed):
        raise AdminRefused(answer.text)
    return answer


async def ask_remote(remote: Remote, identity: Identity, request: AnyRequest) -> AnyAnswer:
    """Ask a service elsewhere, as an administrator; returns its answer, which is not `Failed`.

    Raises:
        NoService: no service answers there, or it ended before it answered. Another machine than
            the one with this pin learns nothing.
        AdminRefused: the key is no administrator's, or the service refused the request.
        NotUnderstood: the request is too large, or the answer is none.
    """
    data, where = encode_request(request), f"at {remote.address}"
    try:
        link = await tls_connect(parse_address(remote.address), remote.pin)
    except WrongPin as error:
        raise NoService(where, ANOTHER.format(found=error.found)) from error
    except Unreachable as error:
        raise NoService(where, error.why) from error
    try:
        async with asyncio.timeout(LONGEST_WAIT):
            await _prove(link, identity)
            await link.send([AdminRequest(data)])
            return checked(_answer_in(await link.receive(), identity))
    except TimeoutError:
        raise NoService(where, "it did not answer in time") from None
    except (ConnectionLost, FrameError) as error:
        raise NoService(where, str(error)) from error
    finally:
        await link.close()


def _answer_in(frame: ServerFrame, identity: Identity) -> AnyAnswer:
    match frame:
        case AdminAnswer(answer=answer):
            return decode_answer(answer)
        case FrameRefused(text=text):
            raise AdminRefused(f"{text}; your key is {identity.key}")
        case _:
            raise ConnectionLost(OTHER)


async def _prove(link: ClientConnection, identity: Identity) -> None:
    """Sign the service's challenge."""
    nonce = new_nonce()
    await link.send([AdminHello(identity.key, nonce)])
    match await link.receive():
        case Challenge(nonce=theirs):
            meeting = Transcript("", "", identity.key, nonce, theirs, link.channel or "")
            await link.send([Prove(identity.sign(meeting.encode_for_admin()))])
        case FrameRefused(text=text):
            raise AdminRefused(text)
        case _:
            raise ConnectionLost(OTHER)


def _answer(sock: socket.socket, request: AnyRequest) -> AnyAnswer:
    data = encode_request(request)
    sock.settimeout(LONGEST_WAIT)
    try:
        sock.sendall(data + b"\n")
        with sock.makefile("rb") as lines:
            line = lines.readline(ANSWER_BYTES + 1)
    except OSError as error:
        raise NoService(HERE, reason(error)) from error
    if not line:
        raise NoService(HERE, "it hung up; it is another user's, or was ended just now")
    return checked(decode_answer(line))
