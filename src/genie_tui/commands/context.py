"""The context of a room's commands."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from inspect import isawaitable
from typing import TYPE_CHECKING, Final, TypeAlias

from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from genie_core.errors import GenieError
from genie_core.room.commands.arguments import MessageLine
from genie_core.room.commands.outcome import NotDone, Outcome, Question, Result
from genie_core.room.open.requests import OpenRequest
from genie_core.room.open.service import RoomService
from genie_core.room.protocol.limits import Limits
from genie_core.text.safe import visible_line
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.invite import Terms
from genie_tui.screens.room_attachments import AttachmentController
from genie_tui.widgets.approvals.call_text import diff_lines
from genie_tui.widgets.approvals.panel import ApprovalPanel
from genie_tui.widgets.banner import Banner
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.join_requests import JoinRequests
from genie_tui.widgets.roster import Roster
from genie_tui.widgets.side_panel import SidePanel, Tab
from genie_tui.widgets.status_bar import StatusBar
from genie_tui.widgets.timeline.timeline import Timeline
from genie_tui.widgets.typing_line import HintLine

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

LONG: Final = 12.0
"""Seconds for which a notice of several lines, or an error, stays."""

Reopening: TypeAlias = "Callable[[JoinedRoom], OpenRequest | None]"
"""Returns the request to open after a room was left; None if there is none."""


class RoomNotOpen(Exception):
    """A command needs the room, which is still opening."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """The next message: a reply to `reply_to`, a new text for `editing`; 0 if not.

    With `to`, it is a private message to that member. `draft` is the composer's text before an
    edit.
    """

    reply_to: int = 0
    editing: int = 0
    to: str = ""
    draft: str = ""


class RoomContext:
    """A room's screen with its widgets, and the joined room once it is open.

    `reopen` leaves the room and enters it, or another one, as a request says. `came_from` is the
    widget that had the focus before a command moved it; `purpose` is that of the next message;
    `invite_asked` are the terms of an invite that the host was asked for; `away_since` is the time
    when the connection to the host was lost. `submitted_early` is the input that was submitted
    before the room was open, in order.
    """

    def __init__(
        self,
        screen: Screen[None],
        service: RoomService,
        reopen: Callable[[Reopening, str], None],
        clock: Callable[[], float],
    ) -> None:
        self.screen = screen
        self.service = service
        self.reopen = reopen
        self.clock = clock
        self.open_room: JoinedRoom | None = None
        self.invite_terms = Terms()
        self.invite_asked: Terms | None = None
        self.away_since: float | None = None
        self.came_from: Widget | None = None
        self.purpose = Purpose()
        self.submitted_early: list[str] = []
        self.banner = Banner()
        self.timeline = Timeline()
        self.join_requests = JoinRequests(clock)
        self.composer = Composer()
        self.composer.limit = lambda: self._limits.text_chars
        self.composer.as_typed = self.as_typed
        self.attachments = AttachmentController(
            screen, self.composer, service, lambda: self.open_room, self.timeline.transfers, clock
        )

    @property
    def joined(self) -> "JoinedRoom":
        if self.open_room is None:
            raise RoomNotOpen
        return self.open_room

    @property
    def draft(self) -> str:
        """The unsent text, so that it is as private in another composer."""
        draft = self.composer.draft
        return "\n".join([*self.submitted_early, *([self.as_typed(draft)] if draft else [])])

    def as_typed(self, text: str) -> str:
        """Return the input that sends a text as the composer would send it now, private or not."""
        to = self.purpose.to
        return MessageLine(text, to=to).draft if to else text

    @property
    def _limits(self) -> Limits:
        """The room's limits, or the usual ones until it is open."""
        return self.open_room.messages.limits if self.open_room is not None else Limits()

    @property
    def approvals(self) -> ApprovalPanel:
        return self.screen.query_one(ApprovalPanel)

    @property
    def panel(self) -> SidePanel:
        return self.screen.query_one(SidePanel)

    @property
    def roster(self) -> Roster:
        return self.screen.query_one(Roster)

    @property
    def hints(self) -> HintLine:
        return self.screen.query_one(HintLine)

    def show_waiting(self) -> None:
        waiting = self.approvals.waiting
        self.screen.query_one(StatusBar).show_waiting(waiting)
        self.hints.show_waiting(waiting)
        self.panel.label(Tab.APPROVALS).show_count(waiting)

    def give_back(self, draft: str) -> None:
        """Make a text the draft again; text from meanwhile goes to the history."""
        if self.composer.draft:
            self.composer.remember(self.composer.draft)
        self.composer.draft = draft

    def warn(self, text: str) -> None:
        """Show a warning, unless the text is empty."""
        if text:
            self.screen.notify(text, severity="warning")

    async def confirm(
        self, title: str, text: Content | str, yes: str, *, read_first: bool = False
    ) -> bool:
        """Ask a question; True if the person agrees. Call it in a worker.

        With `read_first`, the person can agree only when the end of the text was on the screen.
        """
        shown = Content(text) if isinstance(text, str) else text
        question = ConfirmScreen(
            title, shown, yes, self.clock, read_first=read_first, by_itself=read_first
        )
        return await self.screen.app.push_screen_wait(question)

    def attempt(
        self,
        act: Callable[[], Outcome | Awaitable[Outcome]],
        group: str = "commands",
        *,
        exclusive: bool = False,
    ) -> None:
        """Run the effect of a command and show its outcome; a question is asked first."""
        try:
            outcome = act()
        except NotDone as error:
            self.warn(str(error))
        else:
            if isawaitable(outcome) or isinstance(outcome, Question):
                self.start(self._finish(outcome, group), group, exclusive=exclusive)
            elif outcome is not None:
                self._show(outcome)

    async def _finish(self, work: Outcome | Awaitable[Outcome], group: str) -> None:
        try:
            outcome = await work if isawaitable(work) else work
        except NotDone as error:
            self.warn(str(error))
        except GenieError as error:
            self.screen.notify(visible_line(str(error)), severity="error", timeout=LONG)
        else:
            if isinstance(outcome, Result):
                self._show(outcome)
            elif isinstance(outcome, Question) and await self._agrees(outcome):
                self.attempt(outcome.act, group)

    async def _agrees(self, question: Question) -> bool:
        lines = question.text.split("\n")
        text = diff_lines(lines) if question.is_diff else Content(question.text)
        return await self.confirm(question.title, text, question.yes)

    def _show(self, result: Result) -> None:
        seconds = LONG if result.title else None
        self.screen.notify(result.text, title=result.title, timeout=seconds)

    def start(
        self,
        work: Coroutine[None, None, None] | Callable[[], Coroutine[None, None, None]],
        group: str,
        *,
        exclusive: bool = False,
    ) -> None:
        """Run a coroutine that ends with the screen; an exclusive one ends others of its group.

        Pass a function if the worker may be cancelled before it begins: it then makes no coroutine.
        """
        self.screen.run_worker(work, group=group, exclusive=exclusive)
