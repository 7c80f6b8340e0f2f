"""What one session is and how it ended, beside the list of all."""

from collections.abc import Iterable, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from genie_core.sessions.listing import OpenMode, SessionRow
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.transcript import TranscriptLine
from genie_core.text.format import counted, file_size, local_time
from genie_core.text.safe import visible, visible_line

_WAYS = {
    OpenMode.HOST: "yours to host",
    OpenMode.JOIN: "hosted by {host}",
    OpenMode.WATCH: "to be watched only",
}


class SessionPreview(Vertical):
    """Facts above, which stay in view, and the last messages below."""

    def compose(self) -> ComposeResult:
        """Both parts; they are empty at first."""
        yield Static(id="preview-facts", markup=False)
        with VerticalScroll(id="preview-scroll", can_focus=False):
            yield Static(id="preview-lines", markup=False)

    def show_session(self, row: SessionRow | None, hit: SearchHit | None = None) -> None:
        """Tell what is known of a session, and what was found in it, without reading its log."""
        facts = Content("") if row is None else _facts(row)
        self.query_one("#preview-facts", Static).update(facts)
        below = Content("") if hit is None else _hit(hit)
        self.query_one("#preview-lines", Static).update(below)

    def show_lines(self, lines: Sequence[TranscriptLine]) -> None:
        """Show the last messages, the very last in view."""
        self.query_one("#preview-lines", Static).update(_lines(lines))
        scroll = self.query_one("#preview-scroll", VerticalScroll)
        self.call_after_refresh(scroll.scroll_end, animate=False)

    def show_trouble(self, text: str) -> None:
        """Say why there are none."""
        shown = Content.styled(visible_line(text), "$text-warning")
        self.query_one("#preview-lines", Static).update(shown)


def brief(row: SessionRow) -> Content:
    """What the list itself does not say of a session, where there is no room for more."""
    past = f"past your limit: {row.due}" if row.due else ""
    held = f"open in {row.holder}" if row.holder is not None else ""
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
        lines.append(Content.styled(f"open in {row.holder}", "$text-primary"))
    due = f"past your limit: {row.due}" if row.due else ""
    lines += [
        Content.styled(visible_line(each), "$text-warning") for each in (row.note, due) if each
    ]
    return Content("\n").join(lines)


def _tag(tag: str) -> Content:
    return Content.styled(f"#{visible_line(tag)}", "$text-accent")


def _hit(hit: SearchHit) -> Content:
    return Content.assemble(
        ("\nenter opens the replay there\n\n", "$foreground-muted"), *_found(hit)
    )


def _found(hit: SearchHit) -> Iterable[tuple[str, str]]:
    at, text = 0, hit.snippet.text
    for low, high in hit.snippet.marks:
        yield visible_line(text[at:low]), ""
        yield visible_line(text[low:high]), "bold $text-accent"
        at = high
    yield visible_line(text[at:]), ""


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
    """The beginning of what somebody said, as much as helps to remember it."""
    cut = "\n".join(text.strip().splitlines()[:6])[:400]
    return cut if len(cut) == len(text.strip()) else f"{cut}…"
