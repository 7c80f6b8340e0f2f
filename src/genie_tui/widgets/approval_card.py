"""The card that shows one tool call and takes a person's answer to it.

The card acts on keys only while it has the focus itself, and only those its guard admits. An answer
concerns what is on the card while its key is pressed: showing another call drops the key.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from genie_core.room.seat import Answer
from genie_tui.action import Scope
from genie_tui.extent import HOW, read_extent
from genie_tui.keymap import bindings, by_key
from genie_tui.widgets.arguments import arguments_content
from genie_tui.widgets.card_text import (
    RISKS,
    CardView,
    call_lines,
    headline,
    key_table,
    why_asked,
)
from genie_tui.widgets.key_guard import SOON, KeyGuard
from genie_tui.widgets.reading import read_on

LOOKING: Final = frozenset({"scroll", "next_card", "previous_card"})
"""Actions that only show something; they need no guard."""

WRITING: Final = frozenset({"allow_for", "deny_because"})
"""Actions that open a line of text; keys that follow at once belong to the line."""


class Writing(Enum):
    """What is typed in the line of the card; the value says so where nothing is typed yet."""

    REASON = "why, in a sentence"
    EXTENT = "how often or how long: 5, or 10m"


class ReasonInput(Input):
    """Where the words of an answer are typed: why not, or how far an allowance reaches."""


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

    class EditWanted(Message):
        """The person wants to change what is called with, and allow that."""

        def __init__(self, view: CardView) -> None:
            super().__init__()
            self.view = view

    class Dismissed(Message):
        """The person leaves it pending and goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._guard = KeyGuard(clock)
        self._view: CardView | None = None
        self._about: str | None = None
        self._writing: Writing | None = None
        self._fault = ""
        self._keys_shown = Content("")

    def compose(self) -> ComposeResult:
        """Who wants what, arguments that scroll, and the line that says what keys do."""
        yield Static(id="card-call", markup=False)
        yield Static(id="card-why", markup=False)
        with VerticalScroll(id="card-scroll", can_focus=False):
            yield Static(id="card-arguments", markup=False)
        yield ReasonInput(
            id="card-reason",
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
            self._about = None
            self.arm()
            self.query_one("#card-scroll", VerticalScroll).scroll_home(animate=False)
        if view is None:
            return
        self.border_title = headline(view, now)
        if another:
            proposal = view.proposal
            self.query_one("#card-call", Static).update(call_lines(view))
            why = self.query_one("#card-why", Static)
            why.update(why_asked(proposal))
            why.set_classes(f"-{proposal.risk}" if proposal.risk in RISKS else "")
            arguments = arguments_content(proposal.arguments, withheld=proposal.withheld)
            self.query_one("#card-arguments", Static).update(arguments)
        self._show_keys()

    def arm(self) -> None:
        """Let no key count until the keyboard has rested."""
        self._guard.arm()
        self._show_keys()

    def on_focus(self) -> None:
        """Arm the guard, however the focus came here."""
        self.arm()

    def on_resize(self) -> None:
        """Lay the keys out anew."""
        self._show_keys()

    def on_blur(self) -> None:
        """Drop a key that was not acted on yet, and say how to come back."""
        self.arm()

    def on_key(self, event: events.Key) -> None:
        """Do what a key says if the guard admits it; swallow it otherwise.

        Leaving is always possible. Of the keys of the input inside the card, only esc matters.
        """
        if not self.has_focus:
            if event.key == "escape" and self._writing:
                event.stop()
                self._end_writing()
            return
        if event.key in ("tab", "shift+tab"):
            return
        event.stop()
        if self._writing:
            self._type_ahead(event)
            return
        admitted = self._guard.admit_key(event)
        action = self._KEYS.get(event.key)
        if event.key == "escape":
            self.post_message(self.Dismissed())
        elif action is None or self._view is None:
            pass
        elif action.run in LOOKING:
            self._look(action.run, event.key)
        elif admitted and action.run in WRITING:
            self._act(action.run, self._view)
        elif admitted:
            self._guard.act_alone(self, partial(self._act, action.run, self._view))
        self._show_keys()

    def action_through_on_key(self, _run: str) -> None:
        """Nothing: the bindings are there to be listed, `on_key` takes the keys."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Let the footer offer none of the card's keys while they are typed into its line."""
        return not self._writing

    def _look(self, action: str, key: str) -> None:
        if action == "scroll":
            read_on(self.query_one("#card-scroll", VerticalScroll), key)
        else:
            self.post_message(self.Stepped(1 if action == "next_card" else -1))

    def _act(self, action: str, view: CardView) -> None:
        match action:
            case "allow_once":
                self._settle(view, Answer(allow=True))
            case "allow_session":
                self._settle(view, Answer(allow=True, scope="session"))
            case "allow_for":
                self._write(view, Writing.EXTENT)
            case "edit":
                self.arm()
                self.post_message(self.EditWanted(view))
            case "deny":
                self._settle(view, Answer(allow=False))
            case "deny_because":
                self._write(view, Writing.REASON)
            case "deny_and_stop":
                self._settle(view, Answer(allow=False, stop=True))
            case "full_view":
                self.post_message(self.FullView(view))

    def _settle(self, view: CardView, answer: Answer) -> None:
        self.arm()
        self.post_message(self.Settled(view.proposal.id, answer))

    def _write(self, view: CardView, what: Writing) -> None:
        self._about, self._writing, self._fault = view.proposal.id, what, ""
        self.add_class("-writing")
        line = self.query_one(ReasonInput)
        line.placeholder = what.value
        line.focus()
        self._show_keys()

    def _type_ahead(self, event: events.Key) -> None:
        """Give the line what is typed before the focus has reached it: no key of it is ours."""
        line = self.query_one(ReasonInput)
        if event.key == "escape":
            self._end_writing()
        elif event.key == "enter":
            self.call_later(line.action_submit)
        elif event.is_printable and event.character is not None:
            line.insert_text_at_cursor(event.character)

    def _end_writing(self) -> None:
        if not self._writing:
            return
        self._about, self._writing, self._fault = None, None, ""
        line = self.query_one(ReasonInput)
        had_focus = line.has_focus
        line.clear()
        self.remove_class("-writing")
        if had_focus:
            self.focus()
        self._show_keys()

    @on(ReasonInput.Submitted)
    def _written(self, event: Input.Submitted) -> None:
        event.stop()
        approval, what, text = self._about, self._writing, event.value.strip()
        answer = Answer(allow=False, reason=text or None)
        if what is Writing.EXTENT and approval is not None:
            extent = read_extent(text)
            if extent is None:
                self._fault = HOW
                self._show_keys()
                return
            answer = Answer(allow=True, scope=extent[0], count=extent[1])
        self._end_writing()
        if approval is not None:
            self.post_message(self.Settled(approval, answer))

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
        if self._writing and self._about is None:
            return Content("that call is gone, this is another one · esc goes on to it")
        if self._writing is Writing.EXTENT:
            return Content(
                self._fault or "enter allows this tool that often or long · esc goes back"
            )
        if self._writing:
            return Content("enter denies and tells the agent · esc goes back")
        if not self.has_focus:
            return Content("ctrl+g to answer")
        return Content(SOON) if guarded else key_table(self.content_size.width)


def _id(view: CardView | None) -> str | None:
    return view.proposal.id if view is not None else None
