"""The preview of a session beside the list: its facts and its last messages."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from genie_core.errors import GenieError
from genie_core.sessions.excerpts import TranscriptLine
from genie_core.sessions.listing import OpenMode, SessionRow
from genie_core.sessions.search.documents import SearchHit
from genie_core.text.format import counted, file_size, local_time
from genie_core.text.safe import visible, visible_line
from genie_tui.widgets.session_list import snippet_parts

_WAYS = {
    OpenMode.HOST: "you can host it",
    OpenMode.JOIN: "hosted by {host}",
    OpenMode.WATCH: "read-only copy",
}


REST: Final = 0.08
"""Seconds on a session before its last messages are read."""


class SessionPreview(Vertical):
    """Facts above, which stay in view, and the last messages below.

    `last_lines` reads a session's last messages by its id; it is called in a thread.
    """

    def __init__(self, last_lines: Callable[[str], Sequence[TranscriptLine]]) -> None:
        super().__init__()
        self._last_lines = last_lines
        self._row: SessionRow | None = None
        self._rest: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="preview-facts", markup=False)
        with VerticalScroll(id="preview-scroll", can_focus=False):
            yield Static(id="preview-lines", markup=False)

    def show(self, row: SessionRow | None, hit: SearchHit | None = None) -> None:
        """Show a session's facts and, below, the hit or soon its last messages."""
        self._row = row if hit is None else None
        facts = Content("") if row is None else _facts(row)
        self.query_one("#preview-facts", Static).update(facts)
        below = Content("") if hit is None else _hit(hit)
        self.query_one("#preview-lines", Static).update(below)
        if self._rest is not None:
            self._rest.stop()
        if self._row is not None:
            self._rest = self.set_timer(REST, partial(self._begin, self._row))

    def _begin(self, row: SessionRow) -> None:
        if self.display:
            self.run_worker(self._read(row), exclusive=True)

    async def _read(self, row: SessionRow) -> None:
        try:
            lines = await asyncio.to_thread(self._last_lines, row.id)
        except GenieError as error:
            if self._shows(row):
                shown = Content.styled(visible_line(str(error)), "$text-accent")
                self.query_one("#preview-lines", Static).update(shown)
        else:
            if self._shows(row):
                self._show_lines(lines)

    def _shows(self, row: SessionRow) -> bool:
        return self.is_running and self._row is not None and self._row.id == row.id

    def _show_lines(self, lines: Sequence[TranscriptLine]) -> None:
        self.query_one("#preview-lines", Static).update(_lines(lines))
        scroll = self.query_one("#preview-scroll", VerticalScroll)
        self.call_after_refresh(scroll.scroll_end, animate=False)


def brief(row: SessionRow) -> Content:
    """Return the details of a session that the list leaves out, in one line."""
    past = f"past your limit: {row.due}" if row.due else ""
    held = row.holder.status if row.holder is not None else ""
    parts = (visible_line(row.id), _way(row), held, visible_line(row.note), past)
    return Content(" · ".join(part for part in parts if part))


def _way(row: SessionRow) -> str:
    return _WAYS[row.way].format(host=visible_line(row.host) or "another person")


def _facts(row: SessionRow) -> Content:
    muted = "$foreground-muted"
    title = Content.styled(visible_line(row.title) or "(no title)", "bold $text-primary")
    when = f"{local_time(row.last_activity):%Y-%m-%d %H:%M}"
    size = "" if row.size is None else f" · {file_size(row.size)}"
    said = "" if row.note and not row.messages else f" · {counted(row.messages, 'message')}"
    lines = [
        title,
        Content.styled(f"{visible_line(row.id)} · {_way(row)}", muted),
        Content.styled(f"{when}{said}{size}", muted),
    ]
    if row.names:
        lines.append(Content.styled(", ".join(map(visible_line, row.names)), muted))
    if row.tags:
        lines.append(Content(" ").join(_tag(tag) for tag in row.tags))
    news = [f"▲ {counted(row.parked, 'tool call')} to answer"] * bool(row.parked)
    news += [f"{row.unread:,} new"] * bool(row.unread)
    if news:
        lines.append(Content.styled(" · ".join(news), "$text-warning"))
    if row.holder is not None:
        lines.append(Content.styled(row.holder.status, "$text-primary"))
    due = f"past your limit: {row.due}" if row.due else ""
    lines += [
        Content.styled(visible_line(each), "$text-accent") for each in (row.note, due) if each
    ]
    return Content("\n").join(lines)


def _tag(tag: str) -> Content:
    return Content.styled(f"#{visible_line(tag)}", "$text-accent")


def _hit(hit: SearchHit) -> Content:
    parts = (
        (text, "bold $text-accent" if is_match else "")
        for text, is_match in snippet_parts(hit.snippet)
    )
    return Content.assemble(
        (
            "\nenter goes there: in the room if it is open, else in its replay\n\n",
            "$foreground-muted",
        ),
        *parts,
    )


def _lines(lines: Sequence[TranscriptLine]) -> Content:
    if not lines:
        return Content.styled("\nnothing was said yet", "$foreground-muted")
    return Content("\n").join(
        Content.assemble(
            "\n",
            (visible_line(each.by), "bold $text-secondary"),
            (f"  {local_time(each.at):%H:%M}\n", "$foreground-muted"),
            visible(_short(each.text)),
        )
        for each in lines
    )


def _short(text: str) -> str:
    """Return the start of a message, enough to recognise it."""
    cut = "\n".join(text.strip().splitlines()[:6])[:400]
    return cut if len(cut) == len(text.strip()) else f"{cut}…"
