"""The completions offered above the composer."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from genie_tui.text import visible_line
from genie_tui.widgets.completion import MOST, Choice


class Choices(OptionList, can_focus=False):
    """A list that floats above what follows it. Keys never go here: the editor keeps the focus."""

    DEFAULT_CSS: ClassVar[str] = f"""
    Choices {{
        display: none;
        overlay: screen;
        constrain: inside inside;
        width: auto;
        max-width: 70%;
        height: auto;
        max-height: {MOST};
        padding: 0;
        margin: 0 0 0 1;
        border: none;
        background: $panel;
        scrollbar-size-vertical: 1;
        &.-open {{ display: block; }}
        & > .option-list--option {{ color: $foreground; padding: 0 1; }}
        & > .option-list--option-highlighted {{
            color: $block-cursor-foreground;
            background: $block-cursor-background;
        }}
    }}
    """

    def show(self, choices: Sequence[Choice]) -> None:
        """Offer these, the first highlighted; nothing is shown if there are none."""
        self.clear_options()
        self.set_class(bool(choices), "-open")
        if not choices:
            return
        widest = max(len(choice.text) for choice in choices)
        for choice in choices:
            detail = f"  {visible_line(choice.detail)}" if choice.detail else ""
            label = visible_line(choice.text).ljust(widest)
            self.add_option(Option(Content.assemble(label, (detail, "dim"))))
        self.highlighted = 0
        self.styles.offset = (0, -min(len(choices), MOST))
