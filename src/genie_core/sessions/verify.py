"""Verify the signatures of a session, from nothing but its log."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from genie_core.room.protocol.events import (
    ChangeBody,
    Event,
    RecoveredEvent,
    RunBody,
    UnreadableEvent,
    tag,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.signing import reported, wrote
from genie_core.room.state.proofs import NO_MESSAGE
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.signatures import EntrySignature, signature_in
from genie_core.sessions.check import damaged_files
from genie_core.sessions.log.format import AllDamages, fitting
from genie_core.sessions.log.reader import logged
from genie_core.sessions.session import LOG_NAME

NOT_FOUNDED: Final = "the room was not founded by then, and no known key signed it"


@dataclass(frozen=True, slots=True)
class UnprovenEntry:
    """An entry that is not proven, and why."""

    seq: int
    at: float
    by: str
    kind: str
    why: str


@dataclass(slots=True)
class Verification:
    """The result of verifying a log. `signers` counts the proven entries by name and key.

    `problems` describe damage of the log and of attached files.
    """

    room: str = ""
    title: str = ""
    entries: int = 0
    signers: dict[tuple[str, str], int] = field(default_factory=dict)
    unproven: list[UnprovenEntry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def signed(self) -> int:
        """The number of entries that are signed and proven."""
        return sum(self.signers.values())

    @property
    def is_proven(self) -> bool:
        """Whether all entries that people and hosts sign are proven, and nothing is damaged."""
        return not (self.unproven or self.problems)


def verify_session(folder: Path) -> Verification:
    """Read a whole session and check each signature. Locks and changes nothing. Blocks.

    An unfinished last line is passed over.

    Raises:
        DamagedSession: its log is no file.
        DiskFailure: it can't be read.
    """
    found, state = Verification(), RoomState()
    damages, contradictions = AllDamages(), AllDamages()
    for each in logged(folder / LOG_NAME, damages):
        signature = signature_in(state, each.event)
        was_founded = state.founding is not None
        event = fitting(state, each.event, contradictions)
        _judge(found, state, event, signature, was_founded=was_founded)
    damages.torn = 0
    found.room, found.title, found.entries = state.room, state.title, state.head
    found.signers = _named(found.signers, state)
    found.problems += [
        *damages.told(),
        *contradictions.told(),
        *damaged_files(folder, state).values(),
    ]
    return found


def _judge(
    found: Verification,
    state: RoomState,
    event: Event,
    signature: EntrySignature | None,
    *,
    was_founded: bool,
) -> None:
    """Count an entry that the state includes."""
    why = _objection(state, event, signature, was_founded=was_founded)
    if why:
        original = event.original
        found.unproven.append(
            UnprovenEntry(event.seq, original.at, original.by, tag(original.body), why)
        )
    elif signature is not None and signature.signature:
        signer = signature.signer, signature.key
        found.signers[signer] = found.signers.get(signer, 0) + 1


def _objection(
    state: RoomState, event: Event, signature: EntrySignature | None, *, was_founded: bool
) -> str:
    if isinstance(event.body, UnreadableEvent):
        return event.body.why
    if doubt := state.doubt_of(event.seq):
        return doubt
    if signature is None:
        is_step = was_founded and isinstance(event.original.body, RunBody | ChangeBody)
        return NO_MESSAGE if is_step else ""
    if signature.is_valid:
        return ""
    is_old = not was_founded and _is_proven_as_before(state, event, signature)
    return "" if is_old else NOT_FOUNDED


def _is_proven_as_before(state: RoomState, event: Event, signature: EntrySignature) -> bool:
    """Whether an entry of a room that was not founded is proven in the forms of that time.

    Only messages and the steps of engines were signed then.
    """
    body, key = event.original.body, state.keys.get(fold_name(event.original.by), "")
    if isinstance(event.body, RecoveredEvent):
        return False
    if event.posted is not None:
        return wrote(key, state.room, event.posted)
    if isinstance(body, RunBody):
        thread = state.threads.get(body.message)
        return thread is not None and reported(key, state.room, thread.said, body)
    return not signature.signature


def _named(signers: dict[tuple[str, str], int], state: RoomState) -> dict[tuple[str, str], int]:
    """Count a founding, which names no person, for the owner of its key."""
    named: dict[tuple[str, str], int] = {}
    for (name, key), count in signers.items():
        by_key = next((other for other, same in signers if other and same == key), "")
        signer = name or by_key or state.owner_of(key) or "", key
        named[signer] = named.get(signer, 0) + count
    return named
