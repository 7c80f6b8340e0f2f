"""What can go wrong around a room.

RoomError
├── InvalidName     a name that nobody may use
├── IdentityError   the file of a person's key can't be used
├── InvalidKey      a text that is no public key
├── CertificateError  the file of a host's certificate can't be used
├── InvalidCertificate  a peer's certificate that can't be understood
├── InvalidInvite   a text that is no invite, or not a whole one
├── InvalidPasses   what was saved of a room's passes can't be used
├── FrameError      bytes that are no frame of this protocol
├── RoomRefused     the room did not let this participant in, or put them out
├── ConnectionLost  the connection to a peer ended
├── Diverged        the host's log and the copy here contradict each other
├── Contradiction   the host's log can't be true, so it can't be followed
├── KnownRoom       the room met is one of which there is a copy
├── OtherHost       the host is not one that the copy of the room knows
├── LeftInDisorder  leaving failed in part (in `participant.receipt`)
├── TooLong         a text that is longer than the room takes
├── TooManyUnsent   more waits to be sent than is kept
├── NoSuchFile      a file that can't be attached or is not here
├── NoEngine        there is no engine here, or none yet
├── InvalidAddress  what should be HOST:PORT is not
├── Unreachable     nothing answers at the address
│   └── WrongPin    another machine than the host's does
├── AddressInUse    the port to listen on is taken
├── CannotListen    the system does not let us listen at the address
└── NotLoopback     an address beyond this machine, where an invite is needed
"""

from collections.abc import Sequence
from pathlib import Path

from genie_core.errors import GenieError
from genie_core.room.protocol.frames import Refusal


class RoomError(GenieError):
    """Root of this package's errors."""


class InvalidName(RoomError):
    """A name that nobody may use in a room."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"the name {name!r} can't be used: {why}")
        self.name = name
        self.why = why


class IdentityError(RoomError):
    """The file that holds a person's private key can't be used."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"the key in {path} can't be used: {why}; bring it back from a backup, or move it away "
            "and a new one is made, with which rooms will take you for somebody else"
        )
        self.path = path
        self.why = why


class InvalidKey(RoomError):
    """A text that is nobody's public key."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:64]!r} is no public key")
        self.text = text


class CertificateError(RoomError):
    """The file that holds this machine's certificate can't be used."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"the certificate in {path} can't be used: {why}; bring it back from a backup, or move "
            "it away and a new one is made, to which people must be invited anew"
        )
        self.path = path
        self.why = why


class InvalidCertificate(RoomError):
    """A peer showed a certificate that can't be understood."""

    def __init__(self) -> None:
        super().__init__("the host shows a certificate that can't be understood")


class InvalidInvite(RoomError):
    """A text that is no invite, or not a whole one."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"this invite can't be used: {why}; copy it again as a whole, or ask for another"
        )
        self.why = why


class InvalidInviteTokens(RoomError):
    """What was saved of a room's passes can't be used."""

    def __init__(self) -> None:
        super().__init__("the saved invites of the room can't be understood; invite people anew")


class FrameError(RoomError):
    """A peer sent something that is no frame of this protocol."""

    def __init__(self, code: Refusal, why: str) -> None:
        super().__init__(why)
        self.code: Refusal = code


class RoomRefused(RoomError):
    """The room refused a participant for good; trying the same again is of no use."""

    def __init__(self, code: Refusal, text: str) -> None:
        super().__init__(text)
        self.code: Refusal = code


class ConnectionLost(RoomError):
    """The connection ended, from whichever side and for whatever reason."""


class Diverged(RoomError):
    """The host's log and the copy here are not one log.

    The host's ends at event `there`, before the copy's end `here`; or it goes on, and event `here`
    is another one in it. `points` are where they may have parted; see `frames.ForkPoints`.
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
    """The host's log says what can't be, after what it said before; reconnecting would not help."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the host's log of this room contradicts itself, so it can't be followed: {why}. Your "
            "copy has everything before that; tell the host, or host the room from your copy"
        )


class KnownRoom(RoomError):
    """The room at an address turned out to be one of which there is a copy to go on from.

    `pin` is that of the certificate found there, `key` the host's own as far as it was proven.
    """

    def __init__(self, room: str, pin: str = "", key: str = "") -> None:
        super().__init__(f"there is a copy of the room {room} here already")
        self.room = room
        self.pin = pin
        self.key = key


class OtherHost(RoomError):
    """A host that a copy does not know claims the id of that copy's room.

    Nothing but the person's name and key was sent to it. `title` and `host` are those of the copy.
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


class TooLong(RoomError):
    """A text is longer than the room takes; nothing was sent."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"the message has {length:,} characters, this room takes {limit:,}")
        self.length = length
        self.limit = limit


class TooManyUnsent(RoomError):
    """So much waits for the connection that no more is accepted; nothing was sent."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit:,} messages wait to be sent already; wait for the connection")
        self.limit = limit


class NoSuchFile(RoomError):
    """A file that can't be attached, saved or opened."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name


class NoEngine(RoomError):
    """Something was asked of an engine that is not there."""

    def __init__(
        self, why: str = "your engine is not loaded here, so there is nothing to change"
    ) -> None:
        super().__init__(why)


class InvalidAddress(RoomError):
    """A text that names no address."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(
            f"{text!r} is no address: {why}; an invite begins with genie1-, "
            "and an address on this machine is like :7654"
        )
        self.text = text


class Unreachable(RoomError):
    """Nobody answers at an address."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"can't reach a room at {address}: {why}")
        self.address = address


class WrongPin(Unreachable):
    """Somebody answers at the address who is not the host that was meant."""

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

    def __init__(self, address: str) -> None:
        super().__init__(f"{address} is taken by another program; choose another port with --port")
        self.address = address


class CannotListen(RoomError):
    """The system refuses to let us listen at an address."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"can't listen at {address}: {why}")
        self.address = address


class NotLoopback(RoomError):
    """The address leads beyond this machine, where only an invite does."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"{address} is not on this machine: rooms elsewhere are joined by an invite; "
            "ask the host for one (/invite) and type: genie-tui join INVITE"
        )
        self.address = address
