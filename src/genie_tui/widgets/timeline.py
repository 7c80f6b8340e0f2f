"""The room's conversation: what was said, answered and noted, and what one does about it."""

from collections.abc import Collection, Iterable
from time import perf_counter
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.timer import Timer

from genie_core.room.client.model import PendingMessage
from genie_core.room.protocol.events import Event
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_tui.action import Scope
from genie_tui.keymap import bindings
from genie_tui.widgets.conversation import Conversation
from genie_tui.widgets.entry import said_in
from genie_tui.widgets.marked import MarkWanted, exchanged
from genie_tui.widgets.palette import NAMES, component
from genie_tui.widgets.past_column import PastColumn
from genie_tui.widgets.past_pages import Edge
from genie_tui.widgets.stream import OFTEN, pause


class Timeline(PastColumn, can_focus=True):
    """Everything that was said, answered and noted in the room, oldest first.

    It follows what arrives while its end is in view and stays put while somebody reads back.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *map(component, NAMES),
        component("selected"),
        component("below"),
    }
    DEFAULT_CSS = """
    Timeline {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $foreground 15%;
        & .timeline--muted { color: $foreground 55%; }
        & .timeline--rule { color: $foreground 18%; }
        & .timeline--agent { color: $text-primary; text-style: bold; }
        & .timeline--failed { color: $text-error; }
        & .timeline--waiting { color: $text-warning; }
        & .timeline--working { color: $text-primary; }
        & .timeline--done { color: $text-success; }
        & .timeline--mention { color: $text-primary; text-style: bold; }
        & .timeline--link { color: $text-secondary; text-style: underline; }
        & .timeline--heading { color: $text-primary; text-style: bold; }
        & .timeline--quote { color: $foreground 40%; }
        & .timeline--inline { color: $text-accent; background: $surface; }
        & .timeline--code { color: $foreground; background: $surface; }
        & .timeline--keyword { color: $text-primary; }
        & .timeline--string { color: $text-success; }
        & .timeline--number { color: $text-accent; }
        & .timeline--comment { color: $foreground 50%; text-style: italic; }
        & .timeline--name { color: $text-secondary; }
        & .timeline--author-0 { color: $text-success; text-style: bold; }
        & .timeline--author-1 { color: $text-accent; text-style: bold; }
        & .timeline--author-2 { color: $text-secondary; text-style: bold; }
        & .timeline--author-3 { color: $foreground; text-style: bold; }
        & .timeline--selected { background: $primary 20%; }
        & .timeline--below { color: $text-primary; background: $primary-muted; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.TIMELINE)

    class StopRequested(Message):
        """The person may want the work on a message to stop."""

        def __init__(self, exchange: MessageThread) -> None:
            super().__init__()
            self.exchange = exchange

    class Left(Message):
        """The person is done with reading."""

    class DetailsRequested(Message):
        """The person wants to read all of a message, with what it brought along."""

        def __init__(self, exchange: MessageThread) -> None:
            super().__init__()
            self.exchange = exchange

    def __init__(self) -> None:
        super().__init__()
        self._repaint: Timer | None = None
        self._pause = OFTEN

    # What there is to show

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show this room from now on, as seen by `me`, beginning with what it holds already."""
        self._talk = Conversation(state, me, can_read_back=self.past is not None)
        self._selected = self._reading = self._target = None
        self._follow()
        self._replaced_from(0)

    def apply(self, event: Event) -> None:
        """Take in an event that was just applied to the state."""
        self.apply_many((event,))

    def apply_many(self, events: Iterable[Event]) -> None:
        """Take in many events that were applied to the state, at the cost of one.

        Those that are shown already are skipped. The first ones tell more than the state does, and
        so does a whole log from its first event: they replace what that showed.
        """
        place = self.reading
        first, touched = self._talk.add(events)
        for index in touched:
            self._window.redraw(index)
        self._replaced_from(first)
        if first:
            self._count(first)
        elif place is not None:
            self.read_at(*place)
        self._forget_old()

    def stream(self, message: int, text: str) -> None:
        """Add text to the answer that is being written for a message.

        It shows within a twentieth of a second, together with what else arrives until then.
        """
        if not self._talk.stream(message, text):
            return
        if not self.doings.is_written(message):
            self._redraw_message(message)
        self.doings.wrote(message)
        if self._repaint is None and self.is_running:
            self._repaint = self.set_timer(self._pause, self._show_streams)

    def show_doing(self, message: int) -> None:
        """Show anew what the agents that work on a message are at."""
        if self.doings.is_written(message):
            if self._repaint is None and self.is_running:
                self._repaint = self.set_timer(self._pause, self._show_streams)
        else:
            self._redraw_message(message)

    def _redraw_message(self, message: int) -> None:
        index = self._talk.place_of(message)
        if index is not None:
            self._window.redraw(index)
            self._settle_soon()

    def set_unsent(self, unsent: tuple[PendingMessage, ...]) -> None:
        """Show these messages at the end as not sent yet; a new one brings the end into view."""
        if self._talk.set_unsent(unsent):
            self._follow()
        self._replaced_from(self._talk.settled)

    def show_transfer(self, digest: str) -> None:
        """Show anew how far a file has come."""
        for index in self._talk.places_of(digest):
            self._window.redraw(index)
        self._settle_soon()

    @property
    def reasons(self) -> bool:
        """Whether it shows why nobody answered."""
        return self._reasons

    def show_reasons(self, on: bool) -> None:  # noqa: FBT001 - a switch is what it is
        """Show or hide the reason behind every message that nobody answered."""
        if on != self._reasons:
            self._reasons = on
            self._redraw_all()

    def show_wrong(self, messages: Collection[int]) -> None:
        """Show exactly these messages as those whose decisions the person marked as wrong."""
        for message in exchanged(self._wrong, messages):
            self._redraw_message(message)

    # What the person does

    @property
    def chosen(self) -> MessageThread | None:
        """The message that is selected, or that the selected answer is to."""
        return None if self._selected is None else self._talk.exchange_at(self._selected)

    def action_details(self) -> None:
        """Ask to read all of the selected message."""
        if (exchange := self.chosen) is not None:
            self.post_message(self.DetailsRequested(exchange))

    def action_mark_wrong(self) -> None:
        """Ask for the decision about the selected message to be marked, or not any more."""
        if (exchange := self.chosen) is not None:
            decision = exchange.decision.decision if exchange.decision else None
            self.post_message(MarkWanted(exchange.seq, decision))

    def action_select(self, step: int) -> None:
        """Move the selection to the next message in a direction, and past the last to the end."""
        index = self._selected
        if index is None:
            last = self.scroll_offset.y + self._rows - 1
            index = self._window.at(last)[0] + 1 if len(self._window) else 0
            step = -1
        index += step
        while 0 <= index < len(self._talk) and said_in(self._talk[index]) is None:
            index += step
        if index >= len(self._talk):
            self.action_follow()
        elif index >= 0:
            self._select(index)

    def action_page(self, step: int) -> None:
        """Read on or back by a page, less two lines to find one's place."""
        self._go(self.scroll_offset.y + step * max(1, self._rows - 2))

    def action_home(self) -> None:
        """Read from the start."""
        self._target = None
        if not self._talk.has_more_before or not self._read_back(Edge.START):
            self._go(0)

    def action_follow(self) -> None:
        """Go to the end and stay there as more arrives."""
        self._selected = self._reading = self._target = None
        self._follow()
        self._settle()

    def action_copy(self) -> None:
        """Copy the selected message as it is shown."""
        text = None if self._selected is None else said_in(self._talk[self._selected])
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.notify("Message copied.", markup=False, timeout=2)

    def action_stop(self) -> None:
        """Leave, or go back by one step first: stop work on the selected message, or unselect it.

        Nothing stops by this alone: `StopRequested` is the request to ask.
        """
        exchange = self.chosen
        if exchange is not None and self._talk.is_running(exchange.seq):
            self.post_message(self.StopRequested(exchange))
        elif self._selected is not None:
            self._selected = None
            self.refresh()
        else:
            self.post_message(self.Left())

    def on_click(self, event: events.Click) -> None:
        """Jump to what is new when its marker is clicked, and read back where more is to come."""
        if self._below and event.y == self._rows - 1:
            event.stop()
            self.action_follow()
        elif self._talk.has_more_before and not self._window.at(event.y + self.scroll_offset.y)[0]:
            self._following = False
            self._look_around()

    # How it is done

    def _show_streams(self) -> None:
        self._repaint = None
        started = perf_counter()
        self._talk.refresh_tail()
        self._replaced_from(self._talk.settled)
        self._settle()
        self._pause = pause(perf_counter() - started)

    def _select(self, index: int) -> None:
        self._selected = index
        start, height = self._window.span(index)
        top = self.scroll_offset.y
        if start < top:
            self._go(start)
        elif start + height > top + self._rows:
            self._go(min(start, start + height - self._rows))
        self.refresh()
