"""Going in good order: every step is taken, whatever becomes of the others.

What is still at work gets a `Grace`, and a `Receipt` says in the end what became of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

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
from genie_core.room.state.thread import MessageThread, Phase, ToolApproval
from genie_core.runtime.resource_task import abandon
from genie_core.runtime.tasks import start_task

if TYPE_CHECKING:
    from genie_core.room.state.room_state import RoomState

logger = logging.getLogger(__name__)

Step: TypeAlias = tuple[str, Callable[[], Awaitable[None]], float]
"""What is done, as in "closing the room"; how; and how many seconds it may take."""

GRACE: Final = 10.0
"""Seconds that running work gets to end by itself when somebody leaves, unless they set it."""

QUICK_GRACE: Final = 3.0
"""The same where nobody waits at the screen: on signals, and on moving to another seat."""

CANCEL_GRACE: Final = 1.0
"""Seconds that a step gets to end once its time is over."""

EXCERPT_CHARS: Final = 80


async def take_steps(
    steps: Iterable[Step], begun: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Take steps in order, leaving behind what takes too long; returns what went wrong.

    Each is a task of its own, so that not even one that ignores its cancellation keeps the others
    from being taken. `begun` is told of each step.
    """
    problems: list[str] = []
    for what, step, seconds in steps:
        begun(what)
        problem = await _take(what, step, seconds)
        if problem:
            problems.append(problem)
    return problems


async def _take(what: str, step: Callable[[], Awaitable[None]], seconds: float) -> str:
    """Take one step; returns what went wrong."""
    task = start_task(_run(step), name=what)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_GRACE)
            return f"{what} took too long"
    finally:
        abandon(task)
    with suppress(asyncio.CancelledError):
        error = task.exception()
        if error is not None:  # the steps that follow are needed all the more
            logger.error("%s failed", what, exc_info=error)
            return f"{what} failed: {str(error) or type(error).__name__}"
    return ""


async def _run(step: Callable[[], Awaitable[None]]) -> None:
    await step()


class Grace:
    """The time that running work still has, which can be cut short."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + max(0.0, seconds)
        self._over = asyncio.Event()

    @property
    def left(self) -> float:
        """Seconds until it is over."""
        return 0.0 if self._over.is_set() else max(0.0, self._until - self._loop.time())

    def end(self) -> None:
        """Let it be over now."""
        self._over.set()

    async def wait_for(self, idle: asyncio.Event) -> bool:
        """Wait until all work has ended, but not longer; returns whether it has."""
        waits = [start_task(each.wait()) for each in (idle, self._over)]
        try:
            await asyncio.wait(waits, timeout=self.left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        return idle.is_set()


@dataclass(frozen=True, slots=True)
class Ending:
    """How far leaving has come.

    `doing` is the step that is being taken. `left` is how many seconds running work still has, and
    `runs` are the messages that it is for.
    """

    doing: str = ""
    left: float = 0.0
    runs: tuple[MessageThread, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A message that was being worked on. `text` is the start of it, in one line.

    `detail` says more where there is more to say: the tool that waits, or why it failed.
    """

    message: int
    author: str
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of everything that was under way when somebody left.

    `left_behind` are those whose agent did not end though it was told to, `unheard` those of whose
    end the room has not heard, as there was no connection; their `detail` is how they ended, as far
    as it is known here. `parked` are all tool calls that wait for this person's answer, those from
    earlier included. `unsent` counts the messages typed here that go out when they are back.
    """

    finished: tuple[Item, ...] = ()
    cancelled: tuple[Item, ...] = ()
    parked: tuple[Item, ...] = ()
    left_behind: tuple[Item, ...] = ()
    unheard: tuple[Item, ...] = ()
    unsent: int = 0
    problems: tuple[str, ...] = ()


def make_receipt(
    state: "RoomState",
    owner: str,
    runs: Iterable[int],
    left_behind: Collection[int] = (),
    *,
    unrecorded: Sequence[RunBody] = (),
    unsent: int = 0,
    problems: Iterable[str] = (),
) -> Receipt:
    """Sum up what became of these messages' runs, going by the room's state afterwards.

    `unrecorded` is what the own engine did and the room has not heard.
    """
    silent = {body.message for body in unrecorded} | state.running.keys()
    told = {*runs, *(body.message for body in unrecorded)}
    known = [state.exchanges[seq] for seq in sorted(told) if seq in state.exchanges]
    settled = {body.approval for body in unrecorded if isinstance(body, ApprovalResolved)}
    parked = [each for each in state.parked_for(owner) if each.id not in settled]
    waiting = {proposal.message for proposal in parked}
    ended = [one for one in known if one.seq not in waiting and one.seq not in left_behind]
    heard = [one for one in ended if one.seq not in silent]
    return Receipt(
        finished=tuple(_item(one) for one in heard if _is_finished(one)),
        cancelled=tuple(_item(one, _trouble(one)) for one in heard if not _is_finished(one)),
        parked=tuple(_waiting(state, proposal) for proposal in parked),
        left_behind=tuple(_item(one) for one in known if one.seq in left_behind),
        unheard=tuple(
            _item(one, _end_of(one, unrecorded, state)) for one in ended if one.seq in silent
        ),
        unsent=unsent,
        problems=tuple(problems),
    )


def _is_finished(exchange: MessageThread) -> bool:
    return exchange.phase in (Phase.ANSWERED, Phase.IGNORED)


def _end_of(exchange: MessageThread, unrecorded: Sequence[RunBody], state: "RoomState") -> str:
    """How a run ended of which the room has not heard that; empty if that is not known here."""
    steps = [body for body in unrecorded if body.message == exchange.seq]
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
                known = state.proposals.get(approval)
                tool = known.tool if known is not None else tools.get(approval, "a tool call")
                return f"{tool} waits for your answer"
            case _:
                pass
    return "cancelled" if any(isinstance(body, RunCancelled) for body in steps) else ""


def _trouble(exchange: MessageThread) -> str:
    return exchange.error.error if exchange.error is not None else ""


def _item(exchange: MessageThread, detail: str = "") -> Item:
    return Item(exchange.seq, exchange.author, excerpt(exchange), detail)


def _waiting(state: "RoomState", proposal: ToolApproval) -> Item:
    exchange = state.exchanges.get(proposal.message)
    if exchange is None:
        return Item(proposal.message, "", "", proposal.tool)
    return _item(exchange, proposal.tool)


def excerpt(exchange: MessageThread) -> str:
    """The start of a message in one line, or the names of its files if there is no text."""
    text = " ".join(exchange.said.text.split()) or _names(exchange.said.files)
    return text if len(text) <= EXCERPT_CHARS else f"{text[: EXCERPT_CHARS - 1]}…"


def _names(files: Iterable[FileRef]) -> str:
    return ", ".join(file.name for file in files)
