from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from tests.genie_tui.scripted_room import until
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Static

from genie_core.errors import GenieError
from genie_core.sessions.excerpts import TranscriptLine
from genie_core.sessions.listing import OpenMode, SessionRow
from genie_core.sessions.lock import LockHolder
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.search.snippet import Snippet
from genie_tui.widgets.session_preview import SessionPreview, brief


class Stage(App[None]):
    def __init__(self, lines: Sequence[TranscriptLine], trouble: str) -> None:
        super().__init__()
        self.lines = lines
        self.trouble = trouble

    def compose(self) -> ComposeResult:
        yield SessionPreview(self.last_lines)

    def last_lines(self, session: str) -> Sequence[TranscriptLine]:
        assert session == "a"
        if self.trouble:
            raise GenieError(self.trouble)
        return self.lines


@asynccontextmanager
async def stage(
    lines: Sequence[TranscriptLine] = (), trouble: str = ""
) -> AsyncIterator[tuple[SessionPreview, Pilot[Any]]]:
    app = Stage(lines, trouble)
    async with app.run_test() as pilot:
        yield app.query_one(SessionPreview), pilot


def shown(preview: SessionPreview) -> str:
    return "\n".join(str(part.render()) for part in preview.query(Static))


async def test_a_session_is_described() -> None:
    row = SessionRow(
        "2026-a",
        "Garden [/red]\x1b[2J",
        OpenMode.JOIN,
        host="bob\u202e",
        names=("ann", "bob"),
        messages=1_234,
        size=2_000,
        unread=3,
        parked=1,
        tags=("home",),
        note="line 3 is damaged",
        due="no activity for 30 days",
    )
    async with stage() as (preview, _):
        preview.show(row)
        text = shown(preview)
        for part in (
            *("Garden [/red]␛[2J", "2026-a", "hosted by bob⟨U+202E⟩", "ann, bob"),
            *("1,234 messages", "2.0 kB", "3 new", "1 tool call to answer", "#home"),
            *("line 3 is damaged", "past your limit: no activity for 30 days"),
        ):
            assert part in text
        assert "open in" not in text
        preview.show(replace(row, holder=LockHolder(7, "bob\u202e")))
        assert "open by bob (pid 7)" in shown(preview)
        preview.show(None)
        assert shown(preview).strip() == ""


def test_brief_adds_missing_facts() -> None:
    row = SessionRow(
        "a", "Garden", OpenMode.JOIN, host="bob", holder=LockHolder(7, "ann"), note="[b]\x1b"
    )
    assert str(brief(row)) == "a · hosted by bob · open by ann (pid 7) · [b]␛"
    assert str(brief(SessionRow("a", "Garden", due="old"))).endswith(" · past your limit: old")


async def test_last_messages_are_shown_and_cut() -> None:
    lines = [TranscriptLine(1, 0.0, "ann", "[b]hi\x07"), TranscriptLine(2, 0.0, "bob", "x" * 1_000)]
    async with stage(lines) as (preview, pilot):
        preview.show(SessionRow("a", "Garden"))
        await until(pilot, lambda: "[b]hi␇" in shown(preview))
        assert shown(preview).count("x") < 500


async def test_empty_or_broken_log_says_so() -> None:
    async with stage() as (preview, pilot):
        preview.show(SessionRow("a", "Garden"))
        await until(pilot, lambda: "nothing was said" in shown(preview))
    async with stage(trouble="events.jsonl can't be read\x1b") as (preview, pilot):
        preview.show(SessionRow("a", "Garden"))
        await until(pilot, lambda: "can't be read␛" in shown(preview))


async def test_facts_stay_above_messages() -> None:
    lines = [TranscriptLine(seq, 0.0, "ann", f"message {seq}") for seq in range(1, 40)]
    async with stage(lines) as (preview, pilot):
        preview.show(SessionRow("a", "Garden"))
        scroll = preview.query_one("#preview-scroll", VerticalScroll)
        await until(pilot, lambda: 0 < scroll.max_scroll_y == scroll.scroll_y)
        facts = preview.query_one("#preview-facts")
        assert preview.region.contains_region(facts.region)


async def test_of_a_hit_its_surroundings_are_shown() -> None:
    hit = SearchHit(
        "a", "Garden", 4, 4, 0.0, "ann", "message", Snippet("plant [b]apples", ((9, 15),))
    )
    async with stage() as (preview, _):
        preview.show(SessionRow("a", "Garden"), hit)
        assert "plant [b]apples" in shown(preview)
