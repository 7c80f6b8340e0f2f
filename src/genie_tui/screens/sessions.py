"""List, search, open and manage all sessions of this machine."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from genie_core.errors import GenieError
from genie_core.room.open.requests import OpenRequest, RejoinRoom, ReplayRoom, ResumeRoom
from genie_core.sessions.listing import OpenMode, SessionRow, Sort, arrange, past_line
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.service import SessionService
from genie_core.text.format import counted
from genie_core.text.safe import visible_line
from genie_tui.commands.handlers.sessions import SessionActions
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.widgets.key_footer import KeyFooter
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.session_list import SessionList, SessionListHeader
from genie_tui.widgets.session_preview import SessionPreview, brief
from genie_tui.widgets.too_small import TooSmall

WATCH: Final = 3.0
"""Seconds between two checks of who has which sessions open."""

PAUSE: Final = 0.25
"""Seconds without a key before all sessions are searched."""

SHORTEST: Final = 2
"""Minimum letters for a search."""


class SessionsScreen(Screen[None]):
    """Lists the sessions of a `SessionService`, which is called in threads."""

    CSS_PATH = "sessions.tcss"
    AUTO_FOCUS = "SessionList"
    BINDINGS = bindings(Scope.SESSIONS)

    class Chosen(Message):
        """The person wants to open a session, or to watch it."""

        def __init__(self, opening: OpenRequest | ReplayRoom) -> None:
            super().__init__()
            self.opening = opening

    class HitChosen(Message):
        """The person wants to see a hit where it is: in the room if it is open, else replayed."""

        def __init__(self, hit: SearchHit) -> None:
            super().__init__()
            self.hit = hit

    def __init__(self, store: SessionService, clock: Callable[[], float]) -> None:
        super().__init__()
        self._store = store
        self._actions = SessionActions(self, store, clock)
        self._rows: dict[str, SessionRow] = {}
        self._sort = Sort.ACTIVITY
        self._text = ""
        self._pause: Timer | None = None
        self._picked = False

    def compose(self) -> ComposeResult:
        yield TooSmall()
        with Horizontal(id="sessions-top"):
            yield Static("All sessions", id="sessions-title", markup=False)
            find = keymap_of(self).text(Scope.SESSIONS, "find")
            yield LineInput(placeholder=f"{find} to find", id="sessions-filter", max_length=200)
            yield Static(id="sessions-count", markup=False)
        yield Static(id="sessions-note", markup=False)
        with Horizontal(id="sessions-middle"):
            with Vertical(id="sessions-table"):
                yield SessionListHeader()
                yield Static(id="sessions-none", markup=False)
                yield SessionList(find=self.action_find)
            yield SessionPreview(self._store.last_lines)
        yield Static(id="sessions-about", markup=False)
        yield KeyFooter("app.rooms")

    def on_mount(self) -> None:
        """Check periodically which sessions are open where."""
        self.set_interval(WATCH, self._watch)

    def on_screen_resume(self) -> None:
        """Reload, since much may have changed meanwhile."""
        self._reload()

    # Listing

    @work(exclusive=True, group="listing")
    async def _reload(self, select: str = "") -> None:
        """List the sessions first and measure them afterwards, as that takes longest."""
        for sized in (False, True):
            try:
                rows = await asyncio.to_thread(self._store.rows, sized=sized)
            except GenieError as error:
                self._say(str(error))
                return
            if not self.is_running:  # the list is gone already
                return
            if not sized:  # sizes of before are better than none
                rows = [self._with_known_size(row) for row in rows]
            self._rows = {row.id: row for row in rows}
            self._arrange()
            if select:
                self._list.select(select)
                select = ""
        self._say(self._past_limits())

    @work(exclusive=True, group="watching")
    async def _watch(self) -> None:
        """Reload when a session is opened or closed, here or elsewhere."""
        self._list.refresh()  # time passes
        if not self.is_current or any(each.group == "listing" for each in self.workers):
            return
        known = {row.id: row.holder for row in self._rows.values() if row.holder is not None}
        with suppress(GenieError):  # listing them will name the problem
            holders = await asyncio.to_thread(self._store.holders)
            if self.is_running and holders != known:
                self._reload()

    def _with_known_size(self, row: SessionRow) -> SessionRow:
        before = self._rows.get(row.id)
        return row if before is None else replace(row, size=before.size, due=before.due)

    def _arrange(self) -> None:
        rows = arrange(self._rows.values(), self._text, self._sort)
        self._list.show_rows(rows)
        self.query_one(SessionListHeader).sort = self._sort
        self._show_count()
        self._show_nothing()

    def _show_count(self) -> None:
        """Count the sessions, or the hits in their titles and messages."""
        count = counted(len(self._rows), "session")
        if self._text.strip():
            count = f"{len(self._list.rows):,} of {count}"
        if self._list.hits:
            count = f"{counted(len(self._list.rows), 'title')}, {counted(len(self._list.hits), 'message')}"
        self.query_one("#sessions-count", Static).update(Content(count), layout=False)

    def _show_nothing(self) -> None:
        nothing = not self._list.rows and not self._list.hits
        words = "No sessions match." if self._rows else "No sessions yet."
        note = self.query_one("#sessions-none", Static)
        note.update(Content(words), layout=False)
        note.display = nothing

    def _past_limits(self) -> str:
        return past_line(sum(bool(row.due) for row in self._rows.values()))

    def _say(self, text: str) -> None:
        """Show a line above the list until the next one."""
        if not self.is_running:
            return
        note = self.query_one("#sessions-note", Static)
        note.update(Content(visible_line(text)))
        note.display = bool(text)

    # Finding

    @on(Input.Changed, "#sessions-filter")
    def _filter(self, event: Input.Changed) -> None:
        self._text, self._picked = event.value, False
        self._arrange()
        self._list.action_go(0)
        self._search_soon()

    def _search_soon(self) -> None:
        """Search after a pause in typing; a short text finds nothing."""
        if self._pause is not None:
            self._pause.stop()
        if len(self._text.strip()) < SHORTEST:
            self.workers.cancel_group(self, "searching")
            self._show_hits((), "")
        else:
            self._pause = self.set_timer(PAUSE, self._search)

    @work(exclusive=True, group="searching")
    async def _search(self) -> None:
        text = self._text
        self._show_hits((), "searching all sessions…")
        try:
            found = await asyncio.to_thread(self._store.search, text, partial(self._wants, text))
        except GenieError as error:
            if self.is_running:
                self._show_hits((), "", str(error))
            return
        if self.is_running:  # else the list is gone already
            listed = {row.id for row in self._list.rows}
            hits = tuple(hit for hit in found.hits if hit.seq or hit.session not in listed)
            heading = "found in sessions" if hits else "no messages match"
            self._show_hits(hits, heading, " · ".join(found.notes))

    def _wants(self, text: str) -> bool:
        return self.is_running and self._text == text

    def _show_hits(self, hits: Sequence[SearchHit], heading: str, note: str = "") -> None:
        self._list.show_hits(hits, heading)
        self._show_count()
        self._say(note or self._past_limits())
        self._show_nothing()

    @on(Input.Submitted, "#sessions-filter")
    def _to_list(self) -> None:
        self._list.focus()
        if self._picked:
            self._list.action_choose()

    def on_key(self, event: events.Key) -> None:
        """Move in the list by arrows while typing."""
        action = keymap_of(self).by_key(Scope.SESSION_LIST).get(event.key)
        step = {"move(-1)": -1, "move(1)": 1}.get(action.run if action is not None else "")
        if self.focused is self._filter_line and step is not None:
            event.stop()
            self._picked = True
            self._list.action_move(step)

    def action_find(self) -> None:
        """Focus the filter immediately, so that the next keys go there."""
        self.set_focus(self._filter_line)

    def action_sort(self) -> None:
        self._sort = self._sort.after()
        self._arrange()

    @on(SessionListHeader.Picked)
    def _sort_by(self, message: SessionListHeader.Picked) -> None:
        self._sort = message.sort
        self._arrange()

    def action_back(self) -> None:
        """Clear the filter; if it is empty, go back."""
        if self._text or self.focused is self._filter_line:
            self._filter_line.value = ""
            self._list.focus()
        elif self.app.screen is self:  # a second key may come while the first one closes it
            _ = self.dismiss()

    # Looking and opening

    @on(SessionList.Moved)
    def _moved(self, message: SessionList.Moved) -> None:
        item = message.item
        hit = item if isinstance(item, SearchHit) else None
        row = self._rows.get(item.session) if isinstance(item, SearchHit) else item
        about = Content("") if row is None else brief(row)
        self.query_one("#sessions-about", Static).update(about)
        self.query_one(SessionPreview).show(row, hit)

    @on(SessionList.Chosen)
    def _open(self, message: SessionList.Chosen) -> None:
        item = message.item
        if isinstance(item, SearchHit):
            self.post_message(self.HitChosen(item))
        elif item.way is OpenMode.HOST:
            self._choose(ResumeRoom(item.id))
        elif item.way is OpenMode.JOIN:
            self._choose(RejoinRoom(item.id))
        else:
            self._choose(ReplayRoom(item.id))

    def action_replay(self) -> None:
        """Replay the selected session, or at a hit."""
        item = self._list.selected
        if isinstance(item, SearchHit):
            self._choose(ReplayRoom(item.session, at=item.seq or None))
        elif item is not None:
            self._choose(ReplayRoom(item.id))

    def _choose(self, opening: OpenRequest | ReplayRoom) -> None:
        self.post_message(self.Chosen(opening))

    # Tidying up

    @work
    async def action_rename(self) -> None:
        if (row := self._selected_row()) is not None and await self._actions.rename(row):
            self._reload()

    @work
    async def action_tags(self) -> None:
        if (row := self._selected_row()) is not None and await self._actions.tag(row):
            self._reload()

    @work
    async def action_delete(self) -> None:
        """Move the selected session to the trash, after a confirmation."""
        if (row := self._selected_row()) is not None and await self._actions.delete(row):
            self._reload()

    @work
    async def action_export(self) -> None:
        if (row := self._selected_row()) is not None:
            await self._actions.export(row)

    @work
    async def action_fork(self) -> None:
        """Fork the selected session, up to a hit."""
        item, row = self._list.selected, self._selected_row()
        if row is None:
            return
        fresh = await self._actions.fork(row, item.seq if isinstance(item, SearchHit) else 0)
        if fresh and self.is_running:
            self._filter_line.value = ""
            self._reload(fresh)

    def _selected_row(self) -> SessionRow | None:
        item = self._list.selected
        return self._rows.get(item.session) if isinstance(item, SearchHit) else item

    @property
    def _list(self) -> SessionList:
        return self.query_one(SessionList)

    @property
    def _filter_line(self) -> Input:
        return self.query_one("#sessions-filter", Input)
