"""The message in a terminal that is too small."""

from textual.widgets import Static


class TooSmall(Static):
    """One line that the style sheet shows instead of the screen."""

    def __init__(self) -> None:
        super().__init__("This terminal is too small: at least 40 × 16, please.", markup=False)
