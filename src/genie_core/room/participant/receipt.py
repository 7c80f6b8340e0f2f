"""The outcome of running work when a person leaves a room."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from genie_core.room.protocol.errors import RoomError
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    FileRef,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase, ToolApproval

EXCERPT_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class ShutdownProgress:
    """Progress of leaving.

    `doing` is the current step, `left` the seconds that running work still has, and `runs` the
    messages that it is for.
    """

    doing: str = ""
    left: float = 0.0
    runs: tuple[MessageThread, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A message whose run was under way; `text` is its start in one line.

    `detail` is the tool that waits, or why the run failed.
    """

    message: int
    author: str
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Outcome of the work that was running when a person left.

    Attributes:
        left_behind: runs whose agent did not end although it was told to.
        unheard: runs that ended without a connection, so that the room does not know it; `detail` is
            how they ended, as far as known here.
        parked: all tool calls that wait for this person's answer, also those from earlier.
        unsent: number of messages that are sent when the person comes back.
    """

    finished: tuple[Item, ...] = ()
    cancelled: tuple[Item, ...] = ()
    parked: tuple[Item, ...] = ()
    left_behind: tuple[Item, ...] = ()
    unheard: tuple[Item, ...] = ()
    unsent: int = 0
    problems: tuple[str, ...] = ()


class LeftInDisorder(RoomError):
    """A member left, but not every step of leaving succeeded; the `receipt` says which."""

    def __init__(self, receipt: Receipt) -> None:
        super().__init__(f"left the room, but {'; '.join(receipt.problems)}")
        self.receipt = receipt


def make_receipt(
    state: RoomState,
    owner: str,
    runs: Iterable[int],
    left_behind: Collection[int] = (),
    *,
    unrecorded: Sequence[RunBody] = (),
    unsent: int = 0,
    problems: Iterable[str] = (),
) -> Receipt:
    """Summarize the runs for these messages by the state of the room afterwards.

    `unrecorded` are events of the own engine that the room has not recorded.
    """
    silent = {body.message for body in unrecorded} | state.running.keys()
    told = {*runs, *(body.message for body in unrecorded)}
    known = [state.threads[seq] for seq in sorted(told) if seq in state.threads]
    settled = {body.approval for body in unrecorded if isinstance(body, ApprovalResolved)}
    parked = [each for each in state.parked_for(owner) if each.id not in settled]
    waiting = {call.message for call in parked}
    ended = [one for one in known if one.seq not in waiting and one.seq not in left_behind]
    heard = [one for one in ended if one.seq not in silent]
    return Receipt(
        finished=tuple(_item(one) for one in heard if _is_finished(one)),
        cancelled=tuple(_item(one, _trouble(one)) for one in heard if not _is_finished(one)),
        parked=tuple(_waiting(state, call) for call in parked),
        left_behind=tuple(_item(one) for one in known if one.seq in left_behind),
        unheard=tuple(
            _item(one, _end_of(one, unrecorded, state)) for one in ended if one.seq in silent
        ),
        unsent=unsent,
        problems=tuple(problems),
    )


def _is_finished(thread: MessageThread) -> bool:
    return thread.phase in (Phase.ANSWERED, Phase.IGNORED)


def _end_of(thread: MessageThread, unrecorded: Sequence[RunBody], state: RoomState) -> str:
    """Return how a run ended that the room does not know of; empty if unknown."""
    steps = [body for body in unrecorded if body.message == thread.seq]
    tools = {body.approval: body.tool for body in steps if isinstance(body, ApprovalRequested)}
    for body in reversed(steps):
        match body:
            case AnswerPosted():
                return "answered"
            case DecisionMade(decision="ignore"):
                return "ignored"
            case RunFailed(error=error):
                return error
            case ApprovalResolved(approval=approval, outcome="parked"):
                known = state.calls.get(approval)
                tool = known.tool if known is not None else tools.get(approval, "a tool call")
                return f"{tool} waits for your answer"
            case _:
                pass
    return "cancelled" if any(isinstance(body, RunCancelled) for body in steps) else ""


def _trouble(thread: MessageThread) -> str:
    return thread.error.error if thread.error is not None else ""


def _item(thread: MessageThread, detail: str = "") -> Item:
    return Item(thread.seq, thread.author, excerpt(thread), detail)


def _waiting(state: RoomState, call: ToolApproval) -> Item:
    thread = state.threads.get(call.message)
    if thread is None:
        return Item(call.message, "", "", call.tool)
    return _item(thread, call.tool)


def excerpt(thread: MessageThread) -> str:
    """Return the start of a message in one line, or its file names."""
    text = " ".join(thread.text.split()) or _names(thread.said.files)
    return text if len(text) <= EXCERPT_CHARS else f"{text[: EXCERPT_CHARS - 1]}…"


def _names(files: Iterable[FileRef]) -> str:
    return ", ".join(file.name for file in files)
