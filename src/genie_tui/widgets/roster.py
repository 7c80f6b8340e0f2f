"""Who is in the room, and what their agents are doing."""

from typing import Final

from textual.content import Content
from textual.widgets import Static

from genie_core.room.fold import Person, Presence, RoomState
from genie_tui.text import visible_line

NAMES: Final = (12, 24)
"""The least and the most columns for a name; longer ones are cut."""

BESIDES: Final = 34
"""Columns that a line needs for everything but the name."""

_DOING: Final = {
    Presence.NONE: ("no agent", "$foreground-disabled"),
    Presence.IDLE: ("· idle", "$foreground-muted"),
    Presence.THINKING: ("◐ thinking", "$text-accent"),
    Presence.WAITING: ("▲ waits for approval", "$text-warning"),
}
"""Glyph and word for each state of an agent, with the theme's colour for it."""


class Roster(Static):
    """One line per person: those who are here first, then those who left."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._state = RoomState()
        self._me = ""
        self._typing: frozenset[str] = frozenset()
        self.border_title = "People"

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show this room from now on."""
        self._state, self._me = state, me
        self.refresh_people()

    def show_typing(self, names: frozenset[str]) -> None:
        """Mark these people as writing."""
        if names != self._typing:
            self._typing = names
            self.refresh_people()

    def refresh_people(self) -> None:
        """Look again at who is here."""
        here = self._state.present()
        away = [person for person in self._state.people.values() if not person.present]
        lines = [self._line(person) for person in [*here, *away]]
        self.update(Content("\n").join(lines) if lines else Content.styled("nobody yet", "dim"))

    def as_text(self) -> str:
        """The same as plain text, for a notice."""
        return "\n".join(
            f"{visible_line(person.name)} ({person.role}), {self._doing(person)[0]}"
            for person in self._state.present()
        )

    def on_resize(self) -> None:
        """Give names the width there is."""
        self.refresh_people()

    def _line(self, person: Person) -> Content:
        columns = min(max(self.content_size.width - BESIDES, NAMES[0]), NAMES[1])
        name = Content(visible_line(person.name)).truncate(columns, ellipsis=True)
        gap = " " * (columns - name.cell_length + 1)
        if not person.present:
            return Content.assemble("○ ", name, gap, "away").stylize("$foreground-disabled")
        word, style = self._doing(person)
        return Content.assemble(
            ("● ", "$text-success"),
            name.stylize("bold") if person.name == self._me else name,
            gap,
            (f"{person.role:<6}", "$foreground-muted"),
            "  ",
            (word, style),
        )

    def _doing(self, person: Person) -> tuple[str, str]:
        presence = self._state.presence(person.name)
        if person.name in self._typing and presence in (Presence.NONE, Presence.IDLE):
            return "✎ typing", "$text-primary"
        return _DOING[presence]
