"""What the agents of a room have read: whose words, and whether private data."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from genie_core.room.engine.effects import ToolEffects
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread

MOST_ORIGINS: Final = 8
"""Origins that a request names."""

MOST_KEPT: Final = 200

ORIGIN_CHARS: Final = 120

OUTWARD: Final = frozenset({"execute", "network", "unknown"})
"""Risks of tools that can send what an agent has read out of the room."""


class Provenance:
    """Knows what flowed into the conversation that the agents of one owner read.

    Messages of other people count from the start of the room, since agents read the whole
    conversation; pages, results of tool servers and other rooms count once a call for them was
    allowed, for any person's message: answers are in the conversation, too. All of it is in the log, so
    a room that is opened again knows it as well.
    """

    def __init__(self, state: RoomState) -> None:
        self._state = state
        self._origins: dict[str, None] = {}
        self._has_read = False
        self._authors: dict[str, bool] = {}
        self._read_to = 0
        for request in state.proposals.values():
            if request.outcome == "approved":
                self.add(request.tool, request.risk, request.arguments, request.reads)

    def add(self, tool: str, risk: str, arguments: Mapping[str, Any], reads: str) -> None:
        """Take in what an allowed call reads."""
        self._has_read |= bool(reads)
        if risk == "network":
            origin = f"the page {arguments.get('url', '')}".strip()
        elif risk == "unknown":
            origin = f"results of {tool}"
        elif reads == "private" and not arguments.keys() & {"path", "folder", "command"}:
            origin = "other rooms"
        else:
            return
        if len(self._origins) < MOST_KEPT:
            self._origins[origin[:ORIGIN_CHARS]] = None

    def origins(self, exchange: MessageThread) -> tuple[str, ...]:
        """Whose words the agents have read, beside those of a message's author."""
        self._read_messages()
        people = [
            f"messages of {'the agent ' if by_agent else ''}{name}"
            for name, by_agent in self._authors.items()
            if name != exchange.author
        ]
        return (*people, *self._origins)

    def mixture(self, exchange: MessageThread, risk: str, effects: ToolEffects) -> str:
        """Return which things a call would bring together that must not meet; empty if none.

        These are private data, words that are not the author's, and a way out: the answer, which
        all others see, or a tool that can send it elsewhere.
        """
        origins = self.origins(exchange)
        if not origins:
            return ""
        words = ", ".join(origins[:3]) + (" and others" if len(origins) > 3 else "")
        may_read_all = risk == "execute" and effects.anything
        if (effects.private or may_read_all) and self._has_others(exchange.author):
            return f"everyone here may see the private data that it reads, and {words} may have led to it"
        if risk in OUTWARD and (self._has_read or effects.reads):
            return (
                f"it could send out what was read from your files, and {words} may have led to it"
            )
        return ""

    def _has_others(self, author: str) -> bool:
        return any(name != author for name in (*self._state.people, *self._authors))

    def _read_messages(self) -> None:
        for exchange in self._new_messages():
            self._authors.setdefault(exchange.author, exchange.by_agent)
        self._read_to = self._state.head

    def _new_messages(self) -> Iterator[MessageThread]:
        for exchange in reversed(self._state.exchanges.values()):
            if exchange.seq <= self._read_to:
                return
            yield exchange
