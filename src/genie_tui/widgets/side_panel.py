"""The panel beside the conversation: people, and below them activity or approvals."""

from enum import Enum

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static


class Tab(Enum):
    """A page of the panel; the value is its label."""

    ACTIVITY = "Activity"
    APPROVALS = "Approvals"


class TabLabel(Static):
    """The label of a page; a click shows the page. `-active` marks the one that is shown."""

    class Picked(Message):
        """The label was clicked."""

        def __init__(self, tab: Tab) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, tab: Tab) -> None:
        super().__init__(tab.value, markup=False, id=f"label-{tab.name.lower()}")
        self._tab = tab

    def show_count(self, count: int) -> None:
        """Put a number behind the label, none if it is zero."""
        self.set_class(count > 0, "-counting")
        number = (f" {count} ", "bold") if count else ""
        self.update(Content.assemble(self._tab.value, " " if count else "", number))

    def on_click(self, event: events.Click) -> None:
        """Ask for the page."""
        event.stop()
        self.post_message(self.Picked(self._tab))


class SidePanel(Vertical):
    """Holds the pages; shows one of them below the roster. Never moves the focus."""

    def __init__(self, roster: Widget, activity: Widget, approvals: Widget) -> None:
        super().__init__(id="side")
        self._roster = roster
        self._pages = {Tab.ACTIVITY: activity, Tab.APPROVALS: approvals}
        for tab, page in self._pages.items():
            page.id = tab.name.lower()
        self._tab = Tab.ACTIVITY

    def compose(self) -> ComposeResult:
        """Roster, labels, page."""
        yield self._roster
        with Horizontal(id="side-labels"):
            for tab in Tab:
                yield TabLabel(tab)
        with ContentSwitcher(initial=self._tab.name.lower(), id="side-pages"):
            yield from self._pages.values()

    def on_mount(self) -> None:
        """Mark the first page's label."""
        self.show_tab(self._tab)

    @property
    def tab(self) -> Tab:
        """The page that is shown."""
        return self._tab

    def show_tab(self, tab: Tab) -> None:
        """Show a page."""
        self._tab = tab
        self.query_one("#side-pages", ContentSwitcher).current = tab.name.lower()
        self.set_class(tab is Tab.APPROVALS, "-approvals")
        for each in Tab:
            self.label(each).set_class(each is tab, "-active")

    def label(self, tab: Tab) -> TabLabel:
        """The label of a page."""
        return self.query_one(f"#label-{tab.name.lower()}", TabLabel)

    def on_tab_label_picked(self, event: TabLabel.Picked) -> None:
        """Show the page that was clicked."""
        event.stop()
        self.show_tab(event.tab)
