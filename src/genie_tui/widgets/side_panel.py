"""The panel beside the timeline: people, and below them activity or approvals."""

from collections.abc import Sequence
from enum import Enum

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static

from genie_core.room.protocol.events import Event
from genie_core.room.state.room_state import RoomState
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.roster import Roster


class Tab(Enum):
    """A page of the panel; the value is its label."""

    ACTIVITY = "Activity"
    APPROVALS = "Approvals"


class TabLabel(Static):
    """A page's label; a click shows the page. `-active` marks the shown one."""

    class Picked(Message):
        """The label was clicked."""

        def __init__(self, tab: Tab) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, tab: Tab) -> None:
        super().__init__(tab.value, markup=False, id=f"label-{tab.name.lower()}")
        self._tab = tab

    def show_count(self, count: int) -> None:
        """Show a number after the label; none for zero."""
        self.set_class(count > 0, "-counting")
        number = (f" {count} ", "bold") if count else ""
        self.update(Content.assemble(self._tab.value, " " if count else "", number))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Picked(self._tab))


class SidePanel(Vertical):
    """Holds the pages and shows one of them below the roster. Never moves the focus.

    It is beside the timeline, over it in a narrow terminal, or hidden, by classes in the screen's
    style: `-no-panel` closes it beside the timeline, `-panel` opens it over it. With `-focused` the
    label of the shown page tells that the keys go there.
    """

    class Switched(Message):
        """The panel came onto the screen, or left it."""

        def __init__(self, *, is_open: bool) -> None:
            super().__init__()
            self.is_open = is_open

    def __init__(self, roster: Roster, activity: ActivityPanel, approvals: Widget) -> None:
        super().__init__(id="side")
        self._roster = roster
        self._activity = activity
        self._pages = {Tab.ACTIVITY: activity, Tab.APPROVALS: approvals}
        for tab, page in self._pages.items():
            page.id = tab.name.lower()
        self._tab = Tab.ACTIVITY
        self._before: tuple[Tab, bool] | None = None

    def compose(self) -> ComposeResult:
        yield self._roster
        with Horizontal(id="side-labels"):
            for tab in Tab:
                yield TabLabel(tab)
        with ContentSwitcher(initial=self._tab.name.lower(), id="side-pages"):
            yield from self._pages.values()

    def on_mount(self) -> None:
        self.show_tab(self._tab)

    def on_descendant_focus(self) -> None:
        self.add_class("-focused")

    def on_descendant_blur(self) -> None:
        self.remove_class("-focused")

    def on_show(self) -> None:
        self.post_message(self.Switched(is_open=True))

    def on_hide(self) -> None:
        self.post_message(self.Switched(is_open=False))

    @property
    def tab(self) -> Tab:
        """The page that is shown."""
        return self._tab

    @property
    def covers(self) -> bool:
        """Whether the panel hides the timeline."""
        return self.screen.has_class("-panel") and not self.screen.has_class("-wide")

    def open(self, tab: Tab) -> None:
        """Show a page, and the panel if it is hidden."""
        self._before = None
        self.screen.remove_class("-no-panel")
        self.screen.add_class("-panel")
        self.show_tab(tab)

    def open_for_now(self, tab: Tab) -> None:
        """Show a page until `restore`, or until the person chooses one."""
        before = self._before or (self._tab, self.screen.has_class("-no-panel"))
        self.open(tab)
        self._before = before

    def restore(self) -> None:
        """Show the tab again that `open_for_now` replaced."""
        if self._before is not None:
            tab, was_hidden = self._before
            self._before = None
            self.show_tab(tab)
            self.screen.set_class(was_hidden, "-no-panel")

    def toggle(self) -> bool:
        """Toggle the panel; returns whether it is shown."""
        self._before = None
        if self.screen.has_class("-wide"):
            self.screen.toggle_class("-no-panel")
            return not self.screen.has_class("-no-panel")
        self.screen.toggle_class("-panel")
        return self.screen.has_class("-panel")

    def uncover(self) -> None:
        """Show the timeline again if the panel covers it."""
        self.screen.remove_class("-panel")

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show a room as `me` sees it."""
        self._activity.activity_list.bind_state(state, me)
        self._roster.bind_state(state, me)

    def apply_many(self, events: Sequence[Event]) -> None:
        """Show events that the state includes."""
        self._activity.activity_list.apply_many(events)
        self._roster.refresh_people()

    def show_tab(self, tab: Tab) -> None:
        self._tab = tab
        self.query_one("#side-pages", ContentSwitcher).current = tab.name.lower()
        self.set_class(tab is Tab.APPROVALS, "-approvals")
        for each in Tab:
            self.label(each).set_class(each is tab, "-active")

    def label(self, tab: Tab) -> TabLabel:
        return self.query_one(f"#label-{tab.name.lower()}", TabLabel)

    def on_tab_label_picked(self, event: TabLabel.Picked) -> None:
        event.stop()
        self._before = None
        self.show_tab(event.tab)
