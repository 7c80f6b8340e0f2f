"""A screen that stands above another one for a while."""

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, ScreenResultType


class Dialog(ModalScreen[ScreenResultType]):
    """A modal screen that is closed once.

    Two keys that are pressed quickly may both reach it; the second would close what is below it.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close it, with a result, if it is the one that is shown."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()
