"""Replay a recorded room with the room's own widgets; nothing can be answered."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from genie_core.errors import GenieError
from genie_core.room.open.requests import ReplayRoom
from genie_core.room.open.service import RoomService
from genie_core.room.protocol.events import Event
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.wording import message_title, why_silent
from genie_core.sessions.replay.landmarks import Landmark, message_of
from genie_core.sessions.replay.player import Recording, ReplayMoment
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.decision_labels import DecisionLabels
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.playback import Playback
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.approvals.panel import PastApprovals
from genie_tui.widgets.key_footer import KeyFooter
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.roster import Roster
from genie_tui.widgets.seek_bar import SeekBar
from genie_tui.widgets.side_panel import SidePanel, Tab
from genie_tui.widgets.status_bar import StatusBar
from genie_tui.widgets.timeline.streaming import RunProgress
from genie_tui.widgets.timeline.timeline import DecisionMarkRequested, Timeline
from genie_tui.widgets.too_small import TooSmall

FRAME: Final = 0.05
"""Seconds between two checks for due events."""

NO_REPORTS: Final = (
    "No other reasoner was asked about this session yet. In a shell: "
    "genie-tui replay {} --reasoner TEMPLATE"
)


class ReplayScreen(Screen[None]):
    """One recording, from the start of its opening. It never changes the room."""

    CSS_PATH = ["room.tcss", "replay.tcss"]  # noqa: RUF012 - an annotation would contradict the base class
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.REPLAY)

    class Left(Message):
        """The person leaves `screen`."""

        def __init__(self, screen: "ReplayScreen") -> None:
            super().__init__()
            self.screen = screen

    class OpeningFailed(Message):
        """`screen` can't show the recording; `text` is the reason in one line."""

        def __init__(self, screen: "ReplayScreen", text: str) -> None:
            super().__init__()
            self.screen = screen
            self.text = text

    def __init__(
        self, service: RoomService, opening: ReplayRoom, clock: Callable[[], float]
    ) -> None:
        super().__init__()
        self._service = service
        self._opening = opening
        self._playback = Playback(self, self.show_moment, self.show_events, clock)
        self._me = self._recorded = ""
        self._state = RoomState()
        self._reasons = False
        self._opened = asyncio.Event()
        self._timeline = Timeline()
        self._timeline.can_focus = False
        self._timeline.progress = RunProgress(_stands)
        self._asked = PastApprovals()
        self._labels = DecisionLabels(
            self, self._timeline, lambda: self.query_one(ActivityPanel).activity_list
        )

    def compose(self) -> ComposeResult:
        """Build the room's layout, with a seek bar instead of the composer."""
        yield TooSmall()
        yield StatusBar()
        yield Static(id="replay-note", markup=False)
        with Horizontal(id="middle"):
            with Vertical(id="conversation"):
                yield self._timeline
            yield SidePanel(Roster(_stands), ActivityPanel(), self._asked)
        yield LineInput(
            placeholder="Search messages, decisions and tool calls", id="replay-find", compact=True
        )
        yield SeekBar()
        yield KeyFooter("app.rooms")

    def on_mount(self) -> None:
        """Paint first; open the log in the background."""
        self.query_one(StatusBar).show_replay("REPLAY")
        self._tell(self._opening.note)
        self._show_standing()
        self.run_worker(self._open(), group="opening")

    def on_unmount(self) -> None:
        self._playback.close()

    async def show(self, seq: int) -> None:
        """Show the room after an event, once the recording is open; wait until the widgets know it."""
        await self._opened.wait()
        await self._playback.show(seq)
        self._show_standing()

    # From the recording to the screen

    async def _open(self) -> None:
        try:
            recording = await asyncio.to_thread(self._service.recording, self._opening.id)
        except GenieError as error:
            self.post_message(self.OpeningFailed(self, str(error)))
            return
        if not self.is_running:
            await asyncio.to_thread(recording.close)
            return
        await self._begin(recording)

    async def _begin(self, recording: Recording) -> None:
        self._me, self._recorded = recording.me, recording.id
        self.query_one(ActivityPanel).activity_list.bind_progress(self._timeline.progress)
        self._timeline.transfers.place, self._timeline.history = (
            recording.place,
            self._playback.past,
        )
        self._labels.begin(partial(self._service.labels, recording.id), recording.me)
        self.query_one(StatusBar).show_room(recording.title, "")
        for problem in recording.problems:
            self.notify(problem, severity="warning", timeout=12)
        self.set_interval(FRAME, self._frame)
        await self._playback.begin(recording, self._opening)
        self._opened.set()

    def show_moment(self, moment: ReplayMoment) -> None:
        """Show the room at another moment."""
        if not self.is_running:
            return
        self._state = moment.state
        self._timeline.bind_state(moment.state, self._me)
        self._panel.bind_state(moment.state, self._me)
        self.show_events(moment.recent)

    def show_events(self, events: list[Event]) -> None:
        """Add the next events."""
        if not self.is_running:
            return
        self._timeline.apply_many(events)
        self._panel.apply_many(events)
        for message in self._timeline.progress.changed():
            self._timeline.show_progress(message)
            self.query_one(ActivityPanel).activity_list.show_progress(message)
        waiting = self._asked.show(self._state)
        self._panel.label(Tab.APPROVALS).show_count(waiting)
        if self._state.title:
            self.query_one(StatusBar).show_room(self._state.title, "")
        self._show_standing()

    def _frame(self) -> None:
        self._playback.pass_time()
        self._show_standing()

    def _show_standing(self) -> None:
        for bar in self.query(SeekBar):  # none while the screen is being removed
            bar.show(self._playback.standing())

    # Moving

    def action_play(self) -> None:
        self._playback.play()
        self._show_standing()

    def action_step(self, by: int) -> None:
        self._playback.go_by(by)

    def action_start(self) -> None:
        self._playback.go(1)

    def action_end(self) -> None:
        self._playback.go_to_part(1)

    def action_speed(self, step: int) -> None:
        self._playback.faster(step)
        self._show_standing()

    def action_jump(self, kind: str, step: int) -> None:
        self._playback.jump(Landmark[kind.upper()], step)

    def on_key(self, event: events.Key) -> None:
        """Jump to a tenth of the recording by a digit."""
        key = keymap_of(self).meaning(Scope.REPLAY, event.key)
        if key.isdecimal():
            event.stop()
            self._playback.go_to_part(int(key) / 10)

    @on(SeekBar.Sought)
    def _sought(self, message: SeekBar.Sought) -> None:
        self._playback.go(message.seq)

    # Searching

    def action_search(self) -> None:
        find = self._find
        find.add_class("-open")
        find.focus()

    def action_again(self, step: int) -> None:
        if not self._playback.search_again(step):
            self.action_search()

    @on(Input.Submitted, "#replay-find")
    def _searched(self, event: Input.Submitted) -> None:
        event.stop()
        self._close_search()
        self._playback.search(event.value.strip())

    def _close_search(self) -> None:
        self._find.remove_class("-open")
        self.set_focus(None)

    @property
    def _find(self) -> Input:
        return self.query_one("#replay-find", Input)

    # Reading

    def action_select(self, step: int) -> None:
        self._timeline.action_select(step)

    def action_page(self, step: int) -> None:
        self._timeline.action_page(step)

    def action_copy(self) -> None:
        self._timeline.action_copy()

    def action_copy_code(self) -> None:
        self._timeline.action_copy_code()

    def action_details(self) -> None:
        self._timeline.action_details()

    def action_mark_wrong(self) -> None:
        """Mark the decision on the selected message, or the latest one."""
        thread = self._timeline.chosen
        if thread is None and self._playback.last is not None:
            thread = self._state.threads.get(message_of(self._playback.last))
        if thread is None:
            keys = " ".join(keymap_of(self).text(Scope.REPLAY, name) for name in ("up", "down"))
            self.notify(f"Select a message first ({keys}).", timeout=2)
        else:
            decision = thread.decision.decision if thread.decision is not None else None
            self._labels.mark(DecisionMarkRequested(thread.seq, decision))

    async def action_why(self) -> None:
        """Explain why the selected message has no answer, or show it below each."""
        thread = self._timeline.chosen
        if thread is not None:
            await self.app.push_screen(FullViewScreen(message_title(thread), why_silent(thread)))
            return
        self._reasons = not self._reasons
        self._timeline.show_reasons(self._reasons)

    @on(Timeline.DetailsRequested)
    async def _message_details(self, message: Timeline.DetailsRequested) -> None:
        await self.app.push_screen(FullViewScreen.of_message(message.thread, self._state))

    def action_reports(self) -> None:
        """Show the what-if reports."""
        if self._recorded:
            self._playback.pause()
            self.run_worker(self._show_reports(), group="reports", exclusive=True)

    async def _show_reports(self) -> None:
        from genie_tui.screens.dialogs.what_if import WhatIfScreen

        try:
            reports = await asyncio.to_thread(self._service.reports, self._recorded)
        except GenieError as error:
            self.notify(visible_line(str(error)), severity="warning", timeout=12)
            return
        if not self.is_running:
            return
        if not reports:
            self.notify(NO_REPORTS.format(visible_line(self._recorded)), timeout=12)
        elif (message := await self.app.push_screen_wait(WhatIfScreen(reports))) is not None:
            self._playback.go(message)

    @on(ActivityList.MessageWanted)
    def _message_wanted(self, message: ActivityList.MessageWanted) -> None:
        self._go_back()
        self._timeline.show_message(message.seq)

    @on(DecisionMarkRequested)
    def _mark_wanted(self, message: DecisionMarkRequested) -> None:
        self._labels.mark(message)

    # The panel, and leaving

    def action_activity(self) -> None:
        """Focus the activity list, or return from it."""
        activity = self.query_one(ActivityPanel)
        if activity.has_focus_within:
            self._go_back()
        else:
            self._panel.open(Tab.ACTIVITY)
            activity.activity_list.focus()

    def action_approvals(self) -> None:
        """Show the approvals, or the activity again."""
        shown = self._panel.tab is Tab.APPROVALS
        self._panel.open(Tab.ACTIVITY if shown else Tab.APPROVALS)

    def action_panel(self) -> None:
        """Toggle the panel: beside the timeline, or over it in a narrow terminal."""
        if not self._panel.toggle():
            self.set_focus(None)

    def action_leave(self) -> None:
        """Close an open line, or leave the replay."""
        if self._find.has_class("-open"):
            self._close_search()
        elif self._panel.covers:
            self._go_back()
        else:
            self.post_message(self.Left(self))

    @on(ActivityPanel.Left)
    def _go_back(self) -> None:
        self._panel.uncover()
        self.set_focus(None)

    @property
    def _panel(self) -> SidePanel:
        return self.query_one(SidePanel)

    def _tell(self, note: str) -> None:
        line = self.query_one("#replay-note", Static)
        line.update(visible_line(note))
        line.set_class(bool(note), "-told")


def _stands() -> float:
    """A clock that stands: the time in a recording is that of the latest event shown."""
    return 0.0
