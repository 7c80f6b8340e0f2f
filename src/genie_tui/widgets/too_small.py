"""What a screen shows instead of itself when the terminal is too small for it."""

from textual.widgets import Static


class TooSmall(Static):
    """One line; the style sheet shows it in place of everything else."""

    def __init__(self) -> None:
        super().__init__("This terminal is too small: at least 60 × 16, please.", markup=False)
