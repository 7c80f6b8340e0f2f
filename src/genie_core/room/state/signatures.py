"""Return the signer of an entry of a founded room, the key, and the signed bytes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from genie_core.room.protocol.events import (
    ChangeBody,
    Event,
    HostStarted,
    MemberJoined,
    RoomCreated,
    RunBody,
    SignedBody,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.founding import founding_bytes
from genie_core.room.security.keys import verify
from genie_core.room.security.signing import HOST_SIGNED, About, signed_bytes

if TYPE_CHECKING:
    from genie_core.room.state.room_state import RoomState


@dataclass(frozen=True, slots=True)
class EntrySignature:
    """The signature of an entry. `signer` is empty for a founding, which names only the key.

    `key` is empty if the room does not know the signer's.
    """

    signer: str
    key: str
    signature: bytes
    signed: bytes

    @property
    def is_valid(self) -> bool:
        """Whether the owner of the key signed these bytes. Takes 0.1 ms at the first call."""
        return verify(self.key, self.signature, self.signed)


def signature_in(state: "RoomState", event: Event) -> EntrySignature | None:
    """Return the signature of the next entry of a room in this state; None if its kind has none.

    A valid signature alone proves nothing: `RoomState.doubts` has the other problems. Of an entry
    that was recovered, it is that of the original. None as well if its message is not known.
    """
    original = event.original
    match original.body:
        case RoomCreated(founding=founding) if founding is not None:
            signed = founding_bytes(founding)
            return EntrySignature("", founding.key, founding.signature, signed)
        case HostStarted() as started:
            room = started.room if started.founding is not None else state.room
            signed = signed_bytes(room, started, original.parent)
            return EntrySignature(started.host, started.key, started.signature, signed)
        case body if isinstance(body, HOST_SIGNED) and original is event:
            signed = signed_bytes(state.room, body, event.parent)
            return EntrySignature(state.host, state.host_key, body.signature, signed)
        case body if isinstance(body, SignedBody):
            return _of_author(state, event, body)
    return None


def _of_author(state: "RoomState", event: Event, body: SignedBody) -> EntrySignature | None:
    original = event.original
    name = fold_name(original.by)
    key, about = state.keys.get(name, ""), _about(state, event, body)
    if about is None:
        return None
    if isinstance(body, MemberJoined):
        key = body.key
    return EntrySignature(original.by, key, body.signature, signed_bytes(state.room, body, about))


def _about(state: "RoomState", event: Event, body: SignedBody) -> About | None:
    """Return the reference of an entry; None if that is not known."""
    original = event.original
    if isinstance(body, HOST_SIGNED):  # recovered
        return original.parent
    if isinstance(body, MemberJoined):
        return fold_name(original.by)
    if not isinstance(body, RunBody | ChangeBody):
        return ""
    is_here = original is event
    thread = state.threads.get(body.message) if is_here else state.meant(body.message, original.seq)
    return None if thread is None else thread.about(body, original.by)
