"""What travels between a participant and the room.

One frame is one message on the connection. Frames that belong to the log carry `Event`s and are
never dropped; `Typing`, `Delta` and their relayed forms are ephemeral and may be.
"""

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from genie_core.room.event import Event, Role, RunBody

VERSION: Final = 1
"""Version of the protocol; a peer that speaks another one is refused with both numbers."""

Refusal: TypeAlias = Literal[
    "version",
    "wrong_room",
    "diverged",
    "name_taken",
    "name_invalid",
    "room_full",
    "malformed",
    "too_large",
    "out_of_state",
    "not_responsible",
    "unknown_message",
    "too_long",
    "too_fast",
    "replaced",
    "slow",
    "suspended",
    "disk",
]


class Frame(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """A message of the protocol; `type` names it on the wire."""


class Hello(Frame, tag="hello", frozen=True):
    """First frame of a participant.

    `since` is the last sequence number they have; everything after it follows the welcome. `mark`
    is that event's checksum, by which the room sees whether both have the same log; 0 leaves it
    unchecked. `room` guards against another room at the same address; empty accepts any. `token` reclaims a
    name whose old connection the room still believes in.
    """

    name: str
    version: int = VERSION
    room: str = ""
    since: int = 0
    mark: int = 0
    engine: bool = False
    agent: str = ""
    token: str = ""


class Say(Frame, tag="say", frozen=True):
    """Say something. Acknowledged by the `Said` event with the same id; may be sent again."""

    id: str
    text: str
    emote: bool = False


class Publish(Frame, tag="publish", frozen=True):
    """Report what the sender's engine did. Repeated with the same id, it is recorded once."""

    id: str
    body: RunBody


class Equip(Frame, tag="equip", frozen=True):
    """Tell the room that the sender's engine is ready, or goes by another label now."""

    agent: str


class Typing(Frame, tag="typing", frozen=True):
    """The sender is writing. Ephemeral."""


class Delta(Frame, tag="delta", frozen=True):
    """More text of an answer that is being written. Ephemeral."""

    message: int
    text: str


class Stop(Frame, tag="stop", frozen=True):
    """Ask the engine that runs a message to stop. Only its author or its handler may."""

    message: int


class Bye(Frame, tag="bye", frozen=True):
    """Leave in good order."""

    reason: str = ""


ClientFrame: TypeAlias = Hello | Say | Publish | Equip | Typing | Delta | Stop | Bye


class Limits(msgspec.Struct, frozen=True):
    """What the room accepts; counted in bytes, characters, persons and messages.

    `volume` is how many bytes one person may have recorded at once.
    """

    frame_bytes: int = 256 * 1024
    text_chars: int = 16_000
    members: int = 64
    burst: int = 20
    per_second: Annotated[float, msgspec.Meta(ge=0.001)] = 5.0
    volume: int = 2 * 1024 * 1024
    replies: int = 256
    signals: int = 256


class Welcome(Frame, tag="welcome", frozen=True):
    """The participant is in. `head` is the sequence number that catching up leads to."""

    room: str
    title: str
    name: str
    role: Role
    host: str
    head: int
    token: str
    limits: Limits
    version: int = VERSION


class Entries(Frame, tag="entries", frozen=True):
    """Events in order, without gaps to those sent before."""

    events: tuple[Event, ...]


class Refused(Frame, tag="refused", frozen=True):
    """Something was not accepted. `ref` repeats the id of the frame, if it had one.

    `final` says that the connection ends here and that trying the same again is of no use.
    """

    code: Refusal
    text: str
    ref: str = ""
    final: bool = False


class Typed(Frame, tag="typed", frozen=True):
    """Somebody is writing. Ephemeral."""

    name: str


class Streamed(Frame, tag="streamed", frozen=True):
    """More text of an answer in the making. Ephemeral; the `Answered` event has all of it."""

    message: int
    text: str


class Stopping(Frame, tag="stopping", frozen=True):
    """For the handler of a message: `by` wants its run stopped."""

    message: int
    by: str


class Trouble(Frame, tag="trouble", frozen=True):
    """The host can't write to its disk, so nothing is acknowledged. Empty text: it can again."""

    text: str


ServerFrame: TypeAlias = Welcome | Entries | Refused | Typed | Streamed | Stopping | Trouble
