"""The list of all commands."""

from textual import on
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.widgets import Input, OptionList


class Palette(CommandPalette):
    """Textual's palette, closed once: it runs one command, however many keys arrive in one burst.

    Textual's own would run the command once more for each further enter that it has got by then, and
    close a screen below.
    """

    _is_over = False

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close the palette if it is on top."""
        if self._is_over or self.app.screen is not self:
            return AwaitComplete()
        self._is_over = True
        return super().dismiss(result)

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _choose_once(self, event: Input.Submitted | OptionList.OptionSelected) -> None:
        if self._is_over:
            event.stop()
            event.prevent_default()
