"""The room screen, which shows a fold of the room's events."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, assert_never

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.command import Provider
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widgets import Static

from genie_core.errors import GenieError
from genie_core.room.client.events import (
    ContinuationsChanged,
    CopyRead,
    EditRejected,
    EventsRecorded,
    MessageRejected,
    Notice,
    OtherHostsChanged,
    PendingChanged,
    RoomRenamed,
)
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    EngineStatus,
    SessionEnded,
    Severity,
)
from genie_core.room.commands.arguments import MessageLine
from genie_core.room.files.transfer import Transfer
from genie_core.room.open.requests import (
    NewRoom,
    OpenRequest,
    Question,
    RejoinRoom,
    ReplayRoom,
    ResumeRoom,
    question_after,
)
from genie_core.room.open.service import RoomService, SavedSummary
from genie_core.room.protocol.events import Event
from genie_core.room.protocol.frames import (
    AgentProgress,
    AnswerDelta,
    HostingAccepted,
    HostingOffered,
    InviteIssued,
    JoinRequested,
    MemberTyping,
)
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.lock import SessionInUse
from genie_core.text.format import ago, counted
from genie_core.text.safe import visible_line
from genie_tui.commands import dispatch
from genie_tui.commands.completion import CommandCompletion
from genie_tui.commands.context import Reopening, RoomContext
from genie_tui.commands.handlers import engine, host
from genie_tui.commands.handlers.message import cancel
from genie_tui.commands.keymap import Keymap, keymap_of
from genie_tui.commands.keys import Scope, bindings_of
from genie_tui.commands.registry import RoomCommands, all_actions
from genie_tui.external_editor import Edited
from genie_tui.notifications import Bell, told_by
from genie_tui.room_feed import RoomFeed
from genie_tui.screen_size import size_classes
from genie_tui.screens import room_focus
from genie_tui.screens.decision_labels import DecisionLabels
from genie_tui.screens.dialogs.dialog import TypedText
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.room_connection import ConnectionDisplay
from genie_tui.screens.room_find import RoomFind
from genie_tui.screens.room_progress import RoomProgress
from genie_tui.screens.room_view import RoomView
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.approvals.card import ApprovalCard
from genie_tui.widgets.approvals.panel import ApprovalPanel
from genie_tui.widgets.banner import rivals_line
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.find_bar import FindBar
from genie_tui.widgets.join_requests import JoinRequests
from genie_tui.widgets.key_footer import KeyFooter
from genie_tui.widgets.roster import Roster
from genie_tui.widgets.side_panel import SidePanel
from genie_tui.widgets.status_bar import Counts, StatusBar
from genie_tui.widgets.timeline.timeline import DecisionMarkRequested, Timeline
from genie_tui.widgets.too_small import TooSmall
from genie_tui.widgets.typing_line import HintLine

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

logger = logging.getLogger(__name__)

APPROVALS: Final = "room.approvals"
READ_BACK: Final = "room.read-back"

SAVED: Final = "{key} brings back what the editor had saved."

_TOASTS: Final[dict[Severity, tuple[SeverityLevel, float | None]]] = {
    Severity.INFO: ("information", None),
    Severity.WARNING: ("warning", None),
    Severity.ERROR: ("error", 12.0),
}


def _lacks_answers(joined: "JoinedRoom") -> bool:
    """Whether no agent answers this person. In a suspended room no one is present, nor an engine."""
    state = joined.state
    person = state.people.get(joined.name)
    return person is not None and person.present and not state.handler_for(joined.name)[0]


class RoomScreen(Screen[None]):
    """One room, from the start of its opening."""

    CSS_PATH = "room.tcss"
    AUTO_FOCUS = "Composer Editor"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(all_actions(Scope.ROOM))
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {RoomCommands}

    class News(Message):
        """News for the app about the room on `screen`."""

        def __init__(self, screen: "RoomScreen") -> None:
            super().__init__()
            self.screen = screen

    class OpeningFailed(News):
        """The room can't be opened; `text` is the reason in one line.

        `instead` is a way to watch it at least, `question` asks whether to enter in another way, if
        any.
        """

        def __init__(
            self,
            screen: "RoomScreen",
            text: str,
            instead: ReplayRoom | None = None,
            question: Question | None = None,
        ) -> None:
            super().__init__(screen)
            self.text = text
            self.instead = instead
            self.question = question

    class Opened(News):
        """The room is open and shown."""

    class HandOver(News):
        """A member agreed to host: leave, so that the room becomes theirs."""

        def __init__(self, screen: "RoomScreen", name: str) -> None:
            super().__init__(screen)
            self.name = name

    class Reopen(News):
        """The person wants to leave the room, for a `reason`, and enter as `way` returns."""

        def __init__(self, screen: "RoomScreen", way: Reopening, reason: str) -> None:
            super().__init__(screen)
            self.way = way
            self.reason = reason

    class EarlierWanted(News):
        """The person wants their earlier room with the folder `saved` instead of this new one."""

        def __init__(self, screen: "RoomScreen", saved: str) -> None:
            super().__init__(screen)
            self.saved = saved

    class Parted(News):
        """The session ended by itself; `parting` says how to continue."""

        def __init__(self, screen: "RoomScreen", parting: SessionEnded) -> None:
            super().__init__(screen)
            self.parting = parting

    class Rang(News):
        """An event is to reach the person, wherever they look; `text` describes it."""

        def __init__(self, screen: "RoomScreen", text: str) -> None:
            super().__init__(screen)
            self.text = text

    class Counted(News):
        """The counts of the entries that the person may have missed have changed."""

    def __init__(
        self, service: RoomService, opening: OpenRequest, clock: Callable[[], float], bell: Bell
    ) -> None:
        super().__init__()
        self.bell = bell
        self._service = service
        self._opening = opening
        self._clock = clock
        self._feed = RoomFeed(self)
        self.context = RoomContext(self, service, self._reopen, clock)
        self._join_requests, self._banner = self.context.join_requests, self.context.banner
        self._timeline, self._composer = self.context.timeline, self.context.composer
        self._progress = RoomProgress(self.context)
        self._connection = ConnectionDisplay(self.context, self._part)
        self._completion = CommandCompletion(self.context)
        self._find = RoomFind(self.context)
        self._labels = DecisionLabels(self, self._timeline, lambda: self.query_one(ActivityList))
        self.views = RoomView(self.context)
        self._counted: Counts | None = None
        self._earlier: SavedSummary | None = None
        self._offers_approvals = False

    def compose(self) -> ComposeResult:
        self.add_class(*size_classes(*self.app.size))  # Textual would style all widgets again
        yield TooSmall()
        yield StatusBar()
        yield self._banner
        with Horizontal(id="middle"):
            with Vertical(id="conversation"):
                yield self._timeline
                yield Static(id="welcome", markup=False)
                yield FindBar()
            yield SidePanel(Roster(self._clock), ActivityPanel(), ApprovalPanel(self._clock))
        yield self._join_requests
        yield HintLine(self._clock)
        yield self.context.attachments.line
        yield self._composer
        yield KeyFooter()

    def on_mount(self) -> None:
        """Show the room; open it in the background once it is painted."""
        title = self._opening.title if isinstance(self._opening, NewRoom) else ""
        self._status.show_room(title, "")
        self._banner.show(ConnectionStatus(ConnectionState.CONNECTING))
        self._composer.focus()
        self._approvals.card.write = self._join_requests.write = self._write
        self.watch(self, "focused", self._show_who_answers, init=False)
        self.set_interval(1.0, self._second_passed)
        self.context.start(self._open, "opening")

    @property
    def counts(self) -> Counts:
        """The items that wait for the person in this room."""
        if self._joined is None:
            return Counts()
        return Counts(self._approvals.waiting, self._timeline.missed, self._timeline.missed_for_me)

    def show_elsewhere(self, counts: Counts | None) -> None:
        """Show the waiting items of the other open rooms; None if this is the only one."""
        self._status.show_elsewhere(counts)

    def notify(self, message: str, **options: Any) -> None:
        """Show a notice, with the room's title if another room is on the screen."""
        if not self.is_current and self._joined is not None:
            message = f"{self._joined.state.title}: {message}"
        super().notify(message, **options)

    def look(self, *, here: bool) -> None:
        """Note whether the person looks at this room; later entries are unread."""
        self._timeline.attend(here=here)
        self._count()

    def on_screen_resume(self) -> None:
        self.arm()

    def arm(self) -> None:
        """Ignore keys meant for a screen above or another program, so that they answer nothing."""
        for card in (self._approvals.card, self._join_requests):
            if card.has_focus:
                card.come_back()

    @on(TypedText)
    def _typed_at_dialog(self, message: TypedText) -> None:
        self._write(message.text)

    def _write(self, text: str) -> None:
        """Go on writing with text that was typed or pasted where something is answered."""
        if text and not self._composer.closed:
            self.context.came_from = None
            room_focus.back(self.context)
            self._composer.go_on_with(text)

    def show_event(self, seq: int) -> None:
        """Show an event in the conversation."""
        room_focus.to_message(self.context, seq)

    @property
    def joined(self) -> "JoinedRoom | None":
        """The joined room; None until it is open."""
        return self.context.open_room

    @property
    def saved(self) -> str:
        """The folder of the room, also of one that is being opened again; empty if unknown."""
        if self._joined is not None:
            return self._joined.saved
        return self._opening.id if isinstance(self._opening, ResumeRoom | RejoinRoom) else ""

    @property
    def draft(self) -> str:
        """The unsent text."""
        return self.context.draft

    @draft.setter
    def draft(self, text: str) -> None:
        self._composer.draft = text

    @property
    def text(self) -> str:
        """The text in the composer; who can read it depends on the purpose of the next message."""
        return self._composer.draft

    def take_edited(self, edited: Edited, before: str) -> None:
        """Take a text over from an editor that was opened with the text `before`."""
        if edited.saved:
            self._composer.remember(self.context.as_typed(edited.saved))
            self.notify(SAVED.format(key=keymap_of(self).text(Scope.COMPOSER, "history")))
        if edited.text is None:
            return
        if self._composer.draft != before:  # as by a message that was refused meanwhile
            self._composer.remember(self.draft)
        self._composer.draft = edited.text
        self._composer.focus()

    async def _open(self) -> None:
        await self.wait_for_refresh()  # the modules that open a room take time to import
        try:
            joined = await self._service.open(self._opening, self._feed)
        except SessionInUse as error:
            note = f"Read-only: {error}."
            instead = ReplayRoom(error.room, follow=True, note=note)
            self.post_message(self.OpeningFailed(self, str(error), instead))
        except GenieError as error:
            question = question_after(error, self._opening)
            self.post_message(self.OpeningFailed(self, str(error), question=question))
        else:
            self._show_room(joined)

    def _welcome(self) -> None:
        """Say in a room without messages the first steps."""
        joined = self._joined
        answers = joined is None or not _lacks_answers(joined)
        self.query_one(Composer).show_answers(answers=answers)
        welcome = self.query_one("#welcome", Static)
        welcome.display = joined is not None and not joined.state.messages
        if joined is None or joined.state.messages:
            self._earlier = None  # its key is the composer's from now on
            return
        hosts = joined.hosting.invites is not None or joined.state.administers(joined.name)
        engine = joined.engine.status
        text = welcome_text(
            keymap_of(self), hosts=hosts, engine=engine, earlier=self._earlier, answers=answers
        )
        welcome.update(text)

    async def _seek_earlier(self, title: str, saved: str) -> None:
        """Offer the person's earlier room with this title, in place of this new one."""
        try:
            self._earlier = await asyncio.to_thread(self._service.earlier, title, saved)
        except GenieError:
            logger.warning("earlier rooms can't be listed", exc_info=True)
        if self.is_running:
            self._welcome()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the key for the earlier room to the composer where there is none."""
        del parameters
        return action != "resume_earlier" or self._earlier is not None

    def action_resume_earlier(self) -> None:
        if self._earlier is not None:
            self.post_message(self.EarlierWanted(self, self._earlier.id))

    def _show_copy(self, copy: CopyRead) -> None:
        """Show the conversation until the room is open."""
        if self._joined is None:
            self._status.show_room(copy.state.title, "")
            self._timeline.bind_state(copy.state, copy.name)
            self._timeline.apply_many(copy.events)

    def _show_room(self, joined: "JoinedRoom") -> None:
        self.context.open_room = joined
        if not self.is_running:  # it is given back when the app ends
            return
        state, me = joined.state, joined.name
        self.bell.enter(state, me)
        self._timeline.transfers.place = joined.files.path
        self._timeline.history = joined.past
        self._timeline.bind_state(state, me)
        self.context.panel.bind_state(state, me)
        self._labels.begin(partial(self._service.labels, joined.saved), me)
        self._progress.begin()
        self._approvals.bind(state, me, joined.approvals)
        self.context.show_waiting()
        self._connection.show(joined.connection, joined)
        self._status.show_engine(joined.engine.status)
        self._status.show_room(state.title, joined.hosting.address)
        self._timeline.set_unsent(joined.messages.pending)
        self._remember_own(state, me)
        self.query_one(HintLine).show_people(len(state.present()))
        self._feed.start()
        self.call_later(
            dispatch.submit_early, self.context, self._completion.custom
        )  # before the saved draft is back
        self.views.begin(joined)
        self._welcome()
        if isinstance(self._opening, NewRoom) and self._opening.title:
            seek = partial(self._seek_earlier, self._opening.title, joined.saved)
            self.context.start(seek, "earlier")
        self.post_message(self.Opened(self))

    def _remember_own(self, state: RoomState, me: str) -> None:
        """Let ↑ bring back this person's messages in the room before."""
        for thread in state.threads.values():
            if thread.author == me and thread.text and not thread.is_deleted:
                said = thread.said
                line = MessageLine(thread.text, said.emote, said.to, said.quiet)
                self._composer.remember(line.draft)

    def on_key(self, event: events.Key) -> None:
        """Send keys that no widget uses to the composer, so that no text is lost.

        Characters that reach the screen although the composer has the focus were typed before it
        had.
        """
        writes, reads = self._composer.has_focus_within, isinstance(self.focused, Timeline)
        if reads and event.key in keymap_of(self).by_key(Scope.TIMELINE):
            return
        is_text = event.is_printable and event.character and not self._composer.closed
        if is_text and (writes or reads or self.focused is None):
            event.stop()
            if not writes:
                room_focus.back(self.context)
            self._composer.go_on_with(event.character or "")

    @on(Composer.Reading)
    def _read(self, message: Composer.Reading) -> None:
        if message.key != "escape":
            self._timeline.action_page(1 if message.key == "pagedown" else -1)
        elif cancel(self.context):
            return
        elif message.leaves:
            room_focus.to_conversation(self.context)
        elif self._timeline.reading is not None:
            self._timeline.action_follow()

    @on(RoomFeed.Arrived)
    def _arrived(self, message: RoomFeed.Arrived) -> None:
        match message.take():
            case EventsRecorded(events=events):
                self._events_recorded(events)
            case RoomRenamed(title=title):
                self.notify(f"The room is now called {visible_line(title)}.")
            case MemberTyping(name=name):
                self._progress.types(name)
            case AnswerDelta() as delta:
                self._progress.wrote(delta)
            case AgentProgress() as progress:
                self._progress.made(
                    progress, self._joined.state if self._joined is not None else None
                )
            case ConnectionStatus() as status:
                # The host's question whether to let the person in may be read when they are in.
                if self._joined is None or status.state is not ConnectionState.CONNECTING:
                    self._connection.show(status, self._joined)
            case EngineStatus() as status:
                self._status.show_engine(status)
                self._welcome()
                self.query_one(HintLine).show_backlog(status.backlog)
            case PendingChanged(pending=pending):
                self._timeline.set_unsent(pending)
            case MessageRejected(message=rejected, reason=reason):
                dispatch.take_back(self.context, rejected, reason)
            case EditRejected(message=number, text=text, reason=reason):
                dispatch.take_back_edit(self.context, number, text, reason)
            case Notice(severity=level, text=text):
                severity, seconds = _TOASTS[level]
                self.notify(text, severity=severity, timeout=seconds)
            case Transfer() as transfer:
                self._timeline.transfers.update(transfer)
                self._timeline.show_transfer(transfer.digest)
                self.context.attachments.transfer_moved(transfer)
            case OtherHostsChanged(hosts=hosts):
                hosts_here = self._joined is not None and bool(self._joined.hosting.address)
                self._banner.warn(rivals_line(hosts, hosts=hosts_here))
            case ContinuationsChanged(continuations=found):
                self._join_requests.take_continuations(found)
            case CopyRead() as copy:
                self._show_copy(copy)
            case JoinRequested() | HostingOffered() as caller:
                self._join_requests.take(caller)
            case InviteIssued() as issued:
                host.show_issued(self.context, issued)
            case HostingAccepted(name=name):
                self.notify(f"{visible_line(name)} will host: the room is handed over.")
                self.post_message(self.HandOver(self, name))
            case never:
                assert_never(never)

    def _events_recorded(self, events: Sequence[Event]) -> None:
        if self._joined is None:
            return
        self._timeline.apply_many(events)
        self._welcome()
        self.context.panel.apply_many(events)
        hints = self.query_one(HintLine)
        hints.apply_many(events)
        hints.show_people(len(self._joined.state.present()))
        rung = self.bell.ring_for(events, self._joined.state, self._joined.name)
        if rung is not None:
            self.post_message(self.Rang(self, told_by(rung, self._joined.state.title)))
        self._refresh_approvals()
        self._status.show_room(self._joined.state.title, self._joined.hosting.address)

    @on(SidePanel.Switched)
    def _panel_switched(self, message: SidePanel.Switched) -> None:
        self.query_one(HintLine).show_panel(is_open=message.is_open)

    async def custom_commands(self) -> list[tuple[str, str]]:
        """Return the commands from Markdown files, each with its effect."""
        return await self._completion.custom.help()

    # Actions of the person

    @on(Composer.Submitted)
    async def _submitted(self, message: Composer.Submitted) -> None:
        self._timeline.mark_read()
        await dispatch.submit(self.context, self._completion.custom, message.text)

    @on(Composer.Edited)
    def _edited(self) -> None:
        draft = self._composer.draft
        if not draft:
            self._completion.forget_files()
        elif self._joined is not None and draft.strip():
            self._joined.messages.typing()

    @on(FindBar.Changed)
    def _find_changed(self, message: FindBar.Changed) -> None:
        self._find.change(message.text)

    @on(FindBar.Stepped)
    @on(Timeline.MatchWanted)
    def _next_match(self, message: FindBar.Stepped | Timeline.MatchWanted) -> None:
        self._find.step(message.step)

    @on(FindBar.Done)
    def _find_done(self) -> None:
        self._find.read_on()

    @on(Timeline.SelectionChanged)
    def _selection_changed(self) -> None:
        self._find.selection_changed()

    @on(Timeline.Left)
    def _reading_left(self) -> None:
        self._find.close()
        self._timeline.action_follow()
        room_focus.back(self.context)
        if self._joined is not None and any(
            self._joined.name in (thread.author, thread.handler)
            for thread in self._joined.state.running.values()
        ):
            key = keymap_of(self).text(Scope.ROOM, "stop-an-agent")
            self.notify(f"Your agents keep working. {key} stops one.", timeout=4)

    @on(JoinRequests.Answered)
    def _answered_at_door(self, message: JoinRequests.Answered) -> None:
        if self._joined is not None:
            host.answer(self.context, message.caller, allow=message.allow)

    @on(JoinRequests.Dismissed)
    @on(ApprovalCard.Dismissed)
    @on(ActivityPanel.Left)
    def _done_there(self) -> None:
        room_focus.back(self.context)

    @on(ApprovalPanel.Emptied)
    def _all_answered(self) -> None:
        room_focus.leave_approvals(self.context)

    @on(ApprovalPanel.Answered)
    def _one_answered(self) -> None:
        self._refresh_approvals()

    @on(ApprovalPanel.NotTaken)
    def _not_taken(self) -> None:
        engine.explain_not_taken(self.context)

    @on(ApprovalCard.FullView)
    async def _full_view(self, message: ApprovalCard.FullView) -> None:
        await self.app.push_screen(FullViewScreen.of_call(message.view, message.typed))

    @on(ApprovalCard.EditWanted)
    def _edit_wanted(self, message: ApprovalCard.EditWanted) -> None:
        if self._joined is not None:
            engine.edit_call(self.context, message.view)

    @on(Timeline.DetailsRequested)
    async def _message_details(self, message: Timeline.DetailsRequested) -> None:
        if self._joined is not None:
            view = FullViewScreen.of_message(message.thread, self._joined.state)
            await self.app.push_screen(view)

    @on(ActivityList.MessageWanted)
    def _message_wanted(self, message: ActivityList.MessageWanted) -> None:
        room_focus.to_message(self.context, message.seq)

    @on(ActivityList.UndoRequested)
    def _undo_requested(self, message: ActivityList.UndoRequested) -> None:
        if self._joined is not None:
            engine.undo_call(self.context, message.approval)

    @on(DecisionMarkRequested)
    def _mark_wanted(self, message: DecisionMarkRequested) -> None:
        self._labels.mark(message)

    def action_command(self, name: str) -> None:
        dispatch.run_command(self.context, name)

    @property
    def _joined(self) -> "JoinedRoom | None":
        return self.context.open_room

    def _reopen(self, way: Reopening, reason: str) -> None:
        self.post_message(self.Reopen(self, way, reason))

    def _part(self, parting: SessionEnded) -> None:
        self.post_message(self.Parted(self, parting))

    # Keeping the rest of the screen true

    def _second_passed(self) -> None:
        self._connection.second_passed(self._joined)
        self.views.look()
        self._approvals.refresh_ages()
        if self.joined is not None:
            self._status.show_grants(len(self.joined.approvals.grants.active))
        self._progress.second_passed()

    def _count(self) -> None:
        if self._joined is not None and (counts := self.counts) != self._counted:
            self._counted = counts
            self.post_message(self.Counted(self))

    def _show_who_answers(self) -> None:
        """Give the card the whole width while it has the focus."""
        self.set_class(self._approvals.has_focus_within, "-answering")

    def _refresh_approvals(self) -> None:
        self._approvals.refresh_queue()
        self.context.show_waiting()
        waits = bool(self._approvals.waiting)
        if waits != self._offers_approvals:
            self._offers_approvals = waits
            self.refresh_bindings()
        self._count()

    def offers(self, action: str) -> bool:
        """Whether an action does something now."""
        if action == READ_BACK:
            return not self._timeline.has_focus
        return action != APPROVALS or self._offers_approvals

    @property
    def _status(self) -> StatusBar:
        return self.query_one(StatusBar)

    @property
    def _approvals(self) -> ApprovalPanel:
        return self.query_one(ApprovalPanel)


def welcome_text(
    keymap: Keymap,
    *,
    hosts: bool,
    engine: EngineStatus,
    earlier: SavedSummary | None = None,
    answers: bool = True,
) -> Content:
    """Return the first steps in a room without messages.

    `earlier` is the person's room that has the same title. `answers`: an agent answers this person.
    """
    key = partial(keymap.text, Scope.ROOM)
    lines = list[tuple[str, str]]()
    if earlier is not None:
        title, when = visible_line(earlier.title), ago(time.time() - earlier.last_activity)
        said = counted(earlier.messages, "message")
        lines += [(key("earlier"), f"to go on in your room {title} of {when} ({said}) instead")]
    lines += [(key("invite"), "to copy the invite for others")] if hosts else []
    lines += [("@genie", "and a question to your agent")] if answers else []
    lines += [(key("choose-model"), "to choose a model or an agent")] if engine.offline else []
    lines += [(key("reasons"), "to see why agents are silent")]
    lines += [(keymap.text(Scope.APP, "help"), "for all keys and commands")]
    return Content("\n").join(
        Content.assemble((f"{key:>6}  ", "$text-primary bold"), (text, "$foreground-muted"))
        for key, text in lines
    )
