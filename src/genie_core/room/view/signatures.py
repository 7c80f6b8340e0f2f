"""Describe who signed an entry; all texts are safe to show."""

from typing import Final

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessagePosted,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.keys import is_key
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.text.safe import visible_line

NOT_FOUNDED: Final = "not checked, as the room was not founded by then"
FORGOTTEN: Final = "checked when it was read, and no longer known"

_KINDS: Final[dict[type, str]] = {
    MessagePosted: "the message",
    DecisionMade: "the decision",
    ApprovalRequested: "the tool call",
    ApprovalResolved: "the approval",
    AnswerPosted: "the answer",
}


def signed_line(state: RoomState, event: Event) -> str:
    """Say who signed an entry of a run or a message, with the words of the key, or the problem."""
    what = _KINDS.get(type(event.original.body), "the end")
    return f"{what}: {signed_by(state, event.seq, event.original.by)}"


def signed_lines(state: RoomState, thread: MessageThread) -> list[str]:
    """Say the same of a message as its author left it, and of its answer."""
    seq = state.amended.get(thread.seq, thread.seq)
    lines = [f"the message: {signed_by(state, seq, thread.author)}"]
    if thread.answer is not None and thread.answered_seq is not None:
        lines.append(f"the answer: {signed_by(state, thread.answered_seq, thread.handler)}")
    return lines


def signed_by(state: RoomState, seq: int, name: str) -> str:
    """Say whether an entry of this author is proven, and by which key."""
    if doubt := state.doubt_of(seq):
        return f"⚠ not proven: {doubt}"
    if state.founding is None or not state.is_whole:
        return NOT_FOUNDED
    if state.doubtful > len(state.doubts) and seq < min(state.doubts, default=0):
        return FORGOTTEN
    from genie_core.room.security.identity import words  # which loads the cryptography

    key = state.keys.get(fold_name(name), "")
    # In a copied room the name may have had another key when this was signed.
    known = f", {words(key)}" if is_key(key) and not state.founding.before else ""
    return f"signed by {visible_line(name)}{known}; proven"
