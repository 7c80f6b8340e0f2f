"""The quiet line above the composer: who is writing, and what waits."""

import math
from collections.abc import Callable, Iterable
from typing import Final

from textual.content import Content
from textual.widget import Widget

from genie_core.room.protocol.events import Event, MemberLeft, MessagePosted
from genie_core.text.safe import visible_line

LINGER: Final = 4.0
"""Seconds for which somebody counts as writing after the last sign of it."""


LATE: Final = 1.0
"""Seconds after a message for which its author does not count as writing the next one."""


class HintLine(Widget):
    """Always one line high, so that nothing moves when it has something to say."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._until: dict[str, float] = {}
        self._spoke: dict[str, float] = {}
        self._waiting = 0
        self._backlog = 0

    @property
    def typing(self) -> frozenset[str]:
        """Who is writing."""
        return frozenset(self._until)

    def somebody_types(self, name: str) -> None:
        """Show that somebody is writing, for a while, unless a message of theirs just came.

        Signs of typing are ephemeral: one may arrive after the message that it belongs to.
        """
        now = self._clock()
        if now - self._spoke.get(name, -math.inf) < LATE:
            return
        self._until[name] = now + LINGER
        self.refresh()

    def stopped_typing(self, name: str) -> None:
        """Stop showing it, for example since the message has come."""
        if self._until.pop(name, None) is not None:
            self.refresh()

    def take_note(self, events: Iterable[Event]) -> None:
        """Stop showing those whose message has come, or who are gone."""
        for event in events:
            match event.body:
                case MessagePosted():
                    self._spoke[event.by] = self._clock()
                    self.stopped_typing(event.by)
                case MemberLeft(name=name):
                    self._spoke.pop(name, None)
                    self.stopped_typing(name)

    def nobody_types(self) -> None:
        """Stop showing anybody, since nothing is heard of them."""
        for name in list(self._until):
            self.stopped_typing(name)

    def forget_silent(self) -> None:
        """Drop those who have not written for a while."""
        now = self._clock()
        for name in [name for name, until in self._until.items() if until <= now]:
            self.stopped_typing(name)

    def show_waiting(self, count: int) -> None:
        """Say how many approvals wait."""
        self._waiting = count
        self.refresh()

    def show_backlog(self, count: int) -> None:
        """Say how many messages from before wait for the host's word."""
        self._backlog = count
        self.refresh()

    def render(self) -> Content:
        """Writers on the left, approvals on the right."""
        left = Content.styled(self._writers(), "$foreground-muted italic")
        right = self._approvals()
        width = self.content_size.width
        left = left.truncate(max(width - right.cell_length - 1, 0), ellipsis=True)
        gap = " " * max(width - left.cell_length - right.cell_length, 0)
        return Content.assemble(left, gap, right)

    def _writers(self) -> str:
        names = [visible_line(name) for name in self._until]
        match names:
            case [] if self._backlog:
                return (
                    f"{self._backlog:,} messages from before the restart wait: "
                    "/backlog all, latest or none"
                )
            case []:
                return ""
            case [name]:
                return f"{name} is typing…"
            case [first, second]:
                return f"{first} and {second} are typing…"
            case _:
                return f"{len(names)} people are typing…"

    def _approvals(self) -> Content:
        if not self._waiting:
            return Content("")
        calls = "a tool call waits" if self._waiting == 1 else f"{self._waiting} tool calls wait"
        return Content.assemble(
            (f"▲ {calls} for your answer  ", "$text-warning"), ("ctrl+g", "bold $text-warning")
        )
