"""Limits of a room; each can be set."""

from typing import Annotated, Final

import msgspec

CHUNK_BYTES: Final = 96 * 1024
"""Size of a piece of a file; in a frame it takes a third more."""

WORK_RATE: Final = 20
"""How many times as often as a person may post an engine may report."""


AGENT_BURST: Final = 6
"""How many messages an agent that is a member may post in one go."""

AGENT_PER_MINUTE: Final = 12
"""How many messages a minute it may post after that."""

AGENT_TURNS: Final = 10
"""How many messages all agents together may post before a person has to write again."""


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits of the room, in bytes, characters, people and messages.

    `volume` is how many bytes one person may have recorded in one go. `terminals` is how many of
    one person may be connected, `joins` the arrivals from one address per minute, `handshake` the
    seconds until authentication, and `half_open` how many connections may be before it, in total.
    `file_bytes` limits one attached file, `files_bytes` all files of the room, `quote_chars` the
    quotes of one message.
    """

    frame_bytes: Annotated[int, msgspec.Meta(ge=16 * 1024, le=4 * 1024 * 1024)] = 256 * 1024
    text_chars: Annotated[int, msgspec.Meta(ge=1, le=500_000)] = 16_000
    members: Annotated[int, msgspec.Meta(ge=1)] = 64
    burst: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] = 20
    per_second: Annotated[float, msgspec.Meta(ge=0.001, le=1e9)] = 5.0
    volume: Annotated[int, msgspec.Meta(ge=1)] = 2 * 1024 * 1024
    replies: Annotated[int, msgspec.Meta(ge=1)] = 256
    signals: Annotated[int, msgspec.Meta(ge=1)] = 256
    terminals: Annotated[int, msgspec.Meta(ge=1)] = 4
    joins: Annotated[int, msgspec.Meta(ge=1)] = 60
    handshake: Annotated[float, msgspec.Meta(gt=0)] = 10.0
    half_open: Annotated[int, msgspec.Meta(ge=1)] = 128
    file_bytes: Annotated[int, msgspec.Meta(ge=0)] = 25 * 1024 * 1024
    files_bytes: Annotated[int, msgspec.Meta(ge=0)] = 2 * 1024 * 1024 * 1024
    files: Annotated[int, msgspec.Meta(ge=0, le=256)] = 16
    quote_chars: Annotated[int, msgspec.Meta(ge=0)] = 60_000
