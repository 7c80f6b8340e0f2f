"""What stands below a message: how the work on it goes, and what was decided about it."""

from typing import Final

from rich.segment import Segment
from rich.text import Text

from genie_core.room.state.thread import MessageThread, Phase
from genie_core.text.safe import visible_line
from genie_tui.widgets.canvas import Canvas, Line, beside, mark
from genie_tui.widgets.doings import Doings
from genie_tui.widgets.gutter import beside_text
from genie_tui.widgets.parking import MARK, awaited

_INTERRUPTED: Final = frozenset({Phase.CANCELLED, Phase.FAILED})
"""Ends after which work may go on, with the answer to a call that was parked."""


def is_parked(exchange: MessageThread) -> bool:
    """Whether the work on a message was interrupted and goes on with an answer."""
    return bool(exchange.parked) and exchange.phase in _INTERRUPTED


class Aftermath:
    """Draws what belongs to a message and nobody said, `room` columns wide beside its mark."""

    def __init__(self, canvas: Canvas, room: int, doings: Doings) -> None:
        self._canvas = canvas
        self._room = room - 2
        self._doings = doings

    def work(self, message: int, exchange: MessageThread) -> list[Line]:
        """Who is at what, or for whom it waits."""
        if exchange.phase is Phase.WAITING:
            return self._waits(exchange)
        if is_parked(exchange):
            return self._below(MARK, "waiting", awaited(exchange))
        return self._works(message) if exchange.phase is Phase.WORKING else []

    def silence(self, exchange: MessageThread) -> list[Line]:
        """Why nobody's agent answers it; nothing if one does."""
        match exchange.phase:
            case Phase.IGNORED:
                given = exchange.decision.reason if exchange.decision else None
                why = f"silent: {visible_line(given)}" if given else "silent, no reason given"
            case Phase.UNHANDLED:
                why = "silent: nobody's agent was there to read it"
            case _:
                return []
        return self._below("·", "muted", why)

    def disagreed(self, exchange: MessageThread | None) -> list[Line]:
        """That the person does not agree, with what was decided."""
        decision = exchange.decision.decision if exchange and exchange.decision else ""
        was = {"ignore": " to stay silent", "delegate": " to answer"}.get(decision, "")
        return self._below("!", "waiting", f"you marked the decision{was} as wrong")

    def _waits(self, exchange: MessageThread) -> list[Line]:
        who = visible_line(exchange.handler)
        return self._below("▲", "waiting", f"genie waits for {who} to allow a tool call")

    def _works(self, message: int) -> list[Line]:
        """One line about who is at what, until there is an answer to look at."""
        doing = self._doings.line(message)
        if not doing or self._doings.is_written(message):
            return []
        style = self._canvas.palette["muted"]
        return self._marked("◐", "working", Text(doing, style, no_wrap=True, overflow="ellipsis"))

    def _below(self, glyph: str, style: str, words: str) -> list[Line]:
        return self._marked(glyph, style, Text(words, self._canvas.palette[style]))

    def _marked(self, glyph: str, style: str, text: Text) -> list[Line]:
        palette = self._canvas.palette
        rest = [*beside_text(palette), Segment("  ")]
        lines = self._canvas.lines(text, self._room)
        return beside(mark(f"   {glyph} ", palette[style]), lines, rest)
