"""What can go wrong around a room.

RoomError
├── InvalidName     a name that nobody may use
├── FrameError      bytes that are no frame of this protocol
├── RoomRefused     the room did not let this participant in, or put them out
├── Unreachable     nothing answers at the address
├── AddressInUse    the port to listen on is taken
└── NotLoopback     an address beyond this machine, which is not allowed yet
"""

from genie_core.errors import GenieError
from genie_core.room.frame import Refusal


class RoomError(GenieError):
    """Root of this package's errors."""


class InvalidName(RoomError):
    """A name that nobody may use in a room."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"the name {name!r} can't be used: {why}")
        self.name = name
        self.why = why


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


class Unreachable(RoomError):
    """Nobody answers at an address."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"can't reach a room at {address}: {why}")
        self.address = address


class AddressInUse(RoomError):
    """Another program listens on the port already."""

    def __init__(self, address: str) -> None:
        super().__init__(f"{address} is taken by another program; choose another port with --port")
        self.address = address


class NotLoopback(RoomError):
    """The address leads beyond this machine, and this version has no TLS and no invites."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"{address} is not on this machine: rooms beyond loopback need TLS and an invite, "
            "which this version does not have yet; use 127.0.0.1"
        )
        self.address = address
