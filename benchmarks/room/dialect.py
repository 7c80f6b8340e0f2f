"""How each server is spoken to, beyond WebSocket: coming in, saying something, hearing it."""

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Protocol

from benchmarks.room.plan import ROOM, TERMINAL
from genie_core.room.protocol.codec import decode_server, encode
from genie_core.room.protocol.events import MemberJoined, MessagePosted
from genie_core.room.protocol.frames import (
    Arrival,
    Challenge,
    Entries,
    FrameRefused,
    Hello,
    PostMessage,
    Prove,
    Welcome,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.certificate import pin_of
from genie_core.room.security.challenge import Transcript, new_nonce
from genie_core.room.security.identity import Identity
from genie_core.room.security.signing import sign

Ask = Callable[[bytes], bytes]
"""Sends one message and waits for the next."""


class Dialect(Protocol):
    """What one client says and hears."""

    path: str

    def enter(self, ask: Ask, certificate: bytes) -> None:
        """Come in; `PermissionError` if the server does not want that."""

    def say(self, text: str) -> bytes:
        """The message that says this to everybody."""

    def heard(self, payload: bytes) -> Iterator[str]:
        """What people said, in a message from the server."""


def dialect(subject: str, name: str) -> Dialect:
    """The way in which a client of this name speaks to a server."""
    if subject == ROOM:
        return Participant(name)
    return User(name) if subject == TERMINAL else Listener()


class Participant:
    """Speaks to the room: proves a key of its own, takes a guest's seat."""

    path = "/"

    def __init__(self, name: str) -> None:
        self._name = name
        self._identity = Identity.generate()
        self._room = ""

    def enter(self, ask: Ask, certificate: bytes) -> None:
        identity, nonce = self._identity, new_nonce()
        hello = Hello(self._name, key=identity.key, nonce=nonce)
        challenge = decode_server(ask(encode(hello)))
        if not isinstance(challenge, Challenge):
            raise PermissionError(challenge)
        channel = pin_of(certificate) if certificate else ""
        meeting = Transcript(
            challenge.room, self._name, identity.key, nonce, challenge.nonce, channel
        )
        self._room = challenge.room
        answer = decode_server(ask(encode(proof(identity, meeting))))
        if not isinstance(answer, Welcome):
            raise PermissionError(answer)

    def say(self, text: str) -> bytes:
        return encode(signed_post(self._identity, self._room, text.rsplit(" ", 1)[0], text))

    def heard(self, payload: bytes) -> Iterator[str]:
        frame = decode_server(payload)
        if isinstance(frame, FrameRefused):
            raise PermissionError(frame)
        if isinstance(frame, Entries):
            for event in frame.events:
                if isinstance(event.body, MessagePosted):
                    yield event.body.text


def proof(identity: Identity, meeting: Transcript, *, engine: bool = False) -> Prove:
    """The answer to a challenge, with the signed entry that follows from it."""
    device = secrets.token_hex(8)
    joined = MemberJoined("member", engine, key=identity.key, device=device)
    signature = sign(identity, meeting.room, joined, fold_name(meeting.name)).signature
    arrival = Arrival(engine=engine, device=device, signature=signature)
    return Prove(identity.sign(meeting.encode()), arrival=arrival)


def signed_post(identity: Identity, room: str, id_: str, text: str) -> PostMessage:
    """A message with its author's signature."""
    signature = sign(identity, room, MessagePosted(id_, text), "").signature
    return PostMessage(id_, text, signature=signature)


class User:
    """Speaks to group-terminal as its own client does."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.path = f"/ws/{name}"

    def enter(self, ask: Ask, certificate: bytes) -> None:
        del certificate
        answer = json.loads(ask(json.dumps({"type": "connect", "username": self._name}).encode()))
        if not answer.get("success"):
            raise PermissionError(answer)

    def say(self, text: str) -> bytes:
        return json.dumps({"type": "chat_message", "content": text}).encode()

    def heard(self, payload: bytes) -> Iterator[str]:
        message = json.loads(payload)
        if message.get("type") == "chat_message":
            yield message["content"]


class Listener:
    """Speaks to a server that passes each line on to all clients."""

    path = "/"

    def enter(self, ask: Ask, certificate: bytes) -> None:
        del ask, certificate

    def say(self, text: str) -> bytes:
        return text.encode()

    def heard(self, payload: bytes) -> Iterator[str]:
        yield payload.decode()
