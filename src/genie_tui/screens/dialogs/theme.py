"""Choose a theme; the highlighted one is on the screen meanwhile."""

from textual import on
from textual.widgets import OptionList

from genie_tui.screens.dialogs.pick import PickScreen, Row
from genie_tui.themes import theme_names


class ThemeScreen(PickScreen):
    """Returns the name of the chosen theme, which stays; going back restores the one before."""

    def __init__(self, theme: str) -> None:
        super().__init__("Theme", [Row(name, name) for name in theme_names()], at=theme)
        self._before = theme

    @on(OptionList.OptionHighlighted)
    def _preview(self, event: OptionList.OptionHighlighted) -> None:
        if self.is_current and event.option_index < len(self._shown):
            self.app.theme = self._shown[event.option_index].id

    def action_back(self) -> None:
        self.app.theme = self._before
        super().action_back()
