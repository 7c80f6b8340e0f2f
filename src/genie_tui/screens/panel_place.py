"""Where the side panel is: beside the conversation, over it where space is short, or nowhere."""

from textual.screen import Screen

from genie_tui.widgets.side_panel import SidePanel, Tab


class PanelPlace:
    """Opens and closes the panel of a screen, by the classes that the screen's style knows.

    `-no-panel` closes it beside the conversation, `-panel` opens it over the conversation.
    """

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen

    @property
    def covers(self) -> bool:
        """Whether the conversation is hidden behind it."""
        return self._screen.has_class("-panel") and not self._screen.has_class("-wide")

    def open(self, tab: Tab) -> None:
        """Show a page of it, wherever there is space."""
        self._screen.remove_class("-no-panel")
        self._screen.add_class("-panel")
        self._screen.query_one(SidePanel).show_tab(tab)

    def toggle(self) -> bool:
        """Show or hide it; False if it is hidden now."""
        if self._screen.has_class("-wide"):
            self._screen.toggle_class("-no-panel")
            return not self._screen.has_class("-no-panel")
        self._screen.toggle_class("-panel")
        return self._screen.has_class("-panel")

    def uncover(self) -> None:
        """Show the conversation again if the panel is over it."""
        self._screen.remove_class("-panel")
