"""The line above the composer: who is typing, how many tool calls wait, the side panel's key."""

import math
from collections.abc import Callable, Iterable
from typing import Final

from textual.content import Content
from textual.widget import Widget

from genie_core.room.protocol.events import Event, MemberLeft
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope

LINGER: Final = 4.0
"""Seconds for which a member counts as typing after the last sign."""

PANEL: Final = 32
"""Columns for the key of the side panel."""

LATE: Final = 1.0
"""Seconds after a message for which its author does not count as typing."""


class HintLine(Widget):
    """Always one line high, so that the layout never moves."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._until: dict[str, float] = {}
        self._spoke: dict[str, float] = {}
        self._waiting = 0
        self._backlog = 0
        self._people = 0
        self._panel_is_open = False

    @property
    def typing(self) -> frozenset[str]:
        """The members who are typing."""
        return frozenset(self._until)

    def show_typing(self, name: str) -> None:
        """Show that a member is typing, for a while, unless their message just came.

        Typing signals are not ordered: one may arrive after its message.
        """
        now = self._clock()
        if now - self._spoke.get(name, -math.inf) < LATE:
            return
        self._until[name] = now + LINGER
        self.refresh()

    def stop_typing(self, name: str) -> None:
        if self._until.pop(name, None) is not None:
            self.refresh()

    def apply_many(self, events: Iterable[Event]) -> None:
        """Stop showing members whose message has come, or who have left."""
        for event in events:
            if event.posted is not None:
                self._spoke[event.by] = self._clock()
                self.stop_typing(event.by)
            elif isinstance(event.body, MemberLeft):
                self._spoke.pop(event.body.name, None)
                self.stop_typing(event.body.name)

    def clear_typing(self) -> None:
        for name in list(self._until):
            self.stop_typing(name)

    def expire_typing(self) -> None:
        """Stop showing members who have not typed for a while."""
        now = self._clock()
        for name in [name for name, until in self._until.items() if until <= now]:
            self.stop_typing(name)

    def show_waiting(self, count: int) -> None:
        """Show how many approvals wait."""
        self._waiting = count
        self.refresh()

    def show_backlog(self, count: int) -> None:
        """Show how many earlier messages wait for the host's decision."""
        self._backlog = count
        self.refresh()

    def show_people(self, count: int) -> None:
        """Show how many people are here while the side panel is hidden."""
        if count != self._people:
            self._people = count
            self.refresh()

    def show_panel(self, *, is_open: bool) -> None:
        """Note whether the side panel is on the screen."""
        self._panel_is_open = is_open
        self.refresh()

    def render(self) -> Content:
        left = Content.styled(self._writers(), "$foreground-muted italic")
        width = self.content_size.width
        right = self._approvals(width)
        if not left and right.cell_length + PANEL <= width:
            left = self._panel()
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

    def _panel(self) -> Content:
        """Say which key opens the side panel."""
        if not self._people or self._panel_is_open:
            return Content("")
        people = "1 person" if self._people == 1 else f"{self._people} people"
        key = keymap_of(self).text(Scope.ROOM, "activity")
        return Content.assemble(
            (key, "bold $text-primary"), (f"  {people} and the activity", "$foreground-muted")
        )

    def _approvals(self, width: int) -> Content:
        if not self._waiting:
            return Content("")
        calls = "1 tool call waits" if self._waiting == 1 else f"{self._waiting} tool calls wait"
        key = (f"  {keymap_of(self).text(Scope.ROOM, 'approvals')}", "bold $text-warning")
        line = Content.assemble((f"▲ {calls} for your answer", "$text-warning"), key)
        if line.cell_length > width:
            line = Content.assemble((f"▲ {calls}", "$text-warning"), key)
        return line
