"""The problems of an entry of a founded room: its place in the chain, signature, or authority."""

from typing import TYPE_CHECKING, Final

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    ChangeBody,
    DecisionMade,
    Event,
    HeirsChanged,
    HostConfirmed,
    HostStarted,
    MemberJoined,
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
    SealedBody,
    SignedBody,
    UnreadableEvent,
)
from genie_core.room.protocol.names import fold_name, is_name
from genie_core.room.security.founding import is_founding_of
from genie_core.room.security.sealing import without_content
from genie_core.room.security.signing import PREVIOUS_BYTES, About, is_signed
from genie_core.room.state.succession import (
    LINK_BODIES,
    ChainView,
    could_begin,
    is_fit,
    is_recovered,
    may_begin,
)

if TYPE_CHECKING:
    from genie_core.room.state.room_state import RoomState

OUT_OF_CHAIN: Final = "it does not follow the entry before it"
UNSIGNED: Final = "it is not signed by its author"
NOT_LATEST: Final = "its author did not sign it for the message as it is now"
OTHER_TARGET: Final = "its author replied to another message than the one of that number"
NOT_AUTHOR: Final = "its author did not write that message"
UNKNOWN_AUTHOR: Final = "the room does not know its author's key"
NO_MESSAGE: Final = "the room does not know the message that it is about"
GAP: Final = "an earlier entry of its author is missing"
NOT_FOUNDED: Final = "its founder did not sign it"
NOT_FIT: Final = "it is larger than its program makes it"
NOT_SEALED: Final = "it is not as private as what it belongs to, or shows what is sealed"
NOT_HANDLER: Final = "its author's engine was not to answer that message"
REPEATED: Final = "it is a copy of an earlier entry of its author"
NOT_HOST: Final = "its author was not the host"
NOT_HEIR: Final = "no host of the room made its author an heir"

KNOWN_SIGNATURES: Final = 256
"""Latest signatures of each author that their next entries may name."""

_STEPS: Final = (
    DecisionMade,
    ApprovalRequested,
    ApprovalResolved,
    AnswerPosted,
    RunFailed,
    RunCancelled,
    MessageEdited,
    MessageDeleted,
    ReactionChanged,
)


def objection(state: "RoomState", event: Event) -> str:
    """Return the problem of the next entry of a room in this state; empty if nothing is.

    In logs from before rooms were founded, only a message that the log has already is wrong.
    """
    founds = isinstance(event.body, RoomCreated | HostStarted) and event.body.founding is not None
    is_plain = state.founding is None and not founds
    if not state.is_whole or isinstance(event.body, UnreadableEvent):
        return ""
    if is_plain:
        is_message = isinstance(event.original.body, MessagePosted)
        return REPEATED if is_message and state.is_repeated(event) else ""
    if not (state.continues(event) or _continues_damaged(state, event)):
        return OUT_OF_CHAIN
    return _flaw(state, event)


def _continues_damaged(state: "RoomState", event: Event) -> bool:
    """Whether the same host goes on with a log whose end it can't read any more."""
    started = event.body
    is_same = isinstance(started, HostStarted) and started.key == state.host_key
    return is_same and not event.parent


def _flaw(state: "RoomState", event: Event) -> str:
    if state.is_repeated(event):
        return REPEATED
    body = event.original.body
    if isinstance(body, SealedBody) and body.sealed and body != without_content(body):
        return NOT_SEALED
    if isinstance(body, MessagePosted) and bool(body.to) != bool(body.sealed):
        return NOT_SEALED
    if isinstance(event.body, LINK_BODIES) and not is_fit(event.body):
        return NOT_FIT
    match event.body:
        case RoomCreated() if state.head:
            return NOT_FOUNDED
        case RoomCreated(founding=founding, room=room):
            is_sound = founding is not None and is_founding_of(founding, room)
            return "" if is_sound else NOT_FOUNDED
        case HostStarted() as started:
            return _flaw_of_host(state, event, started)
        case RoomSuspended() | HeirsChanged() | ArgumentSharingChanged() as body:
            is_hosts = is_signed(state.host_key, state.room, body, event.parent)
            return "" if is_hosts else NOT_HOST
        case MemberModerated() as body:
            is_hosts = fold_name(event.by) == fold_name(state.host)
            is_hosts = is_hosts and is_signed(state.host_key, state.room, body, event.parent)
            return "" if is_hosts else NOT_HOST
        case RecoveredEvent(event=original):
            return flaw_of_recovered(state, original)
        case body:
            return _flaw_of_author(state, event, body, fold_name(event.by))


def flaw_of_recovered(state: "RoomState", event: Event) -> str:
    """Return the problem of an event of another log of this room; empty if nothing is."""
    if isinstance(event.body, RecoveredEvent):
        return flaw_of_recovered(state, event.body.event)
    name = fold_name(event.by)
    key = state.keys.get(name, "")
    if isinstance(event.body, HeirsChanged) and not key:
        return UNKNOWN_AUTHOR
    if isinstance(event.body, RoomSuspended | HeirsChanged):
        entry = Event(event.seq, event.at, event.by, RecoveredEvent(event))
        return "" if is_recovered(state.succession, entry, state.room, state.keys) else NOT_HOST
    if isinstance(event.body, MemberModerated):
        signed = is_signed(key, state.room, event.body, event.parent)
        return "" if key and signed and event.by in state.hosts else NOT_HOST
    return _flaw_of_author(state, event, event.body, name, elsewhere=True)


def _flaw_of_host(state: "RoomState", event: Event, started: HostStarted) -> str:
    if not is_name(started.host):
        return NOT_FIT
    founding = started.founding
    if founding is not None:
        is_own = founding.key == started.key and founding.before == state.room
        is_new = state.founding is None or bool(started.copied)
        if not (is_own and is_new and is_founding_of(founding, started.room)):
            return NOT_FOUNDED
        signed = is_signed(started.key, started.room, started, event.parent)
        return "" if signed else UNSIGNED
    if not is_signed(started.key, state.room, started, event.parent):
        return UNSIGNED
    if started.room not in ("", state.room):
        return NOT_FOUNDED
    before = state.succession
    if not before.host:  # the founder is the first host
        founder = state.founding.key if state.founding is not None else ""
        return "" if started.key == founder or state.unreadable else NOT_HEIR
    is_heir = may_begin(before, started, state.members)
    return "" if is_heir or could_begin(before, started, state.members) else NOT_HEIR


def _flaw_of_author(
    state: "RoomState", event: Event, body: object, name: str, *, elsewhere: bool = False
) -> str:
    signed: SignedBody
    about: About = ""
    key = state.keys.get(name, "")
    match body:
        case MemberJoined() as signed:
            key, about = signed.key, name
            if state.keys.get(name, key) != key:
                return UNSIGNED  # the name belongs to another key
        case PreferencesChanged() | MessagePosted() | HostConfirmed() as signed:
            pass
        case _ if isinstance(body, _STEPS):
            signed, number = body, body.message
            thread = state.meant(number, event.seq) if elsewhere else state.threads.get(number)
            if thread is None:
                return NO_MESSAGE
            if isinstance(body, MessageEdited | MessageDeleted) and thread.author != event.by:
                return NOT_AUTHOR
            if not isinstance(body, MessageDeleted | ReactionChanged) and (
                bool(body.sealed) != thread.is_private
            ):
                return NOT_SEALED
            if isinstance(body, RunBody) and not elsewhere and thread.handler != event.by:
                return NOT_HANDLER
            about = thread.about(body, event.by)
        case _:
            return ""
    if not key:
        return UNKNOWN_AUTHOR
    if not is_signed(key, state.room, signed, about):
        return NOT_LATEST if isinstance(body, ChangeBody) else UNSIGNED
    if isinstance(body, MessagePosted) and not elsewhere:
        target = state.signature_of(body.reply_to)
        if target is not None and target != body.about:
            return OTHER_TARGET
    previous = getattr(signed, "previous", b"")
    is_reply = not (elsewhere or isinstance(body, MemberJoined))
    if previous and is_reply and previous not in state.signatures.get(name, ()):
        return GAP
    return ""


def note_signature(signatures: dict[str, list[bytes]], event: Event) -> None:
    """Remember the signature of an author's entry, for the `previous` of later ones."""
    body = event.original.body
    signature = getattr(body, "signature", b"")
    if signature and hasattr(body, "previous"):
        known = signatures.setdefault(fold_name(event.original.by), [])
        known.append(signature[:PREVIOUS_BYTES])
        if len(known) >= 2 * KNOWN_SIGNATURES:
            del known[:-KNOWN_SIGNATURES]


def view_of(state: "RoomState") -> ChainView:
    """Return the chain of hosts as this state knows it; see `ChainView`."""
    return ChainView(state.room, state.links, state.succession, state.members, state.has_entry)
