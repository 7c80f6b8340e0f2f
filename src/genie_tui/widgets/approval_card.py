"""The card that shows one tool call and takes a person's answer to it.

The card acts on keys only while it has the focus itself, and only those its guard admits. It takes
them synchronously, so that an answer always concerns what is on the card at that moment.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from genie_core.room.exchange import Proposal
from genie_core.room.seat import Answer
from genie_tui.keymap import Scope, actions, bindings, by_key
from genie_tui.moments import duration
from genie_tui.text import visible
from genie_tui.widgets.agent_path import agent_path
from genie_tui.widgets.arguments import arguments_content
from genie_tui.widgets.key_guard import KeyGuard

QUOTE: Final = 160
"""Characters of the message that a card quotes."""

CELL: Final = 21
"""Columns for one key and what it does."""


@dataclass(frozen=True, slots=True)
class CardView:
    """What a card shows: the proposal, the message it is about, and its place in the queue."""

    proposal: Proposal
    author: str
    message: str
    position: int
    total: int

    @property
    def from_before(self) -> bool:
        """Whether it was parked by a suspend and can be answered again now."""
        return self.proposal.outcome == "parked"


class ReasonInput(Input):
    """Where the reason of a denial is typed."""


class ApprovalCard(Vertical, can_focus=True):
    """Shows one proposal at a time; never takes the focus by itself."""

    BINDINGS = bindings(Scope.CARD)

    _KEYS = by_key(Scope.CARD)

    class Settled(Message):
        """The person answered."""

        def __init__(self, approval: str, answer: Answer) -> None:
            super().__init__()
            self.approval = approval
            self.answer = answer

    class Stepped(Message):
        """The person wants to see the next (1) or the previous (-1) approval."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class FullView(Message):
        """The person wants to see all of this proposal."""

        def __init__(self, view: CardView) -> None:
            super().__init__()
            self.view = view

    class Dismissed(Message):
        """The person leaves it pending and goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._guard = KeyGuard(clock)
        self._view: CardView | None = None
        self._denying: str | None = None
        self._writing = False
        self._keys_shown = Content("")

    def compose(self) -> ComposeResult:
        """Who wants what, arguments that scroll, and the line that says what keys do."""
        yield Static(id="card-call", markup=False)
        with VerticalScroll(id="card-scroll", can_focus=False):
            yield Static(id="card-arguments", markup=False)
        yield ReasonInput(
            id="card-reason",
            placeholder="why, in a sentence",
            compact=True,
            select_on_focus=False,  # what was typed before the focus came would be replaced
        )
        yield Static(id="card-keys", markup=False)

    def on_mount(self) -> None:
        """Prepare the clock that opens the keys' line when the guard opens."""
        self._waiting = self.set_interval(0.1, self._show_keys, pause=True)
        self._show_keys()

    @property
    def view(self) -> CardView | None:
        """What the card shows."""
        return self._view

    def show(self, view: CardView | None, now: float) -> None:
        """Show a proposal; `now` is in seconds since the epoch. Another one arms the guard."""
        another = _id(view) != _id(self._view)
        self._view = view
        if another:
            # Whoever writes a reason goes on writing: the next call must not get their keys.
            self._denying = None
            self.arm()
            self.query_one("#card-scroll", VerticalScroll).scroll_home(animate=False)
        if view is None:
            return
        self.border_title = _head(view, now)
        if another:
            self.query_one("#card-call", Static).update(_call(view))
            proposal = view.proposal
            arguments = arguments_content(proposal.arguments, withheld=proposal.withheld)
            self.query_one("#card-arguments", Static).update(arguments)
        self._show_keys()

    def arm(self) -> None:
        """Let no key count until the keyboard rested."""
        self._guard.arm()
        self._show_keys()

    def on_focus(self) -> None:
        """Arm the guard, however the focus came here."""
        self.arm()

    def on_resize(self) -> None:
        """Lay the keys out anew."""
        self._show_keys()

    def on_blur(self) -> None:
        """Say how to come back."""
        self._show_keys()

    def on_key(self, event: events.Key) -> None:
        """Do what a key says if the guard admits it; swallow it otherwise.

        Leaving is always possible. Of the keys of the input inside the card, only esc matters.
        """
        if not self.has_focus:
            if event.key == "escape" and self._writing:
                event.stop()
                self._end_denial()
            return
        if event.key in ("tab", "shift+tab"):
            return
        event.stop()
        if self._writing:
            self._type_ahead(event)
            return
        admitted = self._guard.admit(time.monotonic() - event.time, event.key)
        action = self._KEYS.get(event.key)
        if event.key == "escape":
            self.post_message(self.Dismissed())
        elif admitted and action is not None and self._view is not None:
            self._act(action.run, event.key, self._view)
        self._show_keys()

    def action_through_on_key(self, _run: str) -> None:
        """Nothing: the bindings are there to be listed, `on_key` takes the keys."""

    def _act(self, action: str, key: str, view: CardView) -> None:
        match action:
            case "allow_once":
                self._settle(view, Answer(allow=True))
            case "allow_session":
                self._settle(view, Answer(allow=True, scope="session"))
            case "deny":
                self._settle(view, Answer(allow=False))
            case "deny_because":
                self._begin_denial(view)
            case "full_view":
                self.post_message(self.FullView(view))
            case "next_card":
                self.post_message(self.Stepped(1))
            case "previous_card":
                self.post_message(self.Stepped(-1))
            case "scroll":
                self._scroll(key)

    def _settle(self, view: CardView, answer: Answer) -> None:
        self.arm()
        self.post_message(self.Settled(view.proposal.id, answer))

    def _scroll(self, key: str) -> None:
        area = self.query_one("#card-scroll", VerticalScroll)
        page = max(area.size.height - 1, 1)
        distance = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}[key]
        area.scroll_relative(y=distance, animate=False)

    def _begin_denial(self, view: CardView) -> None:
        self._denying, self._writing = view.proposal.id, True
        self.add_class("-denying")
        self.query_one(ReasonInput).focus()
        self._show_keys()

    def _type_ahead(self, event: events.Key) -> None:
        """Give the reason what is typed before the focus has reached it: no key of it is ours."""
        reason = self.query_one(ReasonInput)
        if event.key == "escape":
            self._end_denial()
        elif event.key == "enter":
            self.call_later(reason.action_submit)
        elif event.is_printable and event.character is not None:
            reason.insert_text_at_cursor(event.character)

    def _end_denial(self) -> None:
        if not self._writing:
            return
        self._denying, self._writing = None, False
        reason = self.query_one(ReasonInput)
        had_focus = reason.has_focus
        reason.clear()
        self.remove_class("-denying")
        if had_focus:
            self.focus()

    @on(ReasonInput.Submitted)
    def _deny_with_reason(self, event: Input.Submitted) -> None:
        event.stop()
        approval, reason = self._denying, event.value.strip()
        self._end_denial()
        if approval is not None:
            self.post_message(self.Settled(approval, Answer(allow=False, reason=reason or None)))

    def _show_keys(self) -> None:
        guarded = self.has_focus and self._guard.remaining() > 0
        if guarded:
            self._waiting.resume()
        else:
            self._waiting.pause()
        text = self._keys_line(guarded=guarded)
        if text != self._keys_shown:
            self._keys_shown = text
            line = self.query_one("#card-keys", Static)
            line.set_class(guarded, "-guarded")
            line.update(text)

    def _keys_line(self, *, guarded: bool) -> Content:
        if self._writing and self._denying is None:
            return Content("that call is gone, this is another one · esc goes on to it")
        if self._writing:
            return Content("enter denies and tells the agent · esc goes back")
        if not self.has_focus:
            return Content("ctrl+g to answer")
        return Content("ready in a moment…") if guarded else _key_table(self.content_size.width)


def _key_table(width: int) -> Content:
    """The card's keys in columns, so that they can be found without reading."""
    columns = max(width // CELL, 1)
    cells = [
        Content.assemble((action.short_keys, "$primary bold"), f" {action.label}")
        for action in actions(Scope.CARD)
    ]
    padded = [cell.pad_right(CELL - cell.cell_length) for cell in cells]
    rows = [Content("").join(padded[at : at + columns]) for at in range(0, len(padded), columns)]
    return Content("\n").join(rows)


def _id(view: CardView | None) -> str | None:
    return view.proposal.id if view is not None else None


def _head(view: CardView, now: float) -> str:
    before = "from before · " if view.from_before else ""
    waiting = duration(now - view.proposal.asked_at)
    return f"{before}{view.position} of {view.total} · waiting {waiting}"


def _call(view: CardView) -> Content:
    proposal = view.proposal
    quote = visible(view.message)
    quote = quote if len(quote) <= QUOTE else f"{quote[:QUOTE]}…"
    where = visible(proposal.where) or "this machine"
    return Content.assemble(
        (visible(view.author), "bold"),
        (" wrote ", "$foreground-muted"),
        (f"“{quote}”", "italic"),
        ("\n", ""),
        (visible(agent_path(proposal.agent)), "$text-secondary"),
        (" wants to call ", "$foreground-muted"),
        (visible(proposal.tool), "bold $text-warning"),
        ("\nruns on ", "$foreground-muted"),
        (where, ""),
    )
