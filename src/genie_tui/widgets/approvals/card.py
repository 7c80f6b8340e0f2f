"""The card that shows one request and takes a person's answer.

The card acts on keys only while it has the focus, and only on keys that its guard admits. An answer
applies to the request that is shown when its key is pressed: showing another request drops the key.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from genie_core.room.client.model import Answer
from genie_core.room.engine.policy import EXCEED_BUDGET
from genie_core.room.state.thread import ToolApproval
from genie_core.room.text.agents import agent_path
from genie_core.room.text.approvals import (
    RISKS,
    SCOPE_HINT,
    WITHHELD,
    plain_value,
    read_scope,
    risk_of,
)
from genie_core.text.format import duration
from genie_core.text.safe import visible, visible_line
from genie_tui.commands.keys import Scope, actions, bindings, by_key
from genie_tui.widgets.approvals.key_guard import SOON, KeyGuard
from genie_tui.widgets.reading import read_on

QUOTE: Final = 160
"""Characters of the message that a card quotes."""

BECAUSE: Final = 200
"""Characters of the reason that a card shows; the full view shows all."""

CELL: Final = 21
"""Columns for one key and what it does."""

SHORT: Final = 4_000
"""Characters of one value that a card shows; the full view shows all."""

INDENT: Final = "  "

LOOKING: Final = frozenset({"scroll", "next_card", "previous_card"})
"""Actions that only show something; they need no guard."""

WRITING: Final = frozenset({"allow_for", "deny_because"})
"""Actions that open a line of text; keys that follow at once belong to the line."""


@dataclass(frozen=True, slots=True)
class CardView:
    """The request on a card, its message, and its place in the queue."""

    request: ToolApproval
    author: str
    message: str
    position: int
    total: int

    @property
    def from_before(self) -> bool:
        """Whether it was parked by a suspend."""
        return self.request.outcome == "parked"


class Writing(Enum):
    """The purpose of the card's input line; the value is its placeholder."""

    REASON = "why, in a sentence"
    EXTENT = "how often or how long: 5, or 10m"


class ReasonInput(Input):
    """The input line for the reason of a denial, or for the extent of a grant."""


class ApprovalCard(Vertical, can_focus=True):
    """Shows one request at a time; never takes the focus by itself."""

    BINDINGS = bindings(Scope.CARD)

    _KEYS = by_key(Scope.CARD)

    class Answered(Message):
        """The person answered."""

        def __init__(self, approval: str, answer: Answer) -> None:
            super().__init__()
            self.approval = approval
            self.answer = answer

    class Stepped(Message):
        """The person wants to see the next (1) or the previous (-1) request."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class FullView(Message):
        """The person wants to see the request in full."""

        def __init__(self, view: CardView) -> None:
            super().__init__()
            self.view = view

    class EditWanted(Message):
        """The person wants to edit the arguments, and allow that."""

        def __init__(self, view: CardView) -> None:
            super().__init__()
            self.view = view

    class Dismissed(Message):
        """The person leaves it open and goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._guard = KeyGuard(clock)
        self._view: CardView | None = None
        self._about: str | None = None
        self._writing: Writing | None = None
        self._fault = ""
        self._keys_shown = Content("")

    def compose(self) -> ComposeResult:
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
        self._waiting = self.set_interval(0.1, self._show_keys, pause=True)
        self._show_keys()

    @property
    def view(self) -> CardView | None:
        return self._view

    def show(self, view: CardView | None, now: float) -> None:
        """Show a request; `now` is in seconds since the epoch. Another one arms the guard."""
        another = _id(view) != _id(self._view)
        self._view = view
        if another:
            # Keys of a reason being written must not reach the next request.
            self._about = None
            self.arm()
            self.query_one("#card-scroll", VerticalScroll).scroll_home(animate=False)
        if view is None:
            return
        self.border_title = headline(view, now)
        if another:
            request = view.request
            self.query_one("#card-call", Static).update(call_lines(view))
            why = self.query_one("#card-why", Static)
            why.update(why_asked(request))
            why.set_classes(f"-{request.risk}" if request.risk in RISKS else "")
            arguments = arguments_content(request.arguments, withheld=request.withheld)
            self.query_one("#card-arguments", Static).update(arguments)
        self._show_keys()

    def arm(self) -> None:
        """Let no key count until the keyboard has rested."""
        self._guard.arm()
        self._show_keys()

    def on_focus(self) -> None:
        self.arm()

    def on_resize(self) -> None:
        self._show_keys()

    def on_blur(self) -> None:
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
        """Do nothing: bindings are only listed, `on_key` takes the keys."""

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
                self._answer(view, Answer(allow=True))
            case "allow_session":
                self._answer(view, Answer(allow=True, scope="session"))
            case "allow_for":
                self._write(view, Writing.EXTENT)
            case "edit":
                self.arm()
                self.post_message(self.EditWanted(view))
            case "deny":
                self._answer(view, Answer(allow=False))
            case "deny_because":
                self._write(view, Writing.REASON)
            case "deny_and_stop":
                self._answer(view, Answer(allow=False, stop=True))
            case "full_view":
                self.post_message(self.FullView(view))

    def _answer(self, view: CardView, answer: Answer) -> None:
        self.arm()
        self.post_message(self.Answered(view.request.id, answer))

    def _write(self, view: CardView, what: Writing) -> None:
        self._about, self._writing, self._fault = view.request.id, what, ""
        self.add_class("-writing")
        line = self.query_one(ReasonInput)
        line.placeholder = what.value
        line.focus()
        self._show_keys()

    def _type_ahead(self, event: events.Key) -> None:
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
            extent = read_scope(text)
            if extent is None:
                self._fault = SCOPE_HINT
                self._show_keys()
                return
            answer = Answer(allow=True, scope=extent[0], count=extent[1])
        self._end_writing()
        if approval is not None:
            self.post_message(self.Answered(approval, answer))

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
    return view.request.id if view is not None else None


def headline(view: CardView, now: float) -> str:
    """The card's place in the queue, and how long it has waited."""
    before = "from before · " if view.from_before else ""
    waiting = duration(now - view.request.asked_at)
    return f"{before}{view.position} of {view.total} · waiting {waiting}"


def call_lines(view: CardView) -> Content:
    """The message, the agent and its call, and where it would run."""
    request = view.request
    quote = visible(view.message)
    quote = quote if len(quote) <= QUOTE else f"{quote[:QUOTE]}…"
    where = visible(request.where) or "this machine"
    return Content.assemble(
        (visible(view.author), "bold"),
        (" wrote ", "$foreground-muted"),
        (f"“{quote}”", "italic"),
        ("\n", ""),
        (visible(f"{request.owner}'s {agent_path(request.agent)}"), "$text-secondary"),
        (" wants to ", "$foreground-muted"),
        *_action(request),
        ("\nruns on ", "$foreground-muted"),
        (where, ""),
    )


def _action(request: ToolApproval) -> tuple[tuple[str, str], ...]:
    if request.tool == EXCEED_BUDGET:
        return (("go over the budget of this session", "bold $text-warning"),)
    return ("call ", "$foreground-muted"), (visible(request.tool), "bold $text-warning")


def why_asked(request: ToolApproval) -> Content:
    """The tool's risk, and the reason for asking; empty if neither is known."""
    risk = risk_of(request)
    because = visible_line(request.because[:BECAUSE])
    asked = f"asked because {because}" if because else ""
    return Content.assemble(
        (risk, "bold"), " · " if risk and asked else "", (asked, "$foreground-muted")
    )


def arguments_content(arguments: Mapping[str, Any], *, withheld: bool = False) -> Content:
    """The arguments for a card: short values beside their names, long ones below.

    A value beyond `SHORT` is cut with a line that says how much is missing.
    """
    if withheld and not arguments:
        return Content.styled(WITHHELD, "$text-warning")
    if not arguments:
        return Content.styled("no arguments", "$foreground-muted")
    width = max(len(visible(name)) for name in arguments)
    parts = [_argument(name, value, min(width, 16)) for name, value in arguments.items()]
    return Content("\n").join(parts)


def _argument(name: str, value: Any, width: int) -> Content:
    text = plain_value(value)
    label = Content.styled(visible(name).ljust(width), "$text-primary")
    if not text:
        return Content.assemble(label, INDENT, ("empty text", "$foreground-muted"))
    if "\n" not in text:
        return Content.assemble(label, INDENT, *_cut(text))
    block = "\n".join(INDENT + line for line in text[:SHORT].split("\n"))
    return Content.assemble(label, "\n", block, *_missing(text))


def _cut(text: str) -> Iterator[Content | str]:
    yield text[:SHORT]
    yield from _missing(text)


def _missing(text: str) -> Iterator[Content]:
    rest = len(text) - SHORT
    if rest > 0:
        yield Content.styled(f"\n… {rest:,} more characters: v shows all", "$text-warning")


def key_table(width: int) -> Content:
    """The card's keys in columns, so that they can be found without reading."""
    columns = max(width // CELL, 1)
    cells = [
        Content.assemble((action.short_keys, "$primary bold"), f" {action.label}")
        for action in actions(Scope.CARD)
    ]
    padded = [cell.pad_right(CELL - cell.cell_length) for cell in cells]
    rows = [Content("").join(padded[at : at + columns]) for at in range(0, len(padded), columns)]
    return Content("\n").join(rows)
