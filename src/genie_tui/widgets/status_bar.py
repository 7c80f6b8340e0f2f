"""The top line: room, connection, model, and waiting approvals."""

from dataclasses import dataclass
from typing import Final

from textual.content import Content
from textual.widget import Widget

from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    EngineState,
    EngineStatus,
)
from genie_core.text.format import counted
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope

_LINKS: Final = {
    ConnectionState.CONNECTING: ("◌ connecting", "$foreground-muted"),
    ConnectionState.ONLINE: ("● online", "$text-success"),
    ConnectionState.RETRYING: ("◌ reconnecting", "$text-accent"),
    ConnectionState.CLOSED: ("✗ closed", "$text-error"),
}
"""Glyph, word and theme colour of each state of the connection."""

_WAITING, _OTHERS, _ENGINE, _ADDRESS, _LINK = 0, 3, 4, 5, 6
"""Places of the parts that give way, or become shorter, where there is little room."""

TITLE: Final = 8
"""Minimum columns for a title."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The items that wait for a person: approvals, and messages that they missed, some for them."""

    waiting: int = 0
    missed: int = 0
    for_me: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.waiting + other.waiting, self.missed + other.missed, self.for_me + other.for_me
        )

    def __str__(self) -> str:
        new = f"{self.missed} new" if self.missed else ""
        parts = [
            f"▲ {counted(self.waiting, 'approval')}" if self.waiting else "",
            f"{new}, {self.for_me} for you" if self.for_me else new,
        ]
        return " · ".join(filter(None, parts))


class StatusBar(Widget):
    """Title on the left, states on the right; the title shrinks first."""

    def __init__(self) -> None:
        super().__init__()
        self._title = ""
        self._address = ""
        self._link = ConnectionStatus(ConnectionState.CONNECTING)
        self._engine = EngineStatus(EngineState.ABSENT)
        self._waiting = 0
        self._grants = 0
        self._replay = ""
        self._elsewhere: Counts | None = None

    def show_replay(self, word: str) -> None:
        """Show that this is a recording."""
        self._replay = word
        self.add_class("-replay")
        self.refresh()

    def show_room(self, title: str, address: str) -> None:
        """Show the room's title and, for its host, the address."""
        self._title, self._address = title, address
        self.refresh()

    def show_link(self, status: ConnectionStatus) -> None:
        self._link = status
        self.refresh()

    def show_engine(self, status: EngineStatus) -> None:
        self._engine = status
        self.refresh()

    def show_waiting(self, count: int) -> None:
        """Show how many approvals wait, highlighted unless there are none."""
        self._waiting = count
        self.set_class(count > 0, "-waiting")
        self.refresh()

    def show_elsewhere(self, counts: Counts | None) -> None:
        """Show the waiting items of other open rooms; None if there are none."""
        if counts != self._elsewhere:
            self._elsewhere = counts
            self.refresh()

    def show_grants(self, count: int) -> None:
        """Show how many permissions reach beyond single calls; nothing for none."""
        if count != self._grants:
            self._grants = count
            self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        right = self._states(width - TITLE - 2)
        title = Content(visible_line(self._title) or "…").stylize("bold")
        title = title.truncate(max(width - right.cell_length - 2, 1), ellipsis=True)
        gap = " " * max(width - title.cell_length - right.cell_length, 1)
        return Content.assemble(title, gap, right)

    def _states(self, width: int) -> Content:
        """Return the parts that fit, the most important states first, then model and address."""
        if self._replay:
            return Content.styled(f" {self._replay} ", "bold $background on $accent")
        word, style = _LINKS[self._link.state]
        address = Content.styled(self._address, "$text-primary")
        auto = Content.styled(" AUTO ", "bold $background on $error")
        parts = [
            self._approvals(),
            auto if self._engine.auto else Content(""),
            Content.styled(counted(self._grants, "grant"), "$text-accent")
            if self._grants
            else Content(""),
            self._others(),
            _engine(self._engine),
            address,
            Content.styled(word, style),
        ]
        shorter = {
            _ADDRESS: Content(""),
            _ENGINE: Content(""),
            _LINK: Content.styled(word[0], style),
            _OTHERS: self._others(short=True),
            _WAITING: self._approvals(short=True),
        }
        for place, part in shorter.items():
            line = Content("  ").join([part for part in parts if part])
            if line.cell_length <= width:
                return line
            parts[place] = part
        return Content("  ").join([part for part in parts if part])

    def _others(self, *, short: bool = False) -> Content:
        """Return the waiting items of other rooms, as an approval does here if one waits there."""
        counts = self._elsewhere
        if counts is None:
            return Content("")
        if short and counts.waiting:
            return Content.styled(f" ^o ▲ {counts.waiting} ", "bold $background on $warning")
        if short:
            return Content.styled(f"^o {counts.missed or ''}".rstrip(), "$text-accent")
        if counts.waiting:
            return Content.styled(f" elsewhere: {counts} ", "bold $background on $warning")
        if counts.missed:
            return Content.styled(f"elsewhere: {counts}", "$text-accent")
        key = keymap_of(self).text(Scope.APP, "rooms")
        return Content.styled(f"{key} rooms", "$foreground-muted")

    def _approvals(self, *, short: bool = False) -> Content:
        if not self._waiting:
            return Content("")
        if short:
            return Content.styled(f" ▲ {self._waiting} ", "bold $background on $warning")
        calls = "approval" if self._waiting == 1 else "approvals"
        return Content.styled(f" ▲ {self._waiting} {calls} ", "bold $background on $warning")


def _engine(status: EngineStatus) -> Content:
    label = visible_line(status.label)
    match status.state:
        case EngineState.ABSENT:
            return Content("")
        case EngineState.LOADING:
            return Content.styled("◌ loading engine", "$foreground-muted")
        case EngineState.FAILED:
            return Content.styled("✗ engine failed", "$text-error")
        case EngineState.READY if status.offline:
            return Content.styled("offline helper", "$text-accent")
        case EngineState.READY:
            return Content.styled(label, "$text-secondary")
