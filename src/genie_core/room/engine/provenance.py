"""What the agents of each person have read: whose words, and whether private data."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from genie_core.room.engine.effects import ToolEffects
from genie_core.room.engine.policy import Risk
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval

MOST_ORIGINS: Final = 8
"""Origins that a request names."""

ORIGIN_CHARS: Final = 120

OUTWARD: Final = frozenset({"execute", "network", "unknown"})
"""Risks of tools that can send what an agent has read out of the room."""


@dataclass(slots=True)
class _Context:
    """What the agents that work for one person have read through tools."""

    origins: dict[str, None] = field(default_factory=dict)
    has_read: bool = False


class Provenance:
    """Knows for each person what flowed into the context of their agents.

    Messages of all other people count from the start of the room, since agents read the whole
    conversation; pages, results of tool servers and other rooms count once a call for them was
    allowed. All of it is in the log, so a room that is opened again knows it as well.
    """

    def __init__(self, state: RoomState) -> None:
        self._state = state
        self._contexts: dict[str, _Context] = {}
        self._authors: dict[str, int] = {}
        self._read_to = 0
        for request in state.proposals.values():
            if request.outcome == "approved":
                self.add(request)

    def add(self, request: ToolApproval) -> None:
        """Take in what an allowed call read."""
        exchange = self._state.exchanges.get(request.message)
        if exchange is None:
            return
        context = self._contexts.setdefault(exchange.author, _Context())
        context.has_read |= request.private or _is_file(request)
        if origin := _origin(request):
            context.origins[origin[:ORIGIN_CHARS]] = None

    def origins(self, exchange: MessageThread) -> tuple[str, ...]:
        """Whose words the agents of a message's author have read, beside the author's own."""
        self._read_messages()
        people = [f"messages of {name}" for name in self._authors if name != exchange.author]
        context = self._contexts.get(exchange.author, _Context())
        return (*people, *context.origins)

    def mixture(self, exchange: MessageThread, risk: Risk, effects: ToolEffects) -> str:
        """Return which things a call would bring together that must not meet; empty if none.

        These are private data, words that are not the author's, and a way out: the answer, which
        all others see, or a tool that can send it elsewhere.
        """
        origins = self.origins(exchange)
        if not origins:
            return ""
        words = ", ".join(origins[:3]) + (" and others" if len(origins) > 3 else "")
        if effects.private and self._has_others(exchange.author):
            return f"it reads private data that everyone here may see, after {words}"
        context = self._contexts.get(exchange.author, _Context())
        if risk in OUTWARD and (context.has_read or effects.private):
            return f"it could send out what was read from your files, after {words}"
        return ""

    def _has_others(self, author: str) -> bool:
        return any(name != author for name in (*self._state.people, *self._authors))

    def _read_messages(self) -> None:
        for exchange in self._new_messages():
            self._authors.setdefault(exchange.author, exchange.seq)
        self._read_to = self._state.head

    def _new_messages(self) -> Iterator[MessageThread]:
        for exchange in reversed(self._state.exchanges.values()):
            if exchange.seq <= self._read_to:
                return
            yield exchange


def _is_file(request: ToolApproval) -> bool:
    return request.risk == "read" and any(
        isinstance(request.arguments.get(name), str) for name in ("path", "folder")
    )


def _origin(request: ToolApproval) -> str:
    if request.risk == "network":
        return f"the page {request.arguments.get('url', '')}".strip()
    if request.risk == "unknown":
        return f"results of {request.tool}"
    return "other rooms" if request.private and not _is_file(request) else ""
