"""Search a room: hits are listed while the search goes on."""

import asyncio
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from genie_core.errors import GenieError
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.search.query import Query
from genie_core.sessions.search.room import search_room
from genie_core.text.format import counted, local_time
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import KeyText, key_list
from genie_tui.widgets.session_list import snippet_parts
from genie_tui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

PAUSE: Final = 0.25
"""Seconds without a key before the log is searched."""

MOST_SHOWN: Final = 500
"""Hits in the list; more are only counted."""

EXAMPLES: Final = "from:ann kind:denied after:2026-10-01 -word /expression/"


class SearchScreen(Dialog[int | None]):
    """Returns the event of the chosen hit; None if the person went back."""

    CSS_PATH = "search.tcss"
    BINDINGS = bindings(Scope.PICK)

    def __init__(self, joined: "JoinedRoom", text: str = "") -> None:
        super().__init__()
        self._joined = joined
        self._text = text
        self._hits: list[SearchHit] = []

    def compose(self) -> ComposeResult:
        yield TooSmall()
        with Vertical(id="search", classes="dialog"):
            yield Static("Search this room", id="search-title", classes="title", markup=False)
            yield LineInput(self._text, placeholder=EXAMPLES, id="search-text", compact=True)
            yield Static(id="search-count", markup=False)
            yield OptionList(id="search-list", markup=False, compact=True)
            yield KeyText(key_list(keymap_of(self).actions(Scope.PICK)), id="search-keys")

    def on_mount(self) -> None:
        self._list.can_focus = False

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._hits.clear()
        self._list.clear_options()
        self.run_worker(self._search(event.value), group="search", exclusive=True)

    @on(Input.Submitted)
    def _choose(self) -> None:
        place = self._list.highlighted
        if place is not None:
            _ = self.dismiss(self._hits[place].seq)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        _ = self.dismiss(self._hits[event.option_index].seq)

    def action_move(self, step: int) -> None:
        """Highlight the hit before or after, around the ends."""
        if self._list.option_count:
            place = (self._list.highlighted or 0) + step
            self._list.highlighted = place % self._list.option_count

    def action_back(self) -> None:
        _ = self.dismiss(None)

    async def _search(self, text: str) -> None:
        self._say("")
        await asyncio.sleep(PAUSE)  # a further letter cancels this, so that it reads the log once
        try:
            query = Query.parse(text)
            if query:
                await self._list_hits(query)
        except GenieError as error:
            self._say(str(error))
        except OSError as error:
            self._say(f"earlier messages can't be searched: {error}")

    async def _list_hits(self, query: Query) -> None:
        self._say("searching…")
        async for found in search_room(self._joined, query):
            self._add(found)
            self._say(f"{len(self._hits):,} found, searching…")
        count = len(self._hits)
        more = f", of which the latest {MOST_SHOWN:,} are listed" if count > MOST_SHOWN else ""
        self._say(f"{counted(count, 'hit')}{more}" if count else "nothing found")

    def _add(self, found: list[SearchHit]) -> None:
        room = max(MOST_SHOWN - len(self._hits), 0)
        self._hits += found
        self._list.add_options(Option(_line(hit)) for hit in found[:room])
        if self._list.highlighted is None and self._hits:
            self._list.highlighted = 0

    def _say(self, text: str) -> None:
        self.query_one("#search-count", Static).update(Content(visible_line(text)))

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)


def _line(hit: SearchHit) -> Content:
    kind = "" if hit.kind in ("message", "answer") else f" {hit.kind}"
    about = f"{local_time(hit.at):%Y-%m-%d %H:%M} {visible_line(hit.by)}{kind}  "
    parts = (
        (text, "bold $text-accent" if is_match else "")
        for text, is_match in snippet_parts(hit.snippet)
    )
    return Content.assemble((about, "dim"), *parts)
