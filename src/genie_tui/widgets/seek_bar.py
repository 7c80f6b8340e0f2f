"""The position of a replay: a bar with marks for events, and a line of words."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from genie_core.sessions.replay.landmarks import Landmark, Outline
from genie_core.text.format import local_time

MARKS: Final = (
    (Landmark.FAILURE, "✗", "$text-error"),
    (Landmark.VERDICT, "●", "$text-success"),
    (Landmark.APPROVAL, "▲", "$text-warning"),
    (Landmark.DECISION, "·", "$text-accent"),
)
"""The kinds marked above the bar; of several in one cell the first of these."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The content of the bar. `at` is the time of the last shown event, `kind` its kind.

    `following`: new events are shown as they happen.
    """

    position: int = 0
    head: int = 0
    at: float | None = None
    speed: float = 1.0
    playing: bool = False
    following: bool = False
    doing: str = ""
    outline: Outline = field(default_factory=Outline)
    kind: Landmark | None = None


class SeekBar(Widget):
    """Three lines: marks, bar, words. A click or drag on the first two seeks."""

    class Sought(Message):
        """The person wants to see another event."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    def __init__(self) -> None:
        super().__init__()
        self._standing = Standing()
        self._shown: tuple[Standing, int] | None = None

    def show(self, standing: Standing) -> None:
        now = (standing, standing.outline.upto)
        if now != self._shown:
            self._standing, self._shown = standing, now
            self.refresh()

    def render(self) -> Content:
        """Lay the bar out for the width; a low screen has no marks."""
        lines = [self._bar(), self._words()]
        if self.content_size.height > len(lines):
            lines.insert(0, self._marks())
        return Content("\n").join(lines)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go to the click, and follow while the button is held."""
        if event.y < self.content_size.height - 1:
            event.stop()
            self.capture_mouse()
            self._seek(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self:
            event.stop()
            self._seek(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        event.stop()
        self.release_mouse()

    def _seek(self, event: events.MouseEvent) -> None:
        offset = event.get_content_offset_capture(self)
        last = max(self.content_size.width - 1, 1)
        share = min(max(offset.x, 0), last) / last
        self.post_message(self.Sought(round(share * self._standing.head)))

    def _cell(self, width: int) -> int:
        """Return the column of the position."""
        head = max(self._standing.head, 1)
        return round(self._standing.position / head * (width - 1))

    def _marks(self) -> Content:
        width, head = self.content_size.width, self._standing.head
        bounds = [int((column + 0.5) * head / max(width - 1, 1)) for column in range(-1, width)]
        cells = [self._mark(low, high) for low, high in pairwise(bounds)]
        return Content("").join(cells)

    def _mark(self, after: int, upto: int) -> Content:
        for kind, glyph, style in MARKS:
            if self._standing.outline.has(kind, max(after, 0), upto):
                return Content.styled(glyph, style)
        return Content(" ")

    def _bar(self) -> Content:
        width = self.content_size.width
        here = self._cell(width)
        return Content.assemble(
            ("━" * here, "$primary"),
            ("●", "bold $primary"),
            ("─" * (width - here - 1), "$foreground-disabled"),
        )

    def _words(self) -> Content:
        now = self._standing
        if now.doing and not now.head:
            return Content.styled(now.doing, "$text-accent")  # nothing is known of it yet
        place = f"event {now.position:,} of {now.head:,}"
        parts = [_state(now), Content(speed_text(now.speed)), Content(place)]
        if now.at is not None:
            moment = local_time(now.at)
            parts.append(Content(f"{moment.day} {moment:%b %Y, %H:%M:%S}"))
        if now.kind is not None:
            parts.append(_named(now.kind))
        if now.doing:
            parts.append(Content.styled(now.doing, "$text-accent"))
        return Content("   ").join(parts).truncate(self.content_size.width, ellipsis=True)


def _state(now: Standing) -> Content:
    if now.playing:
        return Content.styled("▶ playing", "bold $text-success")
    if now.following:
        return Content.styled("● following", "bold $text-success")
    return Content.styled("‖ paused", "bold")


def _named(kind: Landmark) -> Content:
    """Return a kind of event with its mark, as a legend."""
    mark = next(((glyph, style) for each, glyph, style in MARKS if each is kind), None)
    return Content.assemble(mark, " ", kind.value) if mark else Content(kind.value)


def speed_text(speed: float) -> str:
    """Format a speed for people."""
    return f"{speed:g}×"
