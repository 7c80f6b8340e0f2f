"""The log docs/session-format.jsonl: an event of each type, as a host records and people sign them.

`PYTHONPATH=src:. python -m tests.docs.sample_log` prints its lines.
"""

import hashlib
import sys
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    ChangeBody,
    DecisionMade,
    EngineChanged,
    Event,
    FileRef,
    HeirsChanged,
    HostConfirmed,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    PreferencesChanged,
    ReactionChanged,
    RecoveredEvent,
    RoomCreated,
    RoomSuspended,
    RunBody,
    RunCancelled,
    RunFailed,
    Spending,
    UnreadableEvent,
)
from genie_core.room.security.chain import link_of
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.security.keys import key_text
from genie_core.room.security.signing import sign
from genie_core.room.server.log_window import LogWindow
from genie_core.sessions.log.format import encode_line

START = 1795219200.0
SPENT = (Spending("system", "openai:gpt-5", 1, 812, 41, seconds=2.1, cost=0.0012),)


def _identity(name: str) -> Identity:
    """A key that is the same each time."""
    return Identity(Ed25519PrivateKey.from_private_bytes(_digest(f"key of {name}")))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


ANN, BOB, CAT = _identity("ann"), _identity("bob"), _identity("cat")
PEOPLE = {"ann": ANN, "bob": BOB}


class SampleRoom:
    """A room of ann's, whose clock ticks once per event."""

    def __init__(self) -> None:
        with patch("secrets.token_urlsafe", return_value="c2FtcGxlLW5vbmNlLTE"):
            founding = found_room(ANN, "2026-11-21-standup-3fk9", "Standup")
        self.room = room_id(founding)
        self.log = LogWindow([], identity=ANN)
        self.add(ROOM, RoomCreated(self.room, "Standup", founding))

    def add(self, by: str, body: AnyBody) -> int:
        """Record an event, as its author would sign it; return its number."""
        if isinstance(body, PreferencesChanged | MessagePosted | HostConfirmed):
            body = sign(PEOPLE[by], self.room, body, "", self._previous(by))
        elif isinstance(body, MemberJoined):
            body = sign(PEOPLE[by], self.room, body, by, self._previous(by))
        elif isinstance(body, RunBody | ChangeBody):
            about = self.log.state.threads[body.message].about(body, by)
            body = sign(PEOPLE[by], self.room, body, about, self._previous(by))
        return self.log.record(by, body, START + self.log.head + 1).seq

    def _previous(self, by: str) -> bytes:
        return next(reversed(self.log.state.signatures.get(by, ())), b"")

    def link_of_claim(self) -> bytes:
        """The link of cat's claim to host, in a log that went on without ann."""
        state = self.log.state
        claim = sign(CAT, self.room, HostStarted("cat", key=CAT.key), state.link)
        return link_of(Event(state.head + 1, START + 400, ROOM, claim, state.link))


def sample_events() -> list[Event]:
    room = SampleRoom()
    pin = key_text(_digest("certificate of ann"))
    room.add(ROOM, HostStarted("ann", key=ANN.key, pin=pin))
    agent = "openai:gpt-5"
    room.add("ann", MemberJoined("host", True, agent, ANN.key, "d1", visit="v1"))
    room.add("bob", MemberJoined("guest", False, "", BOB.key, "d2", visit="v2"))
    room.add("bob", PreferencesChanged("Answer in one sentence."))
    room.add("ann", HeirsChanged(("bob",), after=300.0))
    room.add(ROOM, ArgumentSharingChanged(True))
    room.add("ann", EngineChanged("offline helper", "d1"))
    notes = FileRef(hashlib.sha256(b"x").hexdigest(), "notes.txt", 1, "text/plain")
    text, asked = "genie, list the files", ("ann", False, "d1", (notes,))
    said = room.add("bob", MessagePosted("m1", text, *asked, visits=("v2",)))
    why = "Bob asks for something."
    decided = DecisionMade(said, "delegate", why, "List the files.", "bob", 0.4, spent=SPENT)
    room.add("ann", decided)
    call = (said, "a1", "system", "list_files", {"path": "."}, "ann's machine")
    room.add("ann", ApprovalRequested(*call, because="a guest asked", risk="read", binding="4f1c"))
    room.add("ann", ApprovalResolved(said, "a1", "approved"))
    answer = room.add("ann", AnswerPosted(said, "notes.txt", "bob", 1.7, spent=SPENT))
    about = room.log.state.signature_of(answer) or b""
    reply = MessagePosted(
        "m2", "thanks", "ann", device="d1", visits=("v2",), reply_to=answer, about=about
    )
    thanks = room.add("bob", reply)
    room.add("ann", DecisionMade(thanks, "ignore", "The message asks for nothing."))
    room.add("ann", MemberModerated("role", "bob", "member"))
    room.add("bob", MessageEdited(thanks, "Thank you."))
    room.add("ann", ReactionChanged(thanks, "👍"))
    said = room.add("ann", _request("m3", "genie, write it down"))
    room.add("ann", DecisionMade(said, "delegate", query="Write it down."))
    error = (
        "agent 'system' of ann: the connection to the model broke off in the middle of an answer; "
        "ann sees the details"
    )
    room.add("ann", RunFailed(said, "agent", error, text="I have written"))
    said = room.add("ann", _request("m4", "genie, once more"))
    room.add("ann", DecisionMade(said, "delegate", query="Once more."))
    room.add("ann", RunCancelled(said, "stopped by ann", text="Once upon a"))
    room.add("ann", MessageDeleted(said))
    away = sign(BOB, room.room, MessagePosted("m5", "said while ann was away", visits=("v2",)), "")
    lost = Event(40, START - 200, "bob", away, room.link_of_claim())
    room.add("bob", RecoveredEvent(lost))
    room.add("bob", HostConfirmed(room.link_of_claim()))
    room.add(ROOM, MemberLeft("bob", device="d2"))
    room.add(ROOM, UnreadableEvent("the log is damaged here"))
    host_record = sign_host_record(
        BOB,
        room=room.room,
        host="bob",
        pin=key_text(_digest("certificate of bob")),
        addresses=("192.168.1.20:7654",),
        at=START + 25,
    )
    room.add(ROOM, RoomSuspended(heir="bob", host_record=host_record))
    return room.log.remembered()


def _request(id_: str, text: str) -> MessagePosted:
    return MessagePosted(id_, text, "ann", device="d1", visits=("v1",))


def sample_lines() -> list[bytes]:
    return [encode_line(event) for event in sample_events()]


if __name__ == "__main__":
    sys.stdout.buffer.writelines(sample_lines())
