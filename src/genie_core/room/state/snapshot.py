"""A room's state as bytes, from which a fold can continue."""

import zlib
from collections.abc import Callable
from typing import Final

import msgspec

from genie_core.room.protocol.events import FileRef, Role, RoomSuspended
from genie_core.room.protocol.founding import Founding
from genie_core.room.state.costs import Costs
from genie_core.room.state.entry_set import EntrySet
from genie_core.room.state.members import Members, Person
from genie_core.room.state.reading import Reading
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.succession import Link, Succession
from genie_core.room.state.thread import MessageThread, Reactions, ToolApproval
from genie_core.runtime.progress import Usage

VERSION: Final = 13
"""Raise it at every change to a state's fields or to the fold."""

MOST_BYTES: Final = 512 * 1024 * 1024
"""A limit above any state's size; data that unpacks to more is invalid."""


class _Sum(msgspec.Struct, array_like=True):
    payer: str
    agent: str
    model: str
    usage: Usage
    unpriced: bool


class _Checkpoint(msgspec.Struct, array_like=True):
    """The fields of a `RoomState`; a message referred to several times is stored once."""

    version: int
    room: str
    title: str
    host: str
    hosting: bool
    head: int
    floor: int
    messages: int
    people: list[Person]
    threads: list[MessageThread]
    calls: list[ToolApproval]
    running: list[int]
    open: list[str]
    parked: list[str]
    unreadable: list[int]
    host_key: str
    pin: str
    hostings: list[int]
    hosts: list[str]
    heir: RoomSuspended | None
    sharing: bool
    keys: dict[str, str]
    roles: dict[str, Role]
    banned: dict[str, str]
    muted: list[str]
    recovered: dict[int, int]
    inherited: list[tuple[int, int]]
    costs: list[_Sum]
    silence: dict[str, Usage]
    preferences: dict[str, str]
    files: list[FileRef]
    repeated: list[int]
    founding: Founding | None
    link: bytes
    links: list[Link]
    succession: Succession
    last_at: float
    doubts: list[tuple[int, str]]
    doubtful: int
    signatures: dict[str, list[bytes]]
    reading: Reading
    amended: dict[int, int]
    reactions: dict[int, tuple[Reactions, Reactions]]


# JSON as in the log: a tool may be called with numbers for which other formats have no room.
_encode: Final = msgspec.json.Encoder().encode
_decode: "Final[Callable[[bytes], _Checkpoint]]" = msgspec.json.Decoder(_Checkpoint).decode


class _Version(msgspec.Struct, array_like=True):
    version: int


def encode_state(state: RoomState, *, entries: bool = True) -> bytes:
    """Encode a state; equal histories give equal bytes.

    Without `entries`, in bounded size: to read a log whose `repeated` entries are known.
    """
    costs = state.costs
    checkpoint = _Checkpoint(
        VERSION,
        state.room,
        state.title,
        state.host,
        state.hosting,
        state.head,
        state.floor,
        state.messages,
        list(state.people.values()),
        list(state.threads.values()),
        list(state.calls.values()),
        list(state.running),
        list(state.open),
        list(state.parked),
        sorted(state.unreadable),
        state.host_key,
        state.pin,
        state.hostings,
        sorted(state.hosts),
        state.heir,
        state.sharing,
        state.keys,
        state.roles,
        state.banned,
        sorted(state.muted),
        state.recovered,
        sorted(state.inherited),
        [_Sum(*key, usage, key in costs.unpriced) for key, usage in costs.by_key.items()],
        costs.silence,
        state.preferences,
        list(state.files.values()),
        state.repeated,
        state.founding,
        state.link,
        state.links,
        state.succession,
        state.last_at,
        list(state.doubts.items()),
        state.doubtful,
        state.signatures,
        state.reading,
        state.amended,
        state.reactions,
    )
    return zlib.compress(_encode(checkpoint), 1) + (state.entries.encode() if entries else b"")


def decode_state(data: bytes) -> RoomState:
    """Decode a state; folding continues from it as from the original.

    Raises:
        ValueError: it is none, or of another version of this program.
    """
    try:
        unpacking = zlib.decompressobj()
        plain = unpacking.decompress(data, MOST_BYTES)
        if not unpacking.eof:
            raise ValueError("the state is not whole")
        if msgspec.json.decode(plain, type=_Version).version != VERSION:
            raise ValueError("the state is of another version")
        return _restored(_decode(plain), EntrySet(unpacking.unused_data))
    except (zlib.error, KeyError, RecursionError) as error:
        raise ValueError(f"this is no state: {error}") from error


def _restored(saved: _Checkpoint, entries: EntrySet) -> RoomState:
    state = RoomState()
    state.entries = entries
    for name in ("room", "title", "host", "hosting", "head", "floor", "messages", "host_key"):
        setattr(state, name, getattr(saved, name))
    for name in ("founding", "links", "succession", "last_at", "doubtful", "signatures", "reading"):
        setattr(state, name, getattr(saved, name))
    state.doubts = dict(saved.doubts)
    state.continue_from(saved.link)
    for name in (
        "pin",
        "hostings",
        "heir",
        "sharing",
        "recovered",
        "amended",
        "reactions",
        "repeated",
    ):
        setattr(state, name, getattr(saved, name))
    state.members = Members(
        {person.name: person for person in saved.people},
        saved.keys,
        saved.roles,
        saved.banned,
        set(saved.muted),
        saved.preferences,
    )
    state.threads = {thread.seq: thread for thread in saved.threads}
    state.calls = {call.id: call for call in saved.calls}
    state.running = {seq: state.threads[seq] for seq in saved.running}
    state.open = {id_: state.calls[id_] for id_ in saved.open}
    state.parked = {id_: state.calls[id_] for id_ in saved.parked}
    state.unreadable = set(saved.unreadable)
    state.hosts = set(saved.hosts)
    state.inherited = set(saved.inherited)
    sums = {(each.payer, each.agent, each.model): each for each in saved.costs}
    state.costs = Costs(
        {key: each.usage for key, each in sums.items()},
        saved.silence,
        {key for key, each in sums.items() if each.unpriced},
    )
    state.files = {file.digest: file for file in saved.files}
    return state
