"""The panel with the tool calls that wait for this person, one card at a time."""

import time
from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from genie_core.room.seat import Answer
from genie_core.room.state.room_state import RoomState
from genie_tui.widgets.approval_card import ApprovalCard
from genie_tui.widgets.approval_queue import ApprovalQueue
from genie_tui.widgets.card_text import CardView

CLOSED = "The room is closed.\n\nWhat still waited here can be answered when it is open again and you are back."
NOTHING = (
    "Nothing waits for your answer.\n\nTool calls of agents that run on this machine ask here."
)


class Approvals(Vertical):
    """Keeps the card on the queue of what waits. `answer` reports whether it was taken."""

    class Emptied(Message):
        """The last one that waited is gone."""

    class Answered(Message):
        """An answer was taken, of which the room may hear later."""

    class NotTaken(Message):
        """An answer was not taken: too late, or there is no engine to act on it."""

    def __init__(self, answer: Callable[[str, Answer], bool], clock: Callable[[], float]) -> None:
        super().__init__()
        self._answer = answer
        self._clock = clock
        self._queue = ApprovalQueue()
        self._state = RoomState()
        self._me = ""
        self._shut = False

    def compose(self) -> ComposeResult:
        """The card, or the sentence that stands in for it."""
        yield Static(NOTHING, id="no-approvals", markup=False)
        yield ApprovalCard(self._clock)

    def on_mount(self) -> None:
        """Begin empty."""
        self._show()

    @property
    def card(self) -> ApprovalCard:
        """The card; hidden while nothing waits."""
        return self.query_one(ApprovalCard)

    @property
    def waiting(self) -> int:
        """How many wait for an answer here."""
        return len(self._queue)

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show what waits for `me` in this room from now on."""
        self._state, self._me = state, me
        self.refresh_queue()

    def close_doors(self) -> None:
        """Show nothing any more: nobody would hear an answer."""
        self._shut = True
        self.query_one("#no-approvals", Static).update(CLOSED)
        self._queue.update([])
        self._show()

    def refresh_queue(self) -> None:
        """Look again at what waits. The view moves only if its approval is gone."""
        if self._shut:
            return
        parked = self._state.parked_for(self._me)
        self._queue.update([*parked, *self._state.pending_for(self._me)])
        self._show()

    def refresh_ages(self) -> None:
        """Let the time that the current one waits go on."""
        if self._queue.current is not None:
            self.card.show(self._view(), time.time())

    def jump_to_oldest(self) -> bool:
        """Put the oldest one on the card and focus it; False if nothing waits."""
        self._queue.oldest()
        self._show()
        if self._queue.current is None:
            return False
        self.card.focus()
        return True

    @on(ApprovalCard.Settled)
    def _settled(self, event: ApprovalCard.Settled) -> None:
        event.stop()
        if not self.settle(event.approval, event.answer):
            self.post_message(self.NotTaken())

    def settle(self, approval: str, answer: Answer) -> bool:
        """Give an answer; False if it was not taken. The card goes on to what waits next."""
        if not self._answer(approval, answer):
            return False
        self._queue.answered(approval)
        self._show()
        self.post_message(self.Answered())
        return True

    def waits(self, approval: str) -> bool:
        """Whether this call can still be answered here."""
        if self._shut:
            return False
        waiting = (*self._state.parked_for(self._me), *self._state.pending_for(self._me))
        return any(proposal.id == approval for proposal in waiting)

    @on(ApprovalCard.Stepped)
    def _stepped(self, event: ApprovalCard.Stepped) -> None:
        event.stop()
        self._queue.step(event.by)
        self._show()

    def _show(self) -> None:
        view = self._view()
        had_one = self.card.view is not None
        self.card.show(view, time.time())
        self.set_class(view is None, "-empty")
        if had_one and view is None:
            self.post_message(self.Emptied())

    def _view(self) -> CardView | None:
        proposal = self._queue.current
        if proposal is None:
            return None
        exchange = self._state.exchanges[proposal.message]
        return CardView(
            proposal,
            exchange.author,
            exchange.said.text,
            self._queue.position,
            len(self._queue),
        )
