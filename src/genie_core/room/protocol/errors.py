"""Errors of rooms.

RoomError ├── InvalidName     a name that is not allowed ├── IdentityError   the file of a person's
key can't be used ├── InvalidKey      a text that is no public key ├── CertificateError  the file of
a host's certificate can't be used ├── InvalidCertificate  a peer's certificate that can't be parsed
├── InvalidInvite   a text that is no invite, or not a whole one ├──
InvitesUnknown  the host's program can't issue invites for others ├── QuietUnknown  a program doesn't
know quiet messages ├── InvalidInviteTokens  a room's saved
invite tokens can't be used ├── FrameError      bytes that are no frame of this protocol ├──
RoomRefused     the room refused or removed this participant ├── ConnectionLost  the connection to a
peer ended ├── Diverged        the host's log and the copy here contradict each other ├──
Contradiction   the host's log contradicts itself ├── KnownRoom       the room at an address has a
copy here ├── OtherHost       the host is unknown to the room's copy ├── LeftInDisorder  leaving
failed in part (in `participant.receipt`) ├── TooLong         a text that is longer than the room
accepts ├── NotPrivate      a message that can't be sent privately ├── TooManyUnsent   too many messages wait to be sent ├── NoSuchFile      a file that can't
be attached or is not here ├── NoEngine        there is no engine here, or none yet ├──
InvalidAddress  a text that is not HOST:PORT ├── Unreachable     nothing answers at the address │
└── WrongPin    a machine other than the host answers ├── AddressInUse    the port to listen on is
taken ├── CannotListen    the system refuses to listen at the address └── NotLoopback     an address
beyond this machine, where an invite is needed
"""

from collections.abc import Sequence
from pathlib import Path

from genie_core.errors import GenieError
from genie_core.room.protocol.frames import Challenge, Refusal


class RoomError(GenieError):
    """Root of this package's errors."""


class InvalidName(RoomError):
    """A name that is not allowed in a room."""

    template = "the name {name!r} can't be used: {why}"
    name: str
    why: str


class IdentityError(RoomError):
    """The file that holds a person's private key can't be used."""

    template = (
        "the key in {path} can't be used: {why}; bring it back from a backup, or move it away "
        "and a new one is created, under which rooms see you as another person"
    )
    path: Path
    why: str


class InvalidKey(RoomError):
    """A text that is no public key."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:64]!r} is no public key")
        self.text = text


class CertificateError(RoomError):
    """The file that holds this machine's certificate can't be used."""

    template = (
        "the certificate in {path} can't be used: {why}; bring it back from a backup, or move "
        "it away and a new one is made, to which people must be invited anew"
    )
    path: Path
    why: str


class InvalidCertificate(RoomError):
    """A peer's certificate that can't be parsed."""

    template = "the host shows a certificate that can't be understood"


class InvalidInvite(RoomError):
    """A text that is no invite, or not a whole one."""

    template = "this invite can't be used: {why}; copy it again as a whole, or ask for another"
    why: str


class InvitesUnknown(RoomError):
    """The host's program can't issue invites for others."""

    template = "the program of {host} is older and issues invites to the host alone; ask {host}"
    host: str


class QuietUnknown(RoomError):
    """Someone's program doesn't know quiet messages, and would not prove one."""

    template = (
        "`/quiet` needs a newer program: {whose} does not know quiet messages; write it without"
    )
    whose: str


class InvalidInviteTokens(RoomError):
    """A room's saved invite tokens can't be used."""

    template = "the saved invites of the room can't be understood; invite people anew"


class FrameError(RoomError):
    """A peer sent bytes that are no frame of this protocol."""

    template = "{why}"
    code: Refusal
    why: str


class RoomRefused(RoomError):
    """The room refused a participant for good; retrying is useless."""

    template = "{text}"
    code: Refusal
    text: str


class ConnectionLost(RoomError):
    """The connection ended, from either side and for any reason."""


class Diverged(RoomError):
    """The host's log and the copy here are different logs.

    The host's log ends at event `there`, before the copy's end `here`, or it is longer and its
    event `here` differs. `points` are where they may have diverged; see `frames.ForkPoints`.
    """

    def __init__(self, here: int, there: int, points: Sequence[tuple[int, int]] = ()) -> None:
        if there < here:
            what = f"the host's log of this room ends at event {there}, the copy here at {here}"
        else:
            what = (
                f"event {here} is another one in the host's log of this room than in the copy here"
            )
        super().__init__(f"{what}; join again to go on from the host's")
        self.here = here
        self.there = there
        self.points = tuple(points)


class Contradiction(RoomError):
    """The host's log contradicts its earlier part; reconnecting would not help."""

    template = (
        "the host's log of this room contradicts itself, so it can't be followed: {why}. Your "
        "copy has everything before that; tell the host, or host the room from your copy"
    )
    why: str


class UnprovenHost(RoomError):
    """The log of a host names a host that no earlier one let host the room."""

    template = (
        "{host} does not prove to host this room: {why}. Nothing you wrote was sent there, and "
        "your copy has everything before that; ask the people of the room who hosts it"
    )
    host: str
    why: str


class NotAnHeir(RoomError):
    """No host of the room made this person an heir, so members would not follow them."""

    template = (
        "you can't host {title!r} in {host}'s place: {host} has not named you as an heir. Members "
        "would not follow; to host a copy as a room of your own: genie-tui sessions fork"
    )
    title: str
    host: str


class KnownRoom(RoomError):
    """The room at an address has a copy here to continue.

    `pin` is that of the certificate found there, `key` the host's key, as far as it was proven, and
    `challenge` the host's claim to the room.
    """

    def __init__(
        self, room: str, pin: str = "", key: str = "", challenge: Challenge | None = None
    ) -> None:
        super().__init__(f"there is a copy of the room {room} here already")
        self.room = room
        self.pin = pin
        self.key = key
        self.challenge = challenge or Challenge("", room)


class OtherHost(RoomError):
    """A host that a copy does not know claims the id of that copy's room.

    It received only the person's name and key. `title` and `host` are those of the copy.
    """

    def __init__(self, room: str, title: str = "", host: str = "") -> None:
        super().__init__(
            f"you already have a copy of the room {title or room!r} with this id, hosted by "
            f"{host or 'another host'}. This invite or address leads to another host, which your "
            "copy does not know; your copy was not opened, and nothing of it was sent. To "
            "open it as a separate room: genie-tui join --separate INVITE"
        )
        self.room = room
        self.title = title
        self.host = host


class UnfoundedRoom(RoomError):
    """A host of a room that is new here shows no founding of it, or not that of the invite's room."""

    template = (
        "the host does not prove that its room {room!r} is the one you asked for: the "
        "founder's signature is missing, or is that of another room. Only your name and your "
        "public key were sent. Ask the person who invited you for a new invite"
    )
    room: str


class TooLong(RoomError):
    """A text is longer than the room accepts; nothing was sent."""

    template = "the message has {length:,} characters, this room takes {limit:,}"
    length: int
    limit: int


class NotPrivate(RoomError):
    """A message can't be sent so that only one member can read it; nothing was sent."""


class TooManyUnsent(RoomError):
    """Too many messages wait for the connection; this one was not accepted."""

    template = "{limit:,} messages wait to be sent already; wait for the connection"
    limit: int


class NoSuchFile(RoomError):
    """A file that can't be attached, saved or opened."""

    template = "{name}: {why}"
    name: str
    why: str


class NoEngine(RoomError):
    """An engine was needed that is not there."""

    template = "{why}"
    why: str = "your engine is not loaded here, so there is nothing to change"


class InvalidAddress(RoomError):
    """A text that names no address."""

    template = (
        "{text!r} is no address: {why}; an invite begins with genie1-, "
        "and an address on this machine is like :7654"
    )
    text: str
    why: str


class Unreachable(RoomError):
    """Nothing answers at an address."""

    template = "can't reach a room at {address}: {why}"
    address: str
    why: str


class WrongPin(Unreachable):
    """Another machine than the expected host answers at the address."""

    def __init__(self, address: str, expected: str, found: str) -> None:
        super().__init__(
            address,
            f"ANOTHER MACHINE ANSWERS: its certificate has the fingerprint {found}, the host's "
            f"has {expected}; nothing was sent to it. Ask the host, by another way, for a new "
            "invite",
        )
        self.expected = expected
        self.found = found


class AddressInUse(RoomError):
    """Another program listens on the port already."""

    template = "{address} is taken by another program; choose another port with --port"
    address: str


class CannotListen(RoomError):
    """The system refuses to let us listen at an address."""

    template = "can't listen at {address}: {why}"
    address: str
    why: str


class NotLoopback(RoomError):
    """The address is beyond this machine, where an invite is needed."""

    template = (
        "{address} is not on this machine: rooms elsewhere are joined by an invite; "
        "ask the host for one (/invite) and type: genie-tui join INVITE"
    )
    address: str
