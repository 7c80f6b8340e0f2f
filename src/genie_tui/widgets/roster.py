"""The people in the room, and their agents' activity."""

import time
from collections.abc import Callable
from typing import Final

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from genie_core.room.protocol.names import fold_name
from genie_core.room.security.key_words import key_words
from genie_core.room.state.members import Person, Presence
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.agents import stems
from genie_core.runtime.progress import Shown
from genie_core.text.safe import visible_line
from genie_tui.widgets.agent_tree import RunningAgents

NAMES: Final = (12, 24)
"""Minimum and maximum columns for a name; longer ones are cut."""

BESIDES: Final = 48
"""Columns of a line for everything but the name."""

ROLE: Final = 8
"""Columns of the longest role."""

_DOING: Final = {
    Presence.NONE: ("no agent", "$foreground-disabled"),
    Presence.IDLE: ("· idle", "$foreground-muted"),
    Presence.THINKING: ("◐ working", "$text-accent"),
    Presence.WAITING: ("▲ needs approval", "$text-warning"),
}
"""Glyph, word and theme colour of each state of an agent."""


_MARKS: Final = ("·", "◐", "▲", "✎", "↻")


class Roster(Static):
    """One line per person: those present first, then those who left.

    Below a person whose agent directs others, these are shown as a tree while they work.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(markup=False)
        self._state = RoomState()
        self._me = ""
        self._typing: frozenset[str] = frozenset()
        self._agents = RunningAgents(clock)
        self._shown = Content("")
        self.border_title = "People"

    def bind_state(self, state: RoomState, me: str) -> None:
        self._state, self._me = state, me
        self.refresh_people()

    def show_typing(self, names: frozenset[str]) -> None:
        """Mark these people as typing."""
        if names != self._typing:
            self._typing = names
            self.refresh_people()

    def show_progress(self, message: int, agent: str, what: Shown, detail: str) -> None:
        """Record an agent's activity in the run for a message."""
        self._agents.report(message, agent, what, detail)
        self.refresh_people()

    def refresh_people(self) -> None:
        self._agents.forget_ended(self._state)
        here = self._state.present()
        away = [person for person in self._state.people.values() if not person.present]
        lines: list[Content] = []
        for person in [*here, *away]:
            lines += [self._line(person), *self._tree(person)]
        shown = Content("\n").join(lines) if lines else Content.styled("no one yet", "dim")
        if not shown.is_same(self._shown):
            higher = shown.plain.count("\n") != self._shown.plain.count("\n")
            self._shown = shown
            self.update(shown, layout=higher)

    def as_text(self) -> str:
        """Return the roster as plain text, for a notice."""
        lines: list[str] = []
        for person in self._state.present():
            doing = _marked(self._doing(person)[0])
            lines.append(f"{visible_line(person.name)} ({self._standing(person)}) {doing}")
            lines += self._waits(person)
        return "\n".join(lines)

    def _waits(self, person: Person) -> list[str]:
        """Return the work of a person's agents and their obstacles, a line each."""
        rows = self._agents.rows(self._state, self._me, person.name, single=True)
        return [
            f"{'  ' * (each.depth + 1)}{each.label} {visible_line(each.doing)}" for each in rows
        ]

    def about(self, name: str) -> str:
        """Describe a person in some lines for a notice; empty if unknown."""
        wanted = fold_name(name)
        for person in self._state.people.values():
            if fold_name(person.name) == wanted:
                return self._about(person)
        return ""

    def on_resize(self) -> None:
        self.refresh_people()

    def _about(self, person: Person) -> str:
        banned = ", banned" if fold_name(person.name) in self._state.banned else ""
        doing = self._doing(person)[0] if person.engine else "here"
        here = doing if person.present else "away"
        lines = [
            f"{visible_line(person.name)} ({self._standing(person)}{banned}) {_marked(here)}",
            f"key: {key_words(person.key)}",
            f"agent: {self._agent(person) or 'none'}",
        ]
        if len(person.terminals) > 1:
            lines.append(f"at {len(person.terminals)} terminals")
        lines += self._waits(person)
        return "\n".join(lines)

    def _standing(self, person: Person) -> str:
        return self._state.role_of(person) + (", muted" if person.muted else "")

    def _line(self, person: Person) -> Content:
        width = self.content_size.width
        longest = max(cell_len(visible_line(each)) for each in self._state.people)
        columns = min(max(width - BESIDES, NAMES[0]), NAMES[1], max(longest, NAMES[0] // 2))
        name = Content(visible_line(person.name)).truncate(columns, ellipsis=True)
        gap = " " * (columns - name.cell_length + 1)
        if not person.present:
            return Content.assemble("○ ", name, gap, "away").stylize("$foreground-disabled")
        word = self._state.role_of(person)
        role = ("muted", "$text-accent") if person.muted else (word, "$foreground-muted")
        start = Content.assemble(
            ("● ", "$text-success"),
            name.stylize("bold") if person.name == self._me else name,
            gap,
            (f"{role[0]:<{ROLE}}", role[1]),
            " ",
        )
        return Content.assemble(start, self._rest(person, width - start.cell_length))

    def _tree(self, person: Person) -> list[Content]:
        rows = self._agents.rows(self._state, self._me, person.name)
        width = max(self.content_size.width, NAMES[1])
        return [
            Content.assemble(
                (f"  {stem}", "$foreground-muted"),
                (f"{row.label} ", "$text-secondary"),
                (visible_line(row.doing), row.tone),
            ).truncate(width, ellipsis=True)
            for stem, row in zip(stems([each.depth for each in rows]), rows, strict=True)
        ]

    def _rest(self, person: Person, room: int) -> Content:
        """Return the agent's activity and owner, and the person's number of terminals."""
        count = len(person.terminals)
        places = Content.styled(f" ×{count}" if count > 1 else "", "$foreground-muted")
        room = max(room - places.cell_length, 0)
        doing = Content.styled(*self._doing(person)).truncate(room, ellipsis=True)
        agent = self._agent(person)
        left = room - doing.cell_length - 2
        if len(agent) > left:
            agent = agent.rpartition(":")[2]  # the model says more than its provider
        if person.engine and agent and left > 3:
            label = Content(f"  {agent}").truncate(left + 2, ellipsis=True)
            doing = Content.assemble(doing, label.stylize("$foreground-muted"))
        return Content.assemble(doing, places)

    def _doing(self, person: Person) -> tuple[str, str]:
        presence = self._state.presence(person.name)
        if person.name in self._typing and presence in (Presence.NONE, Presence.IDLE):
            return "✎ typing", "$text-primary"
        if presence is Presence.NONE and self._agent(person):
            return self._agent(person), "$foreground-muted"
        return ("· here", "$foreground-muted") if person.is_agent else _DOING[presence]

    def _agent(self, person: Person) -> str:
        """Return the model that answers this person: their own, the host's, or ""."""
        if person.is_agent:
            return ""
        if person.engine:
            return visible_line(person.agent)
        host = self._state.people.get(self._state.host)
        served = host is not None and host.present and host.engine
        return "host's agent" if served and person.role != "observer" else ""


def _marked(doing: str) -> str:
    return doing if doing.startswith(_MARKS) else f"· {doing}"
