"""Signing and verifying a person's entries in one room."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.protocol.events import (
    MOST_VISITS,
    MessageEdited,
    MessagePosted,
    PreferencesChanged,
    RunBody,
    SealedBody,
    SignedBody,
)
from genie_core.room.protocol.frames import (
    AnswerApproval,
    ApprovalAnswered,
    ChangeMessage,
    ClientFrame,
    PostMessage,
    Publish,
    SetPreferences,
    posted_by,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.sealing import seal
from genie_core.room.security.signing import About, answered, reported, sign, sign_answer, wrote
from genie_core.room.state.private import PrivateReader
from genie_core.room.state.room_state import RoomState

T = TypeVar("T", bound=SignedBody)
S = TypeVar("S", bound=SealedBody)


class Signer:
    """Signs frames for one person, and verifies entries that the room attributes to them.

    Nothing is signed before the handshake supplies the room's id. `state` is the room so far.
    """

    def __init__(self, who: ClientHandshake) -> None:
        self._who = who
        self._sent: set[str] = set()
        self.state = RoomState()
        who.previous = self._previous

    @property
    def key(self) -> str:
        return self._who.identity.key

    @property
    def name(self) -> str:
        return self._who.name

    @property
    def reader(self) -> PrivateReader:
        """Opens content sealed for this person."""
        return PrivateReader(self._who.identity)

    def note(self, id_: str) -> None:
        self._sent.add(id_)

    def sign(self, frame: ClientFrame) -> ClientFrame:
        """Return the frame to send: a frame that becomes an entry gets a signature.

        Call it only when all events so far have arrived.
        """
        match frame:
            case PostMessage():
                visits = tuple(dict.fromkeys([self._who.visit, *self._visits()]))[:MOST_VISITS]
                entry = self._signed(replace(posted_by(frame), visits=visits))
                return replace(
                    frame, visits=visits, previous=entry.previous, signature=entry.signature
                )
            case Publish(body=body):
                return replace(frame, body=self.sign_report(body))
            case ChangeMessage(body=body):
                thread = self.state.threads.get(body.message)
                about = thread.about(body, self.name) if thread is not None else b""
                if isinstance(body, MessageEdited) and thread is None:
                    body = replace(body, text="")  # it is not known who may read it
                elif isinstance(body, MessageEdited) and thread is not None:
                    body = self.sealed_for(body, thread.said.to)
                return replace(frame, body=self._signed(body, about))
            case SetPreferences(text=text):
                changed = self._signed(PreferencesChanged(text))
                return replace(frame, previous=changed.previous, signature=changed.signature)
            case AnswerApproval():
                return sign_answer(self._who.identity, self._who.room, frame)
        return frame

    def sign_report(self, body: RunBody) -> RunBody:
        """Return a step of this person's engine with their signature."""
        thread = self.state.threads.get(body.message)
        return body if thread is None else self._signed(body, thread.said.signature)

    def sealed(self, body: RunBody) -> RunBody:
        """Return a step of this person's engine; sealed for them alone if the message is private."""
        thread = self.state.threads.get(body.message)
        private = thread is not None and thread.is_private
        return seal(body, self.key, [self.key]) if private else body

    def sealed_for(self, body: S, name: str) -> S:
        """Return a body sealed for this person and the member of that name; itself without one.

        For a member whose key the room does not know, it is sealed for this person alone: the host
        refuses it.
        """
        if not name:
            return body
        readers = dict.fromkeys([self.key, self.state.keys.get(fold_name(name), self.key)])
        return seal(body, self.key, readers)

    def wrote(self, said: MessagePosted) -> bool:
        return any(wrote(self.key, room, said) for room in self._rooms())

    def is_current(self, said: MessagePosted) -> bool:
        """Whether a message comes from here, or from another terminal that knew of this one.

        Without this check, a host could replay an old message to a member without a copy of the log.
        """
        return said.id in self._sent or self._who.visit in said.visits

    def reported(self, said: MessagePosted, body: RunBody) -> bool:
        return any(reported(self.key, room, said, body) for room in self._rooms())

    def answered(self, answer: ApprovalAnswered) -> bool:
        """Whether this person gave an answer that the room forwards."""
        return answered(self.key, self._who.room, answer)

    def _signed(self, body: T, about: About = "") -> T:
        return sign(self._who.identity, self._who.room, body, about, self._previous())

    def _previous(self) -> bytes:
        """The start of this person's latest signature in the room."""
        return next(reversed(self.state.signatures.get(fold_name(self._who.name), ())), b"")

    def _visits(self) -> Iterable[str]:
        """The visits of this person's terminals in the room."""
        person = self.state.people.get(self._who.name)
        return [each.visit for each in person.terminals.values() if each.visit] if person else []

    def _rooms(self) -> set[str]:
        """The id of the room, and that which it had before it was founded."""
        founding = self.state.founding
        return {self._who.room, founding.before if founding is not None else ""} - {""}
