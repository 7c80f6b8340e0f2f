"""Where the keyboard goes from a room's composer, and how it comes back."""

from textual.screen import Screen
from textual.widget import Widget

from genie_tui.screens.panel_place import PanelPlace
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.approvals.panel import ApprovalPanel
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.join_requests import JoinRequests
from genie_tui.widgets.side_panel import SidePanel, Tab
from genie_tui.widgets.timeline.timeline import Timeline


class Excursion:
    """Moves the focus about a room's screen; the way back leads to where the first way began.

    The same way once more leads back. Who has to go nowhere is told why.
    """

    def __init__(
        self, screen: Screen[None], timeline: Timeline, door: JoinRequests, composer: Composer
    ) -> None:
        self._screen = screen
        self._timeline = timeline
        self._door = door
        self._composer = composer
        self._panel = PanelPlace(screen)
        self._came_from: Widget | None = None

    def back(self) -> None:
        """Go back to where the keyboard was, or to the composer."""
        target, self._came_from = self._came_from or self._composer, None
        self._panel.uncover()
        target.focus()

    def to_approvals(self) -> None:
        """Go to the oldest approval."""
        approvals = self._screen.query_one(ApprovalPanel)
        if approvals.has_focus_within:
            self.back()
        elif not approvals.waiting:
            self._screen.notify("No tool call waits for you.")
        else:
            self._set_out()
            self._panel.open(Tab.APPROVALS)
            approvals.jump_to_oldest()

    def to_activity(self) -> None:
        """Go to the ledger."""
        activity = self._screen.query_one(ActivityPanel)
        if activity.has_focus_within:
            self.back()
        else:
            self._set_out()
            self._panel.open(Tab.ACTIVITY)
            activity.ledger.focus()

    def to_door(self) -> None:
        """Go to those who ask something."""
        if self._door.has_focus:
            self.back()
        elif not self._door.callers:
            self._screen.notify("Nobody asks anything of you.")
        else:
            self._set_out()
            self._door.focus()

    def to_conversation(self) -> None:
        """Go to what was said."""
        if self._timeline.has_focus:
            self.back()
        else:
            self._set_out()
            self._panel.uncover()
            self._timeline.focus()

    def to_message(self, seq: int) -> None:
        """Go to a message in the conversation, and select it."""
        self._set_out()
        self._panel.uncover()
        self._timeline.show_message(seq)
        self._timeline.focus()

    def toggle_panel(self) -> None:
        """Show or hide the panel; go back if the keyboard is in what is hidden now."""
        is_there = self._screen.query_one(SidePanel).has_focus_within
        if not self._panel.toggle() and is_there:
            self.back()

    def leave_door(self) -> None:
        """Leave those who ask something if the keyboard is there: one of them has an answer."""
        if self._door.has_focus:
            self.back()

    def leave_approvals(self) -> None:
        """Leave the approvals if the keyboard is there: one has an answer, or none waits."""
        focused = self._screen.focused
        if self._screen.query_one(ApprovalPanel).has_focus_within or focused is None:
            self.back()

    def _set_out(self) -> None:
        if self._came_from is None:
            self._came_from = self._screen.focused
