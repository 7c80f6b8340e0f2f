"""Save a person's view of a room, and restore it when they return."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from genie_core.errors import GenieError
from genie_core.privacy.redaction import mask_known
from genie_core.room.protocol.events import FileRef, Quote
from genie_core.room.view.wording import quote_name
from genie_core.sessions.view_state import View
from genie_core.text.format import counted
from genie_tui.commands.context import RoomContext
from genie_tui.exit_report import UnsavedInput, UnsentText
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.activity.rows import RowFilter
from genie_tui.widgets.side_panel import Tab

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

DRAFT_CHARS: Final = 48
"""Characters of a saved draft that are shown, so that they fit beside a heading."""

logger = logging.getLogger(__name__)


DISK_HANGS: Final = "the disk does not answer"
"""The reason for a view that was not saved in time, without an error."""


class RoomView:
    """A screen's draft, attachments, scroll position, panel and filters.

    They are read once, and written when they change. Call `begin` when the room is open, `look`
    each second, and `keep` before leaving and after. Nothing is written before the saved view has
    been read.
    """

    def __init__(self, context: RoomContext) -> None:
        self._context = context
        self._screen = context.screen
        self._timeline = context.timeline
        self._composer = context.composer
        self._attachments = context.attachments
        self._saved = ""
        self._kept: View | None = None
        self._wanted: View | None = None
        self._seen = 0
        self._writing = asyncio.Lock()
        self._told = False
        self._why = ""

    def begin(self, joined: "JoinedRoom") -> None:
        """Restore the saved view once the room's events are shown."""
        self._saved = joined.saved
        if self._saved:
            self._context.start(partial(self._bring_back, self._saved), "view")

    def look(self) -> None:
        """Save changes, unless that is already under way."""
        if self._kept is None or self._writing.locked():
            return
        view = self._view()
        if view is not None and view != self._kept:
            self._screen.run_worker(self.keep(), group="view")

    async def keep(self) -> bool:
        """Save changes; False on failure, which is reported once and retried later."""
        async with self._writing:
            view = self._view()
            if view is None or self._kept is None or view == self._kept:
                return True
            try:
                await asyncio.to_thread(self._context.service.keep_view, self._saved, view)
            except GenieError as error:
                self._tell(error)
                return False
            self._kept, self._told = view, False
            return True

    @property
    def unsaved(self) -> UnsavedInput | None:
        """Drafts and messages that are on no disk; None if there are none."""
        joined, view = self._context.open_room, self._view()
        kept = self._kept
        if joined is None or view is None or kept is None:  # the earlier kept text is there still
            return None
        written = (view.draft, view.unsent, view.files, view.quotes)
        if not any(written) or written == (kept.draft, kept.unsent, kept.files, kept.quotes):
            return None
        messages = (_text(each.text, each.files, each.quotes) for each in view.unsent)
        draft = _text(view.draft, view.files, view.quotes)
        return UnsavedInput(joined.state.title, tuple(messages), draft, self._why or DISK_HANGS)

    @property
    def draft_kept(self) -> str:
        """The start of the saved draft and its attachments, in one line."""
        view = self._kept or View()
        brought = [file.name for file in view.files]
        if view.quotes:
            brought.append(counted(len(view.quotes), "quote"))
        text = " ".join(view.draft.split())
        text = text if len(text) <= DRAFT_CHARS else f"{text[: DRAFT_CHARS - 1]}…"
        return " · ".join(part for part in (text, ", ".join(brought)) if part)

    def _tell(self, error: GenieError) -> None:
        logger.warning("%s", error)
        self._why = str(error)
        if not self._told and self._screen.is_running:
            self._told = True
            self._screen.notify(str(error), severity="warning", markup=False)

    async def _bring_back(self, saved: str) -> None:
        view = await asyncio.to_thread(self._context.service.view, saved)
        # Behind the reports of the engine so far, so that there is a conversation to scroll.
        self._screen.call_later(self._show, view)

    def _show(self, view: View) -> None:
        if not self._screen.is_running:
            return
        self._seen = view.seen
        self._kept = View()  # from now on the screen counts
        self._bring_draft(view.draft, self._composer.draft)
        self._bring_attachments(view)
        self._screen.set_class(view.hidden, "-no-panel")
        self._timeline.show_reasons(view.reasons)
        if view.seen:
            self._timeline.mark_unread(view.seen)
        self._show_panel(view)
        if view.at is not None:
            self._timeline.read_at(view.at, view.distance)

    def _bring_draft(self, kept: str, typed: str) -> None:
        """Show the saved draft before text typed meanwhile; a command stands for itself."""
        is_command = kept.startswith("/") or typed.startswith("/")
        if kept and typed and is_command and not typed.startswith(kept):
            self._composer.remember(kept)
        else:
            self._composer.draft = _joined(kept, typed)

    def _bring_attachments(self, view: View) -> None:
        joined = self._context.open_room
        if joined is not None and (
            lost := self._attachments.take_back(joined, view.files, view.quotes)
        ):
            files = "is gone, which was" if len(lost) == 1 else "are gone, which were"
            text = f"{', '.join(lost)} {files} attached to your draft. Attach it again: /attach"
            self._screen.notify(text, severity="warning", markup=False)

    def _show_panel(self, view: View) -> None:
        panel = self._context.panel
        if view.tab in Tab.__members__ and not panel.has_focus_within:  # else it is in use already
            panel.show_tab(Tab[view.tab])
        shown = RowFilter[view.shown] if view.shown in RowFilter.__members__ else RowFilter.ALL
        self._screen.query_one(ActivityPanel).show_only(shown, view.find)

    def _view(self) -> View | None:
        """Return the current view; None without an open room or a place to save it."""
        joined = self._context.open_room
        if joined is None or not self._saved:
            return None
        if not self._screen.children:  # the app breaks
            return self._kept and msgspec.structs.replace(
                self._kept, unsent=joined.messages.pending, unrecorded=joined.reports
            )
        place, activity = self._timeline.reading, self._screen.query_one(ActivityPanel)
        if place is None and self._timeline.is_attended:
            self._seen = max(self._seen, joined.state.head)
        joined.note_seen(self._seen)
        return View(
            draft=mask_known(_joined(self._attachments.asked_about, self._context.draft)),
            at=place[0] if place else None,
            distance=place[1] if place else 0,
            hidden=self._screen.has_class("-no-panel"),
            tab=self._context.panel.tab.name,
            shown=activity.filter_shown.name,
            find=activity.text_found,
            reasons=self._timeline.reasons,
            seen=self._seen,
            unsent=joined.messages.pending,
            unrecorded=joined.reports,
            files=tuple(self._attachments.attached.files),
            quotes=tuple(self._attachments.attached.quotes),
        )


def _text(text: str, files: Sequence[FileRef], quotes: Sequence[Quote]) -> UnsentText:
    names = [*(file.name for file in files), *(quote_name(quote) for quote in quotes)]
    return UnsentText(text, tuple(names))


def _joined(kept: str, typed: str) -> str:
    """Return the saved draft and the text typed meanwhile, without duplicates."""
    if not kept or typed.startswith(kept) or mask_known(typed).startswith(kept):
        return typed
    return f"{kept}\n{typed}" if typed else kept
