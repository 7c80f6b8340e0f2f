"""Panels of waiting requests: one to answer them, one to read past ones."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from genie_core.room.client.model import Answer
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.text.format import clock_time
from genie_tui.widgets.approvals.call_text import (
    CardView,
    call_lines,
    effect_content,
    origins_content,
)
from genie_tui.widgets.approvals.card import ApprovalCard
from genie_tui.widgets.approvals.queue import CardQueue

if TYPE_CHECKING:
    from genie_core.room.engine.approvals import Approvals
    from genie_core.room.engine.tool_effects import ToolEffects

CLOSED = "The room is closed.\n\nYou can answer what was waiting here when the room is open again."
NOTHING = (
    "No tool calls are waiting.\n\nWhen your agent wants to use a tool, the question appears here."
)
NOTHING_THEN: Final = "No tool call was waiting at this moment."

MOST: Final = 20
"""Tool calls that are shown in full."""


class ApprovalPanel(Vertical):
    """Shows the requests that wait for this person, one card at a time."""

    class Emptied(Message):
        """The last one that waited is gone."""

    class Answered(Message):
        """An answer was accepted; the room may get it later."""

    class NotTaken(Message):
        """An answer was not accepted: it came too late, or no engine is loaded."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._approvals: Approvals | None = None
        self._known = ""
        self._effects: ToolEffects | None = None
        self._schema: Mapping[str, Any] | None = None
        self._clock = clock
        self._queue = CardQueue()
        self._allowed: Counter[tuple[str, ...]] = Counter()
        self._state = RoomState()
        self._me = ""
        self._room_closed = False

    def compose(self) -> ComposeResult:
        yield Static(NOTHING, id="no-approvals", markup=False)
        yield ApprovalCard(self._clock)

    def on_mount(self) -> None:
        self._show()

    @property
    def card(self) -> ApprovalCard:
        return self.query_one(ApprovalCard)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def bind(self, state: RoomState, me: str, approvals: "Approvals") -> None:
        """Show the requests for `me` in this room, and answer them."""
        self._state, self._me, self._approvals, self._known = state, me, approvals, ""
        self.refresh_queue()

    def close_room(self) -> None:
        self._room_closed = True
        self.query_one("#no-approvals", Static).update(CLOSED)
        self._queue.update([])
        self._show()

    def refresh_queue(self) -> None:
        """Update the waiting requests. The card moves on only if its request is gone."""
        if self._room_closed:
            return
        parked = self._state.parked_for(self._me)
        self._queue.update([*parked, *self._state.pending_for(self._me)])
        self._show()

    def refresh_ages(self) -> None:
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

    @on(ApprovalCard.Answered)
    def _answered(self, event: ApprovalCard.Answered) -> None:
        event.stop()
        view = self.card.view
        if not self.answer(event.approval, event.answer):
            self.post_message(self.NotTaken())
        elif view is not None and event.answer == Answer(allow=True):
            self._allowed[view.kind] += 1
            self._show()

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer a request and show the next one; False if the answer did not count."""
        if self._approvals is None or not self._approvals.answer(approval, answer):
            return False
        self._queue.answered(approval)
        self._show(by_person=True)
        self.post_message(self.Answered())
        return True

    def waits(self, approval: str) -> bool:
        """Whether this request can still be answered here."""
        if self._room_closed:
            return False
        waiting = (*self._state.parked_for(self._me), *self._state.pending_for(self._me))
        return any(request.id == approval for request in waiting)

    @on(ApprovalCard.Stepped)
    def _stepped(self, event: ApprovalCard.Stepped) -> None:
        event.stop()
        self._queue.step(event.by)
        self._show(by_person=event.by_person)

    def _show(self, *, by_person: bool = False) -> None:
        view = self._view()
        had_one = self.card.view is not None
        self.card.show(view, time.time(), by_person=by_person)
        self.set_class(view is None, "-empty")
        if had_one and view is None:
            self.post_message(self.Emptied())

    def _view(self) -> CardView | None:
        request, approvals = self._queue.current, self._approvals
        if request is None:
            return None
        is_known = self._known == request.id and self._effects is not None
        if approvals is not None and not is_known:
            self._known = request.id
            self._effects = approvals.effects(request.id)
            self._schema = approvals.schema(request.id)
        view = replace(self._view_of(request), effects=self._effects, schema=self._schema)
        return replace(view, alike=self._alike(view), before=self._allowed[view.kind])

    def _view_of(self, request: ToolApproval) -> CardView:
        thread, approvals = self._state.threads[request.message], self._approvals
        return CardView(
            request,
            thread.author,
            thread.text,
            self._queue.position,
            len(self._queue),
            behind=self._behind(thread),
            covers=partial(approvals.is_covered, request.id) if approvals else _unknown,
            posted=thread.said.text,
        )

    def _alike(self, view: CardView) -> tuple[CardView, ...]:
        """The other calls of the same tool that one answer can allow, as all they do is known."""
        approvals = self._approvals
        if approvals is None or not view.can_be_listed:
            return ()
        others = (each for each in self._queue if each.id != view.request.id)
        views = (
            replace(self._view_of(each), effects=approvals.effects(each.id), schema=view.schema)
            for each in others
            if each.tool == view.request.tool
        )
        alike = (each for each in views if each.can_be_listed and each.maker == view.maker)
        return tuple(islice(alike, MOST - 1))

    def _behind(self, thread: MessageThread) -> int:
        """Count the later messages of the same person that don't wait for a person themselves."""
        running = self._state.running.values()
        return sum(
            each.seq > thread.seq
            and (each.author, each.handler) == (thread.author, thread.handler)
            and not self._state.waiting_in(each)
            for each in running
        )


class PastApprovals(VerticalScroll, can_focus=False):
    """Shows the requests of all owners that waited at a past moment, read-only."""

    def compose(self) -> ComposeResult:
        yield Static(NOTHING_THEN, id="past-approvals", markup=False)

    def show(self, state: RoomState) -> int:
        """Show those of a room; returns how many there are."""
        waiting = [
            each
            for each in (*state.parked.values(), *state.open.values())
            if not (each.unasked or _is_hidden(state, each))
        ]
        calls = [_call(state, each) for each in waiting[:MOST]]
        if len(waiting) > MOST:
            calls.append(Content(f"and {len(waiting) - MOST:,} more"))
        text = Content("\n\n").join(calls) if calls else Content(NOTHING_THEN)
        self.query_one("#past-approvals", Static).update(text)
        return len(waiting)


def _is_hidden(state: RoomState, request: ToolApproval) -> bool:
    thread = state.threads.get(request.message)
    return thread is not None and thread.is_hidden


def _unknown(_pattern: str) -> bool:
    return False


def _call(state: RoomState, request: ToolApproval) -> Content:
    thread = state.threads.get(request.message)
    if thread is None:
        view = CardView(request, "", "", 1, 1)
    else:
        view = CardView(request, thread.author, thread.text, 1, 1, posted=thread.said.text)
    kept = " · kept from before" if view.from_before else ""
    head = Content.styled(f"▲ since {clock_time(request.asked_at)}{kept}", "$text-warning")
    return Content("\n").join([head, call_lines(view), effect_content(view), origins_content(view)])
